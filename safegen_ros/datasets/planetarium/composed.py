# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Problems of Blocks World and Gripper whose goals are composed of parts.

A goal says what became of the start: an operation, such as "has been turned upside down", on a
part of the start, such as the highest tower. Parts, operations and places are drawn by chance. The
test split combines them otherwise: no goal is one of its configurations, nor has the same atoms as
one from the same start.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, permutations

from safegen_ros.datasets.planetarium.blocksworld import BlocksWorldKit, dealt, tower_atoms
from safegen_ros.datasets.planetarium.gripper import GripperKit, GripperStart, carried_atoms
from safegen_ros.datasets.planetarium.layouts import Kit, Parameters
from safegen_ros.pddl.model import Atom
from safegen_ros.tasks.planetarium.descriptions import description

_Towers = list[list[str]]

_MOST_BLOCKS, _MOST_BALLS, _MOST_ROOMS = 55, 25, 8
_ORDINALS = ('first', 'second', 'third', 'fourth')


@dataclass(frozen=True, slots=True)
class Composed:
    """A problem with both halves summed up; `init` is without what the names of the objects say."""

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
        with suppress(_Unfit):
            return make(rng)


def _blocks(rng: random.Random) -> Composed:
    kit, heights = BlocksWorldKit(), _heights(rng)
    towers = dealt(heights, False)
    words, goal = rng.choice((_one_by_one, _one_by_one, _exchanged, _upon))(rng, towers)
    atoms = tower_atoms(goal)
    swap = len(heights) == 2 and min(heights) > 1
    _refuse(kit, heights, atoms, {'invert': True, 'swap': swap})
    start, end = kit.start_words('towers', heights), [*words, 'the hand is empty']
    text = description(kit.objects(heights), start, end)
    return Composed(kit, text, tower_atoms(towers), atoms)


