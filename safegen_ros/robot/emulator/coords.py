# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The coordinates that the firmware speaks of: x y z [mm] and rx ry rz [deg] of the flange.

R = Rz(rz) Ry(ry) Rx(rx). Our own skills never use them; they are here for the vendor's examples.
"""

from __future__ import annotations

import math

import numpy as np

from safegen_ros.robot.kinematics import Matrix, forward
from safegen_ros.robot.limits import JOINT_LIMITS, Joints

_ITERATIONS = 200
_DAMPING = 1e-4
_STEP = 0.2
_NUDGE = 1e-6
#: A solution is this near: position [m] and orientation [rad].
_CLOSE = 1e-5


def coords_of(joints: Joints) -> list[float]:
    """Coordinates of the flange for joints (6,) [rad]."""
    pose = forward(joints)
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
    joints = seed.clip(JOINT_LIMITS[:, 0], JOINT_LIMITS[:, 1])
    for _ in range(_ITERATIONS):
        error = _error(goal, joints)
        if float(np.abs(error).max()) < _CLOSE:
            # The rotation vector vanishes for half a turn as well.
            return joints if np.allclose(forward(joints), goal, atol=1e-3) else None
        jacobian = np.stack(
            [(error - _error(goal, joints + _NUDGE * unit)) / _NUDGE for unit in np.eye(6)], axis=1
        )
        damped = jacobian @ jacobian.T + _DAMPING * np.eye(6)
        step = jacobian.T @ np.linalg.solve(damped, error)
        step *= min(1.0, _STEP / max(float(np.abs(step).max()), 1e-12))
        joints = (joints + step).clip(JOINT_LIMITS[:, 0], JOINT_LIMITS[:, 1])
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
    pose = forward(joints)
    turn = goal[:3, :3] @ pose[:3, :3].T
    vector = 0.5 * np.array(
        [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]
    )
    return np.concatenate([goal[:3, 3] - pose[:3, 3], vector])
