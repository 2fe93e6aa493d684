# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An arm in a cell of many: where its tip gets, with which joints, and its hull with the tool.

`ArmModel` has a closed form, of which one branch is used, elbow up, so that a place of the tip is a
posture of the arm. Where an arm swings from one place to another, azimuth and distance from the
base change evenly, the tip at one height with the tool down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safegen_ros.robot.arms.model import ArmModel, DhRow, Segment

Floats = NDArray[np.float64]

_TINY = 1e-12


def closest(a: Floats, b: Floats, c: Floats, d: Floats) -> tuple[Floats, Floats]:
    """The least distance [m] of segments a-b and c-d, and the point halfway between them [m].

    Ends have shape (..., 3), as far as numpy broadcasts them.
    """
    u, v, w = b - a, d - c, a - c
    uu, vv, uv = _dot(u, u), _dot(v, v), _dot(u, v)
    uw, vw = _dot(u, w), _dot(v, w)
    across = uu * vv - uv * uv
    # Where they are parallel any point of the first will do; the second follows from it.
    s = np.where(across > _TINY, (uv * vw - vv * uw) / np.where(across > _TINY, across, 1.0), 0.0)
    s = s.clip(0.0, 1.0)
    t = ((s * uv + vw) / np.maximum(vv, _TINY)).clip(0.0, 1.0)
    s = ((t * uv - uw) / np.maximum(uu, _TINY)).clip(0.0, 1.0)
    near, far = a + s[..., None] * u, c + t[..., None] * v
    return np.linalg.norm(near - far, axis=-1), (near + far) / 2


def _dot(a: Floats, b: Floats) -> Floats:
    return np.asarray((a * b).sum(axis=-1), dtype=np.float64)


Quaternion = tuple[float, float, float, float]

JOINTS = 6

NEIGHBOURS = frozenset((a, b) for a in range(7) for b in range(a + 1, 7) if b - a <= 2) | {(0, 3)}
"""Links that overlap or come close by construction; 0 is the base."""


