# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The configurations of Gripper. Balls are numbered as they lie: in grippers, then room by room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple, cast

from safegen_ros.datasets.planetarium.layouts import (
    Kit,
    Parameters,
    numbered,
    partitions,
)
from safegen_ros.pddl.model import Atom
from safegen_ros.tasks.planetarium.descriptions import listed

_MOST_BALLS = 25
_MOST_ROOMS = 8
_GRIPPERS = range(2, 6)
_JUGGLERS = range(2, 11)

_EMPTY = 'all grippers are empty'


class GripperStart(NamedTuple):
    """Where everything is at first; the robot is in the first room.

    Attributes:
        rooms: how many balls lie in each room.
        held: how many grippers carry a ball, from the first one.
    """

    rooms: tuple[int, ...]
    held: int
    grippers: int

    @property
    def balls(self) -> int:
        """How many there are."""
        return sum(self.rooms) + self.held

    def balls_in_rooms(self) -> list[list[str]]:
        """The balls of each room."""
        balls = iter(numbered('ball', self.balls)[self.held :])
        return [[next(balls) for _ in range(count)] for count in self.rooms]


class GripperKit(Kit):
    """Parameters of a start are a `GripperStart`, those of a goal a tuple of numbers."""

    domain = 'gripper'
    tied = ('swap', 'juggle')
    strict = ('focus_max', 'focus_min', 'drop_and_pickup')
    starts = ('one_room', 'evenly_distributed', 'n_room_distributed', 'holding')
    goals = (*starts, 'focus_max', 'focus_min', 'pickup', 'drop_and_pickup')
    held_out = (
        ('swap', 'swap'), ('juggle', 'juggle'), ('', 'drop_and_pickup'), ('', 'focus_min'),
    )  # fmt: skip

    def start_parameters(self, start: str) -> Sequence[Parameters]:
        """See `Kit`."""
        return _starts(start)

    def goal_parameters(self, goal: str, parameters: Parameters) -> Sequence[Parameters]:
        """See `Kit`."""
        start = cast(GripperStart, parameters)
        rooms = start.rooms
        if goal == 'n_room_distributed':
            return _into_rooms(start.balls, len(rooms))
        if goal == 'holding':
            return tuple((k,) for k in range(1, min(start.balls, start.grippers) + 1))
        fits = {
            'evenly_distributed': start.balls % len(rooms) == 0,
            'focus_max': len(rooms) > 1 < start.balls and rooms.count(max(rooms)) == 1,
            'focus_min': len(rooms) > 1 < start.balls and rooms.count(min(rooms)) == 1,
            'pickup': start.balls <= start.grippers,
            'drop_and_pickup': len(rooms) > 1 and sum(rooms) <= start.grippers,
        }
        return ((),) if fits.get(goal, True) else ()

    def objects(self, parameters: Parameters) -> Mapping[str, Sequence[str]]:
        """See `Kit`."""
        start = cast(GripperStart, parameters)
        counts = {'room': len(start.rooms), 'ball': start.balls, 'gripper': start.grippers}
        return {kind: numbered(kind, count) for kind, count in counts.items()}

    def start_atoms(self, start: str, parameters: Parameters) -> list[Atom]:
        """See `Kit`."""
        scene = cast(GripperStart, parameters)
        found: list[Atom] = [
            (kind, name) for kind, names in self.objects(scene).items() for name in names
        ]
        found.append(('at-robby', 'room1'))
        carried = {n: n for n in range(1, scene.held + 1)}
        found += _carried_atoms(carried, scene.grippers)
        for room, balls in enumerate(scene.balls_in_rooms(), 1):
            found += [('at', ball, f'room{room}') for ball in balls]
        return found

    def goal_atoms(self, goal: str, wanted: Parameters, parameters: Parameters) -> list[Atom]:
        """See `Kit`; untied goals begin with the last ball, so that there is something to do."""
        start, numbers = cast(GripperStart, parameters), cast(tuple[int, ...], wanted)
        balls, rooms = numbered('ball', start.balls), numbered('room', len(start.rooms))
        if goal in ('holding', 'pickup'):
            count = numbers[0] if numbers else start.balls
            carried = {n: start.balls + 1 - n for n in range(1, count + 1)}
            return _carried_atoms(carried, start.grippers if numbers else 0)
        if goal == 'drop_and_pickup':
            lying = {n: start.held + n for n in range(1, sum(start.rooms) + 1)}
            dropped: list[Atom] = [('at', ball, 'room1') for ball in balls[: start.held]]
            return [*dropped, *_carried_atoms(lying, 0)]
        if goal == 'juggle':
            moved = {n % start.held + 1: n for n in range(1, start.held + 1)}
            stay: list[Atom] = [('at', ball, 'room1') for ball in balls[start.held :]]
            return [*_carried_atoms(moved, start.grippers), *stay]
        places = self._places(goal, numbers, start)
        return [
            *_carried_atoms({}, start.grippers),
            *(('at', ball, rooms[place]) for ball, place in zip(balls, places, strict=True)),
        ]

    def _places(self, goal: str, numbers: tuple[int, ...], start: GripperStart) -> list[int]:
        """The room of every ball in a goal without balls in grippers."""
        rooms = start.rooms
        if goal == 'swap':
            return [1] * rooms[0] + [0] * rooms[1]
        if goal in ('focus_max', 'focus_min'):
            chosen = max(rooms) if goal == 'focus_max' else min(rooms)
            return [rooms.index(chosen)] * start.balls
        if goal == 'one_room':
            return [len(rooms) - 1] * start.balls
        counts = numbers or (start.balls // len(rooms),) * len(rooms)
        return [place for place, count in enumerate(counts) for _ in range(count)][::-1]

    def start_words(self, start: str, parameters: Parameters) -> list[str]:
        """See `Kit`."""
        scene = cast(GripperStart, parameters)
        robot = 'the robot is in the first room'
        if scene.held:
            return [
                robot, f'as many grippers as {scene.held}, from the first one on, carry one ball '
                'each', 'the other grippers are empty', 'the other balls lie in the first room',
            ]  # fmt: skip
        where = {
            'one_room': 'all balls lie in the first room',
            'evenly_distributed': 'every room holds as many balls as any other',
        }.get(start, f'the numbers of balls in the rooms, in order, are {listed(scene.rooms)}')
        return [robot, where, _EMPTY]

    def goal_words(self, goal: str, wanted: Parameters, parameters: Parameters) -> list[str]:
        """See `Kit`."""
        numbers = cast(tuple[int, ...], wanted)
        if goal == 'juggle':
            return [
                'every carried ball has moved on to the next of the grippers that carried one, and '
                'the last of these balls to the first gripper', 'the other grippers are empty',
                'all other balls lie where they lay',
            ]  # fmt: skip
        if goal == 'drop_and_pickup':
            return [
                'the balls that were carried lie in the first room', 'the balls that lay in rooms '
                'are carried: taken room after room, they go to the first gripper, the second '
                'gripper and so on',
            ]  # fmt: skip
        if goal == 'holding':
            return [f'exactly {numbers[0]} of the grippers carry one ball each',
                    'the other grippers are empty']  # fmt: skip
        if goal == 'pickup':
            return ['every ball is carried by a gripper']
        where = {
            'one_room': 'all balls lie together in one room',
            'evenly_distributed': 'every room holds as many balls as any other',
            'n_room_distributed': f'the numbers of balls in the rooms are {listed(numbers or [0])}',
            'focus_max': 'all balls lie in the room that held the most balls at the start',
            'focus_min': 'all balls lie in the room that held the fewest balls at the start',
            'swap': 'every ball lies in the room where it did not lie at the start',
        }[goal]
        return [where, _EMPTY]

    def clause(self, atom: Atom) -> str:
        """See `Kit`."""
        if atom[0] == 'carry':
            return f'{atom[2]} carries {atom[1]}'
        return {
            'at-robby': 'the robot is in {}',
            'at': '{} lies in {}',
            'free': '{} is empty',
        }.get(atom[0], '').format(*atom[1:])


def _carried_atoms(balls: Mapping[int, int], grippers: int) -> list[Atom]:
    """What grippers carry, by their numbers; the rest of so many are free."""
    found: list[Atom] = [('carry', f'ball{balls[n]}', f'gripper{n}') for n in sorted(balls)]
    free = (n for n in range(1, grippers + 1) if n not in balls)
    return [*found, *(('free', f'gripper{n}') for n in free)]


@cache
def _into_rooms(balls: int, rooms: int) -> tuple[tuple[int, ...], ...]:
    """Numbers of balls for rooms, none of them empty."""
    return tuple(p for p in partitions(balls, rooms) if len(p) == rooms)


@cache
def _starts(name: str) -> tuple[GripperStart, ...]:
    if name in ('holding', 'juggle'):
        jugglers = _JUGGLERS if name == 'juggle' else _GRIPPERS
        return tuple(
            GripperStart((rest, *[0] * (rooms - 1)), held, grippers)
            for rooms in range(1, (5 if name == 'juggle' else 10) + 1)
            for grippers in jugglers
            for held in range(2 if name == 'juggle' else 1, grippers + 1)
            for rest in range(9 if name == 'juggle' else 6)
        )
    spread: list[tuple[int, ...]] = []
    for balls in range(1, _MOST_BALLS + 1):
        if name == 'swap':
            spread += [(one, balls - one) for one in range(1, balls)]
        elif name == 'one_room':
            spread += [(balls, *[0] * more) for more in range(_MOST_ROOMS)]
        elif name == 'evenly_distributed':
            spread += [(balls // n,) * n for n in range(1, 12) if balls % n == 0]
        else:
            spread += [p for n in range(2, _MOST_ROOMS + 1) for p in _into_rooms(balls, n)]
    return tuple(GripperStart(rooms, 0, grippers) for rooms in spread for grippers in _GRIPPERS)
