# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The lenient way to read a plan: what it takes, what it says it skipped, what it still refuses."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import strategies
from support.plans import make_plan

from safegen_ros.errors import PlanFormatError
from safegen_ros.pddl.extract import Extraction, extract_plan
from safegen_ros.pddl.plan import MAX_PLAN_TEXT, Plan, parse_plan
from safegen_ros.pddl.reader import read_domain, read_problem

PROBLEM = read_problem(
    '(define (problem p) (:domain d) (:objects b1 b2 b-1 c_2 4-0) (:init) (:goal (and)))',
    read_domain(
        '(define (domain d) (:predicates (p)) (:action pickup :parameters (?x)) (:action wait)'
        '(:action stack :parameters (?x ?y)))'
    ),
)


def _taken(text: str) -> tuple[Plan, Extraction]:
    return extract_plan(text, PROBLEM)


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
    plan, note = _taken(text)
    assert plan == TWO
    assert note == Extraction(2, first, last)
    assert note.whole
    assert str(note) == 'the text is a plan'


def test_a_text_without_steps_is_the_empty_plan() -> None:
    assert _taken('; nothing to do\n') == (make_plan([]), Extraction(0, 0, 0))


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
    plan, note = _taken(MARKED[case])
    assert plan == TWO
    assert note.marks
    assert not note.whole
    assert (note.before, note.after) == ('', '')
    assert 'left out the marks around them' in str(note)


SKIPPED = {
    'prose before': ('Here is the plan:\n(pickup b1)\n(stack b1 b2)', 2, 3, 'line 1, a', ''),
    'prose after': ('(pickup b1)\n(stack b1 b2)\nDone.', 1, 2, '', "line 3, a sentence 'Done.'"),
    'fence': (
        '```pddl\n(pickup b1)\n(stack b1 b2)\n```', 2, 3, 'line 1, a code fence', 'line 4, a code',
    ),
    'json': (
        '{"steps": [\n  "(pickup b1)",\n  "(stack b1 b2)"\n]}', 2, 3, 'line 1, JSON', 'line 4, the',
    ),
    'thought': ('<think>\n(open b1)\n</think>\n(pickup b1)\n(stack b1 b2)', 4, 5, 'a thought', ''),
    'loud thought': ('<THINK>(wait)</THINK>\n(pickup b1)\n(stack b1 b2)', 2, 3, 'a thought', ''),
    'praise': ('Sure (as asked)!\n\n1. (pickup b1)\n2. (stack b1 b2)', 3, 4, 'line 1', ''),
    'log of FF': (
        'ff: found legal plan as follows\n\nstep    0: PICKUP B1\n        1: STACK B1 B2\n\n'
        'time spent:    0.00 seconds', 3, 4, 'line 1, a sentence', 'line 6, a sentence',
    ),
    'log of Fast Downward': (
        'Solution found!\npickup b1 (1)\nstack b1 b2 (1)\nPlan length: 2 step(s).', 2, 3,
        'line 1, a sentence', 'line 4, a sentence',
    ),
    'calls': ('The plan:\npickup(b1)\nstack(b1, b2)', 2, 3, 'line 1', ''),
    'one extra parenthesis': ('(pickup b1)\n(stack b1 b2)\n)', 1, 2, '', 'line 3, a parenthesis'),
}  # fmt: skip


@pytest.mark.parametrize('case', SKIPPED)
def test_what_is_skipped_is_said(case: str) -> None:
    text, first, last, before, after = SKIPPED[case]
    plan, note = _taken(text)
    assert plan == TWO
    assert (note.steps, note.first_line, note.last_line) == (2, first, last)
    assert note.before.startswith(before)
    assert bool(note.before) == bool(before)
    assert note.after.startswith(after)
    assert bool(note.after) == bool(after)
    assert f'took 2 steps from lines {first} to {last}' in str(note)
    assert str(note).isprintable()


