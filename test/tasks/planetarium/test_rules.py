# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the rules of the three domains say of goal states, compared with all goal states."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import planetarium_small as small
from support.strategies import examples

from safegen_ros.errors import SafegenError
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.tasks.planetarium.domains import (
    RULES,
    planetarium_domain,
    planetarium_domain_text,
    rules_for,
)
from safegen_ros.tasks.planetarium.generic import last_state
from safegen_ros.tasks.planetarium.state_rules import GoalRules, StripsTask
from safegen_ros.verify.validator import verify


def rules_of(problem: Problem) -> GoalRules | None:
    task = StripsTask.of(problem)
    assert task is not None
    return rules_for(problem.domain, task)


@pytest.mark.parametrize('domain', small.DOMAINS)
@examples(25)
@given(seed=st.integers(0, 2**32))
def test_goal_states_are_those_that_can_be_reached(domain: str, seed: int) -> None:
    rng = random.Random(seed)
    problem = small.small(rng, domain)
    rules = rules_of(problem)
    assert rules is not None
    states = small.goal_states(problem)
    common = frozenset.intersection(*states) if states else None
    assert rules.specified() == common
    found = rules.goal_state()
    assert found in states if states else found is None


@pytest.mark.parametrize('domain', small.DOMAINS)
@examples(25)
@given(seed=st.integers(0, 2**32))
def test_a_plan_leads_to_every_state_that_can_be_reached(domain: str, seed: int) -> None:
    rng = random.Random(seed)
    problem = small.small(rng, domain)
    rules = rules_of(problem)
    assert rules is not None
    state = rng.choice(sorted(small.reachable(problem), key=sorted))
    steps = rules.steps_to(state)
    assert verify(replace(problem, goal=small.goal_of(state)), Plan(steps)).ok
    assert last_state(problem, steps) == state


@pytest.mark.parametrize(
    ('domain', 'atom'),
    [
        ('blocksworld', ('on', 'b0', 'b0')),
        ('blocksworld', ('holding', 'b0')),
        ('gripper', ('carry', 'ball0', 'room0')),
        ('gripper', ('at-robby', 'ball0')),
        ('gripper', ('room', 'ball0')),
        ('gripper', ('free', 'ball0')),
        ('floor-tile', ('robot-at', 'robot0', 'tile9')),
        ('floor-tile', ('robot-has', 'robot0', 'color9')),
    ],
)
def test_rules_do_not_apply_to_an_initial_state_that_is_not_meant(
    domain: str, atom: tuple[str, ...]
) -> None:
    rng = random.Random(4)
    problem = {
        'blocksworld': small.blocksworld(rng, 2),
        'gripper': small.gripper(rng, 2, 1, 1),
        'floor-tile': small.floortile(rng, 1, 2, 2),
    }[domain]
    objects = {
        **problem.objects,
        **({'tile9': 'tile', 'color9': 'color'} if '9' in atom[-1] else {}),
    }
    assert rules_of(problem) is not None
    assert rules_of(replace(problem, objects=objects, init=problem.init | {atom})) is None


def test_a_block_on_two_blocks_or_a_cycle_is_not_meant() -> None:
    problem = small.blocksworld(random.Random(1), 3)
    for init in (
        {('on', 'b0', 'b1'), ('on', 'b1', 'b0'), ('arm-empty',)},
        {('on', 'b0', 'b2'), ('on', 'b1', 'b2'), ('on-table', 'b2'), ('clear', 'b0'),
         ('clear', 'b1'), ('arm-empty',)},
    ):  # fmt: skip
        assert rules_of(replace(problem, init=frozenset(init))) is None


def test_rules_do_not_apply_to_another_domain_of_the_same_name() -> None:
    problem = small.blocksworld(random.Random(1), 2)
    actions = {k: a for k, a in problem.domain.actions.items() if k != 'putdown'}
    assert rules_of(replace(problem, domain=replace(problem.domain, actions=actions))) is None


def test_the_domains_are_those_of_the_paper() -> None:
    sizes = {name: planetarium_domain(name) for name in RULES}
    assert {n: (len(d.predicates), len(d.actions)) for n, d in sizes.items()} == {
        'blocksworld': (5, 4),
        'gripper': (7, 3),
        'floor-tile': (6, 9),
    }
    with pytest.raises(SafegenError, match='use one of blocksworld gripper floor-tile'):
        planetarium_domain_text('rover')
