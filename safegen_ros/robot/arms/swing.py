# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How an arm swings from one place of its tip to another.

Azimuth and distance from the base change evenly, the tip at one height with the tool down.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from safegen_ros.robot.arms.family import ArmFamily, Floats

Place = tuple[float, float]
"""Place of a tip from the base of its arm, seen from above [m]."""

_OPPOSITE = 1e-9
"""Turns that differ from half a turn by less go either way [rad]."""

_CHORDS = 55
"""A chord of an arc is at most so small a part of a cell; the arc is less than 0.2 mm beside it."""


def turns(family: ArmFamily, start: Place, end: Place) -> tuple[float, ...]:
    """By how much the arm may turn from one place to another, the best first [rad].

    The shorter way; either way where they are opposite; and the way that does not cross the dead
    azimuths of an arm that has some. Positive is counter-clockwise.
    """
    before, after = (math.atan2(y, x) for x, y in (start, end))
    short = math.remainder(after - before, 2 * math.pi)
    if family.dead is not None:
        seam = family.dead[0]
        return ((after - seam) % (2 * math.pi) - (before - seam) % (2 * math.pi),)
    if math.pi - abs(short) < _OPPOSITE:
        return math.pi, -math.pi
    return (short,)


def places(start: Place, end: Place, turn: float, count: int) -> Floats:
    """Where the tip is at even times from start to end, shape (count, 2) [m]."""
    share = np.linspace(0.0, 1.0, count)
    azimuth = math.atan2(start[1], start[0]) + share * turn
    near, far = math.hypot(*start), math.hypot(*end)
    radius = near + share * (far - near)
    found = np.stack([radius * np.cos(azimuth), radius * np.sin(azimuth)], axis=1)
    found[-1] = end
    return np.asarray(found, dtype=np.float64)


def length(start: Place, end: Place, turn: float) -> float:
    """The length of the way of the tip, as an arc between both distances [m]."""
    near, far = math.hypot(*start), math.hypot(*end)
    return math.hypot((near + far) / 2 * turn, far - near)


def samples(family: ArmFamily, way: float) -> int:
    """How many places stand for a way of a tip [m]."""
    return max(2, math.ceil(way / (family.cell / _CHORDS)) + 1)


@lru_cache(maxsize=4096)
def arc(family: ArmFamily, start: Place, end: Place, turn: float) -> Floats:
    """The way of the tip as a line of short chords, shape (n, 2) [m]."""
    found = places(start, end, turn, samples(family, length(start, end, turn)))
    found.setflags(write=False)
    return found


@lru_cache(maxsize=4096)
def swing(family: ArmFamily, start: Place, end: Place, turn: float, count: int) -> Floats | None:
    """The joints along a way at even times, shape (count, 6) [rad].

    Returns:
        None where the arm does not get along there within its limits. The first joint goes on from
        its angle in [-pi, pi) at the start.
    """
    joints = family.postures(places(start, end, turn, count))
    if np.isnan(joints).any():
        return None
    joints[:, 0] = np.unwrap(joints[:, 0])
    if not family.within(joints).all():
        return None
    joints.setflags(write=False)
    return joints