LEFT_OVER = {
    'a parenthesis too many': '(pickup b1)\n(wait))',
    'a negative number': '-1: (wait)\n(pickup b1)',
    'a number with an exponent': '1e3: (wait)\n(pickup b1)',
    'a heading': '(pickup b1)\nStep 2 (wait)',
    'a fraction': '1/2: (wait)\n(pickup b1)',
    'prose before': 'then (wait)\n(pickup b1)',
    'prose behind': '- (pickup b1)\n- (stack b1 b2), carefully\n- (wait)',
    'two steps in prose': '(pickup b1)\nthen (stack b1 b2) and (wait)',
    'a sign': '(pickup b1)\n(wait \u263a)',
    'a sign in the name': '(pickup b1)\n(wa\u200bit)',
    'an accent': '(pickup b1)\n(wai\u0301t)',
    'wide parentheses': '(pickup b1)\n\uff08wait\uff09',
    'wide letters': '(pickup b1)\n(\uff57\uff41it)!',
    'ornamental parentheses': '(pickup b1)\n\u2768wait\u2769',
    'capitals': '(pickup b1)\n(WAIT) .',
    'a nearly right name': '(pickup b1)\nthen (wit)',
    'an object only': '(pickup b1)\nthen (lift b2)',
    'cut off': '(pickup b1)\n(stack b1 b2)\n(pickup b',
    'a letter of a comment': '1. (pickup b1)\n(wa;it)',
    'a nested step': '(pickup b1)\n((wait))',
    'a call': '(pickup b1)\nstack(b1, b2)',
    'a call without arguments': '(pickup b1)\nnow wait() here',
    'no parentheses': '(pickup b1)\n2: STACK b1 b2',
    'a name alone': '(pickup b1)\nwait.',
    'brackets': '(pickup b1)\n<stack b1 b2>',
    'a comment behind a step': '(pickup b1); (wait)',
    'a comment in other text': 'Plan:\n(pickup b1); (wait)',
    'a comment behind a bullet': '(pickup b1)\n- ; (wait)',
    'a second list': '(pickup b1)\n\nor:\n(fly)',
    'a gap in the log of FF': 'step 0: PICKUP B1\n2: WAIT\ncost 2',
    'two plans of FF': 'step 0: PICKUP B1\n1: WAIT\n\nstep 0: WAIT\n.',
    'a thought in the middle': '(pickup b1)\n<think>(wait)</think>\n(stack b1 b2)',
}


@pytest.mark.parametrize('case', LEFT_OVER)
def test_a_text_with_a_step_beside_the_list_is_refused(case: str) -> None:
    text = LEFT_OVER[case]
    with pytest.raises(PlanFormatError) as caught:
        _taken(text)
    beside = [
        number for number, line in enumerate(text.split('\n'), 1) if line[-11:] != '(pickup b1)'
    ]
    assert caught.value.line in beside
    assert caught.value.cure


@pytest.mark.parametrize(
    'line',
    ['Here is the plan (2 steps):', 'Wait until it is done:', 'First we pick up (carefully) one.',
     '; cost = 2 (unit cost)', '1. Lift the first block.', ')', '***', '\u2713 done :)'],
)  # fmt: skip
def test_prose_that_holds_no_step_is_skipped(line: str) -> None:
    assert _taken(f'{line}\n(pickup b1)\n(stack b1 b2)')[0] == TWO
    assert _taken(f'(pickup b1)\n(stack b1 b2)\n{line}')[0] == TWO


DISGUISES = st.sampled_from(
    ['{}', '{})', '({}', '-1: {}', '1e3: {}', '1. {}', '* {},', 'then {}', '{} \u263a', '`{}`',
     '"{}"', '\u00a0{}', '{}\u200b', '\ufeff{}', '{} {}', '{}{}', '{}, then {}', '**{}** it', '[{}',
     '<b>{}</b>', '{}; {}', '/{}/', '1/2 {}', 'x{}y', '{}.', '0.0: {} [1]', '\x00{}', '\x1b[1m{}']
)  # fmt: skip
INSERTED = st.sampled_from('\u263a\u200b\u0301 \t;')


@strategies.examples(300)
@given(
    st.lists(st.sampled_from(['(pickup b1)', '(stack b1 b2)', '(wait)']), min_size=1, max_size=5),
    st.lists(st.tuples(DISGUISES, INSERTED), min_size=5, max_size=5),
    st.integers(0, 200),
)
def test_all_steps_are_taken_or_none(
    steps: list[str], disguises: list[tuple[str, str]], place: int
) -> None:
    lines, whole = [], []
    for step, (disguise, _) in zip(steps, disguises, strict=False):
        count = disguise.count('{}')
        lines.append(disguise.format(*[step] * count))
        whole += [step] * count
    text = '\n'.join(lines)
    place, letter = place % len(text), disguises[0][1]
    divides = letter.isspace() and text[place - 1 : place + 1].isalnum()  # what then is no step
    for mutated in (text, text if divides else text[:place] + letter + text[place:]):
        try:
            plan, _ = _taken(mutated)
        except PlanFormatError:
            continue
        found = str(plan).split('\n')
        # a letter more may make another name of one, which is not an action of the problem
        assert len(found) == len(whole)
        if mutated == text:
            assert found == whole


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    for whole in (text, f'(pickup b1)\n{text}', f'{text}\n(pickup b1)'):
        try:
            plan, note = _taken(whole)
        except PlanFormatError:
            continue
        assert parse_plan(str(plan)) == plan
        assert str(note).isprintable()


