# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Each route answers when it is asked, and the second one takes what is left of the time."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import exhaustive
import pytest
import strategies
from hypothesis import given, settings

from safegen_ros.errors import Canceled
from safegen_ros.pddl.model import Or, Problem
from safegen_ros.pddl.plan import Plan, make_plan
from safegen_ros.search import solve as module
from safegen_ros.search.fast_downward import fast_downward_available
from safegen_ros.search.outcome import FAST_DOWNWARD, IN_PROCESS, SearchLimit, Unsolvable
from safegen_ros.search.solve import Route, solve
from safegen_ros.verify.validator import verify

ROUTES: tuple[Route, ...] = ('auto', 'in-process', 'fast-downward')
PLAN = make_plan([('pickup', 'b1')])


def _small() -> Problem:
    return strategies.blocks(random.Random(1), 3, constraints=0)


def _large() -> Problem:
    return strategies.blocks(random.Random(1), 40, constraints=0)


@pytest.fixture
def downward(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Puts something in Fast Downward's place that notes how it is called."""
    calls: list[dict[str, Any]] = []

    def answer(problem: Problem, **arguments: Any) -> Plan:
        calls.append(arguments)
        return PLAN

    monkeypatch.setattr(module, 'fast_downward_available', lambda: True)
    monkeypatch.setattr(module, 'solve_with_fast_downward', answer)
    return calls


def test_a_small_problem_is_solved_in_process(downward: list[dict[str, Any]]) -> None:
    for route in ('auto', 'in-process'):
        solution = solve(_small(), route=route)
        assert solution.route == IN_PROCESS
        assert verify(_small(), solution.plan).ok
        assert not solution.optimal
        assert 0 < solution.seconds < 60
        assert solution.expanded > 0
    assert solve(_small(), optimal=True).optimal
    assert not downward


@pytest.mark.parametrize('optimal', [True, False])
def test_what_takes_long_goes_to_fast_downward(
    downward: list[dict[str, Any]], optimal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, '_SHARE_LIMIT_S', 0.0)  # however fast this machine is
    solution = solve(_large(), time_limit_s=0.5, memory_limit_mb=300.0, optimal=optimal)
    assert (solution.plan, solution.route, solution.optimal) == (PLAN, FAST_DOWNWARD, optimal)
    (call,) = downward
    assert 0 < call['time_limit_s'] < 0.5
    assert (call['memory_limit_mb'], call['optimal']) == (300.0, optimal)


def test_a_route_that_was_asked_for_is_taken(downward: list[dict[str, Any]]) -> None:
    assert solve(_small(), route='fast-downward').route == FAST_DOWNWARD
    with pytest.raises(SearchLimit):
        solve(_large(), route='in-process', time_limit_s=0.1)
    assert len(downward) == 1


def test_no_plan_needs_no_second_opinion(downward: list[dict[str, Any]]) -> None:
    with pytest.raises(Unsolvable):
        solve(replace(_small(), goal=Or(())))
    assert not downward


def test_without_fast_downward_all_the_time_is_used_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, 'fast_downward_available', lambda: False)
    with pytest.raises(SearchLimit, match=r'time limit of 0\.3 s'):
        solve(_large(), time_limit_s=0.3)


def test_a_cancel_reaches_both_routes(downward: list[dict[str, Any]]) -> None:
    def cancelled() -> bool:
        return True

    with pytest.raises(Canceled):
        solve(_small(), cancelled=cancelled)
    assert not downward
    solve(_small(), route='fast-downward', cancelled=cancelled)
    assert downward[0]['cancelled'] is cancelled


@pytest.mark.skipif(not fast_downward_available(), reason='Fast Downward is not installed')
@settings(strategies.SUITE, max_examples=15)
@given(strategies.SEEDS)
def test_the_routes_agree(seed: int) -> None:
    problem = exhaustive.solvable_problem(seed) if seed % 2 else exhaustive.problem_of(seed)
    lengths = set()
    for route in ROUTES:
        try:
            solution = solve(problem, route=route, optimal=True)
        except Unsolvable:
            lengths.add(-1)
        else:
            assert verify(problem, solution.plan).ok
            lengths.add(len(solution.plan))
    assert len(lengths) == 1
