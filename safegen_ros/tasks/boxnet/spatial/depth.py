# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the depths of BoxNet3D have in common: one interface, and the checks that need no geometry.

Within a step the checks come in this order: what each move carries, how far it reaches, then arms
against arms, arms against boxes, boxes against boxes. The first fault is the verdict. Arms that do
nothing are in the way.

`ANALYTIC`, the rules as in the prompts, looks at a ring in reach and at arcs that keep apart. Tips
and boxes are discs. When a disc moves does not count: two arcs collide wherever they come close, at
whatever time. The links of arms are not looked at. A tip may swing either way to the opposite side
of its base; a step collides if every choice of ways does.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations, product
from math import hypot

import numpy as np

from safegen_ros.robot.arms.family import ArmFamily, Floats, Place, arc, closest, turns
from safegen_ros.tasks.boxnet.findings import Fault, Finding
from safegen_ros.tasks.boxnet.geometry import (
    UNIT,
    Meeting,
    Point,
    meeting_point,
    meeting_text,
    point_text,
    touching,
)
from safegen_ros.tasks.boxnet.model import Move, State, object_name, robot_name
from safegen_ros.tasks.boxnet.spatial.model import SpatialMap
from safegen_ros.tasks.boxnet.verifier import StepRules, objects_meet

Leg = tuple[Place, Place, float, bool]
"""Where a tip starts and ends, from its base [m], by how much it turns about it [rad], and whether
it carries; idle arms end where they start."""


_Turned = tuple[Move, float]
_Idle = tuple[int, Point]


@dataclass(frozen=True, slots=True)
class ArmContact:
    """Where something collides.

    Attributes:
        x: from the base of the arm [m].
        y: likewise.
        height: above the table [m].
        parts: what of either meets; None where only ways are looked at.
    """

    x: float
    y: float
    height: float = 0.0
    parts: tuple[str, str] | None = None


class Depth(StepRules):
    """How closely a step is looked at."""

    name: str

    def together(self, task: SpatialMap, state: State, step: Sequence[Move]) -> Fault | None:
        """What collides in a step whose moves can each be made."""
        first: Fault | None = None
        for turned in self._turned(task, step):
            fault = self._arms(task, state, turned) or self._arms_and_boxes(task, state, turned)
            if fault is None:
                return objects_meet(task, state, step)
            first = first or fault
        return first

    def arms_touch(self, task: SpatialMap, one: Move, other: Move) -> bool:
        """Whether two robots that move at once collide; both moves are within reach."""
        return all(
            self._pair(task, turned[0], turned[1]) is not None
            for turned in self._turned(task, (one, other))
        )

    @abstractmethod
    def turns(self, task: SpatialMap, move: Move) -> tuple[float, ...]:
        """By how much an arm may turn in a move, the best first [rad]."""

    @abstractmethod
    def arms_meet(
        self, family: ArmFamily, offset: Place, one: Leg, other: Leg
    ) -> ArmContact | None:
        """Where two arms collide, from the base of the first; None where they do not.

        Args:
            offset: the second base from the first [m].
        """

    @abstractmethod
    def box_met(self, family: ArmFamily, leg: Leg, place: Place) -> ArmContact | None:
        """Where an arm, or what it carries, collides with a box; None where it does not.

        Args:
            place: of the box from the base [m].
        """

    def _turned(self, task: SpatialMap, step: Sequence[Move]) -> Iterator[tuple[_Turned, ...]]:
        """All ways to turn in a step: where an arm goes to the opposite side there are two."""
        turns = [[(move, turn) for turn in self.turns(task, move)] for move in step]
        return product(*turns)

    def _pair(self, task: SpatialMap, one: _Turned, other: _Turned | _Idle) -> Fault | None:
        """How two arms collide: one that moves, and another that does, or is idle."""
        move, second = one[0], other[0].robot if isinstance(other[0], Move) else other[0]
        offset = task.from_base(move.robot, task.bases[second])
        found = self.arms_meet(task.family, offset, _leg(task, *one), _leg(task, *other))
        if found is None:
            return None
        a, b = robot_name(move.robot), robot_name(second)
        cure = 'do these moves in different steps'
        if not isinstance(other[0], Move):
            what, cure = f'{b} does nothing', 'move that arm away before'
        elif move.end == other[0].end:
            what, cure = 'both end there', 'let one of them end elsewhere or wait'
        else:
            what = 'their ways come too close'
        if found.parts is not None:
            (part, against), z = found.parts, found.height
            what += f'; the {part} of {a} meets the {against} of {b} {z:.2f} m above the table'
        point = on_map(task, move.robot, found)
        return Fault(
            Finding.ROBOT_COLLISION,
            f'{a} and {b} collide at {meeting_text(point)}: {what}: {cure}',
            robots=(move.robot, second),
            point=point,
        )

    def _arms(self, task: SpatialMap, state: State, turned: Sequence[_Turned]) -> Fault | None:
        """The first pair of arms that collide, one of which moves at least."""
        busy = {move.robot for move, _ in turned}
        idle = [(robot, tip) for robot, tip in enumerate(state.tips) if robot not in busy]
        pairs: Iterator[tuple[_Turned, _Turned | _Idle]] = chain(
            combinations(turned, 2), product(turned, idle)
        )
        return next((f for pair in pairs if (f := self._pair(task, *pair)) is not None), None)

    def _arms_and_boxes(
        self, task: SpatialMap, state: State, turned: Sequence[_Turned]
    ) -> Fault | None:
        """How an arm collides with a box that it neither carries nor goes to."""
        step = [move for move, _ in turned]
        for move, turn in turned:
            for box in others(task, state, step, move):
                place = task.from_base(move.robot, state.objects[box])
                found = self.box_met(task.family, _leg(task, move, turn), place)
                if found is not None:
                    return _box_fault(task, move.robot, box, found)
        return None


