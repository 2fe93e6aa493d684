# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Understands descriptions of Gripper."""

from __future__ import annotations

import re
from collections.abc import Sequence

from safegen_ros.pddl.model import Atom
from safegen_ros.tasks.planetarium.dataset.hearing import Objects, atoms_heard, numbers_in, only

_CLAUSES = {
    'at-robby': r'the robot is in (?P<a>room\d+)',
    'at': r'(?P<a>ball\d+) lies in (?P<b>room\d+)',
    'free': r'(?P<a>gripper\d+) is empty',
    'carry': r'(?P<b>gripper\d+) carries (?P<a>ball\d+)',
}
_EMPTY, _OTHERS = 'all grippers are empty', 'the other grippers are empty'
_EVENLY = 'every room holds as many balls as any other'
_JUGGLED = (
    'every carried ball has moved on to the next of the grippers that carried one, and the last of '
    'these balls to the first gripper'
)
_DROPPED = 'the balls that were carried lie in the first room'
_TAKEN = (
    'the balls that lay in rooms are carried: taken room after room, they go to the first gripper, '
    'the second gripper and so on'
)

_Places = dict[str, str]
"""Where each ball is: a room or a gripper."""


def heard_grippers(
    start: Sequence[str], goal: Sequence[str], objects: Objects
) -> tuple[list[Atom], list[Atom]]:
    """As `heard_blocks`."""
    kinds: list[Atom] = [(kind, name) for kind, names in objects.items() for name in names]
    places: _Places = {}
    init = atoms_heard(start, _CLAUSES)
    if init is None:
        places = _start(start, objects)
        init = [('at-robby', objects['room'][0]), *_scene(places, objects, objects['gripper'])]
    wanted = atoms_heard(goal, _CLAUSES)
    return [*kinds, *init], _goal(goal, places, objects) if wanted is None else wanted


def _start(clauses: Sequence[str], objects: Objects) -> _Places:
    rooms, balls = objects['room'], list(objects['ball'])
    robot, what, *more = clauses
    only([robot], ['the robot is in the first room'])
    if what.startswith('as many grippers as '):
        only(more, [_OTHERS, 'the other balls lie in the first room'])
        (held,) = numbers_in(what)
        carried = {balls.pop(): objects['gripper'][n] for n in range(held)}
        return {**carried, **dict.fromkeys(balls, rooms[0])}
    only(more, [_EMPTY])
    if what == 'all balls lie in the first room':
        return dict.fromkeys(balls, rooms[0])
    return _spread(what, 'the numbers of balls in the rooms, in order, are ', rooms, balls)


def _spread(what: str, beginning: str, rooms: Sequence[str], balls: Sequence[str]) -> _Places:
    """Balls in rooms, evenly or by their numbers."""
    if what == _EVENLY:
        if len(balls) % len(rooms):
            raise ValueError(f'{len(balls)} balls cannot be spread evenly over {len(rooms)} rooms')
        return {ball: rooms[n % len(rooms)] for n, ball in enumerate(balls)}
    if not what.startswith(beginning):
        raise ValueError(f'{what!r} is unknown')
    counts = numbers_in(what)
    if len(counts) != len(rooms) or sum(counts) != len(balls):
        raise ValueError(f'{what!r} does not fit {len(balls)} balls and {len(rooms)} rooms')
    rest = list(balls)
    return {rest.pop(): room for room, many in zip(rooms, counts, strict=True) for _ in range(many)}


def _goal(clauses: Sequence[str], start: _Places, objects: Objects) -> list[Atom]:
    rooms, balls, grippers = (list(objects[kind]) for kind in ('room', 'ball', 'gripper'))
    what, *more = clauses
    if what == 'every ball is carried by a gripper':
        only(more, [])
        return _scene(dict(zip(balls, grippers, strict=False)), objects, ())
    if re.fullmatch(r'exactly \d+ of the grippers carry one ball each', what):
        only(more, [_OTHERS])
        pairs = dict(zip(balls[: numbers_in(what)[0]], reversed(grippers), strict=False))
        return _scene(pairs, objects, grippers)
    carried = {place: ball for ball, place in start.items() if place in grippers}
    if what == _JUGGLED:
        only(more, [_OTHERS, 'all other balls lie where they lay'])
        hands = sorted(carried, key=grippers.index)
        moved = {carried[hand]: after for hand, after in zip(hands, [*hands[1:], hands[0]],
                                                             strict=True)}  # fmt: skip
        return _scene({**start, **moved}, objects, grippers)
    if what == _DROPPED:
        only(more, [_TAKEN])
        lying = sorted((b for b in start if start[b] in rooms), key=lambda b: rooms.index(start[b]))
        taken = dict(zip(lying, grippers, strict=False))
        return _scene({**dict.fromkeys(carried.values(), rooms[0]), **taken}, objects, ())
    only(more, [_EMPTY])
    return _scene(_arranged(what, start, rooms, balls), objects, grippers)


def _arranged(what: str, start: _Places, rooms: list[str], balls: list[str]) -> _Places:
    """Balls in rooms, in a goal where all grippers are empty."""
    if what == 'all balls lie together in one room':
        return dict.fromkeys(balls, rooms[0])
    if what == 'every ball lies in the room where it did not lie at the start':
        first, second = rooms
        return {ball: second if room == first else first for ball, room in start.items()}
    crowd = re.fullmatch(
        'all balls lie in the room that held the (most|fewest) balls at the start', what
    )
    if crowd is None:
        return _spread(what, 'the numbers of balls in the rooms are ', rooms, balls)
    counts = {room: list(start.values()).count(room) for room in rooms}
    many = (max if crowd[1] == 'most' else min)(counts.values())
    (chosen,) = (room for room in rooms if counts[room] == many)
    return dict.fromkeys(balls, chosen)


def _scene(places: _Places, objects: Objects, told: Sequence[str]) -> list[Atom]:
    """The atoms of balls at places, and of grippers that are told to be free otherwise."""
    atoms: list[Atom] = [
        ('at' if place in objects['room'] else 'carry', ball, place)
        for ball, place in places.items()
    ]
    return [*atoms, *(('free', hand) for hand in told if hand not in places.values())]
