# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How the emulated firmware moves: set-points on the way to the newest or the next target."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import ArrayLike

from safegen_ros.robot.limits import JOINT_LIMITS, Joints, move_duration

#: A joint counts as moving while it is farther than this from its target [rad].
MOVING_ANGLE = float(np.radians(0.3))


class Trajectory:
    """Set-points of all joints, which arrive together.

    The law of speed is assumed: the vendor publishes the highest speed and acceleration only.
    """

    def __init__(self, joints: Joints) -> None:
        self.newest_wins = False
        self.paused = False
        self.setpoint = joints.copy()
        self.goal = joints.copy()
        self._start = joints.copy()
        self._time = self._duration = 0.0
        self._queue: deque[tuple[Joints, float]] = deque()

    def send(self, target: ArrayLike, speed: float) -> None:
        """Takes a target [rad] with a speed, as a fraction in (0, 1] of the highest."""
        goal = np.asarray(target, dtype=np.float64).clip(JOINT_LIMITS[:, 0], JOINT_LIMITS[:, 1])
        if self.newest_wins or self.done:
            self._queue.clear()
            self._begin(goal, speed)
        else:
            self._queue.append((goal, speed))

    @property
    def done(self) -> bool:
        """Whether the set-point is at the last target."""
        return self._time >= self._duration and not self._queue

    def hold(self, joints: Joints) -> None:
        """Stays where the arm is measured and forgets every target."""
        self._queue.clear()
        self.setpoint = self._start = self.goal = joints.copy()
        self._time = self._duration = 0.0

    def advance(self, seconds: float, free: Joints) -> Joints:
        """The set-point after some seconds, of the joints whose `free` is 1 and not 0."""
        if not self.paused:
            self._time += seconds
            if self._time >= self._duration and self._queue:
                self._begin(*self._queue.popleft())
            s = min(1.0, self._time / self._duration) if self._duration else 1.0
            wanted = self._start + (self.goal - self._start) * (s * s * (3 - 2 * s))
            self.setpoint = np.where(free > 0, wanted, self.setpoint)
        return self.setpoint

    def _begin(self, goal: Joints, speed: float) -> None:
        self._start, self.goal = self.setpoint.copy(), goal
        self._time, self._duration = 0.0, move_duration(goal - self._start, speed)
