# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What actions change, and which functions decide which plans are valid or only rank them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.expressions import VIOLATED
from safegen_ros.pddl.facts import is_value, told_value, value_fact
from safegen_ros.pddl.model import (
    DURATION,
    Action,
    Comparison,
    Constraint,
    Domain,
    DurativeAction,
    Effect,
    Formula,
    NumericEffect,
    Preference,
    Problem,
    SoftRule,
    functions_of,
    walk,
)
from safegen_ros.pddl.writer import names_text, timed_text


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
    for durative in domain.durative.values():  # of which `actions` may have left out some
        formulas += [formula for _, formula in durative.conditions]
        formulas += [effect.condition for _, effect in durative.effects]
        formulas += [effect.condition for _, effect in durative.remembered]
    return with_sources(domain, [*_compared(formulas), *duration_functions(domain)])


def state_functions(problem: Problem) -> frozenset[str]:
    """The functions that are part of the states of a problem."""
    if not problem.domain.functions:
        return frozenset()
    told = {told_value(fact)[0][0] for fact in problem.init if is_value(fact)}
    return deciding_functions(problem.domain, problem.goal, problem.constraints) | told


def refuse_numbers(problem: Problem, what: str, cure: str) -> None:
    """Raises `SafegenError` where plans of a problem depend on numbers, which `what` cannot say."""
    if functions := state_functions(problem):
        raise SafegenError(
            f'{what} does not know numbers, and plans of problem {problem.name} depend on '
            f'{names_text(sorted(functions), 5)}: {cure}',
            ErrorCode.UNSUPPORTED_FEATURE,
        )


def refuse_timed(problem: Problem, what: str) -> None:
    """Raises `SafegenError` where something changes over time, which `what` does not look at."""
    if problem.timed:
        raise SafegenError(
            f'{what} does not know timed initial literals, and problem {problem.name} has '
            f'{timed_text(problem.timed[0])}: plans with times are proved by safegen verify and '
            'made by safegen solve with Kairos',
            ErrorCode.UNSUPPORTED_FEATURE,
        )


def settled(problem: Problem) -> Problem:
    """The problem with the values of the functions that decide among the facts of its state.

    To be called where a goal or a constraint was added.
    """
    kept = deciding_functions(problem.domain, problem.goal, problem.constraints)
    facts = {value_fact(f, v) for f, v in problem.values.items() if f[0] in kept}
    if not facts:
        return problem
    values = {f: v for f, v in problem.values.items() if f[0] not in kept}
    return replace(problem, init=problem.init | facts, values=values)


def changed_functions(domain: Domain) -> frozenset[str]:
    """The functions that some action changes."""
    actions = domain.actions.values()
    return frozenset(each.target.predicate for action in actions for each in action.numeric)


def changed_predicates(problem: Problem) -> frozenset[str]:
    """The predicates of atoms that an action or the time changes, and derived ones."""
    return problem.domain.derived_predicates().union(
        (literal.atom[0] for literal in problem.timed),
        (
            atom.predicate
            for schema in problem.domain.actions.values()
            for effect in schema.effects
            for atom in (*effect.add, *effect.delete)
        ),
    )


def with_sources(domain: Domain, names: Iterable[str]) -> frozenset[str]:
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
    return frozenset(found - {DURATION.predicate})


def _read_by(effect: NumericEffect) -> Iterator[str]:
    yield from (each.predicate for each in functions_of(effect.value))
    yield from _compared([effect.condition])


def _compared(formulas: Iterable[Formula]) -> Iterator[str]:
    for formula in formulas:
        for part in walk(formula):
            if isinstance(part, Comparison):
                yield from (each.predicate for each in functions_of(part))


def wish_names(domain: Domain, rules: Iterable[SoftRule | Preference]) -> frozenset[str]:
    """The names of some preferences and of those of a domain's actions."""
    taken = [rule for action in domain.actions.values() for rule in action.wishes]
    return frozenset(rule.name for rule in (*rules, *taken)) - {''}


def has_wishes(problem: Problem) -> bool:
    """Whether a problem has preferences."""
    actions = problem.domain.actions.values()
    return bool(problem.preferences) or any(action.wishes for action in actions)


def without_wishes(problem: Problem) -> Problem:
    """The problem without its preferences, and without a metric that counts them."""
    if not (has_wishes(problem) or problem.domain.wishes):
        return problem
    bare = {name: replace(each, wishes=()) for name, each in problem.domain.actions.items()}
    metric = problem.metric
    if metric and any(each.predicate == VIOLATED for each in functions_of(metric.expression)):
        metric = None
    domain = replace(problem.domain, actions=bare, wishes=())
    return replace(problem, domain=domain, preferences=(), metric=metric)


def without_costs(problem: Problem) -> Problem:
    """The problem without what only ranks its plans: metric, preferences, costs."""
    problem = without_wishes(problem)
    domain = problem.domain
    numeric = any(action.numeric for action in domain.actions.values())
    if not numeric and not domain.functions and problem.metric is None:
        return problem
    kept = deciding_functions(domain, problem.goal, problem.constraints)

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


def duration_functions(domain: Domain) -> frozenset[str]:
    """The functions that durations of actions depend on."""
    lengths = [value for each in domain.durative.values() for _, value in each.duration]
    return frozenset(each.predicate for each in functions_of(*lengths))
