# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What each step adds to the metric of a problem, as a cost-optimal search needs it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from math import lcm

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.deciding import changed_functions
from safegen_ros.pddl.expressions import TOTAL_COST, TOTAL_TIME
from safegen_ros.pddl.facts import is_value, told_value
from safegen_ros.pddl.formulas import bindings
from safegen_ros.pddl.model import (
    Arithmetic,
    Atom,
    AtomFormula,
    Expression,
    Problem,
    conjuncts,
    functions_of,
)
from safegen_ros.pddl.plan import Step

_MOST = 1_000_000  # of one step: Fast Downward adds costs up in 32 bits
_SIGNS = {'increase': 1, 'decrease': -1}

_Sum = dict[Atom, Fraction]
"""A weighted sum of functions; the key `()` has what is not a function."""


class NoStepCosts(SafegenError):
    """The metric is not a sum over the steps of a plan, or a number of it has no value."""

    def __init__(self) -> None:
        super().__init__(
            'the metric is not a sum of fixed costs of the steps, none of them below 0: '
            'take --route kairos, or leave out --optimal',
            ErrorCode.UNSUPPORTED_FEATURE,
        )


class StepCosts:
    """What each step adds to the metric of a problem; 1 where it has none.

    Raises:
        NoStepCosts: the metric is not a weighted sum of functions that change by fixed numbers.
    """

    def __init__(self, problem: Problem) -> None:
        if problem.domain.durative:
            raise NoStepCosts  # steps overlap
        self._domain = problem.domain
        self._objects = problem.objects_by_type()
        actions = problem.domain.actions.values()
        self._changed = {e.target.predicate for action in actions for e in action.numeric}
        self._changed.add(TOTAL_TIME)
        self._values: _Sum = {(TOTAL_COST,): Fraction(0)}
        self._values |= {atom: Fraction(value) for atom, value in problem.values.items()}
        self._values |= {
            atom: Fraction(value) for atom, value in map(told_value, filter(is_value, problem.init))
        }
        self._weights: _Sum = {(TOTAL_TIME,): Fraction(1)}
        if problem.metric is not None:
            sign = 1 if problem.metric.direction == 'minimize' else -1
            weights = self._sum(problem.metric.expression, {})
            self._weights = {atom: sign * weight for atom, weight in weights.items()}

    def of(self, step: Step) -> Fraction:
        """What a step adds.

        Raises:
            NoStepCosts: that depends on more than the step.
        """
        names = (name for name, _ in self._domain.actions[step.action].parameters)
        return self._added(step.action, dict(zip(names, step.arguments, strict=True)))

    def uniform(self) -> bool:
        """Whether every step adds the same, more than nothing, as far as its schema shows."""
        found = {self._added(name, {}) for name in self._domain.actions}
        return len(found) <= 1 and min(found, default=1) > 0

    def whole(self, steps: Iterable[Step]) -> dict[Step, int]:
        """What each of some steps adds, in the largest unit in which all are whole numbers.

        Raises:
            NoStepCosts: a step adds less than nothing, or too much for a search.
        """
        costs = {step: self.of(step) for step in steps}
        unit = lcm(*(cost.denominator for cost in costs.values()))
        found = {step: int(cost * unit) for step, cost in costs.items()}
        if any(not 0 <= cost <= _MOST for cost in found.values()):
            raise NoStepCosts
        return found

    def _added(self, name: str, binding: Mapping[str, str]) -> Fraction:
        total = self._weights.get((TOTAL_TIME,), Fraction(0))
        ranking = {atom[0] for atom in self._weights if atom}
        for effect in self._domain.actions[name].numeric:
            if effect.target.predicate not in ranking:
                continue
            if effect.operator not in _SIGNS or any(True for _ in conjuncts(effect.condition)):
                raise NoStepCosts
            for inner in bindings(effect.variables, self._objects):
                full = {**binding, **inner}
                weight = self._weights.get(_ground(effect.target, full), Fraction(0))
                amount = self._sum(effect.value, full)
                if set(amount) - {()}:
                    raise NoStepCosts
                total += _SIGNS[effect.operator] * weight * amount.get((), Fraction(0))
        return total

    def _sum(self, expression: Expression, binding: Mapping[str, str]) -> _Sum:
        """An expression as a weighted sum of functions that change."""
        if isinstance(expression, AtomFormula):
            atom = _ground(expression, binding)
            if expression.predicate in self._changed:
                return {atom: Fraction(1)}
            if atom not in self._values:
                raise NoStepCosts
            return {(): self._values[atom]}
        if isinstance(expression, Decimal):
            return {(): Fraction(expression)}
        if not isinstance(expression, Arithmetic):
            raise NoStepCosts
        parts = [self._sum(part, binding) for part in expression.parts]
        if expression.operator in '+-':
            signs = [1, *[1 if expression.operator == '+' else -1] * (len(parts) - 1)]
            if expression.operator == '-' and len(parts) == 1:
                signs = [-1]
            total: _Sum = {}
            for sign, part in zip(signs, parts, strict=True):
                for atom, weight in part.items():
                    total[atom] = total.get(atom, Fraction(0)) + sign * weight
            return total
        return reduce(_times if expression.operator == '*' else _over, parts)


def only_adds(problem: Problem) -> bool:
    """Whether the schemas show that no step betters the metric, which a planner may overlook."""
    if problem.metric is None:
        return True
    ranking = {each.predicate for each in functions_of(problem.metric.expression)}
    numeric = (each for action in problem.domain.actions.values() for each in action.numeric)
    effects = [each for each in numeric if each.target.predicate in ranking]
    sums = [problem.metric.expression, *(each.value for each in effects)]
    names = {each.predicate for each in functions_of(*sums)}
    told = map(told_value, filter(is_value, problem.init))
    return (
        (problem.metric.direction == 'minimize' or not effects)
        and all(each.operator == 'increase' for each in effects)
        and not (names - ranking) & changed_functions(problem.domain)
        and all(value >= 0 for atom, value in (*problem.values.items(), *told) if atom[0] in names)
        and all(map(is_sum, sums))
    )


def is_sum(expression: Expression) -> bool:
    """Whether an expression cannot fall where its functions grow."""
    if isinstance(expression, Decimal):
        return expression >= 0
    if isinstance(expression, Arithmetic):
        return expression.operator in '+*' and all(map(is_sum, expression.parts))
    return isinstance(expression, AtomFormula)


def shortest_is_best(problem: Problem) -> bool:
    """Whether the metric only counts the steps of a plan."""
    try:
        return StepCosts(problem).uniform()
    except NoStepCosts:
        return False


def _ground(function: AtomFormula, binding: Mapping[str, str]) -> Atom:
    return (function.predicate, *(binding.get(term, term) for term in function.terms))


def _times(left: _Sum, right: _Sum) -> _Sum:
    if set(left) - {()}:
        left, right = right, left
    if set(left) - {()}:
        raise NoStepCosts
    factor = left.get((), Fraction(0))
    return {atom: factor * weight for atom, weight in right.items()}


def _over(left: _Sum, right: _Sum) -> _Sum:
    divisor = right.get((), Fraction(0))
    if set(right) - {()} or not divisor:
        raise NoStepCosts
    return {atom: weight / divisor for atom, weight in left.items()}
