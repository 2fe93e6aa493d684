# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The MuJoCo cell of many arms as any other cell that executes plans: steps and atoms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from safegen_ros.cells.box_cell import BoxCell, StepRefused
from safegen_ros.cells.world import CellSample
from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.pddl.model import State
from safegen_ros.robot.cell.execution import ConcurrentStep
from safegen_ros.robot.pose import Pose
from safegen_ros.sync import Closing
from safegen_ros.tasks.boxnet.atoms import atoms, moves, short_name, state_of
from safegen_ros.tasks.boxnet.model import object_name, robot_name
from safegen_ros.tasks.boxnet.spatial import SpatialTask
from safegen_ros.tasks.cells import CellSetup, MultiRobotCell

Seen = Callable[[float, Mapping[str, float], Mapping[str, Pose]], Any]
"""Told the simulated time [s], the joints by name [rad], and the poses of the boxes."""


class BoxTwin(MultiRobotCell, Closing):
    """The MuJoCo cell of a task; see `MultiRobotCell`.

    Args:
        real_time_factor: simulated seconds per second at most [1]; 0 for as fast as it can.
        seen: gets the measurement, 25 times per simulated second.
    """

    def __init__(
        self,
        task: SpatialTask,
        real_time_factor: float = 0.0,
        seen: Seen = lambda seconds, joints, poses: None,
    ) -> None:
        self._task = task
        self._seen = seen
        self._cell = BoxCell(task, real_time_factor=real_time_factor, sample=self._sample)

    def prepare(self, objects: Sequence[str], init: State) -> None:
        """Puts arms and boxes where the task has them."""
        if state_of(self._task, init) != self._task.start:
            raise RobotError(
                'the task begins in another state than its map', ErrorCode.UNSUPPORTED_SCENE
            )
        self._cell.reset()

    def take(self, step: ConcurrentStep) -> None:
        """Has all arms of a step move at once, once their ways are found to be free.

        Raises:
            RobotError: a way is not (`REHEARSAL_FAILED`, and nothing of the step has moved), or
                something touched what it should not.
            Canceled: the cell was stopped.
        """
        try:
            prepared = self._cell.prepare(moves(self._task, step))
        except StepRefused as error:
            raise RobotError(
                f'nothing of the step has moved: {error.message}', ErrorCode.REHEARSAL_FAILED
            ) from error
        self._cell.run(prepared)

    def observe(self) -> State:
        """Where tips and boxes are measured."""
        return atoms(self._cell.state)

    def poses(self) -> dict[str, Pose]:
        """Where the boxes are measured now."""
        return _poses(self._cell.look())

    def stop(self) -> None:
        """Holds all arms, from any thread, and latches."""
        self._cell.stop()

    def reset_stop(self) -> None:
        """Allows motion again."""
        self._cell.reset_stop()

    def close(self) -> None:
        """Ends the cell."""
        self._cell.close()

    def _sample(self, look: CellSample) -> None:
        joints = {
            f'{short_name(robot_name(robot))}_joint{number}': float(angle)
            for robot, angles in enumerate(look.joints)
            for number, angle in enumerate(angles, 1)
        }
        self._seen(look.time, joints, _poses(look))


def _poses(look: CellSample) -> dict[str, Pose]:
    return {
        short_name(object_name(number)): Pose((x, y, z), (qx, qy, qz, qw))
        for number, (x, y, z, qw, qx, qy, qz) in enumerate(map(list, look.boxes))
    }


def twin_cell(task: SpatialTask, setup: CellSetup) -> BoxTwin:
    """The twin of the arms of a task."""
    return BoxTwin(task, setup.real_time_factor, setup.look)
