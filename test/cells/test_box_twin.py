# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A proved plan of many arms, carried out in MuJoCo under the watch, and what is kept of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from safegen_ros.cells.box_twin import BoxTwin
from safegen_ros.cli.box_pictures import samples_of
from safegen_ros.errors import ErrorCode
from safegen_ros.paths import data_path
from safegen_ros.record.mcap_reader import Recorded
from safegen_ros.robot.cell.execution import ExecutionProgress, carry_out
from safegen_ros.tasks.boxnet.goal import BoxnetGoal, read_goal
from safegen_ros.tasks.boxnet.verifier import judge, verify
from safegen_ros.tasks.job import WorldJob


@pytest.fixture(scope='module')
def goal() -> BoxnetGoal:
    path = data_path('examples/boxnet/mycobot_hand_over.json')
    return read_goal(path.read_text(encoding='utf-8'), path.name)


def test_all_arms_take_a_proved_plan_and_are_recorded(goal: BoxnetGoal) -> None:
    steps = goal.steps_of(goal.solve(30.0))
    kept: list[Recorded] = []

    def keep(topic: str, message: Any) -> None:
        kept.append(Recorded(f'/{topic}', len(kept), message))

    def seen(seconds: float, joints: dict[str, float], poses: dict[str, Any]) -> None:
        header = SimpleNamespace(
            stamp=SimpleNamespace(sec=int(seconds), nanosec=round(seconds % 1 * 1e9))
        )
        keep('joint_states', SimpleNamespace(header=header, position=[*joints.values()]))
        objects = [
            SimpleNamespace(name=name, pose=SimpleNamespace(
                position=SimpleNamespace(**dict(zip('xyz', pose.position, strict=True))),
                orientation=SimpleNamespace(**dict(zip('xyzw', pose.orientation, strict=True))),
            ))
            for name, pose in poses.items()
        ]  # fmt: skip
        keep('world_state', SimpleNamespace(header=header, objects=objects))

    def told(progress: ExecutionProgress) -> None:
        keep('executor/progress', progress)

    with BoxTwin(goal.task, seen=seen) as cell:
        job = WorldJob(goal, steps, cell, goal.monitor(steps))
        outcome = carry_out(job, time_budget_s=600.0, notify=told)
        assert outcome.error_code is ErrorCode.NONE, outcome.message
        assert all(holds for _, holds in goal.conditions(cell.observe()))
        assert set(cell.poses()) == {'object0', 'object1'}
    judged = judge(goal.task, verify(goal.task, goal.answer_of(steps)).plan)
    samples = list(samples_of(kept, judged))
    assert len(samples) > 50
    assert samples[0].joints.shape == (2, 6)
    assert {each for sample in samples for each in sample.carrying} == {None, 0, 1}


def test_a_stop_ends_a_step_of_all_arms(goal: BoxnetGoal) -> None:
    """The stop comes from what is seen of the arms on their way."""
    steps = goal.steps_of(goal.solve(30.0))
    stopped: list[float] = []

    def seen(seconds: float, joints: object, poses: object) -> None:
        if seconds > 0.4 and not stopped:
            stopped.append(seconds)
            cell.stop()

    with BoxTwin(goal.task, seen=seen) as cell:
        job = WorldJob(goal, steps, cell, goal.monitor(steps))
        outcome = carry_out(job, time_budget_s=600.0, cancelled=lambda: bool(stopped))
        assert outcome.error_code is ErrorCode.EXECUTION_CANCELED
        assert outcome.steps_done == 0
        assert cell.observe() != goal.init
