# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Numbers that decide which plans are valid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from safegen_ros.pddl.model import (
    Action,
    Comparison,
    Constraint,
    Domain,
    DurativeAction,
    Effect,
    Formula,
    NumericEffect,
    Problem,
    functions_of,
    walk,
)


def deciding_functions(
    domain: Domain, goal: Formula, constraints: Iterable[Constraint]
) -> frozenset[str]:
    """The functions on whose values it depends whether a plan is valid.

    They stand in a condition, in the goal or in a constraint, or change one that does. The others,
    such as a `total-cost` that only grows, rank plans.
    """
    if not domain.functions:
        return frozenset()
    actions = domain.actions.values()
    formulas = [goal, *(formula for each in constraints for formula in each.arguments)]
    for action in actions:
        formulas += [action.precondition, *(effect.condition for effect in action.effects)]
    return _with_sources(domain, _compared(formulas))


def _with_sources(domain: Domain, names: Iterable[str]) -> frozenset[str]:
    """Functions, and those that their values come from."""
    found: set[str] = set()
    waiting = set(names)
    while waiting:
        found |= waiting
        waiting = {
            name
            for action in domain.actions.values()
            for effect in action.numeric
            if effect.target.predicate in waiting
            for name in _read_by(effect)
        } - found
    return frozenset(found)


def _read_by(effect: NumericEffect) -> Iterator[str]:
    yield from (each.predicate for each in functions_of(effect.value))
    yield from _compared([effect.condition])


def _compared(formulas: Iterable[Formula]) -> Iterator[str]:
    for formula in formulas:
        for part in walk(formula):
            if isinstance(part, Comparison):
                yield from (each.predicate for each in functions_of(part))


def without_costs(problem: Problem) -> Problem:
    """The problem without what only ranks its plans: metric, and functions that decide nothing."""
    domain = problem.domain
    numeric = any(action.numeric for action in domain.actions.values())
    if not numeric and not domain.functions and problem.metric is None:
        return problem
    kept = deciding_functions(domain, problem.goal, problem.constraints)
    lengths = [value for each in domain.durative.values() for _, value in each.duration]
    kept |= {each.predicate for value in lengths for each in functions_of(value)}

    def bare(action: Action) -> Action:
        effects = tuple(each for each in action.numeric if each.target.predicate in kept)
        return replace(action, numeric=effects)

    def bare_durative(action: DurativeAction) -> DurativeAction:
        effects = tuple(
            (moment, each)
            for moment, each in action.effects
            if isinstance(each, Effect) or each.target.predicate in kept
        )
        return replace(action, effects=effects)

    domain = replace(
        domain,
        functions={name: kinds for name, kinds in domain.functions.items() if name in kept},
        actions={name: bare(action) for name, action in domain.actions.items()},
        durative={name: bare_durative(action) for name, action in domain.durative.items()},
    )
    values = {atom: value for atom, value in problem.values.items() if atom[0] in kept}
    return replace(problem, domain=domain, metric=None, values=values)
