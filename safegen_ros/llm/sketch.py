# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A Blocksworld task as integers: what the canonical prompt and the data generator share.

Formulas are nested tuples over block numbers, in negation normal form:
`('on', x, y)`, `('on-table', x)`, `('clear', x)`, `('holding', x)`, `('arm-empty',)`,
`('not', atom)`, `('and', f, g, ...)`, `('or', f, g, ...)`, `('true',)`, `('false',)`.
A constraint is `(operator, f)` or `(operator, f, h)` with the operators of PDDL3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Formula = tuple[Any, ...]
Constraint = tuple[Any, ...]

PREDICATES = {'on-table': 1, 'on': 2, 'clear': 1, 'holding': 1, 'arm-empty': 0}
OPERATORS = {'always': 1, 'sometime': 1, 'sometime-before': 2, 'at-most-once': 1}
TRUE: Formula = ('true',)
FALSE: Formula = ('false',)


@dataclass(frozen=True, slots=True)
class Sketch:
    """One task over blocks 0..n-1.

    Attributes:
        towers: blocks of each tower from the table upwards, in any order of towers.
        held: the block in the gripper, or None.
        goal: conjuncts; all must hold in the last state.
        constraints: all must hold on the whole trajectory.
    """

    towers: tuple[tuple[int, ...], ...]
    held: int | None
    goal: tuple[Formula, ...]
    constraints: tuple[Constraint, ...]

    @property
    def size(self) -> int:
        """Number of blocks."""
        return sum(map(len, self.towers)) + (self.held is not None)


def conjunction(parts: Iterable[Formula]) -> Formula:
    """`and` with constants, nesting and duplicates removed."""
    return _junction('and', parts, TRUE, FALSE)


def disjunction(parts: Iterable[Formula]) -> Formula:
    """`or` with constants, nesting and duplicates removed."""
    return _junction('or', parts, FALSE, TRUE)


def _junction(name: str, parts: Iterable[Formula], neutral: Formula, absorbing: Formula) -> Formula:
    flat: list[Formula] = []
    for part in parts:
        for item in part[1:] if part[0] == name else (part,):
            if item == absorbing:
                return absorbing
            if item != neutral and item not in flat:
                flat.append(item)
    if not flat:
        return neutral
    return flat[0] if len(flat) == 1 else (name, *flat)


def negation(formula: Formula) -> Formula:
    """The negation, pushed down to the atoms."""
    kind = formula[0]
    if kind == 'not':
        inner: Formula = formula[1]
        return inner
    if kind in ('and', 'or'):
        dual = disjunction if kind == 'and' else conjunction
        return dual(negation(part) for part in formula[1:])
    if formula in (TRUE, FALSE):
        return FALSE if formula == TRUE else TRUE
    return ('not', formula)


def split_constraint(constraint: Constraint) -> list[Constraint]:
    """Equivalent smaller constraints; none when it can never be broken.

    `always` distributes over `and`; `sometime-before` distributes over an `or` in its first
    argument, since every state with any of the disjuncts needs the second argument before it.
    """
    operator, first = constraint[0], constraint[1]
    if operator == 'always' and first[0] == 'and':
        return [('always', part) for part in first[1:]]
    if operator == 'sometime-before' and first[0] == 'or':
        return [('sometime-before', part, constraint[2]) for part in first[1:]]
    harmless = {'always': (TRUE,), 'sometime': (TRUE,), 'at-most-once': (TRUE, FALSE)}
    if first in harmless.get(operator, (FALSE,)):
        return []
    return [constraint]


def blocks_of(formula: Sequence[Any]) -> Iterator[int]:
    """Every block number in a formula or constraint, with repetitions."""
    for item in formula:
        if isinstance(item, int):
            yield item
        elif isinstance(item, tuple):
            yield from blocks_of(item)
