# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Why an attempt was refused and what comes next, in words."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from support import strategies

from safegen_ros.api import Problem
from safegen_ros.errors import ErrorCode
from safegen_ros.pddl.plan import Step
from safegen_ros.record.present.wording import (
    NEXT,
    StackSituation,
    condition_words,
    ended_words,
    next_words,
    step_text_words,
    step_words,
    steps_of,
    verdict_words,
)
from safegen_ros.record.run import AttemptRecord
from safegen_ros.tasks.pddl3.domains import builtin_domain, kits
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify.validator import verify

TOWER_ORDER = Problem.load(Path(__file__).parents[2] / 'examples/tower_order.pddl')
RULE = (
    'Before the first time that block b2 is on the table, there is a time when block b3 is on the '
    'table.'
)


def _attempt(text: str, problem: Problem = TOWER_ORDER) -> AttemptRecord:
    return AttemptRecord(
        1, 'model', text, tuple(map(str, steps_of([text]))), verify(problem, text), 0.1
    )


@pytest.mark.parametrize(
    ('plan', 'words'),
    [
        ('(unstack b2 b1) (putdown b2) (unstack b5 b3)',
         'Refused, nothing moves: step 2 of 3, “put b2 down on the table”, breaks the rule '
         f'“{RULE}” Then block b2 is on the table, but there was no earlier time when block b3 '
         'is on the table.'),
        ('(pickup b4)',
         'Refused, nothing moves: step 1 of 1, “pick up b4 from the table”, is not possible at '
         'that point. It needs that block b4 is clear, which is not so then.'),
        ('(unstack b5 b3) (putdown b5)',
         'Refused, nothing moves: every step is possible, but when the plan ends the goal is '
         'not reached. What is missing: block b1 is on block b4 and block b4 is on block b3.'),
    ],
)  # fmt: skip
def test_why_an_attempt_was_refused(plan: str, words: str) -> None:
    assert verdict_words(TOWER_ORDER, _attempt(plan)) == words


def test_an_answer_that_is_no_plan() -> None:
    words = verdict_words(TOWER_ORDER, _attempt('Sure!'))
    assert 'not a plan that can be read' in words
    assert "'Sure!'" in words


def _with_rule(rule: str) -> Problem:
    return Problem.from_text(f"""(define (problem p) (:domain blocksworld) (:objects b1 b2)
      (:init (arm-empty) (on-table b1) (on-table b2) (clear b1) (clear b2))
      (:goal (on b1 b2)) (:constraints {rule}))""")


PUT = '(pickup b1) (stack b1 b2)'


@pytest.mark.parametrize(
    ('rule', 'plan', 'words'),
    [
        ('(always (not (holding b1)))', PUT, 'After that it is no longer kept.'),
        ('(sometime (on b2 b1))', PUT, 'this never happens'),
        ('(at-most-once (holding b1))', f'(pickup b1) (putdown b1) {PUT}',
         'a second time: the arm holds block b1.'),
        ('(sometime-after (holding b1) (on b2 b1))', PUT,
         'It happens that the arm holds block b1, but neither then nor later'),
        ('(at end (arm-empty))', '', 'goal is not reached'),
        ('(within 1 (on b1 b2))', PUT,
         'It has not happened within 1 step that block b1 is on block b2.'),
        ('(always-within 1 (holding b1) (holding b2))', f'{PUT} (unstack b1 b2) (stack b1 b2)',
         'within 1 step that the arm holds block b2.'),
        ('(hold-during 0 2 (arm-empty))', PUT, 'In that time it is not so that the arm is empty.'),
        ('(hold-after 1 (arm-empty))', PUT, 'Then it is not so that'),
        ('(always (holding b1))', PUT, 'broken before the first step'),
        ('(and (always (not (holding b1))) (always (not (on b1 b2))))', PUT,
         '1 more rule is broken by this plan.'),
    ],
)  # fmt: skip
def test_what_happened_to_each_kind_of_rule(rule: str, plan: str, words: str) -> None:
    problem = _with_rule(rule)
    assert words in verdict_words(problem, _attempt(plan, problem))


