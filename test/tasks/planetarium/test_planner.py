# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans without search, and plans that tell goals apart, all of which the validator proves."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import planetarium_small as small

from safegen_ros.pddl.model import And, Not, Problem
from safegen_ros.pddl.reader import read_problem
from safegen_ros.search.budget import Unsolvable
from safegen_ros.tasks.planetarium import planner
from safegen_ros.tasks.planetarium.domains import planetarium_domain
from safegen_ros.tasks.planetarium.equivalence import Equivalence, compare
from safegen_ros.tasks.planetarium.planner import find_plan, find_witness
from safegen_ros.verify.validator import verify


def blocks(goal: str, rest: str = '') -> Problem:
    return read_problem(
        '(define (problem p) (:domain blocksworld) (:objects a b c)'
        ' (:init (arm-empty) (on-table a) (on b a) (on c b) (clear c))'
        f' (:goal {goal}) {rest})',
        planetarium_domain('blocksworld'),
    )


@pytest.mark.parametrize('domain', small.DOMAINS)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_plans_are_proved_and_found_without_search(domain: str, seed: int) -> None:
    problem = small.larger(random.Random(seed), domain)
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(planner, 'solve')
        try:
            plan = find_plan(problem)
        except Unsolvable:
            assert domain == 'floor-tile'  # a tile out of reach, or a color nobody has
            return
    assert verify(problem, plan).ok


def test_a_problem_that_the_rules_do_not_cover_is_searched() -> None:
    goal = blocks('(or (on a c) (on a b))')
    assert verify(goal, find_plan(goal)).ok
    constrained = blocks('(on a b)', '(:constraints (sometime (on b c)))')
    plan = find_plan(constrained)
    assert verify(constrained, plan).ok
    assert not verify(constrained, find_plan(replace(constrained, constraints=()))).ok


def test_a_goal_without_a_state_has_no_plan() -> None:
    with pytest.raises(Unsolvable, match='change the goal'):
        find_plan(blocks('(and (on a b) (on b a))'))


@pytest.mark.parametrize('domain', small.DOMAINS)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_different_goals_have_a_witness(domain: str, seed: int) -> None:
    rng = random.Random(seed)
    one = small.small(rng, domain)
    other = small.varied(rng, one)
    found = compare(one, other)
    if found.objects is None:
        return
    witness = find_witness(one, other, found.objects)
    if found.equivalent:
        assert witness is None
        return
    assert witness is not None
    assert witness.problem in (one, other)
    goal = And((witness.problem.goal, Not(witness.other_goal)))
    assert verify(replace(witness.problem, goal=goal), witness.plan).ok


def test_a_witness_for_goals_of_other_kinds_is_searched() -> None:
    one, other = blocks('(or (on a b) (on a c))'), blocks('(on a b)')
    found = compare(one, other)
    assert found.answer is Equivalence.DIFFERENT
    assert found.objects is not None
    witness = find_witness(one, other, found.objects)
    assert witness is not None
    assert witness.problem is one


def test_a_witness_is_not_looked_for_without_time() -> None:
    one, other = blocks('(or (on a b) (on a c))'), blocks('(on a b)')
    assert find_witness(one, other, {n: n for n in 'abc'}, time_limit_s=0.0) is None