def _heights(rng: random.Random) -> tuple[int, ...]:
    towers = rng.choice((2, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10))
    most = _MOST_BLOCKS if towers == 2 or rng.random() < 0.2 else 20
    highest = max(2, rng.choice((5, most // towers, 2 * most // towers, most)))
    heights = [rng.randint(1, highest) for _ in range(towers)]
    if sum(heights) > most:
        raise _Unfit
    return tuple(sorted(heights) if towers > 2 and rng.random() < 0.6 else heights)


def _refuse(kit: Kit, start: Parameters, goal: Sequence[Atom], held: Mapping[str, bool]) -> None:
    """Raises where a goal is one of the test split; empty grippers need not be told."""

    def told(atoms: Sequence[Atom]) -> set[Atom]:
        return {atom for atom in atoms if atom[0] != 'free'}

    for name, fits in held.items():
        if fits and told(goal) == told(kit.goal_atoms(name, start, start)):
            raise _Unfit


def _named(
    rng: random.Random, sizes: Sequence[int], kind: str, told: Sequence[str], count: int
) -> list[tuple[int, str]]:
    """Some things, with how they are meant: by place, or as largest or least of its size."""
    last = len(sizes) - 1
    words = {n: f'the {_ORDINALS[n]} {kind}' for n in range(min(last, len(_ORDINALS)))}
    words[last] = f'the last {kind}'
    for size, word in zip((max(sizes), min(sizes)), told, strict=True):
        if sizes.count(size) == 1 and rng.random() < 0.5:
            words[sizes.index(size)] = word
    if len(words) < count:
        raise _Unfit
    return rng.sample(sorted(words.items()), count)


def _some(rng: random.Random, towers: _Towers, count: int) -> list[tuple[int, str]]:
    told = ('the highest tower', 'the lowest tower')
    return _named(rng, [len(tower) for tower in towers], 'tower', told, count)


_PLACES = {'top': -1, 'second': 1, 'third': 2, 'bottom': 0}


_CHANGES: dict[str, Callable[[list[str]], _Towers]] = {
    'turned upside down': lambda tower: [tower[::-1]],
    'taken apart into single blocks': lambda tower: [[block] for block in tower],
    'robbed of the top block , which stands on the table': lambda tower: [tower[:-1], tower[-1:]],
    'robbed of the bottom block , which stands on the table': lambda tower: [tower[1:], tower[:1]],
    'built anew with the bottom block on top': lambda tower: [tower[1:] + tower[:1]],
    'built anew with the top block at the bottom': lambda tower: [tower[-1:] + tower[:-1]],
}
_TURNED, _APART, *_ = _CHANGES
_SWAPS = {f'changed , with the {a} block and the {b} block exchanged': (_PLACES[a], _PLACES[b])
          for a, b in permutations(_PLACES, 2)}  # fmt: skip


def _changed(what: str, tower: list[str]) -> _Towers:
    """What becomes of a tower."""
    if len(tower) < 2 and what not in (_TURNED, _APART):
        raise _Unfit
    if what in _CHANGES:
        return _CHANGES[what](tower)
    one, other = _SWAPS[what]
    if max(one, other) >= len(tower) or tower[one] == tower[other]:
        raise _Unfit
    found = [*tower]
    found[one], found[other] = tower[other], tower[one]
    return [found]


def _one_by_one(rng: random.Random, towers: _Towers) -> tuple[list[str], _Towers]:
    """The same with one tower, with two, with all but one, or with all; never all upside down."""
    what = rng.choice([_TURNED, *_CHANGES] if rng.random() < 0.7 else [*_SWAPS])
    scope = rng.choice(('one', 'two', 'but', 'every', 'every'))
    if what == _TURNED:
        scope = rng.choice(('one', 'one', 'two'))
    named = _some(rng, towers, 2 if scope == 'two' else 1)
    if scope == 'two' and len(towers) == 2:
        raise _Unfit
    places, every = {place for place, _ in named}, {*range(len(towers))}
    places = {'but': every - places, 'every': every}.get(scope, places)
    both = 'the two towers have each' if len(towers) == 2 else 'every tower has'
    who = {
        'one': f'{named[0][1]} has',
        'two': f'{named[0][1]} and {named[-1][1]} have each',
        'but': f'every tower but {named[0][1]} has',
        'every': rng.choice(('every tower has', both)),
    }[scope]
    changed = [_changed(what, t) if n in places else [t] for n, t in enumerate(towers)]
    rest = ['all other towers are unchanged'] if scope in ('one', 'two') else []
    return [f'{who} been {what}', *rest], [*chain(*changed)]


def _exchanged(rng: random.Random, towers: _Towers) -> tuple[list[str], _Towers]:
    """Two towers give each other a block; never both the bottom ones."""
    (a, one), (b, other) = _some(rng, towers, 2)
    if rng.random() < 0.5:
        same = rng.choice(('top', 'second', 'third'))
        places = (same, same)
        who = 'the two towers' if len(towers) == 2 else f'{one} and {other}'
        words = f'{who} have exchanged their {same} blocks'
    else:
        places = (rng.choice([*_PLACES]), rng.choice([*_PLACES]))
        if places == ('bottom', 'bottom'):
            raise _Unfit
        words = (
            f'{one} and {other} have exchanged the {places[0]} block of the former and the '
            f'{places[1]} block of the latter'
        )
    at = [_PLACES[place] for place in places]
    if at[0] >= len(towers[a]) or at[1] >= len(towers[b]):
        raise _Unfit
    found = [[*tower] for tower in towers]
    found[a][at[0]], found[b][at[1]] = towers[b][at[1]], towers[a][at[0]]
    rest = ['all other towers are unchanged'] if len(towers) > 2 else []
    return [f'{words} and are otherwise unchanged', *rest], found


def _upon(rng: random.Random, towers: _Towers) -> tuple[list[str], _Towers]:
    """A tower, or a block of one, goes upon another."""
    (a, one), (b, other) = _some(rng, towers, 2)
    found = [[*tower] for tower in towers]
    what = rng.choice(('', ' upside down', 'top', 'bottom'))
    if what in _PLACES:
        if len(towers[a]) < 2:
            raise _Unfit
        found[b].append(found[a].pop(_PLACES[what]))
        words = f'the {what} block of {one} rests on top of {other}'
        rest = ['every tower is otherwise unchanged']
    else:
        found[b] += towers[a][::-1] if what else towers[a]
        found[a] = []
        words = f'the whole of {one} rests{what} on top of {other}'
        rest = ['all other towers are unchanged'] if len(towers) > 2 else []
    return [words, *rest], [tower for tower in found if tower]


@dataclass
class _Balls:
    """The room of each ball that lies, and the ball of each gripper that carries one."""

    start: GripperStart
    rooms: dict[int, int]
    grippers: dict[int, int]

    def lying(self, places: Container[int]) -> list[int]:
        """The balls of some rooms."""
        return [ball for ball, place in self.rooms.items() if place in places]


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
    places = chain(*([place] * count for place, count in enumerate(start.rooms)))
    carried = {n: n for n in range(1, start.held + 1)}
    found = _Balls(start, dict(enumerate(places, start.held + 1)), carried)
    makes: Sequence[Callable[[random.Random, _Balls], Iterator[str]]] = (
        (_gathered, _gathered, _picked, _otherwise)
        if not start.held
        else (_held_moved, _held_moved, _held_dropped, _held_dropped)
    )
    words = [*rng.choice(makes)(rng, found)]
    free = start.grippers if any('empty' in word for word in words) else 0
    lying: list[Atom] = [
        ('at', f'ball{n}', f'room{place + 1}') for n, place in sorted(found.rooms.items())
    ]
    held = carried_atoms(found.grippers, free)
    dropped = words[0].startswith('the balls that were carried')
    goal = [*lying, *held] if dropped and found.grippers else [*held, *lying]
    several, fewest = len(start.rooms) > 1, start.rooms.count(min(start.rooms)) == 1
    _refuse(kit, start, goal, {
        'juggle': start.held > 1, 'swap': len(start.rooms) == 2 and not start.held,
        'drop_and_pickup': several, 'focus_min': several and fewest,
    })  # fmt: skip
    init = [atom for atom in kit.start_atoms(name, start) if kit.clause(atom)]
    text = description(kit.objects(start), kit.start_words(name, start), words)
    return Composed(kit, text, init, goal)


_SHIFTS = ((1, 'last'), (-1, 'first')) * 2 + ((0, 'last'), (0, 'first'))
_EMPTY, _OTHERS_EMPTY = 'all grippers are empty', 'the other grippers are empty'
_STAY = 'all other balls lie where they lay'
_TAKEN = (
    'are carried: taken room after room, they go to the first gripper, the second gripper and so on'
)


def _room(rng: random.Random, found: _Balls) -> tuple[int, str]:
    """A room, with how it is meant."""
    told = [f'the room that held the {size} balls at the start' for size in ('most', 'fewest')]
    return _named(rng, found.start.rooms, 'room', told, 1)[0]


def _gathered(rng: random.Random, found: _Balls) -> Iterator[str]:
    """Balls of one room, of all others, or all balls come to lie in a room."""
    (to, where), (of, whence) = _room(rng, found), _room(rng, found)
    way = rng.choice(('all', 'of', 'of', 'not of', 'every'))
    if way == 'all' and 'fewest' in where:
        raise _Unfit
    if way == 'every':
        yield 'every ball lies in the room where it lay at the start'
    else:
        every = range(len(found.start.rooms))
        moved = {'all': every, 'of': [of], 'not of': {*every} - {of}}[way]
        balls = found.lying(moved)
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
    if count < 2:
        raise _Unfit
    if count == 2:
        found.rooms |= dict.fromkeys(found.lying([of]), 1 - of)
        yield rng.choice((
            f'every ball of {whence} lies in the room where it did not lie at the start',
            f'all balls that lay in {whence} lie in the other room',
        ))  # fmt: skip
        yield _STAY
    else:
        step = rng.choice((1, -1))
        found.rooms |= {ball: (place + step) % count for ball, place in found.rooms.items()}
        way, end, begin = ('after', 'last', 'first') if step == 1 else ('before', 'first', 'last')
        yield (
            f'every ball lies in the room {way} the one where it lay at the start, and those of '
            f'the {end} room in the {begin} room'
        )
    yield _EMPTY


def _picked(rng: random.Random, found: _Balls) -> Iterator[str]:
    """Grippers carry the balls of a room, or of all rooms but one."""
    of, whence = _room(rng, found)
    but = rng.random() < 0.4
    balls = [ball for ball, place in found.rooms.items() if (place == of) != but]
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
    dropped = dict.fromkeys(found.grippers.values(), to)
    found.grippers = {}
    yield f'the balls that were carried lie in {where}'
    way = rng.choice(('stay', 'lie', 'taken', 'taken'))
    if way == 'taken':
        if to == 0 or len(lying) > found.start.grippers:
            raise _Unfit
        found.rooms, found.grippers = dropped, dict(enumerate(lying, 1))
        yield f'the balls that lay in rooms {_TAKEN}'
        if rng.random() < 0.3:
            yield _OTHERS_EMPTY
        return
    found.rooms |= dropped
    if way == 'lie':
        found.rooms |= dict.fromkeys(lying, other)
    yield f'the balls that lay in rooms lie in {elsewhere}' if way == 'lie' else _STAY
    yield _EMPTY


def _held_moved(rng: random.Random, found: _Balls) -> Iterator[str]:
    """Each carried ball moves on, and one at the end of them elsewhere."""
    count = found.start.held
    if count < 2:
        raise _Unfit
    step, which = rng.choice(_SHIFTS)
    dropped = step == 0 and rng.random() < 0.5
    to, where = _room(rng, found)
    one = count if which == 'last' else 1
    moved = {n + step: n for n in range(1, count + 1) if n != one}
    if dropped:
        found.rooms |= dict.fromkeys(moved.values(), to)
        moved = {}
    last = rng.choice(('first gripper', 'second gripper', 'last gripper', 'room', 'room', 'they'))
    at = {'first gripper': 1, 'second gripper': 2, 'they': count}.get(last, found.start.grippers)
    if last == 'room':
        place, room = _room(rng, found)
        found.rooms[one] = place
        end = f'lies in {room}'
    else:
        if at in moved or (step == 1 and at == 1):
            raise _Unfit
        moved[at] = one
        end = f'to the {last}' if last != 'they' else 'to the last gripper that carried one'
    found.grippers = moved
    how = {
        1: 'has moved on to the next of the grippers that carried one',
        -1: 'has moved back to the previous of the grippers that carried one',
        0: f'has gone to {where}' if dropped else 'has stayed in the gripper that carried it',
    }[step]
    yield f'every carried ball {how}, and the {which} of these balls {end}'
    yield _OTHERS_EMPTY if moved else _EMPTY
    if sum(found.start.rooms):
        yield _STAY
