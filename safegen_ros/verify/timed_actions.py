# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What steps of durative actions need and change at which moments, and how long they take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from functools import reduce
from operator import add, mul, sub, truediv

from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.flatten import part
from safegen_ros.pddl.formulas import bindings
from safegen_ros.pddl.ground import GroundAction, Grounder
from safegen_ros.pddl.model import (
    Atom,
    AtomFormula,
    Exists,
    Expression,
    Forall,
    Formula,
    Moment,
    Problem,
    subformulas,
)
from safegen_ros.pddl.plan import Plan, Step

EPSILON = Fraction(1, 1000)
"""Least time between two happenings that interfere, and by how much a duration may differ [s]."""

_DIGITS = Decimal('0.001')  # of a duration that has to be rounded
_OPERATIONS = {'+': add, '-': sub, '*': mul, '/': truediv}


class TimedActions:
    """What the steps of one problem do at their starts and at their ends.

    Args:
        problem: the problem.
        fold_static: as of `AtomTable`.
    """

    def __init__(self, problem: Problem, *, fold_static: bool = True) -> None:
        self.problem = problem
        domain = problem.domain
        actions = {n: each for n, each in domain.actions.items() if n not in domain.durative}
        for name, action in domain.durative.items():
            actions |= {_part_name(moment, name): part(action, moment) for moment in Moment}
        self._parts = replace(problem, domain=replace(domain, actions=actions))
        self.table = AtomTable(self._parts, fold_static=fold_static)
        self._derived = domain.derived_predicates()
        self.grounder = Grounder(self._parts, self.table)
        self._reads: dict[Step, int] = {}

    def timed(self, plan: Plan) -> Plan:
        """The plan with times; where it has none its steps follow each other, `EPSILON` apart."""
        if plan.times:
            return plan
        now, state = Fraction(0), self.table.encode(self.problem.init)
        times = []
        for step in plan.steps:
            duration = self.least_duration(step, state)
            times.append((decimal_of(now), duration))
            now += Fraction(duration) + EPSILON
            for action in self.happenings(step):
                state = action.apply(state)
        return Plan(plan.steps, tuple(times))

    def happenings(self, step: Step) -> list[GroundAction]:
        """The happenings of a step, in order."""
        if step.action not in self.problem.domain.durative:
            return [self.grounder.action(step)]
        return [self._part(step, moment) for moment in (Moment.AT_START, Moment.AT_END)]

    def during(self, step: Step) -> GroundAction:
        """What a step of a durative action asks for over all."""
        return self._part(step, Moment.OVER_ALL)

    def _part(self, step: Step, moment: Moment) -> GroundAction:
        return self.grounder.action(Step(_part_name(moment, step.action), step.arguments))

    def least_duration(self, step: Step, state: int) -> Decimal:
        """How long a step takes that starts in a state, if nobody says otherwise [s]."""
        if step.action not in self.problem.domain.durative:
            return Decimal(0)
        bounds = self.duration(step, state)
        wanted = [value for operator, value in bounds if operator != '<=']
        found = [value for value in wanted or dict(bounds).values() if value is not None]
        return decimal_of(max(found, default=Fraction(0)))

    def duration(self, step: Step, state: int) -> list[tuple[str, Fraction | None]]:
        """The bounds of the duration of a step that starts in a state; None for no value."""
        schema = self.problem.domain.durative[step.action]
        names = (name for name, _ in schema.parameters)
        binding = dict(zip(names, step.arguments, strict=True))
        return [(operator, self._value(each, binding)) for operator, each in schema.duration]

    def _value(self, expression: Expression, binding: Mapping[str, str]) -> Fraction | None:
        if isinstance(expression, Decimal):
            return Fraction(expression)
        if isinstance(expression, AtomFormula):
            found = self.problem.values.get(_atom(expression, binding))
            return None if found is None else Fraction(found)
        parts = [self._value(each, binding) for each in expression.parts]
        known = [each for each in parts if each is not None]
        if len(known) < len(parts) or (expression.operator == '/' and 0 in known[1:]):
            return None
        if expression.operator == '-' and len(known) == 1:
            return -known[0]
        return reduce(_OPERATIONS[expression.operator], known)

    def reads(self, action: GroundAction) -> int:
        """Every atom that the conditions of an action speak of, whatever comes of them."""
        found = self._reads.get(action.step)
        if found is None:
            schema = self._parts.domain.actions[action.step.action]
            names = (name for name, _ in schema.parameters)
            binding = dict(zip(names, action.step.arguments, strict=True))
            found = self._mentioned(schema.precondition, binding)
            for effect in schema.effects:
                for inner in bindings(effect.variables, self.table.objects):
                    found |= self._mentioned(effect.condition, {**binding, **inner})
            self._reads[action.step] = found
        return found

    def _mentioned(self, formula: Formula, binding: Mapping[str, str]) -> int:
        if isinstance(formula, AtomFormula):
            closure = self.table.closure
            if closure is not None and formula.predicate in self._derived:
                return closure.support  # any of what it may be derived from
            return self.table.mask([_atom(formula, binding)])
        found = 0
        inside: Iterable[Mapping[str, str]] = [binding]
        if isinstance(formula, (Forall, Exists)):
            ways = bindings(formula.variables, self.table.objects)
            inside = ({**binding, **inner} for inner in ways)
        for each in inside:
            for part_ in subformulas(formula):
                found |= self._mentioned(part_, each)
        return found


def _part_name(moment: Moment, name: str) -> str:
    return f'{moment.value} {name}'  # no action has a name with a space


def _atom(formula: AtomFormula, binding: Mapping[str, str]) -> Atom:
    return (formula.predicate, *(binding.get(term, term) for term in formula.terms))


def decimal_of(value: Fraction) -> Decimal:
    """A time as a plan writes it, rounded to the clock of a plan where it has to be."""
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    if Fraction(exact) == value:
        return exact
    return exact.quantize(_DIGITS, ROUND_HALF_EVEN)
