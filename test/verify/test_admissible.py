# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The shield lets through exactly the steps that the validator would not fault."""

from __future__ import annotations

import random

import strategies
from hypothesis import given, settings

from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.verdict import Category
from safegen_ros.verify.admissible import Shield
from safegen_ros.verify.validator import Validator

WRONG = (Category.FORMAT_ERROR, Category.PRECONDITION_VIOLATION)


@settings(strategies.SUITE, max_examples=150)
@given(strategies.SEEDS)
def test_a_step_is_admissible_when_the_validator_finds_no_fault_in_it(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.toggles(rng) if seed % 3 else strategies.blocks(rng, 3)
    shield, validator = Shield(problem), Validator(problem)
    situation, steps = shield.start, ()
    if shield.monitors.broken(situation.standing):
        assert not shield.steps(situation)
        return
    for _ in range(5):
        allowed = shield.steps(situation)
        for action in shield._actions:
            verdict = validator.verify(Plan((*steps, action.step)))
            ends_here = verdict.failing_state == len(steps) + 1
            faulty = verdict.category in WRONG or (
                ends_here and any(b.step == len(steps) for b in verdict.broken)
            )
            assert (action.step in allowed) == (not faulty), (action.step, verdict)
            assert shield.admissible(situation, action.step) == (action.step in allowed)
        finished = validator.verify(Plan(steps)).ok
        assert shield.finished(situation) == finished
        if not allowed:
            break
        step, situation = rng.choice(list(allowed.items()))
        steps = (*steps, step)


def test_what_is_no_step_of_the_problem_is_not_admissible() -> None:
    shield = Shield(strategies.blocks(random.Random(1), 3, 0))
    for step in (Step('fly', ('b1',)), Step('pickup', ()), Step('pickup', ('b9',))):
        assert not shield.admissible(shield.start, step)


def test_a_situation_can_be_kept_and_gone_back_to() -> None:
    """What a beam needs: situations are values, and following one changes no other."""
    shield = Shield(strategies.blocks(random.Random(5), 3, 2))
    before = shield.steps(shield.start)
    for after in before.values():
        shield.steps(after)
        assert hash(after) == hash(tuple(after))
    assert shield.steps(shield.start) == before
