# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether what an arm answers can be its joint angles.

Users report -1, short lists, one constant on all joints and wild jumps from healthy code. An answer
counts as a measurement only when it cannot be one of them.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from safegen_ros.robot.arms.model import JOINT_NAMES, Joints
from safegen_ros.robot.arms.mycobot_280 import MYCOBOT_280

#: A joint may be read this far beyond its limit: calibration error and overshoot [rad].
LIMIT_MARGIN = math.radians(5.0)
#: A jump that no motion explains is more than this beyond the fastest motion [rad].
JUMP_MARGIN = math.radians(5.0)
#: How much faster than its data sheet a joint may seem between two readings [1].
SPEED_MARGIN = 1.3
#: How far a joint may leave the interval between start and target of a move [rad].
WAY_MARGIN = math.radians(5.0)


def joints_of(answer: Any) -> Joints | str:
    """The joints (6,) [rad] in an answer of degrees, or what is wrong with it."""
    if answer in (-1, None) or answer == []:
        return 'it gives no angles'
    if not isinstance(answer, list) or len(answer) != 6:
        return f'it answers {answer!r}, not six angles'
    numbers = [value for value in answer if type(value) in (int, float) and math.isfinite(value)]
    if len(numbers) != 6:
        return f'it answers {answer!r}, not six finite angles'
    if len(set(numbers)) == 1 and numbers[0] != 0:
        return f'all joints read {numbers[0]} deg, as firmware that has lost its servos says'
    joints: Joints = np.radians(np.array(numbers, dtype=np.float64))
    low, high = MYCOBOT_280.bounds[:, 0] - LIMIT_MARGIN, MYCOBOT_280.bounds[:, 1] + LIMIT_MARGIN
    outside = np.flatnonzero((joints < low) | (joints > high))
    if outside.size:
        worst = int(outside[0])
        return f'{JOINT_NAMES[worst]} reads {numbers[worst]} deg, which it cannot reach'
    return joints


def jump(before: Joints, after: Joints, seconds: float) -> str:
    """What is wrong with a change between two readings [rad]; empty when a motion explains it."""
    change = np.abs(after - before)
    worst = int(np.argmax(change))
    if change[worst] <= SPEED_MARGIN * MYCOBOT_280.max_speed * seconds + JUMP_MARGIN:
        return ''
    return (
        f'{JOINT_NAMES[worst]} jumps by {math.degrees(change[worst]):.0f} deg in {seconds:.2f} s, '
        'which no motion explains'
    )


def off_way(start: Joints, goal: Joints, now: Joints) -> str:
    """What is wrong with a reading on the way from start to goal; empty when it lies between."""
    low, high = np.minimum(start, goal) - WAY_MARGIN, np.maximum(start, goal) + WAY_MARGIN
    outside = np.maximum(low - now, now - high)
    worst = int(np.argmax(outside))
    if outside[worst] <= 0:
        return ''
    return (
        f'{JOINT_NAMES[worst]} is at {math.degrees(now[worst]):.1f} deg on its way from '
        f'{math.degrees(start[worst]):.1f} to {math.degrees(goal[worst]):.1f} deg'
    )


@dataclass(frozen=True, slots=True)
class ArmStatus:
    """What an arm says about itself.

    Attributes:
        version: of the firmware, such as 7.3; None when it does not report it.
        powered: whether the servos have power.
        servos: whether every servo answers and holds.
        error: 0, or the firmware's code: 1 to 6 a joint at its limit, 16 to 19 a collision, 32 to
            34 no solution.
        joints: measured, shape (6,) [rad]; None when it gives no plausible reading.
        released: joints whose servos say that they do not hold.
    """

    version: float | None
    powered: bool
    servos: bool
    error: int | None
    joints: Joints | None
    released: tuple[str, ...] = ()

    @property
    def trouble(self) -> str:
        """What keeps the arm from moving, with the cure; empty when nothing does."""
        if not self.powered:
            return 'its servos have no power: switch it on, then reset the stop'
        if not self.servos:
            which = f'the servo of {" and ".join(self.released)}' if self.released else 'a servo'
            return f'{which} is released or does not answer: look at its cable, then reset the stop'
        if self.error is None:
            return 'it reports no error code: switch it off and on'
        if self.error:
            return f'error {self.error} ({error_text(self.error)})'
        if self.joints is None:
            return 'its joints cannot be read: switch it off and on'
        return ''


