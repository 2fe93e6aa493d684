# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The last check of a run: the world at its end against the PDDL goal.

On the twin it starts from the measured poses alone, not from the executor's reading of them. A
symbolic cell has no poses: what counts there are the facts of its world.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from safegen_msgs.msg import WorldState
from safegen_ros.errors import RobotError
from safegen_ros.pddl.facts import objects_of, recorded_fact
from safegen_ros.pddl.model import Problem
from safegen_ros.robot.arms.model import JOINT_NAMES
from safegen_ros.robot.cell.grounding import Tool, ground
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import Scene
from safegen_ros.ros.conversions import pose_from_msg
from safegen_ros.tasks.pddl3.task import conjuncts
from safegen_ros.tasks.task import ActionTask


@dataclass(frozen=True, slots=True)
class GoalCheck:
    """Whether the goal holds in the world at the end.

    Attributes:
        poses: measured pose of each block; none for a symbolic cell.
        conjuncts: each part of the goal with whether it was observed to hold.
        problem: why the observation makes no state at all; empty when it does.
    """

    poses: dict[str, Pose]
    conjuncts: tuple[tuple[str, bool], ...]
    problem: str = ''

    @property
    def reached(self) -> bool:
        """Whether every part of the goal was observed to hold."""
        return not self.problem and all(held for _, held in self.conjuncts)


def check_goal(
    problem: Problem, world: WorldState, joints: Sequence[float], scene: Scene
) -> GoalCheck:
    """Compares measured poses with the goal.

    Args:
        world: only its poses are used.
        joints: measured joint angles of the same moment, shape (6,) [rad]. Empty when they did not
            arrive, which is a problem: they show whether the arm holds a block.
    """
    poses = {item.name: pose_from_msg(item.pose) for item in world.objects}
    missing = sorted(set(problem.objects) - set(poses))
    if missing:
        return GoalCheck(poses, (), f'no pose was measured for {" ".join(missing)}')
    if len(joints) != len(JOINT_NAMES) or not all(map(math.isfinite, joints)):
        return GoalCheck(poses, (), 'the joints of the last moment did not arrive')
    # A block counts as held where the tool would hold one: it is taken to be on.
    tool = Tool(scene.held_centre(np.asarray(joints, dtype=np.float64)), on=True)
    try:
        state = ground(poses, tool, scene.block_size)
    except RobotError as error:
        return GoalCheck(poses, (), error.message)
    return GoalCheck(poses, conjuncts(problem, state))


def check_facts(task: ActionTask, world: WorldState) -> GoalCheck:
    """Compares the facts that an executor has observed with the goal of a task of any world.

    Args:
        world: only its facts are used.
    """
    atoms = frozenset(map(recorded_fact, world.facts))
    problem = task.problem
    if problem is None:
        return GoalCheck({}, task.conditions(atoms))
    unknown = sorted({name for atom in atoms for name in objects_of(atom)} - set(problem.objects))
    if unknown:
        return GoalCheck({}, (), f'the facts name {" ".join(unknown)}, which the task has not')
    if world.objects:
        return GoalCheck({}, (), 'the world has poses, which no symbolic cell can have measured')
    return GoalCheck({}, conjuncts(problem, atoms))
