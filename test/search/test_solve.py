# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Each route answers when it is asked, and the second one takes what is left of the time."""

from __future__ import annotations

import heapq
import random
import time
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from support import exhaustive, strategies
from support.breadth_first import solve as shortest
from support.strategies import make_plan

from safegen_ros.errors import Canceled, ErrorCode, SafegenError
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import Or, Problem
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.search import solve as module
from safegen_ros.search.budget import (
    FAST_DOWNWARD,
    IN_PROCESS,
    KAIROS,
    Budget,
    SearchLimit,
    Solution,
    Unsolvable,
)
from safegen_ros.search.costs import NoStepCosts, StepCosts, shortest_is_best
from safegen_ros.search.fast_downward import fast_downward_available, solve_with_fast_downward
from safegen_ros.search.in_process import canonical_plan, solve_in_process
from safegen_ros.search.kairos import kairos_available
from safegen_ros.search.solve import Route, solve
from safegen_ros.verify.cost import rank
from safegen_ros.verify.validator import Validator, verify

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
    problem = exhaustive.drawn(seed)
    lengths = set()
    for route in ROUTES:
        try:
            best, fast = (solve(problem, route=route, optimal=each).plan for each in (True, False))
        except Unsolvable:
            lengths.add(-1)
        else:
            assert verify(problem, best).ok
            assert verify(problem, fast).ok
            assert len(fast) >= len(best)
            lengths.add(len(best))
    assert len(lengths) == 1


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


@BOTH
@pytest.mark.parametrize('route', ['auto', 'kairos'])
@pytest.mark.parametrize(
    ('effect', 'proved'),
    [
        ('(increase (total-cost) 1)', True),
        ('(decrease (total-cost) 5)', False),
        ('(and (r) (decrease (total-cost) 5))', False),
        ('(scale-down (total-cost) 5)', False),
    ],
)
def test_a_step_that_only_betters_the_metric_is_not_overlooked(
    route: Route, effect: str, proved: bool
) -> None:
    domain = read_domain(f"""(define (domain d) (:predicates (g) (r)) (:functions (total-cost))
      (:action go :parameters () :effect (and (g) (increase (total-cost) 9)))
      (:action gain :parameters () :effect {effect}))""")
    text = '(define (problem p) (:domain d) (:init) (:goal (g)) (:metric minimize (total-cost)))'
    assert solve(read_problem(text, domain), route=route, optimal=True).optimal is proved


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
    assert str(found.plan).splitlines() == ['(drive a b)', '(charge b)', '(drive b c)', '(look c)']
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
