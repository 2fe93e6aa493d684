# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Points and segments in whole millionths of a cell, so that touching is decided exactly."""

from __future__ import annotations

import math
from fractions import Fraction

UNIT = 1_000_000
"""Side of a cell, in the unit of all coordinates; a text has six decimals at most."""

Point = tuple[int, int]
"""x and y [cell / UNIT]."""

Meeting = tuple[Fraction, Fraction]
"""Where two segments meet [cell]."""


def _side(a: Point, b: Point, c: Point) -> int:
    """Positive when c is left of the line from a to b, negative when right, 0 on it."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def touching(a: Point, b: Point, c: Point, d: Point) -> bool:
    """Whether the segments a-b and c-d have a point in common, their ends included."""
    for axis in (0, 1):
        if max(a[axis], b[axis]) < min(c[axis], d[axis]):
            return False
        if max(c[axis], d[axis]) < min(a[axis], b[axis]):
            return False
    if _side(a, b, c) * _side(a, b, d) > 0:
        return False
    return _side(c, d, a) * _side(c, d, b) <= 0


def meeting_point(a: Point, b: Point, c: Point, d: Point) -> Meeting:
    """A point that two touching segments have in common [cell]."""
    (ux, uy), (vx, vy) = (b[0] - a[0], b[1] - a[1]), (d[0] - c[0], d[1] - c[1])
    across = ux * vy - uy * vx
    if across:
        along = Fraction((c[0] - a[0]) * vy - (c[1] - a[1]) * vx, across)
        return (a[0] + along * ux) / UNIT, (a[1] + along * uy) / UNIT
    ends = [end for end in (c, d) if touching(a, b, end, end)]
    ends += [end for end in (a, b) if touching(c, d, end, end)]
    return Fraction(ends[0][0], UNIT), Fraction(ends[0][1], UNIT)


def distance(a: Point, b: Point) -> float:
    """Length of the straight way [cell]; for speeds and guidance, never for a verdict."""
    return math.hypot(a[0] - b[0], a[1] - b[1]) / UNIT


def number_text(value: int) -> str:
    """A coordinate as it is written, with one decimal at least: 0.25, 1.0."""
    sign, (whole, part) = '-' * (value < 0), divmod(abs(value), UNIT)
    return f'{sign}{whole}.{f"{part:06d}".rstrip("0") or "0"}'


def point_text(point: Point) -> str:
    """A point as it is written: [0.25, 1.0]."""
    return f'[{number_text(point[0])}, {number_text(point[1])}]'


def meeting_text(meeting: Meeting) -> str:
    """A common point, rounded to the unit: [0.5, 0.333333]."""
    x, y = (round(value * UNIT) for value in meeting)
    return point_text((x, y))
