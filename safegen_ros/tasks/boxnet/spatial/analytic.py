# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The rules of BoxNet3D as its planners are told them: a ring in reach, arcs that keep apart.

Tips and boxes are discs. When a disc moves does not count: two arcs collide wherever they come
close, at whatever time. The links of arms are not looked at. Where a tip goes to the opposite side
of its base it may swing either way; a step collides if every choice of these ways does.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from math import hypot
from typing import TYPE_CHECKING

import numpy as np

from safegen_ros.robot.families.capsules import Floats, closest
from safegen_ros.robot.families.family import ArmFamily
from safegen_ros.robot.families.swing import Place, arc, turns
from safegen_ros.tasks.boxnet.findings import Fault, Finding
from safegen_ros.tasks.boxnet.geometry import meeting_point, meeting_text, point_text, touching
from safegen_ros.tasks.boxnet.model import Move, State, object_name
from safegen_ros.tasks.boxnet.spatial.depth import Contact, Depth, Leg

if TYPE_CHECKING:
    from safegen_ros.tasks.boxnet.spatial.model import SpatialTask


class Analytic(Depth):
    """Reach is a ring about the base, ways of tips are arcs."""

    name = 'analytic'

    def out_of_reach(self, task: SpatialTask, move: Move) -> str | None:
        """Why a tip does not get to the end of its move."""
        if task.reaches(move.robot, move.end):
            return None
        away = hypot(*task.from_base(move.robot, move.end))
        return (
            f'that is {away:.3f} away from its base {point_text(task.bases[move.robot])}, but the '
            f'arm gets to where {task.reach_rule}: use another robot, or another point'
        )

    def turns(self, task: SpatialTask, move: Move) -> tuple[float, ...]:
        """By how much an arm may turn in a move [rad]."""
        start, end = (task.from_base(move.robot, point) for point in (move.start, move.end))
        return turns(task.family, start, end)

    def arms_meet(self, family: ArmFamily, offset: Place, one: Leg, other: Leg) -> Contact | None:
        """Where two arms collide."""
        if hypot(*offset) >= 2 * (family.reach[1] + family.radius):
            return None
        return _arcs_meet(family, one[:3], other[:3], offset)

    def box_met(self, family: ArmFamily, leg: Leg, place: Place) -> Contact | None:
        """Where an arm sweeps over a box."""
        return _arc_meets(family, leg[:3], place)

    def together(self, task: SpatialTask, state: State, step: Sequence[Move]) -> Fault | None:
        """What collides in a step whose moves can each be made."""
        return _crossing(task, state, step) or super().together(task, state, step)


ANALYTIC = Analytic()
"""Has no state."""


def _crossing(task: SpatialTask, state: State, step: Sequence[Move]) -> Fault | None:
    """Two boxes that are carried across each other, as the crow flies."""
    for one, other in combinations([move for move in step if move.carry], 2):
        if not touching(one.start, one.end, other.start, other.end):
            continue
        boxes = tuple(
            box for each in (one, other) if (box := task.aligned(state, each.start)) is not None
        )
        point = meeting_point(one.start, one.end, other.start, other.end)
        return Fault(
            Finding.OBJECT_COLLISION,
            f'{" and ".join(map(object_name, boxes))} are carried across each other at '
            f'{meeting_text(point)}: carry them in different steps',
            robots=(one.robot, other.robot),
            objects=boxes,
            point=point,
        )
    return None


_Arc = tuple[Place, Place, float]


@lru_cache(maxsize=65536)
def _arcs_meet(family: ArmFamily, one: _Arc, other: _Arc, offset: Place) -> Contact | None:
    return _meeting(arc(family, *one), arc(family, *other) + offset, 2 * family.radius)


@lru_cache(maxsize=65536)
def _arc_meets(family: ArmFamily, one: _Arc, place: Place) -> Contact | None:
    return _meeting(arc(family, *one), np.array([place, place]), 2 * family.radius)


def _meeting(one: Floats, other: Floats, apart: float) -> Contact | None:
    """Where two lines are closest, if closer than that [m]."""
    for a, b in ((one, other), (other, one)):
        if (a.min(axis=0) - b.max(axis=0) >= apart).any():
            return None
    u, v = (np.pad(line, ((0, 0), (0, 1))) for line in (one, other))
    distance, middle = closest(u[:-1, None], u[1:, None], v[None, :-1], v[None, 1:])
    at = np.unravel_index(int(distance.argmin()), distance.shape)
    if distance[at] >= apart - _ROUNDING:
        return None
    x, y, _ = middle[at]
    return Contact(float(x), float(y))


_ROUNDING = 1e-9
"""Far below the unit of coordinates, and above what a sum of floats is wrong by [m]."""
