# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What remains of a problem asks for neither more nor less than the whole does."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from support import strategies

from safegen_ros.pddl.model import Problem, State
from safegen_ros.pddl.plan import Plan, Step, parse_plan
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.pddl.writer import constraint_text, domain_text, problem_text
from safegen_ros.tasks.pddl3.task import Pddl3Task
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify.admissible import Shield
from safegen_ros.verify.remaining import remaining_problem
from safegen_ros.verify.validator import Validator, verify

LAMPS = """(define (domain lamps) (:predicates (lit ?x))
  (:action on :parameters (?x) :effect (lit ?x))
  (:action off :parameters (?x) :effect (not (lit ?x))))"""


def behind(problem: Problem, steps: tuple[Step, ...]) -> Problem | None:
    """What remains behind some steps; None when they are not admissible."""
    shield = Shield(problem)
    situation = shield.start
    if shield.monitors.lost(situation.standing):
        return None
    for step in steps:
        after = shield.after(situation, step)
        if after is None:
            return None
        situation = after
    state = shield.state(situation)
    return remaining_problem(problem, shield.monitors, situation.standing, state, len(steps))


def finding(verdict: Verdict, offset: int = 0) -> tuple[Category, int, float]:
    """What a verdict says that does not depend on how a constraint is written."""
    place = verdict.failing_state
    return verdict.category, place + offset if place >= 0 else place, verdict.goal_fraction


@strategies.examples(60)
@given(strategies.SEEDS)
def test_a_rest_gets_the_verdict_that_the_whole_gets(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.problem(rng)
    validator = Validator(problem)
    plan = strategies.plan(rng, problem)
    for count in range(len(plan) + 1):
        rest = behind(problem, plan.steps[:count])
        if rest is None:
            break
        for _ in range(2):
            tail = Plan(
                strategies.plan(rng, rest).steps if rng.random() < 0.5 else plan.steps[count:]
            )
            whole = validator.verify(Plan((*plan.steps[:count], *tail.steps)))
            assert finding(verify(rest, tail), count) == finding(whole)


@pytest.mark.parametrize(
    ('constraint', 'plan', 'remains'),
    [
        ('(sometime (lit a))', '(on a) (off a)', ''),
        ('(within 5 (lit a))', '(on b) (on c)', '(within 3 (lit a))'),
        ('(at-most-once (lit a))', '(on a)', '(at-most-once (lit a))'),
        ('(at-most-once (lit a))', '(on a) (off a)', '(always (not (lit a)))'),
        ('(sometime-before (lit a) (lit b))', '(on c)', '(sometime-before (lit a) (lit b))'),
        ('(sometime-before (lit a) (lit b))', '(on b) (off b)', ''),
        (
            '(sometime-after (lit a) (lit b))',
            '(on a)',
            '(sometime-after (lit a) (lit b)) (sometime (lit b))',
        ),
        (
            '(always-within 4 (lit a) (lit b))',
            '(on a) (on c)',
            '(always-within 4 (lit a) (lit b)) (within 3 (lit b))',
        ),
        ('(hold-during 1 4 (not (lit a)))', '(on b) (on c)', '(hold-during 0 2 (not (lit a)))'),
        ('(hold-during 0 2 (not (lit a)))', '(on b) (on c)', ''),
        ('(hold-after 3 (lit a))', '(on a)', '(hold-after 2 (lit a))'),
        ('(hold-after 1 (lit a))', '(on a) (on b)', '(hold-after 0 (lit a))'),
        ('(at end (lit a))', '(on a)', '(at end (lit a))'),
    ],
)
def test_what_remains_of_each_operator(constraint: str, plan: str, remains: str) -> None:
    problem = read_problem(
        '(define (problem p) (:domain lamps) (:objects a b c) (:init) (:goal (lit c)) '
        f'(:constraints {constraint}))',
        read_domain(LAMPS, '<domain>'),
        '<problem>',
    )
    rest = behind(problem, parse_plan(plan).steps)
    assert rest is not None
    assert ' '.join(map(constraint_text, rest.constraints)) == remains
    assert read_problem(problem_text(rest), rest.domain, '<rest>').constraints == rest.constraints


def test_the_domains_constraints_are_not_asked_for_twice() -> None:
    whole = '(:constraints (at-most-once (lit a)))'
    source = LAMPS.replace('(:predicates', f'(:constants a) {whole} (:predicates')
    problem = read_problem(
        '(define (problem p) (:domain lamps) (:objects b) (:init (lit a)) (:goal (lit b)))',
        read_domain(source, '<domain>'),
        '<problem>',
    )
    rest = behind(problem, parse_plan('(off a)').steps)
    assert rest is not None
    again = read_problem(
        problem_text(rest), read_domain(domain_text(rest.domain, constraints=True), '<d>'), '<p>'
    )
    assert [constraint_text(c) for c in again.constraints] == ['(always (not (lit a)))']


def test_nothing_remains_of_a_broken_constraint(tower_order: Pddl3Task) -> None:
    problem = tower_order.problem
    shield = Shield(problem)
    state: State = problem.init | {('on-table', 'b2')}
    standing = shield.monitors.progress(shield.start.standing, shield.table.encode(state))
    with pytest.raises(ValueError, match='broken constraint'):
        remaining_problem(problem, shield.monitors, standing, state, 1)
