# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The configurations of Blocks World: towers, and blocks named from the bottom of the first one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import cast

from safegen_ros.datasets.planetarium.layouts import (
    Kit,
    Parameters,
    numbered,
    partitions,
)
from safegen_ros.pddl.model import Atom
from safegen_ros.tasks.planetarium.descriptions import listed

_MOST = 55  # blocks of one tower or in rows of equal ones
_MOST_LISTED = 20  # blocks of towers whose heights are listed
_MOST_TOWERS = 10
_HIGHEST = 5  # of equal towers

_Heights = tuple[int, ...]


class BlocksWorldKit(Kit):
    """Parameters are the heights of the towers, with the block in the hand as one of them."""

    domain = 'blocksworld'
    tied = ('swap', 'invert')
    starts = ('on_table', 'stack', 'staircase', 'equal_towers', 'towers', 'holding_one')
    goals = starts
    held_out = (('swap', 'swap'), ('invert', 'invert'))

    def start_parameters(self, start: str) -> Sequence[Parameters]:
        """See `Kit`."""
        return _starts(start)

    def goal_parameters(self, goal: str, parameters: Parameters) -> Sequence[Parameters]:
        """See `Kit`; the goal has the same blocks."""
        heights = cast(_Heights, parameters)
        return (heights,) if goal in self.tied else _of_size(goal, sum(heights))

    def objects(self, parameters: Parameters) -> Mapping[str, Sequence[str]]:
        """See `Kit`."""
        return {'block': numbered('b', sum(cast(_Heights, parameters)))}

    def start_atoms(self, start: str, parameters: Parameters) -> list[Atom]:
        """See `Kit`."""
        return _tower_atoms(_dealt(cast(_Heights, parameters), False), start)

    def goal_atoms(self, goal: str, wanted: Parameters, parameters: Parameters) -> list[Atom]:
        """See `Kit`; untied goals begin with the last block, so that there is something to do."""
        if goal not in self.tied:
            return _tower_atoms(_dealt(cast(_Heights, wanted), True), goal)
        towers = _dealt(cast(_Heights, parameters), False)
        if goal == 'invert':
            return _tower_atoms([tower[::-1] for tower in towers], goal)
        (first, *over), (second, *above) = towers
        return _tower_atoms([[second, *over], [first, *above]], goal)

    def start_words(self, start: str, parameters: Parameters) -> list[str]:
        """See `Kit`."""
        return _words(start, cast(_Heights, parameters))

    def goal_words(self, goal: str, wanted: Parameters, parameters: Parameters) -> list[str]:
        """See `Kit`."""
        if goal == 'swap':
            what = 'the two towers have exchanged their bottom blocks and are otherwise unchanged'
            return [what, 'the hand is empty']
        if goal == 'invert':
            return ['every tower has been turned upside down', 'the hand is empty']
        return _words(goal, cast(_Heights, wanted))

    def clause(self, atom: Atom) -> str:
        """See `Kit`."""
        return {
            'arm-empty': 'the hand is empty',
            'holding': 'the hand holds {}',
            'on-table': '{} stands on the table',
            'on': '{} rests on {}',
            'clear': 'nothing rests on {}',
        }[atom[0]].format(*atom[1:])


@cache
def _starts(name: str) -> tuple[_Heights, ...]:
    if name == 'swap':
        return tuple((low, high) for low in range(2, _MOST) for high in range(2, _MOST + 1 - low))
    least = 2 if name == 'invert' else 1
    return tuple(heights for n in range(least, _MOST + 1) for heights in _of_size(name, n))


@cache
def _of_size(name: str, blocks: int) -> tuple[_Heights, ...]:
    """The scenes of a configuration with so many blocks."""
    if name in ('on_table', 'holding_one'):
        return ((1,) * blocks,) if blocks <= _MOST_LISTED else ()
    if name == 'stack':
        return ((blocks,),)
    if name == 'staircase':
        steps = next(k for k in range(blocks + 1) if k * (k + 1) >= 2 * blocks)
        heights = tuple(range(1, steps + 1))
        return (heights,) if sum(heights) == blocks else ()
    if name == 'equal_towers':
        return tuple(
            (height,) * (blocks // height)
            for height in range(1, _HIGHEST + 1)
            if blocks % height == 0 and blocks // height <= _MOST_TOWERS
        )
    if blocks > _MOST_LISTED:
        return ()
    found = partitions(blocks, _MOST_TOWERS)
    return found if name == 'towers' else tuple(p for p in found if max(p) > 1)


def _dealt(heights: _Heights, backwards: bool) -> list[list[str]]:
    """Towers of blocks, each from its bottom."""
    names = numbered('b', sum(heights))
    blocks = iter(names[::-1] if backwards else names)
    return [[next(blocks) for _ in range(height)] for height in heights]


def _tower_atoms(towers: list[list[str]], name: str) -> list[Atom]:
    """What holds of towers, told from the first one upwards."""
    found: list[Atom] = []
    if name == 'holding_one':
        found.append(('holding', towers[0][0]))
        towers = towers[1:]
    else:
        found.append(('arm-empty',))
    for base, *over in towers:
        found.append(('on-table', base))
        below = base
        for block in over:
            found.append(('on', block, below))
            below = block
        found.append(('clear', below))
    return found


def _words(name: str, heights: _Heights) -> list[str]:
    if name == 'holding_one':
        return ['the hand holds one block', 'every other block stands on the table by itself']
    what = {
        'on_table': 'every block stands on the table by itself',
        'stack': 'all blocks form a single tower',
        'staircase': f'the blocks form a staircase with {len(heights)} steps: a tower of one block '
        'and, step by step, a tower that is one block higher than the one before',
        'equal_towers': f'the number of towers is {len(heights)} and each of them has {heights[0]} '
        'blocks',
    }.get(name, f'there are towers with these numbers of blocks: {listed(heights)}')
    return [what, 'the hand is empty']
