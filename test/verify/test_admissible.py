# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The shield lets through what the validator would not fault, then or in the next state."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from support import strategies

from safegen_ros.pddl.model import Action, And, Problem
from safegen_ros.pddl.plan import Plan, Step, parse_plan
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.verdict import Category
from safegen_ros.verify.admissible import Shield, Situation
from safegen_ros.verify.validator import Validator

WRONG = (Category.FORMAT_ERROR, Category.PRECONDITION_VIOLATION)


WAIT = Step('do-nothing')


def _idle(problem: Problem) -> Problem:
    """The same problem with an action that changes nothing."""
    actions = {**problem.domain.actions, WAIT.action: Action(WAIT.action, (), And(()), ())}
    return replace(problem, domain=replace(problem.domain, actions=actions))


@strategies.examples(150)
@given(strategies.SEEDS)
def test_a_step_is_admissible_when_the_validator_finds_no_fault_in_it(seed: int) -> None:
    """Neither in the step, nor, as to deadlines, in whatever comes after it: in doing nothing."""
    rng = random.Random(seed)
    problem = strategies.toggles(rng) if seed % 3 else strategies.blocks(rng, 3)
    shield, validator, patient = Shield(problem), Validator(problem), Validator(_idle(problem))
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
            waited = patient.verify(Plan((*steps, action.step, WAIT)))
            late = any(
                b.step == len(steps) + 1 and b.text.startswith(('(within', '(always-within'))
                for b in waited.broken
            )
            assert (action.step in allowed) == (not faulty and not late), (action.step, waited)
            assert shield.admissible(situation, action.step) == (action.step in allowed)
        finished = validator.verify(Plan(steps)).ok
        assert shield.finished(situation) == finished
        if not allowed:
            break
        step, situation = rng.choice(list(allowed.items()))
        steps = (*steps, step)


LAMPS = """(define (domain lamps) (:predicates (lit ?x))
  (:action on :parameters (?x) :effect (lit ?x))
  (:action off :parameters (?x) :effect (not (lit ?x))))"""


@pytest.mark.parametrize(
    ('constraint', 'plan', 'admissible'),
    [
        ('(within 1 (lit a))', '', '(on a)'),
        ('(within 2 (lit a))', '', '(off a) (off b) (on a) (on b)'),
        ('(within 2 (lit a))', '(on b)', '(on a)'),
        ('(within 1 (lit a))', '(on a)', '(off a) (off b) (on a) (on b)'),
        ('(within 0 (lit a))', '', ''),
        ('(always-within 0 (lit a) (lit b))', '', '(off a) (off b) (on b)'),
        ('(always-within 1 (lit a) (lit b))', '', '(off a) (off b) (on a) (on b)'),
        ('(always-within 1 (lit a) (lit b))', '(on a)', '(on b)'),
        ('(always-within 2 (lit a) (lit b))', '(on a) (off a)', '(on b)'),
        ('(always-within 2 (lit a) (lit b))', '(on a)', '(off a) (off b) (on a) (on b)'),
    ],
)
def test_the_last_step_in_time_has_to_meet_the_deadline(
    constraint: str, plan: str, admissible: str
) -> None:
    text = f"""(define (problem two) (:domain lamps) (:objects a b) (:init) (:goal (lit b))
      (:constraints {constraint}))"""
    problem = read_problem(text, read_domain(LAMPS))
    shield = Shield(problem)
    situation: Situation | None = shield.start
    for step in parse_plan(plan).steps:
        assert situation is not None
        situation = shield.after(situation, step)
    assert situation is not None
    assert {*shield.steps(situation)} == {*parse_plan(admissible).steps}


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
