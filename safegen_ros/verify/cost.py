# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The value of a problem's metric for a plan; it ranks plans and never makes one valid."""

from __future__ import annotations

from dataclasses import dataclass, replace

from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.deciding import with_sources
from safegen_ros.pddl.expressions import TOTAL_COST, TOTAL_TIME
from safegen_ros.pddl.facts import is_value, told_value, value_fact
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import Atom, Expression, Number, Problem, functions_of
from safegen_ros.pddl.numbers import NoNumber, NumberTable
from safegen_ros.pddl.plan import Plan
from safegen_ros.pddl.writer import metric_text, value_text


@dataclass(frozen=True, slots=True)
class Ranking:
    """What the metric of a problem says of a plan.

    Attributes:
        metric: as the problem writes it, `minimize (total-cost)`.
        value: its exact value for the plan; None when it has none.
        reason: why it has none; empty when it has one.
    """

    metric: str
    value: Number | None
    reason: str = ''

    def __str__(self) -> str:
        """The metric and its value, for a person."""
        told = f'unknown, {self.reason}' if self.value is None else value_text(self.value)
        return f'{self.metric} = {told}'


def rank(problem: Problem, plan: Plan) -> Ranking | None:
    """The value of a problem's metric for a plan whose steps apply; None without a metric."""
    metric = problem.metric
    if metric is None:
        return None
    try:
        return Ranking(metric_text(metric), _value(problem, plan, metric.expression))
    except NoNumber as error:
        return Ranking(metric_text(metric), None, str(error))


def _value(problem: Problem, plan: Plan, metric: Expression) -> Number:
    """The metric after the plan, with the functions that it reads as a part of every state.

    Raises:
        NoNumber: it has no value.
    """
    named = {each.predicate for each in functions_of(metric)}
    ranking = with_sources(problem.domain, named)
    values: dict[Atom, Number] = {(TOTAL_COST,): 0, (TOTAL_TIME,): len(plan), **problem.values}
    told = {told_value(fact)[0] for fact in problem.init if is_value(fact)}
    more = {value_fact(f, v) for f, v in values.items() if f[0] in ranking and f not in told}
    problem = replace(problem, init=problem.init | more)
    table = AtomTable(problem, ranking=ranking)
    grounder = Grounder(problem, table)
    state = table.encode(problem.init)
    for step in plan.steps:
        action = grounder.action(step)
        if not action.applicable(state):
            raise NoNumber(grounder.numbers(step, state) or f'{step} does not apply')
        state = action.apply(state)
    numbers = table.numbers
    if numbers is None:  # the metric is a number
        numbers = NumberTable(problem, ranking, True)
    return numbers.evaluation(metric)(numbers.values(state))
