# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A map of BoxNet3D, whose arms reach a ring about their base, and how it is read."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

from safegen_ros.robot.arms import FAMILIES
from safegen_ros.robot.arms.family import ArmFamily, Place
from safegen_ros.tasks.boxnet.answers import coordinate, unreadable
from safegen_ros.tasks.boxnet.geometry import UNIT, Point, point_text
from safegen_ros.tasks.boxnet.model import Move, State, Task


@dataclass(frozen=True, slots=True)
class Swing(Move):
    """A move whose tip swings about its base; it is written without where it begins."""

    @property
    def text(self) -> str:
        """The value in the JSON of an answer."""
        return f'Move {point_text(self.end)}, {self.carry}'


@dataclass(frozen=True)
class SpatialMap(Task):
    """A map with its arms, boxes and targets; coordinates are in metres.

    Attributes:
        arm: kind of the arms, a key of `FAMILIES`.

    Raises:
        BoxnetError: it is not a task: see the message.
    """

    arm: str = 'ur5e'

    is_flat = False

    def __post_init__(self) -> None:
        self._need(
            self.arm in FAMILIES,
            f'arm {self.arm[:40]!a} is not known',
            f'use {", ".join(FAMILIES)}',
        )
        super().__post_init__()
        apart = self.apart / UNIT
        for what, points in (
            ('objects', self.start.objects), ('targets', self.targets), ('tips', self.start.tips),
        ):  # fmt: skip
            for one, other in combinations(points, 2):
                self._need(
                    square(one, other) >= self.apart**2,
                    f'two {what} are at {point_text(one)} and {point_text(other)}',
                    f'keep them {apart:g} m apart',
                )

    @cached_property
    def family(self) -> ArmFamily:
        """The kind of its arms."""
        return FAMILIES[self.arm]

    @cached_property
    def side(self) -> int:
        """The side of a cell [um]."""
        return round(self.family.cell * UNIT)

    @cached_property
    def apart(self) -> int:  # type: ignore[override]  # a constant on flat maps
        """Two discs that hold a tip or a box collide when their centres are closer [um]."""
        return round(2 * self.family.radius * UNIT)

    @property
    def hold_rule(self) -> str:  # type: ignore[override]  # likewise
        """In words, where a box is that an arm can carry."""
        return f'closer than {self.apart / UNIT:g} to'

    @property
    def reach_rule(self) -> str:
        """In words, where the tip of an arm can be."""
        near, far = self.family.reach
        told = f'it is more than {near:g} and less than {far:g} away from its base'
        if self.family.dead is None:
            return told
        low, high = (round(math.degrees(angle)) for angle in self.family.dead)
        return f'{told}, not between {low} and {high} degrees about it'

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """The middle of each cell, where boxes are put."""
        return middles(self.size, self.side)

    def rest_tip(self, robot: int) -> Point:
        """Where the arm of a robot is put at first."""
        return rest_place(self.bases[robot], self.family.rest)

    def move(self, robot: int, start: Point, end: Point, carry: bool) -> Move:
        """A move as answers in this world write it."""
        return Swing(robot, start, end, carry)

    def form(self, state: State) -> Callable[[Any, int, str, int], Move]:
        """Reads moves that begin where those before them have ended."""
        return follow_tips(state.tips, self.move)

    def reaches(self, robot: int, point: Point) -> bool:
        """Whether planners may send the arm of a robot to a point."""
        near, far = (round(each * UNIT) for each in self.family.reach)
        if not near**2 < square(point, self.bases[robot]) < far**2:
            return False
        if self.family.dead is None:
            return True
        x, y = self.from_base(robot, point)
        low, high = self.family.dead
        return (math.atan2(y, x) - low) % (2 * math.pi) > high - low

    @cached_property
    def neighbours(self) -> tuple[frozenset[int], ...]:
        """For each robot those that it can hand a box to: both reach the middle of one cell."""
        return tuple(
            frozenset(
                other
                for other, (x, y) in enumerate(self.bases)
                if other != robot and max(abs(x - base[0]), abs(y - base[1])) <= self.side
            )
            for robot, base in enumerate(self.bases)
        )

    def from_base(self, robot: int, point: Point) -> Place:
        """A point as seen from the base of a robot [m]."""
        base = self.bases[robot]
        return (point[0] - base[0]) / UNIT, (point[1] - base[1]) / UNIT

    def aligned(self, state: State, tip: Point) -> int | None:
        """The object at a tip, which the arm would carry: the nearest of those that it covers."""
        found = [
            (square(tip, place), index)
            for index, place in enumerate(state.objects)
            if square(tip, place) < self.apart**2
        ]
        return min(found)[1] if found else None

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps({**json.loads(super().to_json()), 'arm': self.arm})


def middles(size: tuple[int, int], side: int) -> tuple[Point, ...]:
    """The middle of each cell of a map.

    Args:
        size: cells along x and y.
        side: of a cell [um].
    """
    xs, ys = (range(side // 2, cells * side, side) for cells in size)
    return tuple((x, y) for x in xs for y in ys)


def rest_place(base: Point, rest: Place) -> Point:
    """Where a tip rests.

    Args:
        rest: from the base [m].
    """
    return base[0] + round(rest[0] * UNIT), base[1] + round(rest[1] * UNIT)


def square(a: Point, b: Point) -> int:
    """The square of a distance, exactly [um^2]."""
    return (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2


_MOVE = re.compile(r'\s*(?:Move\s+)?\[([^\[\],]*),([^\[\],]*)\]\s*(?:,|\s)\s*(True|False)\s*')
_FORM = '"Move [x, y], True" or "Move [x, y], False"'
_LONGEST = 200


def follow_tips(
    tips: Sequence[Point], make: Callable[[int, Point, Point, bool], Move]
) -> Callable[[Any, int, str, int], Move]:
    """Reads moves in their order; each begins where the one before it of its robot has ended."""
    now = list(tips)

    def read(said: Any, robot: int, place: str, at: int) -> Move:
        match = _MOVE.fullmatch(said) if isinstance(said, str) and len(said) <= _LONGEST else None
        if match is None:
            raise unreadable(f'{place}: is not a move: write {_FORM}', at, robot=robot)
        end = coordinate(match[1], place, at), coordinate(match[2], place, at)
        start, now[robot] = now[robot], end
        return make(robot, start, end, match[3] == 'True')

    return read
