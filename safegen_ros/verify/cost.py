# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The broken preferences of a plan and the value of its metric; neither makes a plan valid."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial

from safegen_ros.pddl.bits import AtomTable, compile_test, condition
from safegen_ros.pddl.deciding import has_wishes, with_sources
from safegen_ros.pddl.expressions import TOTAL_COST, TOTAL_TIME, VIOLATED
from safegen_ros.pddl.facts import exact, is_value, told_value, value_fact
from safegen_ros.pddl.formulas import bindings, substitute
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import (
    Arithmetic,
    Atom,
    AtomFormula,
    Comparison,
    Expression,
    Number,
    Preference,
    Problem,
    functions_of,
    walk,
)
from safegen_ros.pddl.numbers import NoNumber, NumberTable
from safegen_ros.pddl.plan import Plan
from safegen_ros.pddl.writer import constraint_text, formula_text, metric_text, value_text
from safegen_ros.verdict import BrokenWish, Category
from safegen_ros.verify.monitors import MonitorSet
from safegen_ros.verify.temporal import TemporalProof
from safegen_ros.verify.timed_actions import EXACT, TimedActions

_MOST_TOLD = 20  # instances of a broken preference


Breaks = dict[str, list[str]]
"""The broken instances of each preference, as PDDL, by its name."""


def _with_values(
    problem: Problem, functions: Iterable[str], length: Number
) -> tuple[Problem, frozenset[str]]:
    """The problem with functions that decide nothing as a part of its states, and what these are.

    Args:
        functions: their names; those that their values come from are added.
        length: of the plan, for the function `total-time`.
    """
    ranking = with_sources(problem.domain, functions)
    values: dict[Atom, Number] = {(TOTAL_COST,): 0, (TOTAL_TIME,): length, **problem.values}
    told = {told_value(fact)[0] for fact in problem.init if is_value(fact)}
    more = {value_fact(f, v) for f, v in values.items() if f[0] in ranking and f not in told}
    return replace(problem, init=problem.init | more), ranking


def broken_wishes(problem: Problem, plan: Plan) -> Breaks:
    """The preferences that a plan breaks; it must be proved.

    An instance of a preference in a precondition is broken each time that its action is taken where
    it does not hold, one that is a goal or a constraint once.
    """
    found: Breaks = {}
    try:
        pairs = list(_breaks(problem, plan))
    except NoNumber as error:  # of a function that decides nothing: no wish is known to be met
        names = [each.name for each in problem.preferences]
        names += [w.name for action in problem.domain.actions.values() for w in action.wishes]
        pairs = [(name, str(error)) for name in dict.fromkeys(names)]
    for name, text in pairs:
        found.setdefault(name, []).append(text)
    return found


def _functions(problem: Problem) -> frozenset[str]:
    """The functions that preferences read."""
    rules = [rule for action in problem.domain.actions.values() for rule in action.wishes]
    formulas = [f for each in problem.preferences for c in each.constraints for f in c.arguments]
    formulas += [formula for rule in rules for formula in rule.formulas()]
    parts = [part for f in formulas for part in walk(f) if isinstance(part, Comparison)]
    return frozenset(each.predicate for each in functions_of(*parts))


def _walk(problem: Problem, plan: Plan) -> tuple[AtomTable, list[int]]:
    """The states of a plan, with all functions that preferences read."""
    problem, ranking = _with_values(problem, _functions(problem), len(plan))
    table = AtomTable(problem, ranking=ranking)
    grounder = Grounder(problem, table)
    states = [table.encode(problem.init)]
    for step in plan.steps:
        states.append(grounder.action(step).apply(states[-1]))
    return table, states


def _timed_with(
    problem: Problem, functions: Iterable[str], plan: Plan
) -> tuple[TimedActions, Plan]:
    """The actions over time, with some functions as a part of the states, and a plan with times."""
    if not plan.times:
        plan = TimedActions(problem).timed(plan)
    end = max((EXACT.add(*each) for each in plan.times), default=Decimal(0))
    problem, ranking = _with_values(problem, functions, exact(end))
    return TimedActions(problem, ranking=ranking), plan


def _breaks(problem: Problem, plan: Plan) -> Iterator[tuple[str, str]]:
    """Each broken instance: the name of its preference, and its text."""
    if not problem.domain.durative:
        table, states = _walk(problem, plan)
        yield from _in_actions(problem, plan, table, states)
        yield from _over_plan(problem, table, states)
        return
    timed, plan = _timed_with(problem, _functions(problem), plan)
    moments = list(timed.states(plan))
    times = [time for time, _ in moments[1:]]
    before = [moments[bisect_left(times, start)][1] for start, _ in plan.times]
    yield from _in_actions(problem, plan, timed.table, before)
    yield from _over_time(timed.problem, plan)


def _in_actions(
    problem: Problem, plan: Plan, table: AtomTable, states: Sequence[int]
) -> Iterator[tuple[str, str]]:
    """Those of preconditions, from the states before the steps."""
    for step, state in zip(plan.steps, states, strict=False):
        schema = problem.domain.actions[step.action]
        names = (name for name, _ in schema.parameters)
        outer = dict(zip(names, step.arguments, strict=True))
        for rule in schema.wishes:
            for inner in bindings(rule.variables, table.objects):
                binding = {**outer, **inner}
                for formula in rule.formulas():
                    if not compile_test(condition(formula, table, binding))(state):
                        yield rule.name, f'{formula_text(substitute(formula, binding))} at {step}'


