# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Poses as ROS has them (metres; quaternions x, y, z, w: REP 103); boxes that nothing may enter."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Pose:
    """Position and orientation of a frame in the base frame of the arm.

    Attributes:
        position: x, y, z [m]; z is the height above the table.
        orientation: unit quaternion x, y, z, w.
    """

    position: tuple[float, float, float]
    orientation: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)

    @classmethod
    def upright(cls, x: float, y: float, z: float, yaw: float = 0.0) -> Pose:
        """A pose that is turned about the vertical only: x, y, z [m], yaw [rad]."""
        return cls((x, y, z), (0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2)))

    @property
    def rotation(self) -> NDArray[np.float64]:
        """Rotation matrix, shape (3, 3)."""
        x, y, z, w = self.orientation
        return np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
            ]
        )

    @property
    def yaw(self) -> float:
        """Angle of the frame's x axis in the horizontal plane [rad]."""
        rotation = self.rotation
        return math.atan2(rotation[1, 0], rotation[0, 0])

    @property
    def tilt(self) -> float:
        """Angle between the frame's z axis and the vertical [rad], in [0, pi]."""
        return math.acos(min(1.0, max(-1.0, float(self.rotation[2, 2]))))


def planar_distance(one: Pose, other: Pose) -> float:
    """Distance of two poses in the horizontal plane [m]."""
    return math.hypot(one.position[0] - other.position[0], one.position[1] - other.position[1])


def same_place(one: Pose, other: Pose, metres: float, radians: float) -> bool:
    """Whether two poses differ by at most a distance [m] and an angle [rad]."""
    cosine = abs(sum(a * b for a, b in zip(one.orientation, other.orientation, strict=True)))
    return (
        math.dist(one.position, other.position) <= metres
        and 2 * math.acos(min(1.0, cosine)) <= radians
    )


Point = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class KeepOut:
    """A box along the axes of `base_link`.

    Attributes:
        low: its lowest corner [m].
        high: its highest corner [m].
    """

    KIND: ClassVar[str] = 'keep-out box'

    name: str
    low: Point
    high: Point

    @property
    def centre(self) -> Point:
        """Its middle [m]."""
        x, y, z = ((a + b) / 2 for a, b in zip(self.low, self.high, strict=True))
        return x, y, z

    @property
    def half_size(self) -> Point:
        """Half of its edges [m]."""
        x, y, z = ((b - a) / 2 for a, b in zip(self.low, self.high, strict=True))
        return x, y, z

    def __str__(self) -> str:
        return f'{self.KIND} {self.name}'
