# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How the emulated firmware moves: set-points on the way to the newest or the next target."""

from __future__ import annotations

import math
from collections import deque

import numpy as np
from numpy.typing import ArrayLike

from safegen_ros.robot.arms.model import Joints, Matrix
from safegen_ros.robot.arms.mycobot_280 import MYCOBOT_280

_ITERATIONS = 200
_DAMPING = 1e-4
_STEP = 0.2
_NUDGE = 1e-6
#: A solution is this near: position [m] and orientation [rad].
_CLOSE = 1e-5


def coords_of(joints: Joints) -> list[float]:
    """Coordinates of the flange for joints (6,) [rad]."""
    pose = MYCOBOT_280.forward(joints)
    rotation = pose[:3, :3]
    ry = math.asin(max(-1.0, min(1.0, -float(rotation[2, 0]))))
    rx = math.atan2(float(rotation[2, 1]), float(rotation[2, 2]))
    rz = math.atan2(float(rotation[1, 0]), float(rotation[0, 0]))
    position = [1000 * float(value) for value in pose[:3, 3]]
    return position + [math.degrees(angle) for angle in (rx, ry, rz)]


def joints_for(coords: list[float], seed: Joints) -> Joints | None:
    """Joints (6,) [rad] within the limits that reach coordinates; None when none are found.

    Damped least squares from the seed, so that the arm goes to the configuration nearest to it.
    """
    goal = _pose(coords)
    joints = MYCOBOT_280.clip(seed)
    for _ in range(_ITERATIONS):
        error = _error(goal, joints)
        if float(np.abs(error).max()) < _CLOSE:
            # The rotation vector vanishes for half a turn as well.
            return joints if np.allclose(MYCOBOT_280.forward(joints), goal, atol=1e-3) else None
        jacobian = np.stack(
            [(error - _error(goal, joints + _NUDGE * unit)) / _NUDGE for unit in np.eye(6)], axis=1
        )
        damped = jacobian @ jacobian.T + _DAMPING * np.eye(6)
        step = jacobian.T @ np.linalg.solve(damped, error)
        step *= min(1.0, _STEP / max(float(np.abs(step).max()), 1e-12))
        joints = MYCOBOT_280.clip(joints + step)
    return None


def _pose(coords: list[float]) -> Matrix:
    rx, ry, rz = (math.radians(angle) for angle in coords[3:])
    cx, sx, cy, sy = math.cos(rx), math.sin(rx), math.cos(ry), math.sin(ry)
    cz, sz = math.cos(rz), math.sin(rz)
    pose = np.eye(4)
    pose[:3, :3] = [
        [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx],
        [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx],
        [-sy, cy * sx, cy * cx],
    ]
    pose[:3, 3] = [value / 1000 for value in coords[:3]]
    return pose


def _error(goal: Matrix, joints: Joints) -> Joints:
    """Position error [m] and rotation vector [rad] from the joints' pose to the goal, shape (6,).

    The rotation vector is that of small angles, which vanishes with the error.
    """
    pose = MYCOBOT_280.forward(joints)
    turn = goal[:3, :3] @ pose[:3, :3].T
    vector = 0.5 * np.array(
        [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]
    )
    return np.concatenate([goal[:3, 3] - pose[:3, 3], vector])


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
        goal = MYCOBOT_280.clip(np.asarray(target, dtype=np.float64))
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
        self._time, self._duration = 0.0, MYCOBOT_280.move_duration(goal - self._start, speed)
