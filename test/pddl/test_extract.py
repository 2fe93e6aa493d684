# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The lenient way to read a plan: what it takes, what it says it skipped, what it still refuses."""

from __future__ import annotations

import random

import pytest
import strategies
from hypothesis import given, settings

from safegen_ros.errors import PlanFormatError
from safegen_ros.pddl.extract import Extraction, extract_plan
from safegen_ros.pddl.plan import MAX_PLAN_TEXT, make_plan, parse_plan

TWO = make_plan([('pickup', 'b1'), ('stack', 'b1', 'b2')])


@pytest.mark.parametrize(
    ('text', 'first', 'last'),
    [
        ('(pickup b1)\n(stack b1 b2)', 1, 2),
        ('; plan\n\n(pickup b1) (stack b1 b2)\n; cost = 2', 3, 3),
        ('0: (PICKUP b1)\n1: (stack\n b1 b2)', 1, 3),
    ],
)
def test_a_plan_is_taken_as_it_stands(text: str, first: int, last: int) -> None:
    plan, note = extract_plan(text)
    assert plan == TWO
    assert note == Extraction(2, first, last)
    assert note.whole
    assert str(note) == 'the text is a plan'


def test_a_text_without_steps_is_the_empty_plan() -> None:
    assert extract_plan('; nothing to do\n') == (make_plan([]), Extraction(0, 0, 0))


MARKED = {
    'bullets': '- (pickup b1)\n- (stack b1 b2)',
    'stars': '* (pickup b1)\n* (stack b1 b2)',
    'numbers': '1. (pickup b1)\n2. (stack b1 b2)',
    'numbers in parentheses': '1) (pickup b1)\n\n2) (stack b1 b2)\n',
    'backticks': '`(pickup b1)`\n`(stack b1 b2)`',
    'bold': '1. **(pickup b1)**\n2. **(stack b1 b2)**',
    'commas': '(pickup b1),\n(stack b1 b2),',
    'strings': '["(pickup b1)", "(stack b1 b2)"]',
    'strings on lines': '"(pickup b1)",\n"(stack b1 b2)"',
    'brackets': '[(pickup b1), (stack b1 b2)]',
}


@pytest.mark.parametrize('case', MARKED)
def test_marks_of_lists_are_taken_off(case: str) -> None:
    with pytest.raises(PlanFormatError):
        parse_plan(MARKED[case])
    plan, note = extract_plan(MARKED[case])
    assert plan == TWO
    assert note.marks
    assert not note.whole
    assert (note.before, note.after, note.other_lists) == ('', '', 0)
    assert 'left out the marks around them' in str(note)


SKIPPED = {
    'prose before': ('Here is the plan:\n(pickup b1)\n(stack b1 b2)', 2, 3, 'line 1, a', ''),
    'prose after': ('(pickup b1)\n(stack b1 b2)\nDone.', 1, 2, '', "line 3, a sentence 'Done.'"),
    'fence': (
        '```pddl\n(pickup b1)\n(stack b1 b2)\n```', 2, 3, 'line 1, a code fence', 'line 4, a code',
    ),
    'json': (
        '{"plan": [\n  "(pickup b1)",\n  "(stack b1 b2)"\n]}', 2, 3, 'line 1, JSON', 'line 4, the',
    ),
    'thought': ('<think>\n(open b1)\n</think>\n(pickup b1)\n(stack b1 b2)', 4, 5, 'a thought', ''),
    'loud thought': ('<THINK>(a)</THINK>\n(pickup b1)\n(stack b1 b2)', 2, 3, 'a thought', ''),
    'cut off': (
        '(pickup b1)\n(stack b1 b2)\n(pickup b', 1, 2, '', 'line 3, an unclosed parenthesis',
    ),
    'praise': ('Sure (as asked)!\n\n1. (pickup b1)\n2. (stack b1 b2)', 3, 4, 'line 1', ''),
    'one extra parenthesis': ('(pickup b1)\n(stack b1 b2)\n)', 1, 2, '', 'line 3, a parenthesis'),
}  # fmt: skip


