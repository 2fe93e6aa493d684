# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads the effects of actions."""

from __future__ import annotations

from safegen_ros.pddl.costs import read_increase
from safegen_ros.pddl.formulas import (
    NUMERIC_EFFECTS,
    Scope,
    count_arguments,
    read_atom,
    read_formula,
    read_variables,
)
from safegen_ros.pddl.model import And, Cost, Effect, Formula, Variables, conjuncts
from safegen_ros.pddl.sexpr import Group


def read_effect(
    scope: Scope, parent: Group, index: int
) -> tuple[tuple[Effect, ...], tuple[Cost, ...]]:
    """Reads an action's effect and its costs; `when` and `forall` may be nested.

    Raises:
        PddlError: an undeclared name, a wrong number or type of arguments, a numeric effect; what
            is wrong inside an `and` is noted, and the rest of it read.
    """
    found = _effects(scope, parent, index, (), And(()))
    effects = tuple(each for each in found if isinstance(each, Effect))
    return effects, tuple(each for each in found if isinstance(each, Cost))


def _effects(
    scope: Scope, parent: Group, index: int, variables: Variables, when: Formula
) -> list[Effect | Cost]:
    reader = scope.reader
    group = reader.group(parent, index, 'an effect')
    head = group.head
    if not group.items:
        return []
    if head == 'and':
        numbers = range(1, len(group.items))
        parts = (reader.attempt(_effects, scope, group, i, variables, when) for i in numbers)
        return [effect for part in parts for effect in part or ()]
    if head == 'forall':
        count_arguments(reader, group, 2)
        inner = read_variables(scope, group, 1)
        # One effect has one list of variables, so an inner one may not hide an outer one.
        for name, _ in inner:
            if name in scope.variables:
                raise reader.error_in(
                    group, 1, f'variable {name[:40]!r} is bound already', 'rename it'
                )
        return _effects(scope.bind(inner), group, 2, (*variables, *inner), when)
    if head == 'when':
        count_arguments(reader, group, 2)
        both = And((*conjuncts(when), *conjuncts(read_formula(scope, group, 1))))
        return _effects(scope, group, 2, variables, both)
    if head in NUMERIC_EFFECTS and head not in scope.domain.predicates:
        return [Cost(variables, when, read_increase(scope, group))]
    if head == 'not':
        count_arguments(reader, group, 1)
        atom = read_atom(scope, reader.group(group, 1, 'an atom such as (on a b)'))
        return [Effect(variables, when, (), (atom,))]
    return [Effect(variables, when, (read_atom(scope, group),), ())]
