# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans for preferences keep every rule, are better by the metric, and claim what is proved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from safegen_ros.errors import Canceled, ErrorCode, SafegenError
from safegen_ros.pddl.deciding import without_wishes
from safegen_ros.pddl.model import Number, Problem
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.search.budget import Budget, Solution
from safegen_ros.search.in_process import solve_in_process
from safegen_ros.search.solve import Route, solve
from safegen_ros.search.wishes import solve_with_wishes
from safegen_ros.verify.cost import rank
from safegen_ros.verify.validator import verify

DOMAIN = """(define (domain rooms)
  (:requirements :strips :typing :preferences :constraints :action-costs)
  (:types room)
  (:predicates (at ?r - room) (link ?a ?b - room) (done ?r - room) (lit ?r - room))
  (:functions (total-cost))
  (:action go :parameters (?a ?b - room)
    :precondition (and (at ?a) (link ?a ?b) (preference dark (lit ?a)))
    :effect (and (at ?b) (not (at ?a)) (increase (total-cost) 1)))
  (:action light :parameters (?a - room) :precondition (at ?a) :effect (lit ?a))
  (:action work :parameters (?a - room) :precondition (at ?a)
    :effect (and (done ?a) (increase (total-cost) 1))))"""
WISHES = (
    '(preference w (sometime (done b)))',
    '(preference n (always (not (at c))))',
    '(preference l (sometime-after (at b) (lit b)))',
    '(preference end (at end (at a)))',
)
NAMES = ('w', 'n', 'l', 'end', 'dark')
ROUTES: tuple[Route, ...] = ('auto', 'kairos')


TEXT = """(define (problem p) (:domain rooms) (:objects a b c - room)
  (:init (at a) (link a b) (link b a) (link b c) (link c b) (= (total-cost) 0))
  (:goal (done c)) (:constraints (and RULES)) (:metric METRIC))"""


def _problem(prices: dict[str, int], rule: str = '') -> Problem:
    wishes = ' '.join(wish for wish in WISHES if wish.split()[1] in prices)
    costs = ' '.join(f'(* {price} (is-violated {name}))' for name, price in prices.items())
    text = TEXT.replace('RULES', f'{rule} {wishes}')
    text = text.replace('METRIC', f'minimize (+ (total-cost) {costs})')
    return read_problem(text, read_domain(DOMAIN))


def _plans(length: int) -> Iterator[Plan]:
    """All plans up to a length whose steps apply."""
    layer: list[tuple[tuple[Step, ...], str]] = [((), 'a')]
    links = {'a': 'b', 'b': 'ac', 'c': 'b'}
    for _ in range(length + 1):
        yield from (Plan(steps) for steps, _ in layer)
        layer = [
            ((*steps, step), after)
            for steps, at in layer
            for step, after in [
                *((Step('go', (at, to)), to) for to in links[at]),
                (Step('light', (at,)), at),
                (Step('work', (at,)), at),
            ]
        ]


def _value(problem: Problem, plan: Plan) -> Number:
    ranking = rank(problem, plan)
    assert ranking is not None
    assert ranking.value is not None
    return ranking.value


@settings(max_examples=12)
@example(prices={'w': 10, 'end': 1})  # going back costs more than the broken wish
@given(prices=st.dictionaries(st.sampled_from(NAMES), st.integers(-2, 9), min_size=1))
def test_a_plan_for_wishes_is_no_worse_and_is_the_best_where_that_is_claimed(
    prices: dict[str, int],
) -> None:
    problem, bare = _problem(prices), without_wishes(_problem(prices))
    plain = solve(bare, route='in-process').plan
    proved = [plan for plan in _plans(5) if verify(problem, plan).ok]
    best = min(_value(problem, plan) for plan in proved)
    for optimal in (False, True):
        found = solve(problem, optimal=optimal, route='in-process')
        assert verify(problem, found.plan).ok
        assert _value(problem, found.plan) <= _value(problem, plain)
        assert not found.optimal or _value(problem, found.plan) <= best


@pytest.mark.parametrize('route', ROUTES)
@pytest.mark.parametrize(
    ('prices', 'rule', 'broken'),
    [
        ({'w': 5, 'l': 5}, '', set()),
        ({'w': 5, 'n': 9}, '', {'n'}),  # which no plan can meet
        ({'w': 5, 'dark': 9}, '', set()),  # of a precondition
        ({'w': 9}, '(always (not (done b)))', {'w'}),  # never met against a rule
        ({'w': 0, 'end': 1}, '', {'w', 'end'}),  # which would cost more than they bring
    ],
)
def test_wishes_are_met_where_that_makes_the_plan_better(
    route: Route, prices: dict[str, int], rule: str, broken: set[str]
) -> None:
    problem = _problem(prices, rule)
    found = solve(problem, route=route, time_limit_s=20.0)
    verdict = verify(problem, found.plan)
    assert verdict.ok
    assert {wish.name for wish in verdict.wishes} == broken


@pytest.mark.parametrize(
    ('metric', 'best'),
    [
        ('minimize (+ (is-violated w) (* 3 (is-violated l)))', True),
        ('maximize (+ (is-violated w) (* 3 (is-violated l)))', False),
        ('minimize (+ (total-cost) (is-violated w) (* 3 (is-violated l)))', False),
        ('minimize (- (is-violated w) (is-violated l))', False),
    ],
)
def test_a_plan_is_called_the_best_where_none_can_be_better(metric: str, best: bool) -> None:
    text = TEXT.replace('RULES', f'{WISHES[0]} {WISHES[2]}').replace('METRIC', metric)
    problem = read_problem(text, read_domain(DOMAIN))
    assert solve(problem, optimal=True, route='in-process').optimal is best


def test_without_a_metric_fewer_broken_wishes_are_better() -> None:
    problem = replace(_problem({'w': 1, 'l': 1, 'n': 1}), metric=None)
    found = solve(problem)
    assert [wish.name for wish in verify(problem, found.plan).wishes] == ['n']
    assert not found.optimal


def test_a_cancel_also_ends_the_search_for_wishes() -> None:
    problem, asked = _problem({'w': 5, 'n': 9}), []

    def ask(problem: Problem, budget: Budget) -> Solution:
        asked.append(problem)
        if len(asked) > 1:
            raise Canceled('the search was cancelled', ErrorCode.PLANNING_CANCELED)
        return solve_in_process(problem, budget)

    with pytest.raises(Canceled):
        solve_with_wishes(problem, ask, Budget(9.0, 99.0), 9.0)


def test_a_planner_that_fails_leaves_the_plan_that_there_is() -> None:
    problem, asked = _problem({'w': 5}), []

    def ask(problem: Problem, budget: Budget) -> Solution:
        asked.append(problem)
        if len(asked) > 1:
            raise SafegenError('it fell', ErrorCode.BACKEND_FAILED)
        return solve_in_process(problem, budget, optimal=True)

    found = solve_with_wishes(problem, ask, Budget(9.0, 99.0), 9.0)
    assert len(asked) > 1
    assert verify(problem, found.plan).ok
    assert not found.optimal
