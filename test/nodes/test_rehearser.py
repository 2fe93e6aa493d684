# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is rehearsed for a table that somebody sees: the blocks where they are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from support.blocks_small import TWO

from safegen_msgs import msg
from safegen_msgs.action import ExecutePlan
from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.nodes.rehearsal import Rehearser
from safegen_ros.robot.cell.blocks import BlocksworldCell
from safegen_ros.robot.cell.observed import PerceivedWorld
from safegen_ros.robot.cell.perception import Picture
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import load_scene
from safegen_ros.robot.twin.twin import MujocoTwin
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.task import Pddl3Task
from safegen_ros.verdict import Category, Verdict

SCENE = load_scene()
LAID = {name: SCENE.slot_pose(slot) for name, slot in zip('ab', SCENE.slots, strict=False)}


@dataclass
class Table:
    """A cell whose blocks are seen where the test puts them.

    Attributes:
        poses: where they are.
        rehearsals: what was said of each.
    """

    task: Pddl3Task
    poses: dict[str, Pose] = field(default_factory=lambda: dict(LAID))
    rehearsals: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        world = PerceivedWorld(SCENE, lambda: [Picture(1.0, dict(self.poses))])
        self._arm = MujocoTwin(SCENE)
        cell = BlocksworldCell(SCENE, self._arm, world)
        node: Any = SimpleNamespace(
            values={}, get_logger=lambda: SimpleNamespace(info=self.rehearsals.append)
        )
        self._rehearser = Rehearser(node, lambda: cell, lambda: True)

    def close(self) -> None:
        self._arm.close()

    def rehearse(self) -> Verdict:
        """The verdict on a shortest plan of the task."""
        plan = solve(self.task.problem).plan
        steps = self.task.steps_of(str(plan))
        goal = ExecutePlan.Goal(task=msg.Task(problem=self.task.problem_text))
        ask = self._rehearser.for_goal(goal, self.task, steps, lambda: False)
        assert ask is not None
        return ask(self.task.verify(str(plan)))


@pytest.fixture
def table() -> Iterator[Table]:
    made = Table(TWO)
    yield made
    made.close()


def moved(pose: Pose, metres: float) -> Pose:
    """Further from the arm."""
    x, y, z = pose.position
    scale = 1 + metres / math.hypot(x, y)
    return Pose((x * scale, y * scale, z), pose.orientation)


def test_a_block_that_is_seen_out_of_reach_cannot_be_picked(table: Table) -> None:
    assert table.rehearse().category is Category.SUCCESS
    for name, pose in LAID.items():
        table.poses[name] = moved(pose, 0.2)
    verdict = table.rehearse()
    assert verdict.category is Category.PRECONDITION_VIOLATION
    assert 'reach' in verdict.reason


def test_what_was_rehearsed_counts_while_the_blocks_are_there(table: Table) -> None:
    for metres in (0.0, 0.001):
        table.poses['a'] = moved(LAID['a'], metres)
        assert table.rehearse().ok
    assert len(table.rehearsals) == 1
    table.poses['a'] = moved(LAID['a'], 0.005)
    assert table.rehearse().ok
    assert len(table.rehearsals) == 2


def test_a_table_that_is_not_as_the_task_says_is_not_rehearsed_for(table: Table) -> None:
    x, y, z = LAID['b'].position
    table.poses['a'] = Pose.upright(x, y, z + SCENE.block_size)
    with pytest.raises(RobotError, match='does not show the initial state') as caught:
        table.rehearse()
    assert caught.value.code is ErrorCode.STATE_MISMATCH
    assert table.rehearsals == []