@settings(strategies.SUITE, max_examples=50)
@given(strategies.SEEDS)
def test_there_are_words_for_every_verdict(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.problem(rng) if seed % 2 else strategies.generated(rng)
    plan = strategies.plan(rng, problem)
    verdict = verify(problem, plan)
    attempt = AttemptRecord(1, 'm', str(plan), tuple(map(str, plan.steps)), verdict, 0.1)
    words = verdict_words(problem, attempt)
    assert words.startswith('Proved safe' if verdict.ok else 'Refused')
    if verdict.failing_step >= 0 and verdict.failing_state:
        assert f'step {verdict.failing_step + 1}' in words.lower()


def test_nothing_is_proved_by_no_verdict() -> None:
    assert verdict_words(None, AttemptRecord(1, 'm', '', (), Verdict(), 0)).startswith('Refused')
    bad = Verdict(Category.SAFETY_VIOLATION, 'a collision')
    assert 'a collision' in verdict_words(None, AttemptRecord(1, 'm', '', (), bad, 0))
    # A verdict on another task than the one that is shown.
    assert 'A collision.' in verdict_words(TOWER_ORDER, AttemptRecord(1, 'm', '', (), bad, 0))


def test_every_action_of_the_built_in_domains_has_words() -> None:
    for kit in kits().values():
        domain = builtin_domain(kit.names[0])
        assert set(kit.wording.steps) == set(domain.actions), kit.name
        for name, schema in domain.actions.items():
            names = [f'x{number}' for number in range(len(schema.parameters))]
            told = kit.wording.steps[name].format(*names)
            assert '{' not in told
            assert told.count('x') >= 1


def test_steps_in_words() -> None:
    assert step_words(Step('stack', ('b1', 'b2')), TOWER_ORDER) == 'put b1 on b2'
    assert step_words(Step('stack', ('b1',)), TOWER_ORDER) == 'stack b1'
    assert step_words(Step('pick-up_it', ('{0}',)), None) == 'pick up it {0}'
    assert steps_of(['(stack b1 b2)', 'nonsense']) == ()
    assert step_text_words('(stack b1 b2)', TOWER_ORDER) == 'put b1 on b2'
    for text in ('(move a b) (move c d)', 'nonsense', ''):
        assert step_text_words(text, TOWER_ORDER) == text


def test_the_goal_and_conditions() -> None:
    assert condition_words('(on b1 b4)', TOWER_ORDER) == 'block b1 is on block b4'
    assert condition_words('(not (clear b1))', TOWER_ORDER) == 'block b1 is not clear'
    assert condition_words('(fly b1)', TOWER_ORDER) == '(fly b1)'
    assert condition_words('', TOWER_ORDER) == ''


@pytest.mark.parametrize('stage', [*NEXT, 'unheard-of', ''])
def test_what_comes_next_is_always_one_sentence(stage: str) -> None:
    for situation in (
        StackSituation(stage),
        StackSituation(
            stage, 2, 5, 'beam 4', 2, 8, 'put {b1} on b2', 'pick up b3', 'a {reason}', 'It is done'
        ),
    ):
        words = next_words(situation)
        assert words
        assert words[0].isupper()
        assert '\n' not in words


def test_what_the_arm_does_next() -> None:
    moving = StackSituation('executing', index=2, total=8, step='put b1 on b2', after='pick up b3')
    assert next_words(moving) == (
        'The arm executes step 3 of 8: put b1 on b2; if the world is then as foreseen, step 4 '
        'follows: pick up b3.'
    )
    last = StackSituation('executing', index=7, total=8, step='put b1 on b2')
    assert 'goal should be reached' in next_words(last)
    waiting = StackSituation('approval', total=8, step='pick up b1')
    assert 'if you approve it, the arm begins with step 1 of 8: pick up b1' in next_words(waiting)
    assert 'attempt 2 of 5' in next_words(StackSituation('generating', attempt=2, max_attempts=5))
    assert 'until you reset' in next_words(StackSituation('stopped', reason='the button'))


def test_how_a_goal_ended() -> None:
    for code in ErrorCode:
        words = ended_words(code, 'why {0}')
        assert words[0].isupper()
        assert 'why {0}' in words
    assert ended_words(ErrorCode.STATE_MISMATCH) == (
        'The world was not as proved, so the arm was stopped.'
    )
