# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Problems of Blocks World and Gripper whose goals are composed of parts.

A goal tells what became of the start: an operation, such as "has been turned upside down", on a
part of the start, such as the highest tower. Parts, operations and places are drawn by chance. The
test split combines them otherwise: no goal is one of its configurations, nor has the same atoms as
one from the same start.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from safegen_ros.datasets.planetarium.blocksworld import BlocksWorldKit, dealt, tower_atoms
from safegen_ros.datasets.planetarium.gripper import GripperKit, GripperStart, carried_atoms
from safegen_ros.datasets.planetarium.layouts import Kit
from safegen_ros.pddl.model import Atom
from safegen_ros.tasks.planetarium.descriptions import description

_Towers = list[list[str]]

_MOST_BLOCKS, _MOST_BALLS, _MOST_ROOMS = 55, 25, 8
_ORDINALS = ('first', 'second', 'third', 'fourth')


@dataclass(frozen=True, slots=True)
class Composed:
    """A problem with both halves summed up.

    Attributes:
        init: the initial state, without what naming the objects tells.
    """

    kit: Kit
    text: str
    init: Sequence[Atom]
    goal: Sequence[Atom]


class _Unfit(Exception):
    """The drawn parts do not go together."""


def composed(seed: str) -> Composed:
    """The problem of a seed."""
    rng = random.Random(seed)  # noqa: S311  # no secret
    make = rng.choice((_blocks, _balls))
    while True:
        try:
            return make(rng)
        except _Unfit:
            continue


def _blocks(rng: random.Random) -> Composed:
    kit = BlocksWorldKit()
    heights = _heights(rng)
    towers = dealt(heights, False)
    words, goal = rng.choice((_one_by_one, _one_by_one, _exchanged, _upon))(rng, towers)
    atoms = tower_atoms(goal)
    held = [kit.goal_atoms('invert', heights, heights)]
    if len(heights) == 2 and min(heights) > 1:
        held.append(kit.goal_atoms('swap', heights, heights))
    init = tower_atoms(towers)
    _refuse(atoms, held)
    objects = kit.objects(heights)
    start = kit.start_words('towers', heights)
    return Composed(kit, description(objects, start, [*words, 'the hand is empty']), init, atoms)


