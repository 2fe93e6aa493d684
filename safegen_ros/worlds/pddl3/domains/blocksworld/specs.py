# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Random goals and safety constraints for Blocksworld, over block numbers 0..n-1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from safegen_ros.llm.sketch import (
    Constraint,
    Formula,
    conjunction,
    disjunction,
    negation,
    split_constraint,
)
from safegen_ros.worlds.pddl3.domains.blocksworld.statespace import StateSpace

Rng = np.random.Generator
Family = Callable[[Rng, int], Constraint]


def _blocks(rng: Rng, size: int, count: int) -> list[int]:
    return [int(x) for x in rng.permutation(size)[:count]]


def _before_tables(rng: Rng, size: int) -> Constraint:
    """The paper's: x may not come onto the table before y was there (appendix D)."""
    x, y = _blocks(rng, size, 2)
    return ('sometime-before', ('on-table', x), ('on-table', y))


def _before_any(rng: Rng, size: int) -> Constraint:
    return ('sometime-before', _event(rng, size), _event(rng, size))


def _event(rng: Rng, size: int) -> Formula:
    x, y = _blocks(rng, size, 2)
    kinds: list[Formula] = [('on', x, y), ('on-table', x), ('holding', x), ('clear', x)]
    return kinds[rng.choice(4, p=(0.5, 0.15, 0.2, 0.15))]


def _never_on(rng: Rng, size: int) -> Constraint:
    x, y = _blocks(rng, size, 2)
    return ('always', ('not', ('on', x, y)))


def _never_on_table(rng: Rng, size: int) -> Constraint:
    return ('always', ('not', ('on-table', _blocks(rng, size, 1)[0])))


def _nothing_on(rng: Rng, size: int) -> Constraint:
    """No block ever on x."""
    x, *others = _blocks(rng, size, size)
    return ('always', conjunction(('not', ('on', y, x)) for y in others))


def _never_held(rng: Rng, size: int) -> Constraint:
    return ('always', ('not', ('holding', _blocks(rng, size, 1)[0])))


def _always_rule(rng: Rng, size: int) -> Constraint:
    """A rule that holds in every state: a disjunction of two literals, such as an implication."""
    literals = []
    for _ in range(2):
        event = _event(rng, size)
        literals.append(negation(event) if rng.random() < 0.6 else event)
    return ('always', disjunction(literals))


def _sometime(rng: Rng, size: int) -> Constraint:
    x, y = _blocks(rng, size, 2)
    kinds: list[Formula] = [('on', x, y), ('on-table', x), ('clear', x), ('holding', x)]
    return ('sometime', kinds[rng.choice(4, p=(0.55, 0.25, 0.1, 0.1))])


def _at_most_once(rng: Rng, size: int) -> Constraint:
    x, y = _blocks(rng, size, 2)
    kinds: list[Formula] = [('holding', x), ('on-table', x), ('on', x, y), ('clear', x)]
    return ('at-most-once', kinds[rng.choice(4, p=(0.45, 0.3, 0.15, 0.1))])


FAMILIES: dict[str, tuple[float, Family]] = {
    'sometime-before on-table': (0.22, _before_tables),
    'sometime-before other': (0.18, _before_any),
    'always not on': (0.12, _never_on),
    'always not on-table': (0.08, _never_on_table),
    'always nothing on': (0.10, _nothing_on),
    'always not holding': (0.06, _never_held),
    'always rule': (0.14, _always_rule),
    'sometime': (0.09, _sometime),
    'at-most-once': (0.18, _at_most_once),
}
"""Constraint families: their relative weight, and how one constraint is drawn."""

SAME_FAMILY_SHARE = 0.4


def draw_constraints(
    rng: Rng, size: int, family: str | None = None
) -> tuple[str, tuple[Constraint, ...]]:
    """One to three constraints that no rewriting can simplify further.

    Args:
        rng: the source of randomness.
        size: number of blocks.
        family: draw all of them from this family; otherwise each from `FAMILIES`.

    Returns:
        the name of the family (`mixed` when they differ), and the constraints.
    """
    names = list(FAMILIES)
    weights = np.array([FAMILIES[name][0] for name in names])
    count = int(rng.choice((1, 2, 3), p=(0.55, 0.36, 0.09)))
    picked: list[str] = []
    found: list[Constraint] = []
    if family is None and rng.random() < SAME_FAMILY_SHARE:
        family = names[rng.choice(len(names), p=weights / weights.sum())]
    for _ in range(count):
        name = family or names[rng.choice(len(names), p=weights / weights.sum())]
        picked.append(name)
        for part in split_constraint(FAMILIES[name][1](rng, size)):
            if part not in found:
                found.append(part)
    return (picked[0] if len(set(picked)) == 1 else 'mixed'), tuple(found)


def draw_goal(rng: Rng, space: StateSpace) -> tuple[Formula, ...]:
    """Goal conjuncts, all true in one random state with an empty gripper (now and then not)."""
    size = space.size
    resting = np.flatnonzero(space.held < 0)
    row: list[int] = space.support[rng.choice(resting)].tolist()
    tables: list[Any] = [('on-table', x) for x in range(size) if row[x] == size]
    ons: list[Any] = [('on', x, row[x]) for x in range(size) if row[x] < size]
    clears: list[Any] = [('clear', x) for x in range(size) if x not in row]
    kind = rng.choice(6, p=(0.27, 0.26, 0.22, 0.15, 0.05, 0.05))
    if kind == 0:
        return (*tables, *ons)
    if kind == 1:
        return tuple(ons or tables)
    if kind == 2:
        return _some(rng, tables + ons, size)
    if kind == 3:
        return _some(rng, tables + ons + clears, size)
    if kind == 4:
        extra = [('arm-empty',)] if rng.random() < 0.5 else []
        return (*tables, *ons, *clears, *extra)
    return _unusual(rng, size)


def _some(rng: Rng, literals: list[Any], size: int) -> tuple[Formula, ...]:
    count = int(rng.integers(1, size + 1))
    chosen = rng.permutation(len(literals))[:count]
    return tuple(literals[i] for i in sorted(chosen))


def _unusual(rng: Rng, size: int) -> tuple[Formula, ...]:
    literals = []
    for _ in range(int(rng.integers(1, 3))):
        event = _event(rng, size)
        pick = rng.random()
        if pick < 0.3:
            event = negation(event)
        elif pick < 0.5:
            event = disjunction((event, _event(rng, size)))
        if event not in literals:
            literals.append(event)
    return tuple(literals)
