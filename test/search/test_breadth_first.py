# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans are shortest and safe, no plan means none, and limits are kept."""

from __future__ import annotations

import random

import pytest
import strategies
from hypothesis import given, settings

from safegen_ros.errors import Canceled, ErrorCode, SafegenError
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.search.breadth_first import SearchLimit, Unsolvable, solve
from safegen_ros.verdict import Category
from safegen_ros.verify.validator import Validator

DEPTH = 4


def _plans(problem: Problem, length: int) -> list[tuple[Plan, int]]:
    """Every applicable plan of a length; no state is ever left out as seen before."""
    grounder = Grounder(problem)
    actions = grounder.all_actions()
    found = [(Plan(), grounder.table.encode(problem.init))]
    for _ in range(length):
        found = [
            (Plan((*plan.steps, action.step)), action.apply(state))
            for plan, state in found
            for action in actions
            if action.applicable(state)
        ]
        if len(found) > 1_000:
            break
    return found


def _shortest(problem: Problem) -> int | None:
    """Length of the shortest accepted plan, by trying all of them; None beyond the bound."""
    validator = Validator(problem)
    for length in range(DEPTH + 1):
        plans = _plans(problem, length)
        if any(validator.verify(plan).ok for plan, _ in plans if len(plan) == length):
            return length
        if plans and len(plans[0][0]) < length:
            return None
    return None


@settings(strategies.SUITE, max_examples=80)
@given(strategies.SEEDS)
def test_plans_are_as_short_as_the_shortest_of_all_plans(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.toggles(rng) if seed % 2 else strategies.blocks(rng, 2)
    shortest = _shortest(problem)
    try:
        plan = solve(problem, node_limit=5_000)
    except (Unsolvable, SearchLimit):
        assert shortest is None
    else:
        assert Validator(problem).verify(plan).ok
        assert shortest is None or len(plan) == shortest
        assert shortest is not None or len(plan) > 0


def _blocks(goal: str, constraints: str = '(and)') -> Problem:
    text = f"""(define (problem small) (:domain blocksworld) (:objects a b c)
      (:init (arm-empty) (on-table a) (on-table b) (on c b) (clear a) (clear c))
      (:goal {goal}) (:constraints {constraints}))"""
    return read_problem(text, strategies.BLOCKSWORLD)


@pytest.mark.parametrize(
    ('goal', 'constraints', 'length'),
    [
        ('(on c b)', '(and)', 0),
        ('(on a c)', '(and)', 2),
        ('(on a c)', '(sometime-before (on a c) (on-table c))', 4),
        ('(on a b)', '(and)', 4),
        ('(on c b)', '(sometime (on-table c))', 4),
        ('(on b c)', '(always (not (on-table c)))', 4),
        ('(on c b)', '(sometime (on b a))', 6),
    ],
)
def test_known_lengths(goal: str, constraints: str, length: int) -> None:
    assert len(solve(_blocks(goal, constraints))) == length


@pytest.mark.parametrize(
    ('goal', 'constraints'),
    [
        ('(and (on a b) (on b a))', '(and)'),
        ('(and (holding a) (holding b))', '(and)'),
        ('(on a b)', '(always (on c b))'),
        ('(on a b)', '(always (not (on-table c)))'),
        ('(on c b)', '(and (sometime (on-table c)) (at-most-once (on c b)))'),
        ('(on a b)', '(and (sometime-before (holding c) (holding a)) (sometime-before (holding a) '
                     '(holding c)))'),
        ('(or)', '(and)'),
    ],
)  # fmt: skip
def test_no_plan_is_proved(goal: str, constraints: str) -> None:
    with pytest.raises(Unsolvable, match='small has no plan') as caught:
        solve(_blocks(goal, constraints))
    assert caught.value.code is ErrorCode.UNSOLVABLE


def test_an_initial_state_that_breaks_a_constraint_is_named() -> None:
    problem = _blocks('(on c b)', '(always (holding a))')
    with pytest.raises(Unsolvable, match=r'its initial state breaks \(always \(holding a\)\)'):
        solve(problem)
    assert Validator(problem).verify('').category is Category.SAFETY_VIOLATION


def _six_blocks() -> Problem:
    return strategies.blocks(random.Random(0), 6, constraints=0)


def test_the_time_limit_is_kept() -> None:
    with pytest.raises(SearchLimit, match='time limit') as caught:
        solve(_six_blocks(), time_limit_s=0.0)
    assert caught.value.code is ErrorCode.PLANNING_TIMEOUT


def test_the_node_limit_is_kept() -> None:
    with pytest.raises(SearchLimit, match='limit of 50 situations') as caught:
        solve(_six_blocks(), node_limit=50)
    assert caught.value.code is ErrorCode.PLANNING_TIMEOUT


def test_a_cancel_is_heard() -> None:
    asked = []

    def cancelled() -> bool:
        asked.append(True)
        return len(asked) > 10

    with pytest.raises(Canceled) as caught:
        solve(_six_blocks(), cancelled=cancelled)
    assert caught.value.code is ErrorCode.PLANNING_CANCELED
    assert len(asked) == 11


def test_too_many_ground_actions_are_refused_before_they_are_made() -> None:
    domain = read_domain(
        '(define (domain d) (:predicates (g)) (:action go :parameters (?a ?b ?c ?d) :effect (g)))'
    )
    objects = ' '.join(f'o{index}' for index in range(100))
    text = f'(define (problem wide) (:domain d) (:objects {objects}) (:init) (:goal (g)))'
    problem = read_problem(text, domain)
    with pytest.raises(SafegenError, match='too many ground actions') as caught:
        solve(problem)
    assert caught.value.code is ErrorCode.TASK_TOO_LARGE
    assert Validator(problem).verify('(go o1 o2 o3 o4)').ok