def _heights(rng: random.Random) -> tuple[int, ...]:
    towers = rng.choice((2, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10))
    most = _MOST_BLOCKS if towers == 2 or rng.random() < 0.2 else 20
    highest = max(2, rng.choice((5, most // towers, 2 * most // towers, most)))
    heights = [rng.randint(1, highest) for _ in range(towers)]
    if sum(heights) > most:
        raise _Unfit
    return tuple(sorted(heights) if towers > 2 and rng.random() < 0.6 else heights)


def _refuse(goal: Sequence[Atom], held: Sequence[Sequence[Atom]]) -> None:
    """Raises where a goal is one of the test split; empty grippers need not be told."""

    def told(atoms: Sequence[Atom]) -> set[Atom]:
        return {atom for atom in atoms if atom[0] != 'free'}

    if any(told(goal) == told(each) for each in held):
        raise _Unfit


def _chosen(
    rng: random.Random, sizes: Sequence[int], kind: str, told: tuple[str, str]
) -> list[str]:
    """How each of some things is meant: by its place, or by its size if that is unique."""
    words = [
        f'the {"last" if n == len(sizes) - 1 else _ORDINALS[n]} {kind}'
        for n in range(len(sizes))
        if n < len(_ORDINALS) or n == len(sizes) - 1
    ]
    places = [*range(len(words) - 1), len(sizes) - 1]
    found = [''] * len(sizes)
    for place, each in zip(places, words, strict=True):
        found[place] = each
    for size, word in zip((max(sizes), min(sizes)), told, strict=True):
        if sizes.count(size) == 1 and rng.random() < 0.5:
            found[sizes.index(size)] = word
    return found


def _named(rng: random.Random, towers: _Towers, count: int) -> list[tuple[int, str]]:
    """Some towers, with how they are meant."""
    told = ('the highest tower', 'the lowest tower')
    words = _chosen(rng, [len(tower) for tower in towers], 'tower', told)
    ways = [(place, word) for place, word in enumerate(words) if word]
    if len(ways) < count:
        raise _Unfit
    return rng.sample(ways, count)


_PLACES = {'top': -1, 'second': 1, 'third': 2, 'bottom': 0}


def _changed(what: str, tower: list[str]) -> _Towers:
    """What becomes of a tower."""
    if what == 'turned upside down':
        return [tower[::-1]]
    if what == 'taken apart into single blocks':
        return [[block] for block in tower]
    if len(tower) < 2:
        raise _Unfit
    first, *middle, last = tower
    if what.startswith('changed'):
        one, other = (_PLACES[word] for word in what.split() if word in _PLACES)
        found = [*tower]
        if max(one, other) >= len(tower) or tower[one] == tower[other]:
            raise _Unfit
        found[one], found[other] = tower[other], tower[one]
        return [found]
    return {
        'robbed of the top block , which stands on the table': [[first, *middle], [last]],
        'robbed of the bottom block , which stands on the table': [[*middle, last], [first]],
        'built anew with the bottom block on top': [[*middle, last, first]],
        'built anew with the top block at the bottom': [[last, first, *middle]],
    }[what]


_CHANGES = (
    'turned upside down', 'turned upside down', 'taken apart into single blocks',
    'robbed of the top block , which stands on the table',
    'robbed of the bottom block , which stands on the table',
    'built anew with the bottom block on top', 'built anew with the top block at the bottom',
    *(f'changed , with the {a} block and the {b} block exchanged'
      for a in _PLACES for b in _PLACES if a != b),
)  # fmt: skip


def _one_by_one(rng: random.Random, towers: _Towers) -> tuple[list[str], _Towers]:
    """The same with one tower, with two, with all but one, or with all; never all upside down."""
    what = rng.choice(_CHANGES[:7] if rng.random() < 0.7 else _CHANGES[7:])
    scope = rng.choice(('one', 'two', 'but', 'every', 'every'))
    if what == 'turned upside down':
        scope = rng.choice(('one', 'one', 'two'))
    named = _named(rng, towers, 2 if scope == 'two' else 1)
    if scope == 'two' and len(towers) == 2:
        raise _Unfit
    places = {place for place, _ in named}
    if scope in ('but', 'every'):
        every = set(range(len(towers)))
        places = every - places if scope == 'but' else every
    both = 'the two towers have each' if len(towers) == 2 else 'every tower has'
    who = {
        'one': f'{named[0][1]} has',
        'two': f'{named[0][1]} and {named[-1][1]} have each',
        'but': f'every tower but {named[0][1]} has',
        'every': rng.choice(('every tower has', both)),
    }[scope]
    words = [f'{who} been {what}']
    if scope in ('one', 'two'):
        words.append('all other towers are unchanged')
    found: _Towers = []
    for place, tower in enumerate(towers):
        found += _changed(what, tower) if place in places else [tower]
    return words, found


def _exchanged(rng: random.Random, towers: _Towers) -> tuple[list[str], _Towers]:
    """Two towers give each other a block; never both the bottom ones."""
    (a, one), (b, other) = _named(rng, towers, 2)
    if rng.random() < 0.5:
        same = rng.choice(('top', 'second', 'third'))
        places = (same, same)
        who = 'the two towers' if len(towers) == 2 else f'{one} and {other}'
        words = [f'{who} have exchanged their {same} blocks and are otherwise unchanged']
    else:
        places = (rng.choice([*_PLACES]), rng.choice([*_PLACES]))
        if places == ('bottom', 'bottom'):
            raise _Unfit
        words = [
            f'{one} and {other} have exchanged the {places[0]} block of the former and the '
            f'{places[1]} block of the latter and are otherwise unchanged'
        ]
    at = [_PLACES[place] for place in places]
    if at[0] >= len(towers[a]) or at[1] >= len(towers[b]):
        raise _Unfit
    found = [[*tower] for tower in towers]
    found[a][at[0]], found[b][at[1]] = towers[b][at[1]], towers[a][at[0]]
    return [*words, *(['all other towers are unchanged'] if len(towers) > 2 else [])], found


def _upon(rng: random.Random, towers: _Towers) -> tuple[list[str], _Towers]:
    """A tower, or a block of one, goes upon another."""
    (a, one), (b, other) = _named(rng, towers, 2)
    found = [[*tower] for tower in towers]
    what = rng.choice(('', ' upside down', 'top', 'bottom'))
    if what in _PLACES:
        if len(towers[a]) < 2:
            raise _Unfit
        found[b].append(found[a].pop(_PLACES[what]))
        words = f'the {what} block of {one} rests on top of {other}'
    else:
        found[b] += towers[a][::-1] if what else towers[a]
        found[a] = []
        words = f'the whole of {one} rests{what} on top of {other}'
    rest = ['every tower is otherwise unchanged'] if what in _PLACES else []
    if not rest and len(towers) > 2:
        rest = ['all other towers are unchanged']
    return [words, *rest], [tower for tower in found if tower]


@dataclass
class _Balls:
    """Where balls are: in a room, or in a gripper."""

    start: GripperStart
    rooms: dict[str, int]
    grippers: dict[int, str]

    @property
    def held(self) -> list[str]:
        """The balls that are carried at the start."""
        return [f'ball{n}' for n in range(1, self.start.held + 1)]

    def lying(self, places: Sequence[int]) -> list[str]:
        """The balls of some rooms, room after room."""
        rooms = self.start.balls_in_rooms()
        return [ball for place in places for ball in rooms[place]]


def _balls(rng: random.Random) -> Composed:
    kit = GripperKit()
    if rng.random() < 0.5:
        grippers = rng.randint(2, 10)
        rooms = (rng.randint(0, 8), *[0] * rng.randint(0, _MOST_ROOMS))
        start, name = GripperStart(rooms, rng.randint(1, grippers), grippers), 'holding'
    else:
        counts = [rng.randint(0, 6) for _ in range(rng.choice((1, 2, 2, 3, 3, 4, 5, 6, 7, 8)))]
        if len(counts) == 2:
            counts = [rng.randint(1, 20), rng.randint(1, 20)]
        if rng.random() < 0.5:
            counts = [max(counts), *[0] * (len(counts) - 1)]
        elif 0 in counts:
            raise _Unfit
        elif rng.random() < 0.5:
            counts.sort()
        start = GripperStart(tuple(counts), 0, rng.randint(2, 5))
        name = 'n_room_distributed' if all(counts) else 'one_room'
    if not 0 < start.balls <= _MOST_BALLS:
        raise _Unfit
    where = {ball: n for n, balls in enumerate(start.balls_in_rooms()) for ball in balls}
    found = _Balls(start, where, {n: f'ball{n}' for n in range(1, start.held + 1)})
    makes: list[Callable[[random.Random, _Balls], Iterator[str]]] = (
        [_held_moved, _held_moved, _held_dropped, _held_dropped] if start.held
        else [_gathered, _gathered, _picked, _otherwise]
    )  # fmt: skip
    words = [*rng.choice(makes)(rng, found)]
    free = start.grippers if any('empty' in word for word in words) else 0
    numbers = {n: int(ball[4:]) for n, ball in found.grippers.items()}
    lie = sorted(found.rooms.items(), key=lambda each: int(each[0][4:]))
    lying: list[Atom] = [('at', ball, f'room{place + 1}') for ball, place in lie]
    held = carried_atoms(numbers, free)
    dropped = words[0].startswith('the balls that were carried')
    goal = [*lying, *held] if dropped and numbers else [*held, *lying]
    _refuse(goal, [*_held_back(kit, start)])
    init = [atom for atom in kit.start_atoms(name, start) if kit.clause(atom)]
    text = description(kit.objects(start), kit.start_words(name, start), words)
    return Composed(kit, text, init, goal)


def _held_back(kit: GripperKit, start: GripperStart) -> Iterator[Sequence[Atom]]:
    """The goals of the test split from a start."""
    if start.held > 1:
        yield kit.goal_atoms('juggle', (), start)
    if len(start.rooms) == 2 and not start.held:
        yield kit.goal_atoms('swap', (), start)
    if len(start.rooms) > 1:
        yield kit.goal_atoms('drop_and_pickup', (), start)
        if start.rooms.count(min(start.rooms)) == 1:
            yield kit.goal_atoms('focus_min', (), start)


_SHIFTS = ((1, 'last'), (-1, 'first'))
_EMPTY, _OTHERS_EMPTY = 'all grippers are empty', 'the other grippers are empty'
_STAY = 'all other balls lie where they lay'
_TAKEN = (
    'are carried: taken room after room, they go to the first gripper, the second gripper and so on'
)


def _room(rng: random.Random, found: _Balls) -> tuple[int, str]:
    """A room, with how it is meant."""
    told = (
        'the room that held the most balls at the start',
        'the room that held the fewest balls at the start',
    )
    words = _chosen(rng, found.start.rooms, 'room', told)
    return rng.choice([(place, word) for place, word in enumerate(words) if word])


def _gathered(rng: random.Random, found: _Balls) -> Iterator[str]:
    """Balls of one room, of all others, or all balls come to lie in a room."""
    (to, where), (of, whence) = _room(rng, found), _room(rng, found)
    way = rng.choice(('all', 'of', 'of', 'not of', 'every'))
    if way == 'all' and 'fewest' in where:
        raise _Unfit
    if way == 'every':
        yield 'every ball lies in the room where it lay at the start'
    else:
        moved = {'all': range(len(found.start.rooms)), 'of': [of]}.get(
            way, [n for n in range(len(found.start.rooms)) if n != of]
        )
        balls = found.lying([*moved])
        if not balls:
            raise _Unfit
        found.rooms |= dict.fromkeys(balls, to)
        yield {
            'all': f'all balls lie in {where}',
            'of': f'all balls that lay in {whence} lie in {where}',
            'not of': f'every ball that did not lie in {whence} at the start lies in {where}',
        }[way]
        if way != 'all':
            yield _STAY
    yield _EMPTY


def _otherwise(rng: random.Random, found: _Balls) -> Iterator[str]:
    """Balls of one of two rooms go to the other, or all balls to the next of more rooms."""
    of, whence = _room(rng, found)
    count = len(found.start.rooms)
    if count == 2:
        found.rooms |= dict.fromkeys(found.lying([of]), 1 - of)
        yield rng.choice((
            f'every ball of {whence} lies in the room where it did not lie at the start',
            f'all balls that lay in {whence} lie in the other room',
        ))  # fmt: skip
        yield _STAY
    elif count > 2:
        step = rng.choice((1, -1))
        found.rooms |= {ball: (place + step) % count for ball, place in found.rooms.items()}
        yield (
            'every ball lies in the room after the one where it lay at the start, and those of the '
            'last room in the first room' if step == 1 else
            'every ball lies in the room before the one where it lay at the start, and those of '
            'the first room in the last room'
        )  # fmt: skip
    else:
        raise _Unfit
    yield _EMPTY


def _picked(rng: random.Random, found: _Balls) -> Iterator[str]:
    """Grippers carry the balls of a room, or of all rooms but one."""
    of, whence = _room(rng, found)
    but = rng.random() < 0.4
    places = [n for n in range(len(found.start.rooms)) if (n == of) != but]
    balls = found.lying(places)
    if not 0 < len(balls) <= found.start.grippers:
        raise _Unfit
    found.grippers = dict(enumerate(balls, 1))
    found.rooms = {ball: at for ball, at in found.rooms.items() if ball not in balls}
    yield f'the balls that {"did not lie" if but else "lay"} in {whence} {_TAKEN}'
    if found.rooms:
        yield _STAY
    if rng.random() < 0.4:
        yield _OTHERS_EMPTY


def _held_dropped(rng: random.Random, found: _Balls) -> Iterator[str]:
    """The carried balls come to lie in a room, and those of rooms somewhere else."""
    (to, where), (other, elsewhere) = _room(rng, found), _room(rng, found)
    lying = found.lying(range(len(found.start.rooms)))
    if 'fewest' in where and 'fewest' in elsewhere:
        raise _Unfit
    found.rooms |= dict.fromkeys(found.held, to)
    found.grippers = {}
    yield f'the balls that were carried lie in {where}'
    way = rng.choice(('stay', 'lie', 'taken', 'taken'))
    if way == 'taken':
        if to == 0 or len(lying) > found.start.grippers:
            raise _Unfit
        found.rooms = dict.fromkeys(found.held, to)
        found.grippers = dict(enumerate(lying, 1))
        yield f'the balls that lay in rooms {_TAKEN}'
        if rng.random() < 0.3:
            yield _OTHERS_EMPTY
        return
    if way == 'lie':
        found.rooms |= dict.fromkeys(lying, other)
        yield f'the balls that lay in rooms lie in {elsewhere}'
    else:
        yield _STAY
    yield _EMPTY


def _held_moved(rng: random.Random, found: _Balls) -> Iterator[str]:
    """Each carried ball moves on, and one at the end of them elsewhere."""
    count = found.start.held
    if count < 2:
        raise _Unfit
    step, which = rng.choice((*_SHIFTS, *_SHIFTS, (0, 'last'), (0, 'first')))
    dropped = step == 0 and rng.random() < 0.5
    to, where = _room(rng, found)
    one = count if which == 'last' else 1
    moved = {n + step: f'ball{n}' for n in range(1, count + 1) if n != one}
    if dropped:
        found.rooms |= dict.fromkeys(moved.values(), to)
        moved = {}
    last = rng.choice(('first gripper', 'second gripper', 'last gripper', 'room', 'room', 'they'))
    at = {'first gripper': 1, 'second gripper': 2, 'they': count}.get(last, found.start.grippers)
    if last == 'room':
        place, room = _room(rng, found)
        found.rooms[f'ball{one}'] = place
        end = f'lies in {room}'
    else:
        if at in moved or (step == 1 and at == 1):
            raise _Unfit
        moved[at] = f'ball{one}'
        end = f'to the {last}' if last != 'they' else 'to the last gripper that carried one'
    found.grippers = moved
    how = {
        1: 'has moved on to the next of the grippers that carried one',
        -1: 'has moved back to the previous of the grippers that carried one',
        0: f'has gone to {where}' if dropped else 'has stayed in the gripper that carried it',
    }[step]
    yield f'every carried ball {how}, and the {which} of these balls {end}'
    if moved:
        yield _OTHERS_EMPTY
    else:
        yield _EMPTY
    if sum(found.start.rooms):
        yield _STAY
