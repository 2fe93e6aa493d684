# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Search where numbers decide, and for the best plan by a metric."""

from __future__ import annotations

import random
from itertools import product

import pytest
from hypothesis import given
from support import strategies

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.search.budget import Budget, SearchLimit, Solution, Unsolvable
from safegen_ros.search.fast_downward import solve_with_fast_downward
from safegen_ros.search.in_process import canonical_plan, solve_in_process
from safegen_ros.verify.cost import rank
from safegen_ros.verify.validator import Validator

ROVER = """(define (domain rover) (:types place)
  (:predicates (at ?p - place) (road ?a ?b - place) (dock ?p - place) (seen ?p - place))
  (:functions (battery) (length ?a ?b - place) (total-cost) (tolls) (fee ?p - place))
  (:action drive :parameters (?a ?b - place)
    :precondition (and (at ?a) (road ?a ?b) (>= (battery) (length ?a ?b)))
    :effect (and (not (at ?a)) (at ?b) (decrease (battery) (length ?a ?b))
      (increase (total-cost) (length ?a ?b)) (increase (tolls) (fee ?b))))
  (:action charge :parameters (?p - place) :precondition (and (at ?p) (dock ?p))
    :effect (and (assign (battery) 10) (increase (total-cost) 0.5)))
  (:action look :parameters (?p - place) :precondition (at ?p) :effect (seen ?p)))"""


def _rover(goal: str = '(seen c)', metric: str = '', constraint: str = '(and)') -> Problem:
    text = f"""(define (problem r) (:domain rover) (:objects a b c d - place)
      (:init (at a) (dock b) (= (battery) 6) (= (total-cost) 0)
        (= (fee a) 0) (= (fee b) 3) (= (fee c) 0) (= (fee d) 0)
        (= (tolls) 0)
        (road a b) (road b a) (= (length a b) 4) (= (length b a) 4)
        (road b c) (road c b) (= (length b c) 4) (= (length c b) 4)
        (road a d) (= (length a d) 1) (road d c) (= (length d c) 8.5))
      (:goal {goal}) (:constraints {constraint}) {metric})"""
    return read_problem(text, read_domain(ROVER))


def _solve(problem: Problem, optimal: bool = True) -> Solution:
    return solve_in_process(problem, Budget(20.0, 500.0), optimal=optimal)


@pytest.mark.parametrize('optimal', [False, True])
def test_a_plan_charges_where_it_has_to(optimal: bool) -> None:
    found = _solve(_rover(), optimal)
    assert str(found.plan).splitlines() == [
        '(drive a b)', '(charge b)', '(drive b c)', '(look c)',
    ]  # fmt: skip
    assert found.optimal is optimal


@pytest.mark.parametrize(
    ('metric', 'value'),
    [
        ('minimize (total-cost)', '8.5'), ('minimize (tolls)', '3'), ('minimize (total-time)', '4'),
        ('minimize (+ (total-cost) (* 2 (tolls)))', '14.5'),
        ('minimize (- (/ (total-cost) 2) -1)', '5.25'),
    ],
)  # fmt: skip
def test_the_best_plan_by_a_metric(metric: str, value: str) -> None:
    problem = _rover(metric=f'(:metric {metric})')
    found = _solve(problem)
    assert found.optimal
    assert str(rank(problem, found.plan)) == f'{metric} = {value}'


@pytest.mark.parametrize(
    'metric',
    [
        'maximize (total-cost)', 'minimize (battery)', 'minimize (* (tolls) (tolls))',
        'maximize (total-time)',
    ],
)  # fmt: skip
def test_a_metric_that_is_no_sum_of_costs_leaves_the_fewest_steps(metric: str) -> None:
    found = _solve(_rover(metric=f'(:metric {metric})'))
    assert (len(found.plan), found.optimal) == (4, False)


def test_a_shortest_plan_is_not_the_cheapest() -> None:
    domain = read_domain(
        '(define (domain d) (:predicates (at ?l) (e ?a ?b)) (:functions (total-cost) (c ?a ?b))'
        '(:action go :parameters (?a ?b) :precondition (and (at ?a) (e ?a ?b))'
        ':effect (and (at ?b) (not (at ?a)) (increase (total-cost) (c ?a ?b)))))'
    )
    problem = read_problem(
        '(define (problem x) (:domain d) (:objects a b c) (:init (at a) (e a c) (e a b) (e b c)'
        '(= (c a c) 100) (= (c a b) 1) (= (c b c) 1) (= (total-cost) 0)) (:goal (at c))'
        '(:metric minimize (total-cost)))',
        domain,
    )
    assert str(_solve(problem).plan).splitlines() == ['(go a b)', '(go b c)']
    assert len(_solve(problem, optimal=False).plan) == 1


@pytest.mark.parametrize(
    ('goal', 'constraint'),
    [
        ('(seen c)', '(always (>= (battery) 3))'),
        ('(and (seen c) (> (battery) 10))', '(and)'),
        ('(and (seen c) (at d))', '(always (<= (total-cost) 9))'),
    ],
)
def test_no_plan_is_proved_where_all_situations_were_looked_at(goal: str, constraint: str) -> None:
    for optimal in (False, True):
        with pytest.raises(Unsolvable):
            _solve(_rover(goal, constraint=constraint), optimal)


def test_endless_numbers_prove_nothing() -> None:
    domain = read_domain(
        '(define (domain d) (:predicates (p)) (:functions (x))'
        '(:action up :parameters () :effect (and (increase (x) 2))))'
    )
    problem = read_problem(
        '(define (problem x) (:domain d) (:init (= (x) 0)) (:goal (= (x) 7)))', domain
    )
    with pytest.raises(SearchLimit):
        solve_in_process(problem, Budget(0.3, 500.0))


def test_searches_that_do_not_know_numbers_say_so() -> None:
    for search in (canonical_plan, solve_with_fast_downward):
        with pytest.raises(SafegenError, match=r'does not know numbers.*battery') as caught:
            search(_rover(), Budget(5.0, 500.0))
        assert caught.value.code is ErrorCode.UNSUPPORTED_FEATURE


@strategies.examples(12)
@given(strategies.SEEDS)
def test_no_short_plan_is_missed(seed: int) -> None:
    """Against every plan of up to three steps, judged by the validator."""
    problem = strategies.toggles(random.Random(seed), derived=bool(seed % 2), numbers=True)
    validator = Validator(problem)
    steps = [action.step for action in Grounder(problem).all_actions()]
    shortest = next(
        (
            length
            for length in range(4)
            if len(steps) ** length <= 3_000
            for plan in product(steps, repeat=length)
            if validator.verify(Plan(plan)).ok
        ),
        None,
    )
    for optimal in (False, True):
        try:
            found = solve_in_process(problem, Budget(1.0, 200.0), optimal=optimal)
        except Unsolvable:
            assert shortest is None
        except SearchLimit:
            assert shortest is None or not optimal
        else:
            assert validator.verify(found.plan).ok
            assert not optimal or shortest is None or len(found.plan) == shortest