def error_text(code: int) -> str:
    """The vendor's meaning of an error code."""
    if 1 <= code <= 6:
        return f'{JOINT_NAMES[code - 1]} is at its limit: move it back by hand'
    if 16 <= code <= 19:
        return 'collision protection: free the arm'
    if code == 32:
        return 'no inverse kinematics'
    if code in (33, 34):
        return 'no straight path'
    return "not in the vendor's list"


#: Time between two readings while the arm moves [s]. Read more often, the firmware falls silent.
POLL = 0.1
#: Arrived when every joint is this near its target and moved no more than `STILL` since the last
#: reading [rad]. The servos hold a load, and a pick presses, a little short of the target.
ARRIVAL_ANGLE = float(np.radians(1.0))
STILL = float(np.radians(0.3))
#: The same for a motion so slow that it passes less than that between two readings: a little less
#: than a servo's count.
STILL_SLOW = float(np.radians(0.1))
#: An arm that is not at its target and has not moved for so long is stuck [s] ...
STALL = 1.0
#: ... where so many readings since its last motion show it: the first may be from before a stall
#: of the whole computer, in which an emulated arm stood still, too.
STILL_READINGS = 2
#: How often a stuck arm may get its target again: the frame may have been lost.
RESENDS = 2


class MotionProgress(enum.Enum):
    """Where a motion is."""

    MOVING = enum.auto()
    ARRIVED = enum.auto()
    STALLED = enum.auto()
    """It rests short of its target, and its target may be sent again."""
    STUCK = enum.auto()
    """It rests short of its target, or takes far too long: it must be stopped."""
    ASTRAY = enum.auto()
    """A joint has left the way from start to target: it must be stopped."""


class MotionTracker:
    """Judges one motion from joints (6,) to a target (6,) [rad], at a share of the speed [%]."""

    def __init__(self, start: Joints, goal: Joints, percent: int, now: float) -> None:
        self._start, self._goal = start, goal
        self._last = self._moved_from = start
        self._began = self._moved_at = now
        self._still_readings = self._resends = 0
        duration = MYCOBOT_280.move_duration(goal - start, percent / 100)
        self._longest = 2 * duration + 3.0
        # A smooth start is slow: a long and slow way is seen only after a share of its time.
        way = max(STILL, float(np.abs(goal - start).max()))
        self._patience = STALL + duration * math.sqrt(STILL / (3 * way))
        self._still = min(
            STILL, max(STILL_SLOW, 0.5 * percent / 100 * MYCOBOT_280.max_speed * POLL)
        )

    def look(self, joints: Joints, now: float) -> MotionProgress:
        """Judges a reading."""
        change = float(np.abs(joints - self._last).max())
        self._last = joints
        near = float(np.abs(self._goal - joints).max()) <= ARRIVAL_ANGLE
        if near and change <= self._still:
            return MotionProgress.ARRIVED
        if off_way(self._start, self._goal, joints):
            return MotionProgress.ASTRAY
        # Between two readings a slow arm hardly moves, so that it is compared with an older one.
        if float(np.abs(joints - self._moved_from).max()) > STILL:
            self._moved_from, self._moved_at, self._still_readings = joints, now, 0
        else:
            self._still_readings += 1
        if now - self._began > self._longest:
            return MotionProgress.STUCK
        waited = now - self._moved_at > self._patience
        if not waited or self._still_readings < STILL_READINGS:
            return MotionProgress.MOVING
        return MotionProgress.STALLED if self._resends < RESENDS else MotionProgress.STUCK

    def resent(self, now: float) -> None:
        """Notes that the target was sent again [s]."""
        self._resends += 1
        self._moved_at, self._still_readings = now, 0
