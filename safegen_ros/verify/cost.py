# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The value of a problem's metric for a plan; costs rank plans and never make one valid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, DecimalException
from functools import reduce

from safegen_ros.pddl.bits import AtomTable, compile_test, condition
from safegen_ros.pddl.expressions import TOTAL_COST, TOTAL_TIME
from safegen_ros.pddl.formulas import bindings
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import Arithmetic, Atom, Expression, Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.pddl.writer import atom_text, metric_text

_Binding = Mapping[str, str]
_OPERATIONS = {
    '+': Decimal.__add__, '-': Decimal.__sub__, '*': Decimal.__mul__, '/': Decimal.__truediv__,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ranking:
    """What the metric of a problem says of a plan.

    Attributes:
        metric: as the problem writes it, `minimize (total-cost)`.
        value: its value for the plan; None when it has none.
        reason: why it has none; empty when it has one.
    """

    metric: str
    value: Decimal | None
    reason: str = ''

    def __str__(self) -> str:
        """The metric and its value, for a person."""
        return f'{self.metric} = {"unknown, " + self.reason if self.value is None else self.value}'


def rank(problem: Problem, plan: Plan) -> Ranking | None:
    """The value of a problem's metric for a plan whose steps apply; None without a metric."""
    metric = problem.metric
    if metric is None:
        return None
    text = metric_text(metric)
    try:
        return Ranking(text, _value(problem, plan, metric.expression))
    except KeyError as error:
        return Ranking(text, None, f'{atom_text(error.args[0])} has no value in :init')
    except DecimalException:
        return Ranking(text, None, 'its arithmetic has no result')


def _value(problem: Problem, plan: Plan, metric: Expression) -> Decimal:
    values: dict[Atom, Decimal] = {(TOTAL_COST,): Decimal(0), **problem.values}
    table = AtomTable(problem)
    grounder = Grounder(problem, table)
    state = table.encode(problem.init)
    for step in plan.steps:
        schema = problem.domain.actions[step.action]
        names = (name for name, _ in schema.parameters)
        binding = dict(zip(names, step.arguments, strict=True))
        added = Decimal(0)
        for cost in schema.numeric:
            for inner in bindings(cost.variables, table.objects):
                full = {**binding, **inner}
                if compile_test(condition(cost.condition, table, full))(state):
                    added += _evaluate(cost.value, values, full)
        values[TOTAL_COST,] += added
        state = grounder.action(step).apply(state)
    return _evaluate(metric, {(TOTAL_TIME,): Decimal(len(plan)), **values}, {})


def _evaluate(expression: Expression, values: Mapping[Atom, Decimal], binding: _Binding) -> Decimal:
    if isinstance(expression, Decimal):
        return expression
    if isinstance(expression, Arithmetic):
        parts = [_evaluate(part, values, binding) for part in expression.parts]
        if expression.operator == '-' and len(parts) == 1:
            return -parts[0]
        return reduce(_OPERATIONS[expression.operator], parts)
    return values[(expression.predicate, *(binding.get(term, term) for term in expression.terms))]
