# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Many goals from several clients, in small; and what is wrong with one is noticed."""

from __future__ import annotations

from typing import Any

import pytest

from safegen_msgs.action import PlanTask
from safegen_ros.benchmarks.stack import goals as bench_goals
from safegen_ros.errors import ErrorCode
from safegen_ros.ros import conversions
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.task import load_task


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
