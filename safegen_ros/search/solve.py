# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The reference planner: one question, three routes to the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Literal

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
from safegen_ros.search.fast_downward import fast_downward_available, solve_with_fast_downward
from safegen_ros.search.in_process import solve_in_process
from safegen_ros.search.kairos import solve_with_kairos
from safegen_ros.verify.temporal import TemporalProof

Route = Literal['auto', 'in-process', 'fast-downward', 'kairos']

MEMORY_LIMIT_MB = 2048.0
"""Most memory of a search when the caller does not say [MiB]."""

_SHARE = (0.25, 5.0)
"""What the search in this process has before the other one is asked: a share of the time, and the
most of it [s]. A small problem takes milliseconds here; what takes longer goes to the other one."""

_OPTIMAL_SHARE = (0.4, 20.0)
"""Likewise for a shortest plan, for which the other one has no heuristic where there are axioms."""


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
        problem: what to solve.
        optimal: whether the plan has to be a shortest one, with proof; otherwise it comes sooner.
        route: who searches. `auto` searches in this process first, and if that takes long goes on
            with Fast Downward where it is installed.
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
    if problem.domain.durative:
        steps = partial(
            solve, sequential(problem), optimal=optimal, route=route, time_limit_s=time_limit_s,
            memory_limit_mb=memory_limit_mb, cancelled=cancelled,
        )  # fmt: skip
        return _over_time(problem, steps)
    budget = Budget(time_limit_s, memory_limit_mb, cancelled)
    if route == FAST_DOWNWARD:
        return _with_fast_downward(problem, budget, optimal)
    if route == KAIROS:
        return solve_with_kairos(problem, budget, optimal=optimal)
    if route == IN_PROCESS or not fast_downward_available():
        return solve_in_process(problem, budget, optimal=optimal)
    share, most_s = _OPTIMAL_SHARE if optimal else _SHARE
    part = budget.part(min(share * time_limit_s, most_s))
    try:
        return solve_in_process(problem, part, optimal=optimal)
    except SearchLimit:
        return _with_fast_downward(problem, budget, optimal)


def _over_time(problem: Problem, search: Callable[[], Solution]) -> Solution:
    """A plan of single steps that is proved over time.

    Raises:
        SearchLimit: there is no plan of single steps, or the one that was found breaks something
            over time, which this search does not look at.
    """
    try:
        found = search()
    except Unsolvable as error:
        raise SearchLimit(
            f'{error.message}, with one step at a time; steps that overlap are not searched for'
        ) from error
    proof = TemporalProof(problem)
    plan = proof.actions.timed(found.plan)
    verdict = proof.verify(plan)
    if not verdict.ok:
        raise SearchLimit(
            f'the search does not look at time, and its plan fails over time: {verdict.reason}'
        )
    return replace(found, plan=plan, optimal=False)


def _with_fast_downward(problem: Problem, budget: Budget, optimal: bool) -> Solution:
    plan = solve_with_fast_downward(problem, budget, optimal=optimal)
    return Solution(plan, FAST_DOWNWARD, optimal, budget.seconds, 0)
