# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The benchmark of the stack: the real backend asks its server, and every figure is taken."""

from __future__ import annotations

import math
from typing import Any

import pytest

from safegen_msgs.action import PlanTask
from safegen_ros.benchmarks.stack import goals as bench_goals
from safegen_ros.benchmarks.stack import services as bench_ros
from safegen_ros.benchmarks.stack.console import slope
from safegen_ros.benchmarks.stack.fault_runs import FAULTS, run_all
from safegen_ros.benchmarks.stack.services import PlanServer, measure
from safegen_ros.errors import ErrorCode
from safegen_ros.llm.backend import Sampling
from safegen_ros.llm.open_backend import open_backend
from safegen_ros.robot.scene import load_scene
from safegen_ros.ros import conversions
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.task import load_task


def test_its_server_answers_the_planners_backend_with_its_text() -> None:
    server = PlanServer('(pickup a)')
    with server.serving():
        backend = open_backend(server.model)
        try:
            answer = backend.generate([{'role': 'user', 'content': 'plan'}], Sampling())
        finally:
            backend.close()
    assert answer.text == '(pickup a)'
    assert server.asked > 0


@pytest.mark.nightly
def test_every_figure_is_taken(ros_domain: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_ros, '_STARTS', 1)
    told: list[tuple[str, int, int]] = []
    report = measure(goals=2, idle_s=1.0, notify=lambda *stage: told.append(stage))
    assert ('goals', 2, 2) in told
    assert ('starts', 3, 3) in told
    figures = {m.name: m for m in report.measurements}
    assert [m.target for m in report.measurements] == [10.0, 10.0, None, None, 5.0, 2.0, 2.0, 2.0]
    assert all(m.value is not None and m.value >= 0 for m in report.measurements)
    whole = figures['goal sent to result, with a model that answers at once'].value
    assert whole is not None
    for name in ('goal sent to model asked, median', 'verdict told to result, median'):
        assert 0 < (figures[name].value or 0) < whole
    assert len(report.details['asked_ms']) == 2


@pytest.mark.nightly
def test_no_goal_of_several_clients_is_lost_or_mixed_up(ros_domain: int) -> None:
    told: list[tuple[Any, ...]] = []
    report = bench_goals.measure(17, 2, lambda *news: told.append(news))
    figures = [each.value for each in report.measurements]
    assert figures[:3] == [0, 0, 0], report.measurements[1].note
    median, most, nearly_all, longest, rate = figures[3:]
    assert 0 < median <= most <= nearly_all <= longest
    assert rate > 0
    assert told[-1] == ('goals', 17, 17)


@pytest.mark.parametrize(
    ('problem', 'code', 'fault'),
    [
        (1, ErrorCode.NONE, ''),
        (2, ErrorCode.NONE, 'its plan is not for it: '),
        (1, ErrorCode.QUEUE_FULL, 'QUEUE_FULL: full'),
    ],
)
def test_the_plan_of_another_goal_is_noticed(problem: int, code: ErrorCode, fault: str) -> None:
    mine, other = (bench_goals._PROBLEM.format(number=number) for number in (1, problem))
    plan = conversions.plan_to_msg(solve(load_task(other).problem).plan)
    result = PlanTask.Result(error_code=int(code), error_msg='full', plan=plan)
    assert bench_goals._fault(mine, result, []).startswith(fault)
    assert bool(bench_goals._fault(mine, result, [])) == bool(fault)
    assert bench_goals._fault(mine, result, ['(pickup a2)'])


def test_a_line_is_told_from_noise_by_its_error() -> None:
    hours = [minute / 60 for minute in range(10)]
    grown, sure = slope([(at, 200 + 12 * at) for at in hours])
    assert grown == pytest.approx(12)
    assert sure == pytest.approx(0, abs=1e-6)
    found, give = slope([(at, 200 + (-1) ** index) for index, at in enumerate(hours)])
    assert found is not None
    assert abs(found) < give


def test_few_points_are_no_line() -> None:
    assert slope([(0.0, 200.0), (0.01, 201.0)]) == (None, math.inf)


@pytest.mark.nightly
def test_random_faults_end_in_a_stop_or_well() -> None:
    chosen = ('noise', 'power_off', 'unplugged', 'mover_killed')
    runs = run_all(load_scene(), map(FAULTS.index, chosen), jobs=4)
    assert [run.message for run in runs if run.ended == 'wrong'] == []
    assert [run.fault for run in runs] == list(chosen)
    assert [run.ended for run in runs[1:]] == ['stopped'] * 3
    assert sum(run.motions + run.resumes for run in runs) == 0