@pytest.mark.parametrize('case', SKIPPED)
def test_what_is_skipped_is_said(case: str) -> None:
    text, first, last, before, after = SKIPPED[case]
    plan, note = extract_plan(text)
    assert plan == TWO
    assert (note.steps, note.first_line, note.last_line, note.other_lists) == (2, first, last, 0)
    assert note.before.startswith(before)
    assert bool(note.before) == bool(before)
    assert note.after.startswith(after)
    assert bool(note.after) == bool(after)
    assert f'took 2 steps from lines {first} to {last}' in str(note)
    assert str(note).isprintable()


def test_only_the_first_list_is_taken() -> None:
    plan, note = extract_plan('(pickup b1)\n(stack b1 b2)\n\nor:\n(wait)\n\nor:\n(wait)\n(wait)\n')
    assert plan == TWO
    assert note.other_lists == 2
    assert str(note).endswith('skipped 2 more lists of steps')


def test_a_line_with_anything_else_ends_the_list() -> None:
    plan, note = extract_plan('- (pickup b1)\n- (stack b1 b2), carefully\n- (wait)')
    assert plan == make_plan([('pickup', 'b1')])
    assert note.after.startswith('line 2, a bullet')
    assert note.other_lists == 1


REFUSED = {
    'prose': (
        'I will (carefully) pick it up',
        1,
        1,
        'no line of the text is a list of steps; found',
    ),
    'calls': ('pickup(b1)\nstack(b1, b2)', 1, 1, 'no line of the text is a list of steps; found'),
    'a thought without an end': ('<think>\n(pickup b1)', 1, 1, "found '<think>' and no '</think>'"),
    'numbers that shrink': ('Plan:\n2. (a)\n1. (b)', 3, 1, 'the time 1 comes behind 2'),
    'times at once': ('Plan:\n0: (a)\n\n0: (b)', 4, 1, 'the time 0 is there twice'),
    'some numbers': ('Plan:\n1. (a)\n(b)', 3, 1, 'some steps have a time and some have none'),
    'a step over two lines': ('Plan:\n(pickup\nb1)', 1, 1, 'no line of the text is a list'),
}


@pytest.mark.parametrize('case', REFUSED)
def test_what_is_no_list_of_steps_is_refused(case: str) -> None:
    text, line, column, what = REFUSED[case]
    with pytest.raises(PlanFormatError) as caught:
        extract_plan(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert caught.value.what.startswith(what)
    assert caught.value.cure


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(PlanFormatError, match='limit'):
        extract_plan('(a)\n' * (MAX_PLAN_TEXT // 4 + 1))


@pytest.mark.parametrize('text', ['"' * 900_000, '(a)' + ' ' * 900_000 + '!', '<think>' * 120_000])
def test_hostile_repetition_is_refused(text: str) -> None:
    with pytest.raises(PlanFormatError):
        extract_plan(text)


@settings(strategies.SUITE, max_examples=60)
@given(strategies.SEEDS)
def test_a_plan_is_found_between_other_things(seed: int) -> None:
    rng = random.Random(seed)
    names = ['a', 'b-1', 'c_2', '4-0']
    steps = [
        [rng.choice(names) for _ in range(rng.randint(1, 4))] for _ in range(rng.randint(1, 9))
    ]
    plan = make_plan(steps)
    lead = rng.choice(['', '- ', '* ', '`', '"'])
    lines = [f'{lead}{step}{rng.choice(["", " "])}' for step in map(str, plan.steps)]
    before = rng.choice([[], ['Plan:'], ['```'], ['<think>(a)</think> So:'], ['', '# Plan', '']])
    after = rng.choice([[], ['```'], ['That is all.'], ['', ')']])
    found, note = extract_plan('\n'.join([*before, *lines, *after]))
    assert found == plan
    assert (note.first_line, note.last_line) == (len(before) + 1, len(before) + len(lines))
    assert note.whole is not bool(before or after or lead)
