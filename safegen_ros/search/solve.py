# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The reference planner: one question, three routes to the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Literal

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.deciding import has_wishes, state_functions
from safegen_ros.pddl.flatten import sequential
from safegen_ros.pddl.model import Problem
from safegen_ros.search.budget import (
    FAST_DOWNWARD,
    IN_PROCESS,
    KAIROS,
    Budget,
    SearchLimit,
    Solution,
    Unsolvable,
)
from safegen_ros.search.costs import shortest_is_best
from safegen_ros.search.fast_downward import fast_downward_available, solve_with_fast_downward
from safegen_ros.search.in_process import solve_in_process
from safegen_ros.search.kairos import kairos_available, solve_with_kairos
from safegen_ros.search.wishes import solve_with_wishes
from safegen_ros.verify.temporal import TemporalProof

Route = Literal['auto', 'in-process', 'fast-downward', 'kairos']

MEMORY_LIMIT_MB = 2048.0
"""Most memory of a search when the caller does not say [MiB]."""

_SHARE = (0.25, 5.0)
"""What the search in this process has before another one is asked: a share of the time, and the
most of it [s]. A small problem takes milliseconds here; what takes longer goes to the others."""

_OPTIMAL_SHARE = (0.4, 20.0)
"""Likewise for an optimal plan, for which Fast Downward has no heuristic where there are axioms."""

_EXACT_SHARE = (0.1, 1.0)
"""Likewise where numbers or times decide, of which our heuristics know nothing."""

_WISHES_SHARE = (0.25, 5.0)
"""Likewise for plans that break fewer wishes, once there is one; an optimal plan has all of it."""

_PROOF_SHARE = 0.6
"""The share of Fast Downward before Kairos, which has a plan without a proof, is asked."""


def solve(
    problem: Problem,
    *,
    optimal: bool = False,
    route: Route = 'auto',
    time_limit_s: float = 60.0,
    memory_limit_mb: float = MEMORY_LIMIT_MB,
    cancelled: Callable[[], bool] = lambda: False,
) -> Solution:
    """Finds a plan that reaches the goal and satisfies every constraint.

    Args:
        optimal: whether to look for the best plan by the metric, by the number of steps where the
            problem has none; the answer says whether that is proved. A plan comes sooner without.
        route: who searches. `auto` searches in this process first, and after some time goes on with
            an installed planner that fits the problem.
        time_limit_s: wall-clock limit [s].
        memory_limit_mb: most memory [MiB].
        cancelled: whether the caller wants to stop; asked about a hundred times a second.

    Returns:
        A plan that `verify` accepts.

    Raises:
        Unsolvable: there is none, and that is proved.
        SearchLimit: time or memory ran out.
        Canceled: `cancelled` said so.
        SafegenError: the program that was asked for is not installed, or failed.
    """
    budget = Budget(time_limit_s, memory_limit_mb, cancelled)
    ask = partial(_solve, route=route, optimal=optimal)
    if not has_wishes(problem):
        return ask(problem, budget)
    share, most_s = _WISHES_SHARE
    seconds = time_limit_s if optimal else min(share * time_limit_s, most_s)
    return solve_with_wishes(problem, ask, budget, seconds)


def _solve(problem: Problem, budget: Budget, *, route: Route, optimal: bool) -> Solution:
    if route != 'auto':
        return _solve_with(route, problem, budget, optimal)
    *first, (last, _) = _attempts(problem, optimal, budget.time_limit_s)
    found = None
    for chosen, seconds in first:
        part = budget.part(min(seconds, budget.left_s))
        try:
            found = replace(_solve_with(chosen, problem, part, optimal), seconds=budget.seconds)
            if found.optimal or not optimal:
                return found
        except SearchLimit:
            continue
        except SafegenError as error:
            if error.code is not ErrorCode.UNSUPPORTED_FEATURE:
                raise
    try:
        return _solve_with(last, problem, budget, optimal)
    except SearchLimit:
        if found is None:
            raise
        return found


def _attempts(problem: Problem, optimal: bool, time_limit_s: float) -> list[tuple[Route, float]]:
    """The routes to try in turn, each with the most time that it may take [s]; the last has all."""
    timed, numeric = bool(problem.domain.durative), bool(state_functions(problem))
    share, most_s = _OPTIMAL_SHARE if optimal else _EXACT_SHARE if timed or numeric else _SHARE
    own: tuple[Route, float] = (IN_PROCESS, min(share * time_limit_s, most_s))
    second: tuple[Route, float] = (FAST_DOWNWARD, _PROOF_SHARE * time_limit_s)
    third: tuple[Route, float] = (KAIROS, time_limit_s)
    downward = not numeric and fast_downward_available()
    if optimal and not shortest_is_best(problem):
        first = [second] if downward else [own]
        return [*first * (not timed), third if kairos_available() else own]
    if downward and not timed:
        return [own, second]
    if kairos_available():
        return [own, third]
    return [own, second] if downward else [own]


def _solve_with(route: Route, problem: Problem, budget: Budget, optimal: bool) -> Solution:
    if route == KAIROS:
        return solve_with_kairos(problem, budget, optimal=optimal)
    search = solve_with_fast_downward if route == FAST_DOWNWARD else solve_in_process
    if problem.domain.durative:
        single = partial(search, sequential(problem), budget, optimal=optimal)
        return _over_time(problem, single, budget)
    return search(problem, budget, optimal=optimal)


def _over_time(problem: Problem, search: Callable[[], Solution], budget: Budget) -> Solution:
    """A plan of single steps that is proved over time.

    Raises:
        SearchLimit: there is no plan of single steps, or the one that was found breaks something
            over time, which this search does not look at.
    """
    try:
        found = search()
    except Unsolvable as error:
        raise SearchLimit(
            f'steps that overlap are not searched for; with single steps, {error.message}'
        ) from error
    proof = TemporalProof(problem, budget.tick)
    plan = proof.actions.timed(found.plan)
    verdict = proof.verify(plan)
    if not verdict.ok:
        raise SearchLimit(
            f'the search does not look at time, and its plan fails over time: {verdict.reason}'
        )
    return replace(found, plan=plan, optimal=False)
