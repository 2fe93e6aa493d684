# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Readings come on top of a problem, and contradictions that are plain to see are refused."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from support import strategies

from safegen_ros.errors import ErrorCode, PddlError, SafegenError
from safegen_ros.language.additions import contradictions, with_rules
from safegen_ros.language.rules import read_rules
from safegen_ros.pddl.model import Constraint, Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.pddl.reader import read_problem
from safegen_ros.pddl.writer import constraint_text
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.tasks.pddl3.task import load_task
from safegen_ros.verdict import Category
from safegen_ros.verify.validator import verify

EXAMPLE = Path(__file__).parents[2] / 'examples' / 'tower_order.pddl'


def test_a_rule_changes_the_verdict_on_a_plan(problems: Mapping[str, Problem]) -> None:
    problem = problems['blocksworld']
    plan = solve(problem).plan
    assert verify(problem, plan).category is Category.SUCCESS
    ruled = with_rules(problem, read_rules('never put b3 on the table', problem, 'house.txt'))
    other = solve(ruled).plan
    assert verify(ruled, other).category is Category.SUCCESS
    broken = verify(ruled, '(unstack b3 b1)\n(putdown b3)\n(pickup b1)\n(stack b1 b2)')
    assert broken.category is Category.SAFETY_VIOLATION
    assert broken.broken[0].text == '(always (not (on-table b3)))'
    assert broken.broken[0].place == 'house.txt:1:1'


@pytest.mark.slow
@strategies.examples(60)
@given(strategies.SEEDS)
def test_a_plan_is_valid_for_the_result_if_it_is_for_the_problem_and_for_the_rules(
    seed: int,
) -> None:
    rng = random.Random(seed)
    problem = strategies.generated(rng)
    plan = solve(replace(problem, constraints=())).plan
    drawn = [strategies.constraint(rng, problem.domain, problem.objects) for _ in range(8)]
    if rng.random() < 0.7:  # else hardly any plan is valid
        kept = tuple(c for c in problem.constraints if _keeps(problem, c, plan))
        problem = replace(problem, constraints=kept)
        drawn = [c for c in drawn if _keeps(problem, c, plan)]
    extra = tuple(dict.fromkeys(drawn[:2]))
    readings = [r for c in extra for r in read_rules(constraint_text(c), problem)]
    rules = replace(problem, constraints=extra)
    valid = all(verify(each, plan).category is Category.SUCCESS for each in (problem, rules))
    try:
        ruled = with_rules(problem, readings)
    except SafegenError as error:
        assert (error.code, valid) == (ErrorCode.UNSOLVABLE, False)  # noqa: PT017
        return
    assert replace(ruled, constraints=()) == replace(problem, constraints=())
    assert set(ruled.constraints) == {*problem.constraints, *extra}
    assert (verify(ruled, plan).category is Category.SUCCESS) == valid


@pytest.mark.slow
@strategies.examples(60)
@given(strategies.SEEDS)
def test_what_a_plan_satisfies_is_no_contradiction(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.generated(rng)
    plan = solve(replace(problem, constraints=())).plan
    kept = [c for c in problem.constraints if _keeps(problem, c, plan)]
    kept += [
        each
        for each in (strategies.constraint(rng, problem.domain, problem.objects) for _ in range(6))
        if _keeps(problem, each, plan)
    ]
    satisfied = replace(problem, constraints=tuple(dict.fromkeys(kept)))
    assert verify(satisfied, plan).category is Category.SUCCESS
    assert contradictions(satisfied) == ()


def _keeps(problem: Problem, constraint: Constraint, plan: Plan) -> bool:
    return verify(replace(problem, constraints=(constraint,)), plan).category is Category.SUCCESS


@pytest.mark.parametrize(
    ('text', 'why'),
    [
        ('never put anything on b1', '(on ?x b1))))'),  # b3 is there
        ('b3 must never be clear', 'is broken in the initial state'),
        ('never put anything on b2', 'the goal is needed'),
        ('never put b4 on b1. put b4 on b1 within 9 steps', '(within 9 (on b4 b1)) is needed'),
        ('never hold b1. eventually hold b1', '(sometime (holding b1)) is needed'),
        ('b1 must not be on b2 at the end', 'the goal'),
        ('b1 must be on b4 by step 0', 'comes too late'),
    ],
)
def test_rules_that_no_plan_can_keep(problems: Mapping[str, Problem], text: str, why: str) -> None:
    problem = problems['blocksworld']
    with pytest.raises(SafegenError) as caught:
        with_rules(problem, read_rules(text, problem))
    assert caught.value.code is ErrorCode.UNSOLVABLE
    assert why in caught.value.message


def test_readings_of_another_problem_are_refused(problems: Mapping[str, Problem]) -> None:
    readings = read_rules('never put b4 on b3', problems['blocksworld'])
    other = read_problem(
        '(define (problem p) (:domain blocksworld) (:objects b3 x) (:init) (:goal (and)))',
        problems['blocksworld'].domain,
    )
    with pytest.raises(PddlError, match="object 'b4' is not declared"):
        with_rules(other, readings)


@pytest.mark.parametrize('format', FORMATS)
def test_the_task_is_written_in_its_format_with_all_constraints(format: str) -> None:
    task = load_task(EXAMPLE.read_text(encoding='ascii')).written_as(format)
    readings = read_rules('never put anything on b2', task.problem)
    ruled = task.with_rules(readings)
    again = load_task(ruled.problem_text, format=format)
    assert again.problem == ruled.problem
    assert set(task.problem.constraints) < set(again.problem.constraints)
