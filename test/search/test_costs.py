# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Optimal means optimal in the metric, or the answer says that it is not."""

from __future__ import annotations

import heapq
import random

import pytest
from support.breadth_first import solve as shortest

from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Step
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.search.budget import FAST_DOWNWARD, IN_PROCESS, KAIROS
from safegen_ros.search.costs import NoStepCosts, StepCosts, shortest_is_best
from safegen_ros.search.fast_downward import fast_downward_available
from safegen_ros.search.kairos import kairos_available
from safegen_ros.search.solve import Route, solve
from safegen_ros.verify.cost import rank

BOTH = pytest.mark.skipif(
    not (fast_downward_available() and kairos_available()),
    reason="Fast Downward or Kairos is not installed: pip install 'safegen_ros[proof]'",
)

DOMAIN = """(define (domain roads)
  (:types place)
  (:predicates (at ?p - place) (road ?a ?b - place))
  (:functions (length ?a ?b - place) (driven) (tolls) (total-cost))
  (:action go :parameters (?a ?b - place) :precondition (and (at ?a) (road ?a ?b))
    :effect (and (not (at ?a)) (at ?b) (increase (driven) (length ?a ?b)) (increase (tolls) 1)
      {effects})))"""


def _roads(
    lengths: dict[tuple[str, str], str], goal: str, metric: str, effects: str = ''
) -> Problem:
    places = sorted({place for road in lengths for place in road})
    facts = ' '.join(
        f'(road {a} {b}) (= (length {a} {b}) {length})' for (a, b), length in lengths.items()
    )
    text = f"""(define (problem p) (:domain roads) (:objects {' '.join(places)} - place)
      (:init (at {places[0]}) (= (driven) 0) (= (tolls) 0) (= (total-cost) 0) {facts})
      (:goal (at {goal})) {metric})"""
    return read_problem(text, read_domain(DOMAIN.format(effects=effects)))


TRIANGLE = {('a', 'c'): '2.5', ('a', 'b'): '1', ('b', 'c'): '0.7'}


@pytest.mark.parametrize(
    ('metric', 'effects', 'value', 'route', 'steps'),
    [
        ('', '', None, IN_PROCESS, 1),
        ('(:metric minimize (total-time))', '', '1', IN_PROCESS, 1),
        ('(:metric minimize (* 2 (tolls)))', '', '2', IN_PROCESS, 1),
        ('(:metric minimize (driven))', '', '1.7', FAST_DOWNWARD, 2),
        ('(:metric minimize (+ (driven) (tolls) 3))', '', '6.5', FAST_DOWNWARD, 1),
        ('(:metric minimize (- (* 3 (driven)) (/ (driven) 2)))', '', '4.25', FAST_DOWNWARD, 2),
        ('(:metric maximize (- 0 (driven)))', '', '-1.7', FAST_DOWNWARD, 2),
        ('(:metric minimize (total-cost))', '(when (road ?b ?a) (increase (total-cost) 5))', '0',
         KAIROS, 1),
    ],
)  # fmt: skip
@BOTH
def test_the_best_plan_by_the_metric_is_found_and_proved(
    metric: str, effects: str, value: str | None, route: str, steps: int
) -> None:
    problem = _roads(TRIANGLE, 'c', metric, effects)
    found = solve(problem, optimal=True)
    assert (found.route, found.optimal, len(found.plan)) == (route, True, steps)
    ranking = rank(problem, found.plan)
    assert (None if ranking is None else str(ranking).split()[-1]) == value


@BOTH
@pytest.mark.parametrize('route', ['in-process', 'fast-downward', 'kairos'])
def test_random_roads_are_as_short_as_can_be(route: Route) -> None:
    for seed in range(4):
        rng = random.Random(seed)
        names = [f'p{place}' for place in range(9)]
        lengths = {
            (a, b): rng.randint(0, 90) for a in names for b in rng.sample(names, 3) if a != b
        }
        written = {road: f'{length / 10}' for road, length in lengths.items()}
        goal = _farthest(lengths)
        problem = _roads(written, goal[1], '(:metric minimize (driven))')
        found = solve(problem, route=route, optimal=True)
        ranking = rank(problem, found.plan)
        assert ranking is not None
        assert found.optimal
        assert ranking.value is not None
        assert float(ranking.value) * 10 == pytest.approx(goal[0])


def _farthest(lengths: dict[tuple[str, str], int]) -> tuple[int, str]:
    """The place that is farthest from the first one, behind its distance (Dijkstra)."""
    queue, known = [(0, 'p0')], dict[str, int]()
    while queue:
        distance, place = heapq.heappop(queue)
        if known.setdefault(place, distance) == distance:
            for (a, b), length in lengths.items():
                if a == place and b not in known:
                    heapq.heappush(queue, (distance + length, b))
    return max((distance, place) for place, distance in known.items())


def test_our_own_search_says_where_its_plan_is_not_the_best() -> None:
    problem = _roads(TRIANGLE, 'c', '(:metric maximize (driven))')
    found = solve(problem, route='in-process', optimal=True)
    assert not found.optimal
    assert len(found.plan) == len(shortest(problem))


@pytest.mark.parametrize(
    ('metric', 'effects'),
    [
        ('maximize (driven)', ''),
        ('minimize (* (driven) (tolls))', ''),
        ('minimize (/ 1 (driven))', ''),
        ('minimize (total-cost)', '(increase (total-cost) (driven))'),
        ('minimize (total-cost)', '(increase (total-cost) (length ?b ?a))'),
        ('minimize (total-cost)', '(when (road ?b ?a) (increase (total-cost) 1))'),
        ('minimize (total-cost)', '(assign (total-cost) 1)'),
        ('minimize (total-cost)', '(increase (total-cost) 2000000)'),
    ],
)
def test_a_metric_that_is_no_sum_over_the_steps_is_refused(metric: str, effects: str) -> None:
    problem = _roads(TRIANGLE, 'c', f'(:metric {metric})', effects)
    assert not shortest_is_best(problem) or '2000000' in effects
    with pytest.raises(
        NoStepCosts, match=r'not a sum of fixed costs of the steps.* --route kairos'
    ):
        StepCosts(problem).whole([Step('go', ('a', 'c'))])
    if fast_downward_available():
        with pytest.raises(NoStepCosts):
            solve(problem, route='fast-downward', optimal=True)
        assert not solve(problem, route='fast-downward').optimal
