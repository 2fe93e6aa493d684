# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Link frames and shapes of the myCobot 280, derived from its DH table.

Both the MJCF and the URDF are written from this, so that they cannot disagree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safegen_ros.robot.kinematics import DH, DhRow, dh_matrix

Vector = tuple[float, float, float]

#: Height of the base box [m] and its horizontal edges [m].
BASE_SIZE: Vector = (0.100, 0.120, 0.070)

#: Masses of base and links 1 to 6 [kg].
LINK_MASSES = (0.12, 0.19, 0.16, 0.124, 0.11, 0.0739, 0.035)

#: Radius of each link's hull [m]: a capsule along the segments of its DH row.
LINK_RADII = (0.024, 0.022, 0.020, 0.020, 0.020, 0.018)

#: Radius of the suction tube, edges of the pad that touches a block [m].
TOOL_RADIUS = 0.012
PAD_SIZE: Vector = (0.014, 0.014, 0.008)


@dataclass(frozen=True, slots=True)
class Segment:
    """A straight part of a link in its own frame: both ends [m] and the radius [m]."""

    start: Vector
    end: Vector
    radius: float


@dataclass(frozen=True, slots=True)
class Link:
    """One moving link.

    Attributes:
        name: URDF and MJCF name.
        origin: joint frame in the parent's joint frame [m].
        rpy: orientation of it, fixed-axis roll, pitch, yaw [rad].
        quaternion: the same as w, x, y, z.
        mass: [kg].
        segments: hull in the joint frame.
    """

    name: str
    origin: Vector
    rpy: Vector
    quaternion: tuple[float, float, float, float]
    mass: float
    segments: tuple[Segment, ...]


def links() -> tuple[Link, ...]:
    """The six links. Joint i turns about z of DH frame i-1; its frame includes the theta offset."""
    result = []
    carried = np.eye(4)
    for index, row in enumerate(DH):
        frame = carried @ _turn_z(row.offset)
        origin = (float(frame[0, 3]), float(frame[1, 3]), float(frame[2, 3]))
        result.append(
            Link(
                name=f'link{index + 1}',
                origin=origin,
                rpy=_rpy(frame),
                quaternion=quaternion_of(frame),
                mass=LINK_MASSES[index + 1],
                segments=_segments(row, LINK_RADII[index]),
            )
        )
        carried = _tail(row)
    return tuple(result)


def link_frames(joints: ArrayLike) -> list[NDArray[np.float64]]:
    """The frame of each moving link in the base frame, shape (4, 4), at six angles [rad]."""
    frames = []
    carried = np.eye(4)
    for row, theta in zip(DH, np.asarray(joints, dtype=np.float64), strict=True):
        frames.append(carried @ _turn_z(row.offset + float(theta)))
        carried = carried @ dh_matrix(row, float(theta))
    return frames


def quaternion_of(frame: NDArray[np.float64]) -> tuple[float, float, float, float]:
    """Orientation of a frame (4, 4) as w, x, y, z."""
    return _quaternion(_rpy(frame))


def flange_offset() -> float:
    """Flange along z of the last joint frame [m]."""
    return DH[-1].d


def _tail(row: DhRow) -> NDArray[np.float64]:
    """What of a DH row comes after its turn: translations and the twist, shape (4, 4)."""
    c, s = math.cos(row.alpha), math.sin(row.alpha)
    return np.array([[1, 0, 0, row.a], [0, c, -s, 0], [0, s, c, row.d], [0, 0, 0, 1.0]])


def _turn_z(angle: float) -> NDArray[np.float64]:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])


def _segments(row: DhRow, radius: float) -> tuple[Segment, ...]:
    corner, end = (0.0, 0.0, row.d), (row.a, 0.0, row.d)
    parts = []
    if row.d:
        parts.append(Segment((0.0, 0.0, 0.0), corner, radius))
    if row.a:
        parts.append(Segment(corner, end, radius))
    return tuple(parts)


def _rpy(frame: NDArray[np.float64]) -> Vector:
    r = frame[:3, :3]
    pitch = math.asin(min(1.0, max(-1.0, -float(r[2, 0]))))
    if abs(math.cos(pitch)) > 1e-6:
        return (math.atan2(r[2, 1], r[2, 2]), pitch, math.atan2(r[1, 0], r[0, 0]))
    return (0.0, pitch, math.atan2(-r[0, 1], r[1, 1]))


def _quaternion(rpy: Vector) -> tuple[float, float, float, float]:
    (cr, sr), (cp, sp), (cy, sy) = ((math.cos(a / 2), math.sin(a / 2)) for a in rpy)
    return (
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    )
