# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Finds constraints that ask for nothing because they range over no object.

They are right PDDL and hold in every plan, which a person who wrote a rule has to be told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from safegen_ros.pddl.model import (
    And,
    Constraint,
    ConstraintAnd,
    ConstraintForall,
    ConstraintTree,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Or,
    Variables,
)
from safegen_ros.pddl.writer import variables_text

_MOST = 20  # notes of one problem


def vacuous_constraints(
    trees: Iterable[ConstraintTree], objects: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """A note for every quantifier of some constraints that ranges over no object, with its place.

    Args:
        trees: the constraints, with their quantifiers.
        objects: the objects of each type.
    """
    found: list[str] = []
    for tree in trees:
        for place, head, variables in _quantifiers(tree):
            if not all(objects[kind] for _, kind in variables):
                text = f'({head} ({variables_text(variables)}) ...)'
                found.append(f'{place}: {text} ranges over no object')
    return tuple(dict.fromkeys(found))[:_MOST]


def _quantifiers(tree: ConstraintTree) -> Iterator[tuple[str, str, Variables]]:
    waiting = [tree]
    while waiting:
        each = waiting.pop()
        if isinstance(each, ConstraintAnd):
            waiting += reversed(each.parts)
        elif isinstance(each, ConstraintForall):
            yield each.place, 'forall', each.variables
            waiting.append(each.body)
        else:
            yield from _inside(each)


def _inside(constraint: Constraint) -> Iterator[tuple[str, str, Variables]]:
    waiting: list[Formula] = list(constraint.arguments)
    while waiting:
        formula = waiting.pop()
        if isinstance(formula, (Forall, Exists)):
            head = 'forall' if isinstance(formula, Forall) else 'exists'
            yield constraint.place, head, formula.variables
            waiting.append(formula.body)
        elif isinstance(formula, Not):
            waiting.append(formula.body)
        elif isinstance(formula, (And, Or)):
            waiting += formula.parts
        elif isinstance(formula, Imply):
            waiting += (formula.premise, formula.conclusion)
