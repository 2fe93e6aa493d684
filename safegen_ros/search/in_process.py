# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Solves a problem in this process, which starts in a few milliseconds."""

from __future__ import annotations

from safegen_ros.errors import SafegenError
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.search.best_first import OptimalSearch
from safegen_ros.search.budget import Budget
from safegen_ros.search.canonical_plan import FirstShortest
from safegen_ros.search.greedy import GreedySearch
from safegen_ros.search.outcome import IN_PROCESS, Solution
from safegen_ros.search.relaxation import Relaxation
from safegen_ros.search.shorten import shortened
from safegen_ros.search.task import SearchTask
from safegen_ros.verify.validator import verify


def solve_in_process(problem: Problem, budget: Budget, *, optimal: bool = False) -> Solution:
    """Finds a plan that reaches the goal and satisfies every constraint.

    Args:
        problem: what to solve.
        budget: what may be used.
        optimal: whether the plan has to be a shortest one.

    Returns:
        A plan that `verify` accepts.

    Raises:
        Unsolvable: there is none.
        SearchLimit: time or memory ran out.
        Canceled: the caller wants to stop.
    """
    return _solution(problem, budget, OptimalSearch if optimal else GreedySearch)


def first_shortest(problem: Problem, budget: Budget) -> Solution:
    """Of all the shortest plans the first one, as steps and their words are ordered.

    Args, what is returned and what is raised are those of `solve_in_process`.
    """
    return _solution(problem, budget, FirstShortest)


def _solution(
    problem: Problem,
    budget: Budget,
    kind: type[GreedySearch] | type[OptimalSearch] | type[FirstShortest],
) -> Solution:
    task = SearchTask(problem, budget)
    relaxation = Relaxation(task, budget)
    search = kind(task, relaxation, budget)
    found = search.plan()
    optimal = kind is not GreedySearch
    if not optimal:
        found = shortened(task, found)
    plan = Plan(tuple(task.actions[action].step for action in found))
    verdict = verify(problem, plan)  # which follows the plan anew, with nothing of the search
    if not verdict.ok:
        raise SafegenError(f'the search made a plan that does not verify: {verdict.reason}')
    return Solution(plan, IN_PROCESS, optimal, budget.seconds, search.expanded)
