# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans without search, all of which the validator proves."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import planetarium_small as small
from support.strategies import examples

from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.reader import read_problem
from safegen_ros.search.budget import Unsolvable
from safegen_ros.tasks.planetarium import planner
from safegen_ros.tasks.planetarium.domains import planetarium_domain
from safegen_ros.tasks.planetarium.planner import find_plan
from safegen_ros.verify.validator import verify


def blocks(goal: str, rest: str = '') -> Problem:
    return read_problem(
        '(define (problem p) (:domain blocksworld) (:objects a b c)'
        ' (:init (arm-empty) (on-table a) (on b a) (on c b) (clear c))'
        f' (:goal {goal}) {rest})',
        planetarium_domain('blocksworld'),
    )


@pytest.mark.parametrize('domain', small.DOMAINS)
@examples(20)
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