@dataclass(frozen=True, eq=False)
class ArmFamily:
    """A kind of arm, and the cell that is made for it.

    Attributes:
        base: hull of the fixed parts, in the base frame.
        tool: flange to tip [m].
        tool_radius: of the hull of the tool [m].
        cell: side of a cell of the grid [m].
        reach: the range given to planners: the tip gets to distances between these from the base
            [m].
        dead: azimuths about the base that the first joint does not get to [rad]; None where it
            turns all the way round.
        box: edge of a box [m].
        radius: of the disc that holds a tip or a box, seen from above [m].
        gap: between the tip and the box below it [m].
        rest: where the tip of an arm is at first, from its base [m].
        speed: of the tip [m/s].
        joint_speed: of a joint on a planned way [rad/s].
    """

    arm: ArmModel
    base: tuple[Segment, ...]
    tool: float
    tool_radius: float
    cell: float
    reach: tuple[float, float]
    dead: tuple[float, float] | None
    box: float
    radius: float
    gap: float
    rest: tuple[float, float]
    speed: float
    joint_speed: float

    @property
    def name(self) -> str:
        """The name of the arm in tasks."""
        return self.arm.name

    @property
    def rows(self) -> tuple[DhRow, ...]:
        """The DH table of the arm."""
        return self.arm.rows

    @cached_property
    def hull(self) -> tuple[tuple[Segment, ...], ...]:
        """The hull of each link in the frame of its joint; the last one has the tool, too."""
        *parts, last = self.arm.hull
        flange = self.arm.flange_offset
        tip = (0.0, 0.0, flange + self.tool - self.tool_radius)
        return (*parts, (*last, Segment((0.0, 0.0, flange), tip, self.tool_radius)))

    @property
    def tip_height(self) -> float:
        """The height of every tip above the table: just above the boxes [m]."""
        return self.box + self.gap

    @property
    def clearance(self) -> float:
        """What parts must keep from each other on a way that is looked at in samples [m]."""
        return self.radius * 0.4

    def postures(self, places: ArrayLike, lifted: ArrayLike = 0.0) -> Floats:
        """The joints that hold the tip at places with the tool down, shape (n, 6) [rad].

        Args:
            places: of the tip from the base, seen from above, shape (n, 2) [m].
            lifted: above its usual height, one value or shape (n,) [m].

        Returns:
            A row of NaN for each place that the arm does not get to.
        """
        at = np.asarray(places, dtype=np.float64).reshape(-1, 2)
        shoulder, lateral, wrist = self.rows[0].d, self.rows[3].d, self.rows[4].d
        upper, forearm = -self.rows[1].a, -self.rows[2].a
        with np.errstate(invalid='ignore'):
            along = np.sqrt((at**2).sum(axis=1) - lateral**2)
            out = along - wrist
            up = self.tip_height + np.asarray(lifted) + self.tool + self.rows[5].d - shoulder
            straight = np.hypot(out, up)
            bend = np.arccos((upper**2 + straight**2 - forearm**2) / (2 * upper * straight))
            lift = np.arctan2(up, out) + bend
            drop = np.arctan2(up - upper * np.sin(lift), out - upper * np.cos(lift))
        turn = np.arctan2(at[:, 1], at[:, 0]) - np.arctan2(-lateral, along)
        quarter = math.pi / 2
        angles = np.stack(
            [
                turn,
                lift - math.pi,
                drop - lift,
                3 * quarter - drop,
                np.full(len(at), quarter),
                turn * 0,
            ],
            axis=1,
        )
        joints = angles - [row.offset for row in self.rows]
        joints = math.pi - (math.pi - joints) % (2 * math.pi)
        joints[~self.within(joints)] = math.nan
        return np.asarray(joints, dtype=np.float64)

    def within(self, joints: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether each row of joints (n, 6) [rad] keeps the limits; one with NaN does not."""
        low, high = self.arm.bounds.T
        return np.asarray(((joints >= low) & (joints <= high)).all(axis=1))

    @cached_property
    def radii(self) -> Floats:
        """The radii of the capsules that `capsules` returns, in its order, shape (m,) [m]."""
        return np.array([each.radius for part in (self.base, *self.hull) for each in part])

    @cached_property
    def parts(self) -> tuple[int, ...]:
        """Which link each capsule belongs to, in the same order; 0 is the base."""
        return tuple(link for link, part in enumerate((self.base, *self.hull)) for _ in part)

    def capsules(self, joints: ArrayLike) -> Floats:
        """Both ends of all capsules in the base frame, (n, m, 2, 3) [m], at joints (n, 6) [rad]."""
        turns = np.asarray(joints, dtype=np.float64).reshape(-1, JOINTS)
        rotation = np.broadcast_to(np.eye(3), (len(turns), 3, 3))
        origin = np.zeros((len(turns), 3))
        found = [np.broadcast_to(_ends(self.base), (len(turns), len(self.base), 2, 3))]
        for row, turn, part in zip(self.rows, turns.T, self.hull, strict=True):
            rotation = rotation @ _about_z(turn + row.offset)
            ends = np.einsum('nij,mkj->nmki', rotation, _ends(part))
            found.append(ends + origin[:, None, None, :])
            origin = origin + rotation @ np.array([row.a, 0.0, row.d])
            rotation = rotation @ _about_x(row.alpha)
        return np.concatenate(found, axis=1)

    def tip(self, joints: ArrayLike) -> Floats:
        """Where the tip is in the base frame, shape (3,) [m], at joints (6,) [rad]."""
        return self.arm.forward(joints, self.tool)[:3, 3]

    def frame(self, link: int) -> tuple[tuple[float, float, float], Quaternion]:
        """Where a joint is in the frame of the one before, at angle zero: [m], and w, x, y, z."""
        before = self.rows[link - 1] if link else DhRow(0.0, 0.0, 0.0, 0.0)
        tilt, turn = before.alpha / 2, self.rows[link].offset / 2
        cx, sx, cz, sz = math.cos(tilt), math.sin(tilt), math.cos(turn), math.sin(turn)
        return (before.a, 0.0, before.d), (cx * cz, sx * cz, -sx * sz, cx * sz)


def _ends(segments: tuple[Segment, ...]) -> Floats:
    return np.array([(each.start, each.end) for each in segments], dtype=np.float64).reshape(
        -1, 2, 3
    )


def _about_z(angles: Floats) -> Floats:
    c, s, zero = np.cos(angles), np.sin(angles), np.zeros_like(angles)
    rows = [np.stack(row, axis=-1) for row in ((c, -s, zero), (s, c, zero))]
    last = np.broadcast_to(np.array([0.0, 0.0, 1.0]), rows[0].shape)
    return np.stack([*rows, last], axis=-2)


def _about_x(angle: float) -> Floats:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


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
