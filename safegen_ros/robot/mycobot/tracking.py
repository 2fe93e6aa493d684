# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether an arm is on its way, has arrived or is stuck, from measured joints and times alone."""

from __future__ import annotations

import enum
import math

import numpy as np

from safegen_ros.robot.limits import MAX_SPEED, Joints, move_duration
from safegen_ros.robot.mycobot.readings import off_way

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


class Progress(enum.Enum):
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
        duration = move_duration(goal - start, percent / 100)
        self._longest = 2 * duration + 3.0
        # A smooth start is slow: a long and slow way is seen only after a share of its time.
        way = max(STILL, float(np.abs(goal - start).max()))
        self._patience = STALL + duration * math.sqrt(STILL / (3 * way))
        self._still = min(STILL, max(STILL_SLOW, 0.5 * percent / 100 * MAX_SPEED * POLL))

    def look(self, joints: Joints, now: float) -> Progress:
        """Judges a reading."""
        change = float(np.abs(joints - self._last).max())
        self._last = joints
        near = float(np.abs(self._goal - joints).max()) <= ARRIVAL_ANGLE
        if near and change <= self._still:
            return Progress.ARRIVED
        if off_way(self._start, self._goal, joints):
            return Progress.ASTRAY
        # Between two readings a slow arm hardly moves, so that it is compared with an older one.
        if float(np.abs(joints - self._moved_from).max()) > STILL:
            self._moved_from, self._moved_at, self._still_readings = joints, now, 0
        else:
            self._still_readings += 1
        if now - self._began > self._longest:
            return Progress.STUCK
        waited = now - self._moved_at > self._patience
        if not waited or self._still_readings < STILL_READINGS:
            return Progress.MOVING
        return Progress.STALLED if self._resends < RESENDS else Progress.STUCK

    def resent(self, now: float) -> None:
        """Notes that the target was sent again [s]."""
        self._resends += 1
        self._moved_at, self._still_readings = now, 0