REFUSED = {
    'prose': ('I will (carefully) pick it up', 1, 1, 'no line of the text is a list of steps; f'),
    'calls': ('lift(x) put(x, y)', 1, 1, 'no line of the text is a list of steps; found'),
    'a thought without an end': ('<think>\n(pickup b1)', 1, 1, "found '<think>' and no '</think>'"),
    'numbers that shrink': ('Plan:\n2. (a)\n1. (b)', 3, 1, 'the time 1 comes behind 2'),
    'times at once': ('Plan:\n0: (a)\n\n0: (b)', 4, 1, 'the time 0 is there twice'),
    'some numbers': ('Plan:\n1. (a)\n(b)', 3, 1, 'some steps have a time and some have none'),
    'a step over two lines': ('Plan:\n(pickup\nb1)', 2, 1, "'(pickup' may hold a step"),
}


@pytest.mark.parametrize('case', REFUSED)
def test_what_is_no_list_of_steps_is_refused(case: str) -> None:
    text, line, column, what = REFUSED[case]
    with pytest.raises(PlanFormatError) as caught:
        _taken(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert caught.value.what.startswith(what)
    assert caught.value.cure


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(PlanFormatError, match='limit'):
        _taken('(a)\n' * (MAX_PLAN_TEXT // 4 + 1))


@pytest.mark.parametrize('text', ['"' * 900_000, '(a)' + ' ' * 900_000 + '!', '<think>' * 120_000])
def test_hostile_repetition_is_refused(text: str) -> None:
    with pytest.raises(PlanFormatError):
        _taken(text)


@strategies.examples(60)
@given(strategies.SEEDS)
def test_a_plan_is_found_between_other_things(seed: int) -> None:
    rng = random.Random(seed)
    names = ['b1', 'b-1', 'c_2', '4-0']
    steps = [
        [rng.choice(names) for _ in range(rng.randint(1, 4))] for _ in range(rng.randint(1, 9))
    ]
    plan = make_plan(steps)
    lead = rng.choice(['', '- ', '* ', '`', '"'])
    lines = [f'{lead}{step}{rng.choice(["", " "])}' for step in map(str, plan.steps)]
    before = rng.choice([[], ['Plan:'], ['```'], ['<think>(wait)</think> So:'], ['', '# Plan', '']])
    after = rng.choice([[], ['```'], ['That is all.'], ['', ')']])
    found, note = _taken('\n'.join([*before, *lines, *after]))
    assert found == plan
    assert (note.first_line, note.last_line) == (len(before) + 1, len(before) + len(lines))
    assert note.whole is not bool(before or after or lead)


TIMED = read_problem(
    '(define (problem p) (:domain d) (:objects a b) (:init) (:goal (and)))',
    read_domain(
        '(define (domain d) (:requirements :durative-actions) (:predicates (p))'
        '(:durative-action go :parameters (?x ?y) :duration (= ?duration 5) :condition ()'
        ' :effect (at end (p))))'
    ),
)


@pytest.mark.parametrize(
    'text',
    [
        'Sure:\n```\n0: (go a b) [5]\n5.01: (go b a) [5]\n```',
        '1. 0: (go a b) [5]\n2. 5.01: (go b a) [5]',
        '* `0: (go a b) [5]`,\n* `5.01: (go b a) [5]`\n',
        'plan\n0: go(a, b) [5]\n5.01: go(b, a) [5]',
    ],
)
def test_a_list_keeps_its_times(text: str) -> None:
    plan, _ = extract_plan(text, TIMED)
    assert str(plan) == '0: (go a b) [5]\n5.01: (go b a) [5]'


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('Sure:\n(go a b) [5]\n(go b a) [5]', 'a step has no time'),
        ('Sure:\n5: (go a b) [5]\n0: (go b a) [5]', 'the time 0 comes behind 5'),
        ('Sure:\n0: (go a b) [5]\nat 5.01: (go b a) [5]', 'may hold a step'),
        ('Sure:\n0: (go a b) [5]\n\nor\n\n0: (go b a) [5]', 'begins a second list of steps'),
        ('Sure:\n0: (go a b) [5 s]', 'may hold a step'),
    ],
)
def test_a_list_whose_times_are_in_doubt_is_refused(text: str, said: str) -> None:
    with pytest.raises(PlanFormatError, match=said):
        extract_plan(text, TIMED)


def test_an_object_with_an_at_sign_is_seen_in_prose_too() -> None:
    domain = read_domain(
        '(define (domain d) (:constants @sink) (:predicates (p ?x)) '
        '(:action go :parameters (?x) :effect (p ?x)))'
    )
    problem = read_problem('(define (problem x) (:domain d) (:init) (:goal (p @sink)))', domain)
    assert str(extract_plan('Here:\n(go @sink)', problem)[0]) == '(go @sink)'
    assert str(extract_plan('[go(@sink)]', problem)[0]) == '(go @sink)'
    for beside in ('then go @sink', 'then go sink', 'then (@sink'):
        with pytest.raises(PlanFormatError, match='may hold a step'):
            extract_plan(f'(go @sink)\n{beside}', problem)
