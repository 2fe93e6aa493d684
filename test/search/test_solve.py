# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Each route answers when it is asked, and the second one takes what is left of the time."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from support import exhaustive, strategies
from support.plans import make_plan

from safegen_ros.errors import Canceled
from safegen_ros.pddl.model import Or, Problem
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.search import solve as module
from safegen_ros.search.budget import (
    FAST_DOWNWARD,
    IN_PROCESS,
    Budget,
    SearchLimit,
    Solution,
    Unsolvable,
)
from safegen_ros.search.fast_downward import fast_downward_available
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

    def answer(problem: Problem, budget: Budget, **arguments: Any) -> Solution:
        calls.append({'budget': budget, 'left_s': budget.left_s, **arguments})
        return Solution(PLAN, FAST_DOWNWARD, arguments['optimal'], budget.seconds, 0)

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
    for name in ('_SHARE', '_OPTIMAL_SHARE'):
        monkeypatch.setattr(module, name, (0.1, 0.0))  # however fast this machine is
    solution = solve(_large(), time_limit_s=30.0, memory_limit_mb=300.0, optimal=optimal)
    assert (solution.plan, solution.route, solution.optimal) == (PLAN, FAST_DOWNWARD, optimal)
    (call,) = downward
    assert 0 < call['left_s'] < 30.0
    assert (call['budget'].memory_limit_mb, call['optimal']) == (300.0, optimal)


@pytest.mark.parametrize('optimal', [True, False])
@pytest.mark.parametrize('limit_s', [2.0, 30.0, 600.0])
def test_most_of_the_time_is_left_to_fast_downward(
    downward: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    optimal: bool,
    limit_s: float,
) -> None:
    parts = []

    def never(problem: Problem, budget: Budget, *, optimal: bool) -> None:
        parts.append(budget.time_limit_s)
        raise SearchLimit('it takes too long')

    monkeypatch.setattr(module, 'solve_in_process', never)
    assert solve(_small(), optimal=optimal, time_limit_s=limit_s).route == FAST_DOWNWARD
    assert 0 < parts[0] <= (min(0.4 * limit_s, 20.0) if optimal else min(0.25 * limit_s, 5.0))
    assert downward[0]['budget'].time_limit_s == limit_s


@pytest.mark.skipif(not fast_downward_available(), reason='Fast Downward is not installed')
@pytest.mark.parametrize('route', ROUTES)
@pytest.mark.parametrize(('limit_s', 'told'), [(0.001, '0.001'), (0.3, '0.3')])
def test_the_limit_that_is_told_is_the_one_that_was_given(
    route: Route, limit_s: float, told: str
) -> None:
    with pytest.raises(SearchLimit, match=rf'its time limit of {told} s:'):
        solve(_large(), route=route, time_limit_s=limit_s)


def test_the_limit_holds_while_tables_are_made() -> None:
    """Ground rules of derived predicates took seconds, and nobody looked at the clock."""
    domain = read_domain("""(define (domain web) (:predicates (seen ?p) (near ?a ?b))
      (:derived (near ?a ?b) (or (seen ?a) (exists (?c) (and (near ?a ?c) (seen ?c)))))
      (:action go :parameters (?a ?b) :precondition (near ?b ?a) :effect (seen ?b)))""")
    places = ' '.join(f'p{number}' for number in range(40))
    problem = read_problem(
        f'(define (problem w) (:domain web) (:objects {places}) (:init (seen p0)) '
        '(:goal (forall (?p) (seen ?p))))', domain,
    )  # fmt: skip
    begun = time.process_time()
    with pytest.raises(SearchLimit):
        solve(problem, route='in-process', time_limit_s=0.1)
    with pytest.raises(SearchLimit):
        verify(problem, '(go p0 p1)', Budget(0.1, 500.0).tick)
    assert time.process_time() - begun < 1.0


def test_a_route_that_was_asked_for_is_taken(downward: list[dict[str, Any]]) -> None:
    assert solve(_small(), route='fast-downward').route == FAST_DOWNWARD
    with pytest.raises(SearchLimit):
        solve(_large(), route='in-process', time_limit_s=0.1)
    assert len(downward) == 1


def test_no_plan_needs_no_second_opinion(downward: list[dict[str, Any]]) -> None:
    with pytest.raises(Unsolvable):
        solve(replace(_small(), goal=Or(())))
    assert not downward


def test_without_the_others_all_the_time_is_used_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, 'fast_downward_available', lambda: False)
    monkeypatch.setattr(module, 'kairos_available', lambda: False)
    with pytest.raises(SearchLimit, match=r'time limit of 0\.3 s'):
        solve(_large(), time_limit_s=0.3)


def test_a_cancel_reaches_both_routes(downward: list[dict[str, Any]]) -> None:
    def cancelled() -> bool:
        return True

    with pytest.raises(Canceled):
        solve(_small(), cancelled=cancelled)
    assert not downward
    solve(_small(), route='fast-downward', cancelled=cancelled)
    with pytest.raises(Canceled):
        downward[0]['budget'].tick()


@pytest.mark.slow
@pytest.mark.skipif(not fast_downward_available(), reason='Fast Downward is not installed')
@strategies.examples(15)
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
