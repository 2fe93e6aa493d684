# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What every arm driver offers, the twin and the real one alike.

Skills are written over this protocol only. All moves are absolute joint targets: a relative move
that a lossy link repeats would be doubled.
"""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

from numpy.typing import ArrayLike

from safegen_ros.errors import RobotError
from safegen_ros.robot.arms.model import Joints
from safegen_ros.robot.pose import Pose
from safegen_ros.sync import Closing, LatchedStop

#: Two bodies that are meant to touch: block names, or `TOOL` or `TABLE`.
ContactPair = tuple[str, str]

#: The tool and the table in contact pairs; no PDDL name can be spelled like this.
TOOL = '<tool>'
TABLE = '<table>'


@dataclass(frozen=True, slots=True)
class Sample:
    """One look at the arm and the blocks.

    Attributes:
        time: of the twin, simulated time since the last reset; of a real arm, Unix time [s].
        joints: measured, shape (6,) [rad].
        poses: pose of each block; none of a driver that sees no blocks.
        tool_on: whether the tool is on: the pump runs, or the fingers are commanded to close.
        opening: measured distance between the fingers [m]; None of a pump, or when not known.
    """

    time: float
    joints: Joints
    poses: dict[str, Pose]
    tool_on: bool
    opening: float | None = None


@runtime_checkable
class Arm(Protocol):
    """One arm with a tool that takes hold of blocks: a suction cup, or a gripper."""

    def joint_positions(self) -> Joints:
        """Measured joint angles, shape (6,) [rad]."""

    def move_joints(self, target: ArrayLike, speed: float) -> None:
        """Moves to a target and returns when the measured joints have arrived.

        Args:
            target: shape (6,) [rad], checked against the limits before it leaves.
            speed: fraction of the highest joint speed, in (0, 1].

        Raises:
            RobotError: a limit, a collision, no arrival in time, or a stop that was not reset.
            Canceled: `stop` was called while moving.
        """

    def set_tool(self, on: bool) -> None:
        """Takes hold or lets go; may return at once, the caller waits for vacuum or fingers."""

    def tool_on(self) -> bool:
        """Whether the tool is on."""

    def opening(self) -> float | None:
        """Measured distance between the fingers [m]; None where no gripper answers."""

    def wait(self, seconds: float) -> None:
        """Lets time pass for the arm (simulated time on the twin); `stop` ends it early."""

    def expect_contacts(self, *pairs: ContactPair) -> None:
        """Begins a phase: these pairs, and what rests on each other now, may touch from here on.

        A driver that senses no contact has nothing to do here.
        """

    def stop(self) -> None:
        """Holds the arm where it is measured, keeps the tool as it is, and latches.

        May be called from any thread. What was under way raises `Canceled`, and nothing moves
        until `reset_stop`.
        """

    def reset_stop(self) -> None:
        """Allows motion again after a stop, as each new goal does.

        It powers nothing and clears no error of a real arm.

        Raises:
            RobotError: the arm is not fit to move, or holds after a fault: `rearm` it.
        """

    def rearm(self) -> None:
        """Makes the arm fit to move after a fault or a loss of power, at an operator's word only.

        Connects again, powers the servos and clears error codes. Nothing moves: the arm is stopped
        until `reset_stop`.

        Raises:
            RobotError: it is not fit to move, with the cure.
        """

    def close(self) -> None:
        """Releases the device; safe to call twice."""


@runtime_checkable
class World(Protocol):
    """Where the blocks are: the twin, or a perception system."""

    def expect(self, blocks: Mapping[str, Pose]) -> dict[str, Pose]:
        """Where the blocks will stand when a task begins with them at these poses.

        Raises:
            RobotError: `STATE_MISMATCH` when they stand on each other otherwise.
        """

    def reset(self, blocks: Mapping[str, Pose]) -> None:
        """Places the blocks at these poses where it can; else raises as `expect`."""

    def block_poses(self) -> dict[str, Pose]:
        """Measured pose of each block."""


_Seen = TypeVar('_Seen')

TICKS_PER_SAMPLE = 4
"""Ticks of 10 ms of a simulation between two samples: 40 ms of simulated time, 25 per second."""


class ArmSimulation(LatchedStop, Closing, Generic[_Seen]):
    """Base of the twin of an arm and of the cell of many: their pace, samples and stop.

    Simulated time passes only while a command runs, in the thread that gave it. Other threads may
    read and may call `stop`.

    Args:
        name: what messages call it.
        real_time_factor: simulated seconds per second at most; 0 means as fast as possible.
        sample: called every 40 ms of simulated time, in the thread of the running command.

    Raises:
        RobotError: the factor is negative or not finite.
    """

    def __init__(
        self, name: str, real_time_factor: float, sample: Callable[[_Seen], None] | None
    ) -> None:
        if not 0.0 <= real_time_factor < float('inf'):
            raise RobotError(f'real_time_factor {real_time_factor} must be 0 or positive')
        super().__init__(name)
        self.sample = sample
        self._factor = real_time_factor
        self._lock = threading.RLock()
        self._fault = ''
        self._closed = False
        self._ticks = 0

    @property
    @abstractmethod
    def sim_time(self) -> float:
        """Simulated time since the last reset [s]."""

    @abstractmethod
    def look(self) -> _Seen:
        """A sample of this instant."""

    def close(self) -> None:
        """Ends the simulation; commands raise from now on."""
        self._closed = True
        self._stopped.set()

    def _clock(self) -> tuple[float, float]:
        """Checks that arms may move; returns wall and simulated time of the command's start."""
        self._check_ready()
        return time.monotonic(), self.sim_time

    def _keep_pace(self, clock: tuple[float, float]) -> None:
        """Waits until the tick is due that has just been simulated."""
        if self._factor:
            wall, simulated = clock
            due = wall + (self.sim_time - simulated) / self._factor
            self._stopped.wait(max(0.0, due - time.monotonic()))

    def _count(self) -> None:
        """Counts a tick, and gives a sample where one is due."""
        self._ticks += 1
        if self._ticks % TICKS_PER_SAMPLE == 0:
            self._publish()

    def _publish(self) -> None:
        if self.sample is not None:
            self.sample(self.look())

    def _check_ready(self) -> None:
        if self._closed:
            raise RobotError(f'{self._name} is closed: create another')
        if self._fault:
            raise RobotError(
                f'{self._name} holds after a fault ({self._fault}): reset the stop first'
            )
        super()._check_ready()
