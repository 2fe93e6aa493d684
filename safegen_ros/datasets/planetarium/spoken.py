# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What people ask of blocks that are seen on a table, in many words, with the goal that is meant.

None of it asks to swap or to invert, which the test split keeps for itself. There are no rules in
it: `request.request_rules` takes them out before a model is asked.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from safegen_ros.datasets.planetarium.layouts import numbered
from safegen_ros.pddl.model import And, Atom, Problem
from safegen_ros.tasks.planetarium.descriptions import listed
from safegen_ros.tasks.planetarium.domains import planetarium_domain
from safegen_ros.tasks.planetarium.translator_words import ALL

_MOST_BLOCKS = 9

_ASKING = ('', '', '', 'please ', 'now ', 'can you ', 'could you ', 'i want you to ', 'robot, ',
           'the goal is to ', 'your task is to ', 'first of all ', 'would you ',
           'would you please ', 'i would like you to ', 'i need you to ', 'you should ',
           'you have to ', 'next ', 'kindly ', 'just ', 'go ahead and ', 'hey robot, ', 'robot ',
           'then ', 'so ', 'what i want is that you ', 'help me to ', 'try to ',
           'let us ')  # fmt: skip
_PLEASE = (', please', ' please', ', thanks', ', would you', ', will you', ', ok', ' for me')
_PUT = ('put', 'place', 'stack', 'set', 'move', 'bring', 'lay', 'get')
_ONTO = ('on', 'on', 'on', 'on top of', 'on top of', 'onto', 'upon', 'over', 'atop',
         'directly on', 'right on top of', 'on the top of')  # fmt: skip
