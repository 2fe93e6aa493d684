# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Solves a problem in this process, which starts in a few milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from safegen_ros.errors import SafegenError
from safegen_ros.pddl.deciding import changed_functions, state_functions
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.search.best_first import GreedySearch, OptimalSearch, Search
from safegen_ros.search.budget import IN_PROCESS, Budget, Solution
from safegen_ros.search.canonical_plan import CanonicalSearch
from safegen_ros.search.costs import NoStepCosts, StepCosts, shortest_is_best
from safegen_ros.search.exact import ExactSearch
from safegen_ros.search.relaxation import Relaxation
from safegen_ros.search.task import SearchTask
from safegen_ros.verify.monitors import Standing
from safegen_ros.verify.validator import verify


def solve_in_process(problem: Problem, budget: Budget, *, optimal: bool = False) -> Solution:
    """Finds a plan that reaches the goal and satisfies every constraint.

    Args:
        problem: what to solve.
        budget: what may be used.
        optimal: whether to look for the best plan by the metric, or by the number of steps where
            there is none. Where the metric is no sum of what steps cost, the plan is a shortest
            one, which the answer does not call optimal.

    Returns:
        A plan that `verify` accepts.

    Raises:
        Unsolvable: there is none.
        SearchLimit: time or memory ran out.
        Canceled: the caller wants to stop.
    """
    exact = bool(state_functions(problem) & changed_functions(problem.domain))
    if optimal and not shortest_is_best(problem):
        try:
            return _exact(problem, budget, StepCosts(problem))
        except NoStepCosts:
            found = _exact(problem, budget) if exact else _solution(problem, budget, OptimalSearch)
            return replace(found, optimal=False)
    if exact:
        return _exact(problem, budget, greedy=not optimal)
    return _solution(problem, budget, OptimalSearch if optimal else GreedySearch)


def _exact(
    problem: Problem, budget: Budget, costs: StepCosts | None = None, *, greedy: bool = False
) -> Solution:
    """The answer of a search in exact states; may raise `NoStepCosts` where it is given costs."""
    search = ExactSearch(problem, budget, costs, greedy=greedy)
    plan = Plan(tuple(search.actions[action].step for action in search.plan()))
    return _proved(problem, Solution(plan, IN_PROCESS, not greedy, budget.seconds, search.expanded))


def canonical_plan(problem: Problem, budget: Budget) -> Solution:
    """Of all the shortest plans the first one, as steps and their words are ordered.

    Args, what is returned and what is raised are those of `solve_in_process`.
    """
    return _solution(problem, budget, CanonicalSearch)


def _solution(
    problem: Problem,
    budget: Budget,
    kind: type[Search],
) -> Solution:
    task = SearchTask(problem, budget)
    relaxation = Relaxation(task, budget)
    search = kind(task, relaxation, budget)
    found = search.plan()
    optimal = kind is not GreedySearch and shortest_is_best(problem)
    if kind is GreedySearch:
        found = shortened(task, found)
    plan = Plan(tuple(task.actions[action].step for action in found))
    return _proved(problem, Solution(plan, IN_PROCESS, optimal, budget.seconds, search.expanded))


def _proved(problem: Problem, found: Solution) -> Solution:
    verdict = verify(problem, found.plan)  # which follows it again, with nothing of the search
    if not verdict.ok:
        raise SafegenError(f'the search made a plan that does not verify: {verdict.reason}')
    return found


_MOST_TRIED = 200_000  # actions that are applied in all; some tenths of a second


def shortened(task: SearchTask, actions: Sequence[int]) -> list[int]:
    """A plan without the actions, and those that depend on them, that it also works without.

    One action after the other is left out with whatever becomes inapplicable by that (Nakhost and
    Müller, "Action Elimination and Plan Neighborhood Graph Search", 2010). A long plan is shortened
    only as far as that is done quickly.
    """
    plan = list(actions)
    state, standing = task.init, task.start
    place = tried = 0
    while place < len(plan) and tried <= _MOST_TRIED:
        rest = _without_first(task, plan[place:], state, standing)
        tried += len(plan) - place
        if rest is not None:
            plan[place:] = rest
            continue
        state, standing = task.follow(plan[place], state, standing)
        place += 1
    return plan


def _without_first(
    task: SearchTask, actions: Sequence[int], state: int, standing: Standing
) -> list[int] | None:
    """The actions that still apply when the first one is left out, None if they are no plan."""
    kept = []
    for action in actions[1:]:
        if task.actions[action].applicable(state):
            state, standing = task.follow(action, state, standing)
            if task.monitors.broken(standing):
                return None
            kept.append(action)
    return kept if task.finished(state, standing) else None
