# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What people ask of blocks that are seen on a table, in many words, with the goal that is meant.

None of it asks to swap or to invert, which the test split keeps for itself.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from safegen_ros.pddl.model import And, Atom, Problem
from safegen_ros.worlds.planetarium.dataset.layouts import listed, numbered
from safegen_ros.worlds.planetarium.domains import planetarium_domain
from safegen_ros.worlds.planetarium.words import ALL

_MOST_BLOCKS = 9

_ASKING = ('', '', '', 'please ', 'now ', 'can you ', 'could you ', 'i want you to ', 'robot, ',
           'the goal is to ', 'your task is to ', 'first of all ')  # fmt: skip
_PUT = ('put', 'place', 'stack', 'set', 'move', 'bring', 'lay', 'get')
_ONTO = ('on', 'on', 'on top of', 'onto', 'upon', 'over')
_WISHES = (
    '{} should be {}', '{} must be {}', '{} has to be {}', '{} is to be {}', 'i want {} {}',
    'i want {} to be {}', '{} goes {}', '{} shall stand {}', 'in the end {} is {}',
    'make sure that {} is {}', 'let {} end up {}', 'i need {} {}', 'we want to see {} {}',
)  # fmt: skip
_ON_TABLE = ('on the table', 'on the table', 'down on the table', 'onto the table')
_JOINTS = (' and ', ', ', ' and then ', ', then ', '. then ', '; ', ', and ')
_RULES = (
    ', and never put anything on {}', ', but {} must never be on the table', ', and at no time may '
    '{} be held', '. nothing may ever be on {}', ', but do not put {} on the table',
    ' and never hold {}', ', but {} must not be moved before that', '. always keep {} clear',
)  # fmt: skip
_SPREAD = (
    'put all blocks on the table', 'put everything on the table', 'take everything apart',
    'unstack all blocks', 'take all towers apart', 'spread all blocks out on the table',
    'every block should stand on the table', 'all blocks must be on the table',
    'put each block on the table by itself', 'lay all the blocks down on the table',
    'i want no block on another one', 'dismantle the towers',
)  # fmt: skip
_CLEAR = (
    'clear {}', 'make {} clear', 'free {}', 'uncover {}', 'take everything off {}',
    'nothing should be on {}', 'make sure that nothing is on {}', '{} must be clear',
    'i want nothing on {}', 'remove whatever is on {}', 'there should be no block on {}',
)  # fmt: skip
_HOLD = (
    'pick up {}', 'hold {}', 'grasp {}', 'take {} in the hand', 'lift {}', 'pick {} up',
    'i want you to hold {}', '{} should be in the hand', 'grab {}', 'keep {} in the hand',
)  # fmt: skip
_UPWARDS = (
    'build a tower with {0} at the bottom, {1} on top', 'stack a tower from the bottom: {2}',
    'make a tower: {0} at the bottom, then {1}', 'build a tower of {2} from bottom to top',
    'stack {2} in this order with {0} at the bottom', 'pile up {2}, starting with {0}',
    'make a stack from {0} up: then {1}', 'build a tower, first {0}, then {1}',
)  # fmt: skip
_DOWNWARDS = (
    'build a tower with {0} on top, then {1} below', 'make a tower of {2} from top to bottom',
    'stack {2} with {0} at the top', 'from top to bottom the tower should be {2}',
    'make a tower that is {2} from the top down', 'the tower should read from the top: {2}',
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Spoken:
    """A request about an observed world.

    Attributes:
        start: the world.
        text: the request.
        goal: what it asks for.
    """

    start: Problem
    text: str
    goal: tuple[Atom, ...]


def spoken(seed: str) -> Spoken:
    """The request of a seed."""
    rng = random.Random(seed)  # noqa: S311  # no secret
    blocks = numbered('b', rng.randint(2, rng.choice((5, 6, _MOST_BLOCKS))))
    rng.shuffle(blocks)
    domain = planetarium_domain('blocksworld')
    start = Problem(
        'observed', domain, dict.fromkeys(sorted(blocks), 'object'), _world(rng, blocks), And(()),
        (),
    )  # fmt: skip
    text, goal = rng.choice(_FORMS)(rng, rng.sample(blocks, len(blocks)))
    if rng.random() < 0.15:
        text += rng.choice(_RULES).format(_called(rng, rng.choice(blocks)))
    text = text[0].upper() + text[1:] if rng.random() < 0.5 else text
    return Spoken(start, text + rng.choice(('', '.', '.', '?')), tuple(goal))


def _world(rng: random.Random, blocks: list[str]) -> frozenset[Atom]:
    towers: list[list[str]] = []
    for block in blocks:
        if towers and rng.random() < 0.6:
            rng.choice(towers).append(block)
        else:
            towers.append([block])
    found: list[Atom] = [('arm-empty',)]
    for tower in towers:
        found += [('on-table', tower[0]), ('clear', tower[-1])]
        found += [('on', over, under) for under, over in pairwise(tower)]
    return frozenset(found)


def _called(rng: random.Random, block: str) -> str:
    return rng.choice(('{}', '{}', '{}', '{}', 'block {}', 'the block {}')).format(block)


def _wish(rng: random.Random, block: str, where: str) -> str:
    if rng.random() < 0.7:
        return f'{rng.choice(_ASKING)}{rng.choice(_PUT)} {_called(rng, block)} {where}'
    return rng.choice(_WISHES).format(_called(rng, block), where)


def _places(rng: random.Random, blocks: list[str]) -> tuple[str, list[Atom]]:
    """Blocks that are put somewhere, one after the other."""
    goal: list[Atom] = []
    parts: list[str] = []
    used = [blocks.pop()]
    wanted = rng.choice((1, 1, 1, 2, 2, 3, 4))
    while blocks and len(goal) < wanted:
        block = blocks.pop()
        if rng.random() < 0.3:
            goal.append(('on-table', block))
            where = rng.choice(_ON_TABLE)
        else:
            free = [u for u in used if not any(a[0] == 'on' and a[2] == u for a in goal)]
            under = rng.choice(free or [blocks.pop()] if free or blocks else used)
            if any(a[0] == 'on' and a[2] == under for a in goal):
                break
            goal.append(('on', block, under))
            where = f'{rng.choice(_ONTO)} {_called(rng, under)}'
        used.append(block)
        if parts and rng.random() < 0.4:
            parts.append(f'{_called(rng, block)} {where}')
        else:
            parts.append(_wish(rng, block, where))
    text = parts[0]
    for part in parts[1:]:
        text += rng.choice(_JOINTS) + part
    return text, goal


def _same(rng: random.Random, blocks: list[str]) -> tuple[str, list[Atom]]:
    """Several blocks on the table."""
    some = blocks[: rng.randint(1, min(4, len(blocks)))]
    return _wish(rng, listed(some), rng.choice(_ON_TABLE)), [('on-table', b) for b in some]


def _tower(rng: random.Random, blocks: list[str]) -> tuple[str, list[Atom]]:
    """A tower of at least two blocks."""
    some = blocks[: rng.randint(2, len(blocks))]
    shape = rng.random()
    if shape < 0.2:  # put a on b on c
        told = f' {rng.choice(("on", "on top of"))} '.join(some)
        text = f'{rng.choice(_ASKING)}{rng.choice(("put", "stack", "build", "make"))} {told}'
        some = some[::-1]
    elif shape < 0.65:
        joint = rng.choice((', then ', ', ', ' and then '))
        told = rng.choice(_UPWARDS).format(some[0], joint.join(some[1:]), listed(some))
        text = rng.choice(_ASKING) + told
    else:
        told = rng.choice(_DOWNWARDS).format(some[0], ', then '.join(some[1:]), listed(some))
        text = (rng.choice(_ASKING) if told[0] in 'bms' else '') + told
        some = some[::-1]
    return text, [('on', over, under) for under, over in pairwise(some)]


def _all_down(rng: random.Random, blocks: list[str]) -> tuple[str, list[Atom]]:
    return rng.choice(_SPREAD), [('on-table', ALL)]


def _cleared(rng: random.Random, blocks: list[str]) -> tuple[str, list[Atom]]:
    some = blocks[: rng.choice((1, 1, 1, 2))]
    return rng.choice(_CLEAR).format(listed(some)), [('clear', block) for block in some]


def _held(rng: random.Random, blocks: list[str]) -> tuple[str, list[Atom]]:
    text = rng.choice(_HOLD).format(_called(rng, blocks[0]))
    return text, [('holding', blocks[0])]


def _placed_and_more(rng: random.Random, blocks: list[str]) -> tuple[str, list[Atom]]:
    """Something put somewhere, and something cleared."""
    last = blocks.pop()
    text, goal = (_places if blocks[1:] else _same)(rng, blocks)
    if any(last in atom for atom in goal):
        return text, goal
    return f'{text}{rng.choice(_JOINTS)}{rng.choice(_CLEAR[:5]).format(last)}', [
        *goal, ('clear', last),
    ]  # fmt: skip


_Form = Callable[[random.Random, list[str]], tuple[str, list[Atom]]]
_FORMS: tuple[_Form, ...] = (
    _places, _places, _places, _places, _tower, _tower, _tower, _same, _all_down, _cleared, _held,
    _placed_and_more,
)  # fmt: skip