_UNDER = ('under', 'below', 'beneath', 'underneath', 'directly under')
_IT = ('it', 'it', 'it', 'that', 'that one', 'that block', 'this one')
_TAKEN = (
    'pick up {0} and {1} it {2}', 'take {0} and {1} it {2}', 'grab {0} and {1} it {2}',
    'pick {0} up and {1} it {2}', 'take {0}, then {1} it {2}', 'pick up {0}, {1} it {2}',
    'take {0} from where it is and {1} it {2}', 'lift {0} and {1} it {2}', 'grab {0}, {1} it {2}',
    'take {0} off {3} and {1} it {2}', 'lift {0} off {3} and {1} it {2}',
    'remove {0} from {3} and {1} it {2}', 'take {0} down from {3} and {1} it {2}',
)  # fmt: skip
_WISHES = (
    '{} should be {}', '{} must be {}', '{} has to be {}', '{} is to be {}', 'i want {} {}',
    'i want {} to be {}', '{} goes {}', '{} shall stand {}', 'in the end {} is {}',
    'make sure that {} is {}', 'let {} end up {}', 'i need {} {}', 'we want to see {} {}',
    'i would like {} {}', 'i would like to have {} {}', 'i want to have {} {}', 'have {} {}',
    '{} needs to be {}', '{} belongs {}', '{} ought to be {}', '{} shall be {}', '{} must go {}',
    '{} should go {}', '{} has to go {}', 'at the end {} should be {}', 'finally {} must be {}',
    'i need {} to be {}', 'see to it that {} is {}', 'what i want is {} {}', '{} will be {}',
    'we need {} {}', 'i want to see {} {}', 'it is important that {} is {}', '{} should end up {}',
    'when you are done {} should be {}', 'there should be {} {}', '{} should sit {}',
)  # fmt: skip
_ON_TABLE = ('on the table', 'on the table', 'down on the table', 'onto the table')
_JOINTS = (' and ', ', ', ' and then ', ', then ', '. then ', '; ', ', and ')
_SPREAD = (
    'put all blocks on the table', 'put everything on the table', 'take everything apart',
    'unstack all blocks', 'take all towers apart', 'spread all blocks out on the table',
    'every block should stand on the table', 'all blocks must be on the table',
    'put each block on the table by itself', 'lay all the blocks down on the table',
    'i want no block on another one', 'dismantle the towers', 'no block should be on another',
    'everything down on the table', 'everything should be on the table', 'clear up the towers',
    'i would like to have every block on the table', 'nothing should be stacked',
    'there should be no towers', 'tear down every tower', 'put them all on the table',
    'get all of the blocks onto the table', 'all of them belong on the table',
    'lay out all blocks next to each other on the table',
)  # fmt: skip
_CLEAR = (
    'clear {}', 'make {} clear', 'free {}', 'uncover {}', 'take everything off {}',
    'nothing should be on {}', 'make sure that nothing is on {}', '{} must be clear',
    'i want nothing on {}', 'remove whatever is on {}', 'there should be no block on {}',
    'i need {} to be clear', 'i need {} clear', '{} should be clear', 'i would like {} to be clear',
    'i want {} clear', 'get everything off {}', 'no block should be on {}', '{} must be free',
    'i want to have {} free', 'take away what is on {}', 'i want you to make {} clear',
    'have nothing on {}', 'see to it that {} is clear', '{} has to be clear', 'let {} be clear',
    '{} should have nothing on it', '{} must have no block on it', 'i need to see the top of {}',
)  # fmt: skip
_HOLD = (
    'pick up {}', 'hold {}', 'grasp {}', 'take {} in the hand', 'lift {}', 'pick {} up',
    'i want you to hold {}', '{} should be in the hand', 'grab {}', 'keep {} in the hand',
    'take {}', 'have {} in the hand', 'i would like you to hold {}', '{} must be held',
    'would you pick up {}', 'end with {} in the hand', 'the hand should hold {}',
    'the robot should be holding {}', 'pick up {} and hold it', 'lift {} off',
    'i want {} in the hand', 'take hold of {}', 'i want the robot to hold {}',
    'finish with {} in the hand', 'end up holding {}', 'keep hold of {}', 'hold {} up',
    'pick up {} and keep hold of it', 'hold on to {}', 'hold {} in the air', 'keep holding {}',
    'i want to see {} held', '{} should be picked up', 'finish by holding {}',
)  # fmt: skip
_DOING = ('build', 'have', 'let', 'make', 'pile', 'stack', 'start', 'use')
_UPWARDS = (
    'build a tower with {0} at the bottom, {1} on top', 'stack a tower from the bottom: {2}',
    'make a tower: {0} at the bottom, then {1}', 'build a tower of {2} from bottom to top',
    'stack {2} in this order with {0} at the bottom', 'pile up {2}, starting with {0}',
    'make a stack from {0} up: then {1}', 'build a tower, first {0}, then {1}',
    'the tower shall have {0} at the bottom, then {1}', 'i would like a tower of {2}, bottom first',
    'build one tower: {0} at the bottom, {1}', 'i want a tower with {0} at the bottom, then {1}',
    'start with {0}, then stack {1} on it', 'i would like to have a stack with {0} below, {1}',
    'the stack should be {2}, from the bottom up', 'have one tower with {0} at the base, then {1}',
    'let {0} be the base of a tower, then {1} on top', 'the bottom is {0}, above it {1}',
    'use {0} as the base and stack {1} on top of it', 'with {0} as the base, stack {1}',
    'make one tall tower: {0} at the bottom, {1}', 'build me a tower: first {0}, then {1}',
    'make me a tower of {2}, starting at the bottom', 'stack {2}, starting with {0}',
    'build me one tall stack with {0} at the bottom, then {1}', 'stack them up: {0}, then {1}',
    'i want one tower that reads from the bottom up {2}', '{0} goes at the bottom, then {1}',
)  # fmt: skip
_DOWNWARDS = (
    'build a tower with {0} on top, then {1} below', 'make a tower of {2} from top to bottom',
    'stack {2} with {0} at the top', 'from top to bottom the tower should be {2}',
    'make a tower that is {2} from the top down', 'the tower should read from the top: {2}',
    'the tower shall have {0} on top, then {1}', 'i want a tower with {0} at the top, then {1}',
    'have a tower with {0} on top, below it {1}', 'the top is {0}, below it {1}',
    'i would like a tower of {2}, top first', 'build one tower: {0} on top, under it {1}',
    'the stack should be {2}, from the top down', '{0} is on top, then comes {1}',
    'i want one stack that reads, from top to bottom, {2}', 'make me a tower with {0} on top, {1}',
    'the tower reads {2} from top to bottom', 'build me one tall tower with {0} on top, then {1}',
    'from the top down i want {2}', '{0} goes at the very top, then {1} below',
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Spoken:
    """A request about an observed world."""

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
    text = text[0].upper() + text[1:] if rng.random() < 0.5 else text
    text += rng.choice(_PLEASE) if rng.random() < 0.1 else ''
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
    last = ''
    wanted = rng.choice((1, 1, 1, 2, 2, 3, 4))
    while blocks and len(goal) < wanted:
        block = blocks.pop()
        if rng.random() < 0.3:
            goal.append(('on-table', block))
            where = rng.choice(_ON_TABLE)
            under = ''
        else:
            free = [u for u in used if not any(a[0] == 'on' and a[2] == u for a in goal)]
            under = rng.choice(free or [blocks.pop()] if free or blocks else used)
            if any(a[0] == 'on' and a[2] == under for a in goal):
                break
            goal.append(('on', block, under))
            # A pronoun is the block that was put somewhere just before.
            it = under == last and rng.random() < 0.6
            where = f'{rng.choice(_ONTO)} {rng.choice(_IT) if it else _called(rng, under)}'
        used.append(block)
        kind = rng.random()
        if under and under != last and kind < 0.1:
            parts.append(_wish(rng, under, f'{rng.choice(_UNDER)} {_called(rng, block)}'))
            last = ''
            continue
        if parts and kind < 0.45:
            parts.append(f'{_called(rng, block)} {where}')
        elif kind > 0.9 and ' it' not in where:
            others = [b for b in (*used, *blocks) if b not in (block, under)] or ['there']
            names = _called(rng, block), rng.choice(_PUT), where, _called(rng, rng.choice(others))
            taken = rng.choice(_TAKEN).format(*names)
            parts.append(rng.choice(_ASKING) + taken)
        else:
            parts.append(_wish(rng, block, where))
        last = block
    text = parts[0]
    for part in parts[1:]:
        text += rng.choice(_JOINTS) + part
    return text, goal


def _same(rng: random.Random, blocks: list[str]) -> tuple[str, list[Atom]]:
    """Several blocks on the table."""
    some = blocks[: rng.randint(1, min(4, len(blocks)))]
    return _wish(rng, listed(some), rng.choice(_ON_TABLE)), [('on-table', b) for b in some]


def _asked(rng: random.Random, told: str) -> str:
    """A request, for words that ask for an action; other words unchanged."""
    return (rng.choice(_ASKING) if told.partition(' ')[0] in _DOING else '') + told


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
        text = _asked(rng, told)
    else:
        told = rng.choice(_DOWNWARDS).format(some[0], ', then '.join(some[1:]), listed(some))
        text = _asked(rng, told)
        some = some[::-1]
    return text, [('on', over, under) for under, over in pairwise(some)]


def _all_down(rng: random.Random, blocks: list[str]) -> tuple[str, list[Atom]]:
    return rng.choice(_SPREAD), [('on-table', ALL)]


def _cleared(rng: random.Random, blocks: list[str]) -> tuple[str, list[Atom]]:
    some = blocks[: rng.choice((1, 1, 1, 2))]
    return rng.choice(_CLEAR).format(listed(some)), [('clear', block) for block in some]


def _held(rng: random.Random, blocks: list[str]) -> tuple[str, list[Atom]]:
    text = rng.choice(_HOLD).format(_called(rng, blocks[0]))
    text = text.replace('the hand', rng.choice(('the hand', 'the gripper', 'your hand')))
    return text, [('holding', blocks[0])]


def _placed_and_more(rng: random.Random, blocks: list[str]) -> tuple[str, list[Atom]]:
    """Something put somewhere, and something cleared or held."""
    last = blocks.pop()
    text, goal = (_places if blocks[1:] else _same)(rng, blocks)
    if any(last in atom for atom in goal):
        return text, goal
    more, atom = (_CLEAR, ('clear', last)) if rng.random() < 0.6 else (_HOLD, ('holding', last))
    return f'{text}{rng.choice(_JOINTS)}{rng.choice(more).format(last)}', [*goal, atom]


_Form = Callable[[random.Random, list[str]], tuple[str, list[Atom]]]
_FORMS: tuple[_Form, ...] = (
    _places, _places, _places, _places, _tower, _tower, _tower, _same, _all_down, _cleared, _held,
    _placed_and_more,
)  # fmt: skip
