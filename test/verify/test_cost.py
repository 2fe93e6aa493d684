# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The value of a metric for a plan."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.verify.cost import rank
from safegen_ros.verify.validator import verify

ROADS = """(define (domain roads) (:requirements :action-costs)
  (:predicates (at ?l) (toll ?l))
  (:functions (total-cost) - number (length ?a ?b) - number (fee) - number)
  (:action go :parameters (?a ?b) :precondition (at ?a)
    :effect (and (at ?b) (not (at ?a)) (increase (total-cost) (length ?a ?b))
      (when (toll ?b) (increase (total-cost) (* 2 (fee))))
      (forall (?x) (when (toll ?x) (increase (total-cost) 0.25))))))"""


def _problem(metric: str, init: str = '(= (length a c) 100) (= (fee) 1.5)') -> Problem:
    text = (
        '(define (problem p) (:domain roads) (:objects a b c) (:goal (at c)) (:init (at a) (toll b)'
        f' (= (length a b) 1) (= (length b c) 1) (= (total-cost) 0) {init}) {metric})'
    )
    return read_problem(text, read_domain(ROADS))


@pytest.mark.parametrize(
    ('metric', 'plan', 'value'),
    [
        ('minimize (total-cost)', '(go a c)', '100.25'),
        ('minimize (total-cost)', '(go a b) (go b c)', '5.5'),
        ('minimize (total-time)', '(go a b) (go b c)', '2'),
        ('minimize total-time', '', '0'),
        ('maximize (- (fee))', '', '-1.5'),
        ('minimize (+ (total-cost) (* 3 (total-time)) (/ (fee) 2))', '(go a b)', '8'),
        ('minimize (- 1 (+ 2 3))', '', '-4'),
    ],
)
def test_the_value_of_a_metric(metric: str, plan: str, value: str) -> None:
    found = rank(_problem(f'(:metric {metric})'), parse_plan(plan))
    assert found is not None
    assert found.value == Decimal(value), found


def test_there_is_no_value_without_a_metric() -> None:
    assert rank(_problem(''), parse_plan('(go a b)')) is None


@pytest.mark.parametrize(
    ('metric', 'plan', 'reason'),
    [
        ('(total-cost)', '(go c a)', '(length c a) has no value'),
        ('(/ 1 0)', '', '(/ 1 0) divides by zero'),
    ],
)
def test_a_metric_without_a_value_says_why(metric: str, plan: str, reason: str) -> None:
    found = rank(_problem(f'(:metric minimize {metric})'), parse_plan(plan))
    assert found is not None
    assert found.value is None
    assert reason in str(found)


def test_a_metric_over_time_and_cost_of_a_timed_plan() -> None:
    domain = read_domain("""(define (domain robot) (:requirements :durative-actions)
      (:predicates (a) (b)) (:functions (total-cost) (rate))
      (:durative-action go :parameters () :duration (= ?duration 5) :condition ()
        :effect (and (at end (a)) (at end (increase (total-cost) (* (rate) ?duration)))))
      (:durative-action stay :parameters () :duration (>= ?duration 2) :condition ()
        :effect (and (at end (b)) (at start (increase (total-cost) 1)))))""")
    metric = '(:metric minimize (+ (total-time) (* 10 (total-cost))))'
    text = '(:domain robot) (:init (= (rate) 2) (= (total-cost) 0)) (:goal (and (a) (b)))'
    problem = read_problem(f'(define (problem p) {text} {metric})', domain)
    for plan, value in (
        ('0: (go) [5] 1: (stay) [3]', 115),
        ('0: (go) [5] 3: (stay) [3.5]', Fraction('116.5')),
        ('(go) (stay)', Fraction('117.001')),
    ):
        steps = parse_plan(plan, timed=True)
        assert verify(problem, steps).ok
        ranking = rank(problem, steps)
        assert ranking is not None
        assert ranking.value == value, ranking.reason