def _over_plan(
    problem: Problem, table: AtomTable, states: Sequence[int]
) -> Iterator[tuple[str, str]]:
    own = tuple(constraint for each in problem.preferences for constraint in each.constraints)
    monitors = MonitorSet(replace(problem, constraints=own), table)
    standing = monitors.start(states[0])
    for state in states[1:]:
        standing = monitors.progress(standing, state)
    left = {monitor.shift for monitor in monitors.unsatisfied(standing)}
    watching = iter(monitors.monitors)
    for each in problem.preferences:
        shifts = {next(watching).shift for _ in each.constraints}
        if shifts & left:
            yield each.name, wish_text(each)


def _over_time(problem: Problem, plan: Plan) -> Iterator[tuple[str, str]]:
    own = dict.fromkeys(c for each in problem.preferences for c in each.constraints)
    if not own:
        return
    verdict = TemporalProof(replace(problem, constraints=tuple(own))).verify(plan)
    if not verdict.ok and verdict.category is not Category.SAFETY_VIOLATION:
        raise NoNumber(verdict.reason)  # that a wish reads, and what is proved does not
    broken = {each.text for each in verdict.broken}
    for each in problem.preferences:
        if any(constraint_text(constraint) in broken for constraint in each.constraints):
            yield each.name, wish_text(each)


def wish_text(preference: Preference) -> str:
    """A preference as PDDL, as `Breaks` has it."""
    texts = [constraint_text(constraint) for constraint in preference.constraints]
    return texts[0] if len(texts) == 1 else f'(and {" ".join(texts)})'


@dataclass(frozen=True, slots=True)
class Ranking:
    """The value of the metric of a problem for a plan.

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


def wish_prices(problem: Problem, plan: Plan, breaks: Breaks) -> dict[str, Number]:
    """What the broken instances of each named preference add to the metric, where that is known."""
    prices: dict[str, Number] = {}
    if problem.metric is not None:
        metric = problem.metric.expression
        with suppress(NoNumber):
            value = _valuation(problem, plan, metric)
            whole = value(counted(metric, breaks))
            for name in filter(None, breaks):
                with suppress(NoNumber):
                    prices[name] = whole - value(counted(metric, {**breaks, name: []}))
    return prices


def told_wishes(problem: Problem, plan: Plan, breaks: Breaks) -> tuple[BrokenWish, ...]:
    """Broken preferences, each with its cost in the metric, where that is known."""
    prices = {name: value_text(each) for name, each in wish_prices(problem, plan, breaks).items()}
    return tuple(
        BrokenWish(name, len(texts), tuple(texts[:_MOST_TOLD]), prices.get(name, ''))
        for name, texts in breaks.items()
    )


def counted(expression: Expression, breaks: Breaks) -> Expression:
    """An expression with the number of broken instances instead of `(is-violated NAME)`."""
    if isinstance(expression, AtomFormula) and expression.predicate == VIOLATED:
        return Decimal(len(breaks.get(expression.terms[0], ())))
    if isinstance(expression, Arithmetic):
        parts = tuple(counted(part, breaks) for part in expression.parts)
        return Arithmetic(expression.operator, parts)
    return expression


def rank(problem: Problem, plan: Plan) -> Ranking | None:
    """The value of a problem's metric for a plan whose steps apply; None without a metric."""
    metric = problem.metric
    if metric is None:
        return None
    try:
        breaks = broken_wishes(problem, plan) if has_wishes(problem) else {}
        value = _valuation(problem, plan, metric.expression)(counted(metric.expression, breaks))
        return Ranking(metric_text(metric), value)
    except NoNumber as error:
        return Ranking(metric_text(metric), None, str(error))


def _valuation(problem: Problem, plan: Plan, metric: Expression) -> Callable[[Expression], Number]:
    """What expressions are worth after the plan, which read no functions but those of the metric.

    It raises `NoNumber` for one that has no value.

    Raises:
        NoNumber: a step does not apply with these functions as a part of every state.
    """
    named = {each.predicate for each in functions_of(metric)} - {VIOLATED}
    if problem.domain.durative:
        timed, plan = _timed_with(problem, named, plan)
        ((_, state),) = deque(timed.states(plan), maxlen=1)
        return partial(_worth, timed.numbers, state)
    problem, ranking = _with_values(problem, named, len(plan))
    table = AtomTable(problem, ranking=ranking)
    grounder = Grounder(problem, table)
    state = table.encode(problem.init)
    for step in plan.steps:
        action = grounder.action(step)
        if not action.applicable(state):
            raise NoNumber(grounder.lacking(action, state)[1] or f'{step} does not apply')
        state = action.apply(state)
    numbers = table.numbers
    if numbers is None:  # the metric is a number
        numbers = NumberTable(problem, frozenset(named), True)
    return partial(_worth, numbers, state)


def _worth(numbers: NumberTable, state: int, expression: Expression) -> Number:
    return numbers.evaluation(expression)(numbers.values(state))
