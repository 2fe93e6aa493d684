# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans for preferences: a search that knows only rules is asked to take wishes for rules.

All of them at first, then one after the other, the dearest first. What cannot be had, or makes the
metric worse, is given up. This is greedy: to keep a wish may cost more than it brings. So a plan
that breaks no wish is proved to be the best only if nothing else counts, or if it is a best plan
for the rules alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from safegen_ros.errors import Canceled, SafegenError
from safegen_ros.pddl.deciding import settled, without_wishes
from safegen_ros.pddl.model import (
    Action,
    And,
    Forall,
    Metric,
    Number,
    Preference,
    Problem,
    SoftRule,
    functions_of,
)
from safegen_ros.search.budget import Budget, Solution
from safegen_ros.search.costs import is_sum
from safegen_ros.verify.cost import Breaks, broken_wishes, counted, rank, wish_prices, wish_text

Ask = Callable[[Problem, Budget], Solution]

_Wish = Preference | tuple[str, SoftRule]
"""A wish for the whole plan, or one of the precondition of an action."""

_SHARE = 0.25  # of the time that is left, for one attempt


@dataclass(frozen=True, slots=True)
class _Found:
    """A plan, the wishes that it breaks, and its value, of which less is better."""

    solution: Solution
    breaks: Breaks
    worth: tuple[Number, int]

    def breaks_one_of(self, wishes: Iterable[_Wish]) -> bool:
        return any(
            wish_text(wish) in self.breaks.get(wish.name, ())
            if isinstance(wish, Preference)
            else wish[1].name in self.breaks
            for wish in wishes
        )


def solve_with_wishes(problem: Problem, ask: Ask, budget: Budget, seconds: float) -> Solution:
    """Finds a plan, and then, if it breaks wishes, others with a better metric.

    Without a metric, the one that breaks fewer wishes is better.

    Args:
        ask: finds a plan of a problem that has no preferences.
        seconds: most time for the better plans [s].

    Raises:
        SafegenError: `ask` found no plan at all, whatever is wished for.
    """
    bare = _with_rules(problem, [])
    first = best = _judged(problem, ask(bare, budget))
    wishes = _dearest_first(problem, best.solution)
    kept: list[_Wish] = []
    part = budget.part(min(seconds, budget.left_s))
    for wanted in [wishes, *([wish] for wish in wishes)] if best.breaks else ():
        if part.left_s <= 0:
            break
        if best.breaks_one_of(wanted):
            rules = _with_rules(problem, [*kept, *wanted])
            try:
                found = _judged(problem, ask(rules, part.part(_SHARE * part.left_s)))
            except Canceled:
                raise
            except SafegenError:  # whatever it is, there is a plan
                continue
            if found.worth >= best.worth:
                continue
            best = found
        kept += wanted
    proved = best is first and first.solution.optimal
    if metric := problem.metric:
        least = metric.direction == 'minimize' and is_sum(metric.expression) and not best.breaks
        proved = least and (proved or bare.metric is None)
    return replace(best.solution, optimal=proved, seconds=budget.seconds)


def _dearest_first(problem: Problem, found: Solution) -> list[_Wish]:
    rules = [(a.name, rule) for a in problem.domain.actions.values() for rule in a.wishes]
    wishes: list[_Wish] = [*problem.preferences, *rules]
    names = {wish: wish.name if isinstance(wish, Preference) else wish[1].name for wish in wishes}
    once = {name: [''] for name in names.values()}
    prices = wish_prices(problem, found.plan, once)
    return sorted(wishes, key=lambda wish: -_sign(problem) * prices.get(names[wish], 0))


def _judged(problem: Problem, solution: Solution) -> _Found:
    ranking = rank(problem, solution.plan)
    breaks = broken_wishes(problem, solution.plan)
    value = 0 if ranking is None or ranking.value is None else _sign(problem) * ranking.value
    return _Found(solution, breaks, (value, sum(map(len, breaks.values()))))


def _sign(problem: Problem) -> int:
    return -1 if problem.metric is not None and problem.metric.direction == 'maximize' else 1


def _with_rules(problem: Problem, wishes: Iterable[_Wish]) -> Problem:
    """The problem with some of its wishes as rules and no others, and the rest of its metric."""
    bare = without_wishes(problem)
    actions = dict(bare.domain.actions)
    constraints = list(bare.constraints)
    for wish in wishes:
        if isinstance(wish, Preference):
            constraints += wish.constraints
        else:
            actions[wish[0]] = _stricter(actions[wish[0]], wish[1])
    metric = problem.metric
    if metric is not None:
        rest = counted(metric.expression, {})
        metric = Metric(metric.direction, rest) if any(functions_of(rest)) else None
    return settled(
        replace(
            bare,
            domain=replace(bare.domain, actions=actions),
            constraints=tuple(dict.fromkeys(constraints)),
            metric=metric,
        )
    )


def _stricter(action: Action, rule: SoftRule) -> Action:
    wanted = And(rule.formulas())
    inner = Forall(rule.variables, wanted) if rule.variables else wanted
    return replace(action, precondition=And((action.precondition, inner)))