def others(task: SpatialMap, state: State, step: Sequence[Move], move: Move) -> Iterator[int]:
    """The boxes that a robot must keep away from: all that lie still and that it does not go to."""
    carried = {task.aligned(state, each.start) for each in step if each.carry}
    for index, place in enumerate(state.objects):
        own = any(
            (place[0] - at[0]) ** 2 + (place[1] - at[1]) ** 2 < task.apart**2
            for at in (move.start, move.end)
        )
        if index not in carried and not own:
            yield index


def on_map(task: SpatialMap, robot: int, contact: ArmContact) -> Meeting:
    """Where a contact is on the map."""
    base = task.bases[robot]
    return exactly(base[0] / UNIT + contact.x, base[1] / UNIT + contact.y)


def _box_fault(task: SpatialMap, robot: int, box: int, found: ArmContact) -> Fault:
    name, point = robot_name(robot), on_map(task, robot, found)
    what = (
        f'the way of {name} passes over it'
        if found.parts is None
        else f'the {found.parts[0]} of {name} meets it'
    )
    return Fault(
        Finding.ROBOT_OBJECT_COLLISION,
        f'{name} and {object_name(box)} collide at {meeting_text(point)}: {what}: go by another '
        'point in two steps, or move the object first',
        robots=(robot,),
        objects=(box,),
        point=point,
    )


def _leg(task: SpatialMap, who: Move | int, how: float | Point) -> Leg:
    """What a move with its turn, or an idle robot with its tip, comes to."""
    if isinstance(who, Move) and isinstance(how, float):
        start, end = (task.from_base(who.robot, point) for point in (who.start, who.end))
        return start, end, how, who.carry
    if isinstance(who, int) and isinstance(how, tuple):
        place = task.from_base(who, how)
        return place, place, 0.0, False
    raise TypeError(f'{who!r} does not go with {how!r}')


def exactly(x: float, y: float) -> Meeting:
    """A point [m] rounded to the unit of coordinates."""
    return Fraction(round(x * UNIT), UNIT), Fraction(round(y * UNIT), UNIT)


class Analytic(Depth):
    """Reach is a ring about the base, ways of tips are arcs."""

    name = 'analytic'

    def out_of_reach(self, task: SpatialMap, move: Move) -> str | None:
        """Why a tip does not get to the end of its move."""
        if task.reaches(move.robot, move.end):
            return None
        away = hypot(*task.from_base(move.robot, move.end))
        return (
            f'that is {away:.3f} away from its base {point_text(task.bases[move.robot])}, but the '
            f'arm gets to where {task.reach_rule}: use another robot, or another point'
        )

    def turns(self, task: SpatialMap, move: Move) -> tuple[float, ...]:
        """By how much an arm may turn in a move [rad]."""
        start, end = (task.from_base(move.robot, point) for point in (move.start, move.end))
        return turns(task.family, start, end)

    def arms_meet(
        self, family: ArmFamily, offset: Place, one: Leg, other: Leg
    ) -> ArmContact | None:
        """Where two arms collide."""
        if hypot(*offset) >= 2 * (family.reach[1] + family.radius):
            return None
        return _arcs_meet(family, one[:3], other[:3], offset)

    def box_met(self, family: ArmFamily, leg: Leg, place: Place) -> ArmContact | None:
        """Where an arm sweeps over a box."""
        return _arc_meets(family, leg[:3], place)

    def together(self, task: SpatialMap, state: State, step: Sequence[Move]) -> Fault | None:
        """What collides in a step whose moves can each be made."""
        return _crossing(task, state, step) or super().together(task, state, step)


ANALYTIC = Analytic()
"""Has no state."""


def _crossing(task: SpatialMap, state: State, step: Sequence[Move]) -> Fault | None:
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
def _arcs_meet(family: ArmFamily, one: _Arc, other: _Arc, offset: Place) -> ArmContact | None:
    return _meeting(arc(family, *one), arc(family, *other) + offset, 2 * family.radius)


@lru_cache(maxsize=65536)
def _arc_meets(family: ArmFamily, one: _Arc, place: Place) -> ArmContact | None:
    return _meeting(arc(family, *one), np.array([place, place]), 2 * family.radius)


def _meeting(one: Floats, other: Floats, apart: float) -> ArmContact | None:
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
    return ArmContact(float(x), float(y))


_ROUNDING = 1e-9
"""Far below the unit of coordinates, and above what a sum of floats is wrong by [m]."""
