# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Kinematics of the myCobot 280 from the DH table of its firmware (standard convention).

The vendor's URDFs differ from the firmware by 2 to 9 mm; the firmware's own numbers are the truth
here, because its coordinates are what the arm reports.

Top-down inverse kinematics is closed form: with the flange straight down joint 5 is zero and joints
2, 3 and 4 sum to -90 deg, which leaves a planar two-link problem for the wrist.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.robot.limits import Joints, within_limits

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class DhRow:
    """One row of a standard DH table: d [m], a [m], alpha [rad], offset of theta [rad]."""

    d: float
    a: float
    alpha: float
    offset: float


_QUARTER = math.pi / 2

DH: tuple[DhRow, ...] = (
    DhRow(0.13122, 0.0, _QUARTER, 0.0),
    DhRow(0.0, -0.1104, 0.0, -_QUARTER),
    DhRow(0.0, -0.096, 0.0, 0.0),
    DhRow(0.0634, 0.0, _QUARTER, -_QUARTER),
    DhRow(0.07505, 0.0, -_QUARTER, _QUARTER),
    DhRow(0.0456, 0.0, 0.0, 0.0),
)

_SHOULDER = DH[0].d
_UPPER = -DH[1].a
_FOREARM = -DH[2].a
_LATERAL = DH[3].d
_WRIST = DH[4].d
_FLANGE = DH[5].d


def dh_matrix(row: DhRow, theta: float) -> Matrix:
    """Transform of one standard DH row, shape (4, 4); theta without the row's offset [rad]."""
    c, s = math.cos(theta + row.offset), math.sin(theta + row.offset)
    ca, sa = math.cos(row.alpha), math.sin(row.alpha)
    return np.array(
        [
            [c, -s * ca, s * sa, row.a * c],
            [s, c * ca, -c * sa, row.a * s],
            [0.0, sa, ca, row.d],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def forward(joints: ArrayLike, tool_length: float = 0.0) -> Matrix:
    """Pose of the tip, `tool_length` [m] beyond the flange, in the base frame, shape (4, 4)."""
    pose = np.eye(4)
    for row, theta in zip(DH, np.asarray(joints, dtype=np.float64), strict=True):
        pose = pose @ dh_matrix(row, float(theta))
    pose[:3, 3] += tool_length * pose[:3, 2]
    return pose


def tool_yaw(joints: ArrayLike) -> float:
    """Yaw of a tool that points down [rad]: the block frame that the cup is aligned with."""
    q = np.asarray(joints, dtype=np.float64)
    return _wrap(float(q[0]) - _QUARTER - float(q[5]))


def top_down_solutions(
    x: float, y: float, z: float, yaw: float, tool_length: float = 0.0
) -> list[Joints]:
    """Every joint vector (6,) [rad] that puts the tip at x, y, z [m] pointing straight down.

    The branches are shoulder front or back, elbow up or down, and the four quarter turns under
    which a cube of this yaw [rad] looks the same. Limits are not applied.
    """
    square = x * x + y * y - _LATERAL * _LATERAL
    if not square >= 0.0:
        return []
    solutions = []
    height = z + tool_length + _FLANGE - _SHOULDER
    for rho in (math.sqrt(square), -math.sqrt(square)):
        q1 = _wrap(math.atan2(y, x) - math.atan2(-_LATERAL, rho))
        for (q2, q3), turn in product(_two_link(rho - _WRIST, height), range(4)):
            q6 = _wrap(q1 - _QUARTER - yaw + turn * _QUARTER)
            q4 = _wrap(-_QUARTER - q2 - q3)
            solutions.append(np.array([q1, q2, q3, q4, 0.0, q6]))
    return solutions


def inverse_top_down(
    x: float, y: float, z: float, yaw: float, *, tool_length: float, seed: ArrayLike
) -> Joints:
    """The solution of `top_down_solutions` within the limits that is nearest to a seed (6,) [rad].

    Nearest is Euclidean over the joints, so that a long swing of joint 1, which all branches share,
    never hides a flip of the elbow.

    Raises:
        RobotError: `OUT_OF_REACH`, naming the point, its radius and the cure.
    """
    point = f'({x:.4f}, {y:.4f}, {z:.4f}) m at radius {math.hypot(x, y):.4f} m'
    if not all(math.isfinite(value) for value in (x, y, z, yaw)):
        raise RobotError(f'{point} is not a finite point', ErrorCode.OUT_OF_REACH)
    every = top_down_solutions(x, y, z, yaw, tool_length)
    allowed = [joints for joints in every if within_limits(joints)]
    if not allowed:
        raise RobotError(
            f'{point} cannot be reached tool down: {_cure(x, y, every)}', ErrorCode.OUT_OF_REACH
        )
    start = np.asarray(seed, dtype=np.float64)
    return min(allowed, key=lambda joints: float(np.linalg.norm(joints - start)))


def _two_link(forward_distance: float, height: float) -> list[tuple[float, float]]:
    """Both elbow solutions (q2, q3) [rad] for a wrist at a distance and height [m]."""
    reach = forward_distance**2 + height**2
    cosine = (reach - _UPPER**2 - _FOREARM**2) / (2 * _UPPER * _FOREARM)
    if not -1.0 <= cosine <= 1.0:
        return []
    # q2 is measured from the vertical and turns away from the wrist, hence the sign.
    direction = math.atan2(-forward_distance, height)
    solutions = []
    for q3 in (-math.acos(cosine), math.acos(cosine)):
        bend = math.atan2(_FOREARM * math.sin(q3), _UPPER + _FOREARM * math.cos(q3))
        solutions.append((_wrap(direction - bend), q3))
    return solutions


def _cure(x: float, y: float, unlimited: list[Joints]) -> str:
    if math.hypot(x, y) < _LATERAL:
        return f'the arm cannot reach inside {_LATERAL:.4f} m of its axis; move the point outwards'
    if not unlimited:
        return 'it is beyond the stretched or folded arm; move it nearer, lower or outwards'
    return 'every solution breaks a joint limit; choose another azimuth or radius'


def _wrap(angle: float) -> float:
    """The same angle in (-pi, pi]."""
    wrapped = math.remainder(angle, 2 * math.pi)
    return math.pi if wrapped == -math.pi else wrapped
