# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""BoxNet3D with arms of real shape: capsules about the links, moved by inverse kinematics.

All arms of a step begin and end together. Along the way no two arms, nor an arm and a box that it
neither carries nor goes to, come closer than the clearance of their kind. Two samples are so close
that no arm moves further than the clearance from the nearest of them, so that nothing touches
between them either. Reach is what the joints allow.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import combinations

import numpy as np

from safegen_ros.robot.arms.family import (
    NEIGHBOURS,
    ArmFamily,
    Floats,
    Place,
    closest,
    length,
    swing,
    turns,
)
from safegen_ros.tasks.boxnet.model import Move
from safegen_ros.tasks.boxnet.spatial.depth import ArmContact, Depth, Leg
from safegen_ros.tasks.boxnet.spatial.model import SpatialMap

PARTS = (
    'base', 'shoulder', 'upper arm', 'forearm', 'first wrist', 'second wrist', 'hand', 'load'
)  # fmt: skip
"""What links are called in verdicts, by their index; then what an arm carries."""


class Kinematic(Depth):
    """Reach is what the joints allow, arms have their hull."""

    name = 'kinematic'

    def out_of_reach(self, task: SpatialMap, move: Move) -> str | None:
        """Why a tip does not get to the end of its move."""
        start, end = (task.from_base(move.robot, point) for point in (move.start, move.end))
        if np.isnan(task.family.postures([end])).any():
            return 'its joints do not hold the tip there: use another robot, or another point'
        if not ways(task.family, start, end):
            return 'its first joint does not turn that far: go there by a point between'
        if not self.turns(task, move):
            return 'its links would meet each other on the way: stay further from its base'
        return None

    def turns(self, task: SpatialMap, move: Move) -> tuple[float, ...]:
        """By how much an arm may turn in a move [rad]."""
        start, end = (task.from_base(move.robot, point) for point in (move.start, move.end))
        turns = ways(task.family, start, end)
        return tuple(turn for turn in turns if not _meets_itself(task.family, start, end, turn))

    def arms_meet(
        self, family: ArmFamily, offset: Place, one: Leg, other: Leg
    ) -> ArmContact | None:
        """Where two arms collide."""
        return _arms_meet(family, offset, one, other)

    def box_met(self, family: ArmFamily, leg: Leg, place: Place) -> ArmContact | None:
        """Where an arm, or what it carries, collides with a box."""
        return _box_met(family, leg, place)


KINEMATIC = Kinematic()
"""Has no state."""


def ways(family: ArmFamily, start: Place, end: Place) -> tuple[float, ...]:
    """The turns from one place to another that the joints allow, the best first [rad]."""
    return tuple(
        turn
        for turn in turns(family, start, end)
        if swing(family, start, end, turn, samples(family, start, end, turn)) is not None
    )


def samples(family: ArmFamily, start: Place, end: Place, turn: float) -> int:
    """How many postures stand for a way; 2 for none at all.

    Links may move up to half as fast again as the tip, where the arm stretches out.
    """
    return math.ceil(1.5 * length(start, end, turn) / (2 * family.clearance)) + 2


@lru_cache(maxsize=16384)
def _arms_meet(family: ArmFamily, offset: Place, one: Leg, other: Leg) -> ArmContact | None:
    count = max(samples(family, *leg[:3]) for leg in (one, other))
    (hull, parts, radii), (opposite, names, against) = (
        _hull(family, leg, count) for leg in (one, other)
    )
    away = np.array([*offset, 0.0])
    met = _closest_parts(hull, radii + family.clearance, opposite + away, against)
    if met is None:
        return None
    x, y, z, part, other_part = met
    return ArmContact(x, y, z, (PARTS[parts[part]], PARTS[names[other_part]]))


@lru_cache(maxsize=16384)
def _box_met(family: ArmFamily, leg: Leg, place: Place) -> ArmContact | None:
    hull, parts, radii = _hull(family, leg, samples(family, *leg[:3]))
    ball = np.broadcast_to(np.array([*place, family.box / 2]), (len(hull), 1, 2, 3))
    met = _closest_parts(hull, radii + family.clearance, ball, np.array([family.radius]))
    if met is None:
        return None
    x, y, z, part, _ = met
    return ArmContact(x, y, z, (PARTS[parts[part]], 'box'))


@lru_cache(maxsize=16384)
def _meets_itself(family: ArmFamily, start: Place, end: Place, turn: float) -> bool:
    """Whether links of an arm that are not neighbours come too close on its way."""
    leg = start, end, turn, False
    hull, parts, radii = _hull(family, leg, samples(family, start, end, turn))
    pairs = [
        (a, b)
        for a, b in combinations(range(len(parts)), 2)
        if parts[a] != parts[b] and (parts[a], parts[b]) not in NEIGHBOURS
    ]
    one, other = (list(side) for side in zip(*pairs, strict=True))
    distance, _ = closest(hull[:, one, 0], hull[:, one, 1], hull[:, other, 0], hull[:, other, 1])
    return bool((distance - radii[one] - radii[other] < family.clearance / 2).any())


def _closest_parts(
    one: Floats, radii: Floats, other: Floats, others: Floats
) -> tuple[float, float, float, int, int] | None:
    """Where and with which capsules two hulls overlap most; None where they do not."""
    least = radii.max() + others.max()
    for a, b in ((one, other), (other, one)):
        if (a.min(axis=(0, 1, 2)) - b.max(axis=(0, 1, 2)) > least).any():
            return None
    distance, middle = closest(
        one[:, :, None, 0], one[:, :, None, 1], other[:, None, :, 0], other[:, None, :, 1]
    )
    free = distance - radii[:, None] - others[None, :]
    at, first, second = (int(i) for i in np.unravel_index(int(free.argmin()), free.shape))
    if free[at, first, second] >= 0:
        return None
    x, y, z = (float(value) for value in middle[at, first, second])
    return x, y, z, first, second


@lru_cache(maxsize=1024)
def _hull(family: ArmFamily, leg: Leg, count: int) -> tuple[Floats, tuple[int, ...], Floats]:
    """The capsules of an arm along its way, shape (count, m, 2, 3), their parts and radii.

    A box that it carries is one more: a ball about its middle.
    """
    start, end, turn, carries = leg
    joints = swing(family, start, end, turn, count)
    if joints is None:
        raise ValueError(f'{family.name}: there is no way from {start} to {end}')
    hull = family.capsules(joints)
    if not carries:
        return hull, family.parts, family.radii
    load = hull[:, -1:, 1:] * [1.0, 1.0, 0.0] + [0.0, 0.0, family.box / 2]
    return (
        np.concatenate([hull, load.repeat(2, axis=2)], axis=1),
        (*family.parts, len(PARTS) - 1),
        np.append(family.radii, family.radius),
    )
