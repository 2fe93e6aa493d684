# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Understands descriptions of Blocks World."""

from __future__ import annotations

import re
from collections.abc import Sequence

from safegen_ros.pddl.model import Atom
from safegen_ros.tasks.planetarium.dataset.hearing import Objects, atoms_heard, numbers_in, only

_CLAUSES = {
    'arm-empty': 'the hand is empty',
    'holding': r'the hand holds (?P<a>b\d+)',
    'on-table': r'(?P<a>b\d+) stands on the table',
    'on': r'(?P<a>b\d+) rests on (?P<b>b\d+)',
    'clear': r'nothing rests on (?P<a>b\d+)',
}
_HAND = 'the hand is empty'
_ALONE = 'every block stands on the table by itself'


def heard_blocks(
    start: Sequence[str], goal: Sequence[str], objects: Objects
) -> tuple[list[Atom], list[Atom]]:
    """The initial state and the goal of a description.

    Args:
        start: clauses about the initial state.
        goal: clauses about the goal.
        objects: the blocks.

    Raises:
        ValueError: they do not say enough, or something unknown.
    """
    blocks = objects['block']
    below: dict[str, str] = {}
    init = atoms_heard(start, _CLAUSES)
    if init is None:
        below = _summed_up(start, blocks)
        init = _scene(below)
    wanted = atoms_heard(goal, _CLAUSES)
    if wanted is not None:
        return init, wanted
    if 'upside down' in goal[0]:
        only(goal, ['every tower has been turned upside down', _HAND])
        turned = {under: block for block, under in below.items() if under}
        return init, _scene({block: turned.get(block, '') for block in blocks})
    if 'exchanged' in goal[0]:
        only(goal, ['the two towers have exchanged their bottom blocks and are otherwise unchanged',
                    _HAND])  # fmt: skip
        first, second = (block for block, under in below.items() if not under)
        other = {first: second, second: first}
        return init, _scene({block: other.get(under, under) for block, under in below.items()})
    return init, _scene(_summed_up(goal, blocks))


def _summed_up(clauses: Sequence[str], blocks: Sequence[str]) -> dict[str, str]:
    """What is below each block: a block, nothing for the table, or itself for the hand."""
    first = clauses[0]
    if first == 'the hand holds one block':
        only(clauses[1:], [_ALONE.replace('every', 'every other')])
        return {block: block if block == blocks[-1] else '' for block in blocks}
    only(clauses[1:], [_HAND])
    numbers = numbers_in(first)
    if first == _ALONE:
        heights = [1] * len(blocks)
    elif first == 'all blocks form a single tower':
        heights = [len(blocks)]
    elif first.startswith('the blocks form a staircase with '):
        heights = [step + 1 for step in range(numbers[0])]
    elif re.fullmatch(r'the number of towers is \d+ and each of them has \d+ blocks', first):
        heights = [numbers[1] for _ in range(numbers[0])]
    elif first.startswith('there are towers with these numbers of blocks: '):
        heights = numbers
    else:
        raise ValueError(f'{first!r} is unknown')
    if sum(heights) != len(blocks):
        raise ValueError(f'{sum(heights)} blocks in towers, {len(blocks)} in all')
    # From the other end and from the top: any names do, but not because both sides agree on them.
    names = list(blocks)
    below: dict[str, str] = {}
    for height in heights:
        tower = [names.pop() for _ in range(height)]
        below.update(zip(tower, [*tower[1:], ''], strict=True))
    return below


def _scene(below: dict[str, str]) -> list[Atom]:
    held = [block for block, under in below.items() if under == block]
    atoms: list[Atom] = [('holding', block) for block in held] or [('arm-empty',)]
    for block, under in below.items():
        if block in held:
            continue
        atoms.append(('on', block, under) if under else ('on-table', block))
        if block not in below.values():
            atoms.append(('clear', block))
    return atoms
