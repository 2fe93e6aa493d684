# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The strict grammar of plans: what is read, and what is refused where VAL would judge a prefix."""

from __future__ import annotations

import json
import random
import tracemalloc
from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import strategies
from support.strategies import make_plan

from safegen_ros.errors import ErrorCode, PlanFormatError
from safegen_ros.pddl.extract import Extraction, extract_plan
from safegen_ros.pddl.plan import MAX_PLAN_TEXT, Plan, Step, parse_plan, read_steps
from safegen_ros.pddl.reader import read_domain, read_problem

TWO = make_plan([('pickup', 'b1'), ('stack', 'b1', 'b2')])


@pytest.mark.parametrize(
    'text',
    [
        '(pickup b1)\n(stack b1 b2)\n',
        '(pickup b1) (stack b1 b2)',
        '(pickup b1)(stack b1 b2)',
        '(PickUp B1)\r\n(STACK b1 B2)\r\n',
        '\t( pickup\n b1 )\n\n(stack\tb1\tb2)',
        '; first\n(pickup b1) ; take it\n;(putdown b1)\n(stack b1 b2) ; \u2713',
        '0: (pickup b1)\n1: (stack b1 b2)',
        '0.000: (pickup b1) [0.001]\n0.001: (stack b1 b2) [0.001]',
        '0.00 : (pickup b1) [ 1 ]\n1: ; late\n (stack b1 b2)',
        '0.0003: (PICKUP B1) [D:1.00; C:0.10]\n0.0005: (STACK B1 B2) [D:1.00; C:0.10]\n',
        '[0] (pickup b1)\n[1] (stack b1 b2)',
        'step 0: (pickup b1)\nSTEP 1: (stack b1 b2)',
        '(pickup b1)\n(stack b1 b2)\n; cost = 2 (unit cost)\n',
        '   (pickup b1)   \n\n\n   (stack b1 b2)',
    ],
)
def test_accepted(text: str) -> None:
    assert parse_plan(text) == TWO


@pytest.mark.parametrize('text', ['', ' \n\t', '; nothing to do\n'])
def test_a_text_without_steps_is_the_empty_plan(text: str) -> None:
    assert parse_plan(text) == Plan()
    assert _taken(text) == (Plan(), Extraction(0, 0, 0))


def test_a_step_may_have_no_arguments() -> None:
    assert parse_plan('(wait)') == Plan((Step('wait'),))


def test_names_are_those_of_problems() -> None:
    assert parse_plan('(9k 4-0 _x end at 1)') == make_plan([('9k', '4-0', '_x', 'end', 'at', '1')])


REFUSED = {
    'leading prose': ('Here is the plan:\n(pickup b1)', 1, 1, 0, 'a sentence'),
    'trailing prose': ('(pickup b1)\n(stack b1 b2)\nDone.', 3, 1, 2, 'a sentence'),
    'bare fence': ('```\n(pickup b1)\n```', 1, 1, 0, 'a code fence'),
    'pddl fence': ('```pddl\n(pickup b1)\n```', 1, 1, 0, 'a code fence'),
    'fence behind': ('(pickup b1)\n```', 2, 1, 1, 'a code fence'),
    'json': ('{"steps": ["(pickup b1)"]}', 1, 1, 0, 'JSON'),
    'json strings': ('["(pickup b1)"]', 1, 1, 0, 'JSON'),
    'json objects': ('[{"action": "pickup"}]', 1, 1, 0, 'JSON'),
    'list': ('[(pickup b1)]', 1, 1, 0, 'a list in brackets'),
    'function call beside a step': ('pickup(b1)\n(stack b1 b2)', 1, 1, 0, 'a call'),
    'function calls on a line': ('pickup(b1) stack(b1, b2)', 1, 1, 0, 'a call'),
    'no parentheses': ('pickup b1\nstack b1 b2', 1, 1, 0, 'words without parentheses'),
    'one word': ('pickup', 1, 1, 0, 'words without parentheses'),
    'bullet': ('- (pickup b1)', 1, 1, 0, 'a bullet'),
    'star': ('* (pickup b1)', 1, 1, 0, 'a bullet'),
    'numbered': ('1. (pickup b1)', 1, 1, 0, 'a numbered list'),
    'thought': ('<think>\n(pickup b1)', 1, 1, 0, 'a tag'),
    'closing tag': ('(pickup b1)\n</plan>', 2, 1, 1, 'a tag'),
    'hash comment': ('# plan\n(pickup b1)', 1, 1, 0, 'a heading'),
    'bold': ('**(pickup b1)**', 1, 1, 0, 'the text'),
    'backtick': ('`(pickup b1)`', 1, 1, 0, 'a backtick'),
    'quotation mark': ('"(pickup b1)"', 1, 1, 0, 'a quotation mark'),
    'comma': ('(pickup b1),\n(stack b1 b2)', 1, 12, 1, 'a comma'),
    'comma inside': ('(stack b1, b2)', 1, 1, 0, 'a comma in a step'),
    'extra parenthesis': ('(pickup b1))', 1, 12, 1, 'a parenthesis that closes nothing'),
    'missing parenthesis': ('(pickup b1)\n(stack b1 b2', 2, 1, 1, 'an unclosed parenthesis'),
    'unclosed': ('(pickup b1\n(stack b1 b2)', 1, 1, 0, 'an unclosed parenthesis'),
    'nested': ('((pickup b1)(stack b1 b2))', 1, 1, 0, 'a list inside a list'),
    'empty step': ('(pickup b1) ()', 1, 13, 1, 'a step without a name'),
    'variable': ('(pickup ?b)', 1, 1, 0, 'a variable in a step'),
    'quoted': ('(pickup "b1")', 1, 1, 0, 'a quotation mark in a step'),
    'decimal': ('(pickup 1.5)', 1, 1, 0, 'a step with a character that no name has'),
    'dash': ('(pickup - b1)', 1, 1, 0, 'a step with a character that no name has'),
    'non-ASCII': ('(pickup b1\u2713)', 1, 1, 0, 'the character U+2713 in a step'),
    'letter that folds': ('(pic\u212aup b1)', 1, 1, 0, 'the character U+212A in a step'),
    'no-break space': ('(pickup\u00a0b1)', 1, 1, 0, 'the character U+00A0 in a step'),
    'NUL': ('(pickup b1)\0', 1, 12, 1, 'the character U+0000'),
    'mark of byte order': ('\ufeff(pickup b1)', 1, 1, 0, 'the character U+FEFF'),
    'comment inside a step': ('(pickup ; which\n b1)', 1, 1, 0, 'a comment inside a step'),
    'stamp alone': ('(pickup b1)\n1:', 2, 3, 1, 'the text ends'),
    'two stamps': ('1: 2: (pickup b1)', 1, 4, 0, 'a second time'),
    'bracket alone': ('[1]', 1, 4, 0, 'the text ends'),
    'brackets on both sides': ('[0] (pickup b1) [1]', 1, 20, 1, 'the text ends'),
    'duration twice': ('(pickup b1) [1] [2]', 1, 17, 1, 'a list in brackets'),
    'duration after stamp': ('(pickup b1)\n1: [2]', 2, 4, 1, 'a list in brackets'),
    'negative time': ('-1: (pickup b1)', 1, 1, 0, 'a sentence'),
    'truncated': ('(pickup b1)\n(sta', 2, 1, 1, 'an unclosed parenthesis'),
    'cost of FF': (
        'step    0: PICKUP B1\n        1: STACK B1 B2\ncost 2',
        1,
        12,
        0,
        'words without',
    ),
}


@pytest.mark.parametrize('case', REFUSED)
def test_refused_at_its_place(case: str) -> None:
    text, line, column, steps, what = REFUSED[case]
    with pytest.raises(PlanFormatError) as caught:
        parse_plan(text)
    error = caught.value
    assert (error.line, error.column, error.steps) == (line, column, steps)
    assert error.code is ErrorCode.PLAN_REFUSED
    found = text.split('\n')[line - 1][column - 1 :][:40].rstrip()
    assert error.what.startswith(f'found {found!r}, {what}' if found else what)
    assert f'after {steps} steps' in error.what
    assert error.message == f'<plan>:{line}:{column}: {error.what}: {error.cure}'
    assert 'write only steps' in error.cure
    assert error.message.isprintable()


TIMED = {
    'twice': ('0: (a)\n0: (b)', 2, 1, 'the time 0 is there twice'),
    'twice, written otherwise': ('1: (a)\n1.0: (b)', 2, 1, 'the time 1.0 is there twice'),
    'backwards': ('1.5: (a)\n1.25: (b)', 2, 1, 'the time 1.25 comes behind 1.5'),
    'brackets': ('[1] (a)\n[0] (b)', 2, 1, 'the time 0 comes behind 1'),
    'only the first': ('0: (a)\n(b)', 2, 1, 'some steps have a time and some have none'),
    'not the first': ('(a)\n1: (b)', 2, 4, 'some steps have a time and some have none'),
}


@pytest.mark.parametrize('case', TIMED)
def test_steps_that_happen_together_are_no_sequence(case: str) -> None:
    text, line, column, what = TIMED[case]
    with pytest.raises(PlanFormatError) as caught:
        parse_plan(text)
    error = caught.value
    assert (error.line, error.column, error.steps) == (line, column, 1)
    assert error.what == f'{what}, after 1 steps'
    assert 'give every step its own time' in error.cure


NAMES = st.from_regex(r'[a-z][a-z0-9_\-]{0,6}', fullmatch=True)
PLANS = st.lists(st.lists(NAMES, min_size=1, max_size=4), max_size=8).map(make_plan)


@strategies.examples(60)
@given(PLANS, strategies.SEEDS)
def test_the_short_way_and_the_whole_grammar_agree(plan: Plan, seed: int) -> None:
    rng = random.Random(seed)
    lines = [f'{step}{rng.choice(["", " ", chr(13)])}' for step in plan.steps]
    for _ in range(rng.randint(0, 2)):
        lines.insert(rng.randint(0, len(lines)), '')
    text = '\n'.join(line.upper() if rng.random() < 0.2 else line for line in lines)
    assert parse_plan(text) == parse_plan(text) == Plan(read_steps(text)) == plan


def _call(step: Step) -> str:
    return f'{step.action}({", ".join(step.arguments)})'


WAYS: dict[str, Callable[[Plan], str]] = {
    'ff': lambda plan: '\n'.join(
        f'{"step " if not n else ""}{n}: {str(step)[1:-1].upper()}'
        for n, step in enumerate(plan.steps)
    ),
    'calls': lambda plan: '\n'.join(map(_call, plan.steps)),
    'sequential plan': lambda plan: '\n    '.join(['SequentialPlan:', *map(_call, plan.steps)]),
    'list': lambda plan: f'[{", ".join(map(_call, plan.steps))}]',
    'terminal': lambda plan: '\n'.join(
        ['plan: ', *(f'{n}:\t{step}\t[1]' for n, step in enumerate(plan.steps))]
    ),
    'json': lambda plan: json.dumps({'plan': [{'name': str(step)} for step in plan.steps]}),
}


@strategies.examples(150)
@given(PLANS.filter(len), st.sampled_from(sorted(WAYS)), strategies.SEEDS)
def test_every_way_is_read_whole_or_not_at_all(plan: Plan, way: str, seed: int) -> None:
    text = WAYS[way](plan)
    assert parse_plan(text) == plan
    rng = random.Random(seed)
    place = rng.randrange(len(text) + 1)
    junk = rng.choice(['?', '((', '))', '\n(a b) c\n', '\nstep\n', '|', '"', '=', ': :'])
    try:
        other = parse_plan(text[:place] + junk + text[place:])
    except PlanFormatError:
        return
    assert len(other) >= len(plan)  # never a part


def test_many_plans_leave_nothing_behind() -> None:
    def parse(first: int) -> None:
        for start in range(first, first + 20_000, 1000):
            parse_plan('\n'.join(f'(stack b{i} b{i + 1})' for i in range(start, start + 1000)))

    tracemalloc.start()
    try:
        parse(0)
        before, _ = tracemalloc.get_traced_memory()
        parse(20_000)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 2_000_000


@pytest.mark.parametrize(
    'text',
    [
        'step    0: GO A B\n        1: SPRAY\n        2: go b c\n',
        'go(a, b)\nspray()\ngo(b,c)\n',
        'SequentialPlan:\n    go(a, b)\n    spray\n    go(b, c)\n',
        'TimeTriggeredPlan:\n    0.0: go(a, b) [5.0]\n    5.001: spray [1.0]\n    7.0: go(b, c)\n',
        '[go(a, b), spray, go(b, c)]',
        'SequentialPlan([go(a, b), spray, go(b, c)])\n',
        'plan: \n0:\t(go a b)\t[5]\n5.001:\t(spray)\t[1]\n7:\t(go b c)\t[5]\n',
        '{"plan": ["(go a b)", "(spray)", "(GO b c)"]}',
        '{"status": "ok", "result": {"length": 3, "output": "3", "plan": [{"name": "(go a b)",'
        ' "action": "(:action go)"}, {"name": "(spray)"}, {"name": "(go b c)"}]}}',
        '{"status": "ok", "result": {"stdout": "", "output":'
        ' {"sas_plan": "(go a b)\\n(spray)\\n(go b c)\\n; cost = 3"}}}',
    ],
)
def test_plans_of_other_tools_are_read(text: str) -> None:
    assert parse_plan(text) == parse_plan('(go a b)\n(spray)\n(go b c)')


@pytest.mark.parametrize(
    'text',
    [
        'step 0: GO A B\n2: SPRAY',  # one is missing
        'step 1: GO A B',
        '0: GO A B',
        'step 0: GO A B\nstep 1: GO B C',
        'step 0: GO A B\n(spray)',
        'step 0: GO A B\ntime spent: 0.00 seconds',
        'go(a, b)\nspray',
        'go(a, b) go(b, c)',
        'go(a b)',
        'go(a,)',
        'go(a, b)\n(spray)',
        'SequentialPlan:\n(go a b)',
        'SequentialPlan: go(a, b)',
        'go(a, b)\nSequentialPlan:\nspray()',
        'go a b',
        'go(a, b), spray',
        '[go(a, b)',
        'SequentialPlan(go(a, b))',
        'plan:\ngo(a, b)',
        'plan: (go a b)',
        '(go a b)\nplan:\n(spray)',
        '["(go a b)"]',
        '{"plan": ["(go a b)", "spray"]}',
        '{"plan": ["(go a b) (spray)"]}',
        '{"plan": ["(go a b)"], "plan": ["(spray)"]}',
        '{"plan": ["(go a b)"], "result": {"plan": ["(spray)"]}}',
        '{"plan": ["(go a b)"], "result": {"length": 2}}',
        '{"plan": ["(go a b)"], "length": 2}',
        '{"plan": ["(go a b)"], "length": [1]}',
        '{"plan": ["(go a b)"]} (spray)',
        '{"plan": {"name": "(go a b)"}}',
        '{"status": "error", "plan": ["(go a b)"]}',
        '{"result": {"output": {"sas_plan.1": "(go a b)", "sas_plan.2": "(spray)"}}}',
        '{"result": {"output": {"sas_plan": "(go a b)\\nspray"}}}',
        '{"result": {"output": {"sas_plan": ["(go a b)"]}}}',
        '{"plan": "(go a b)"}',
        '{' * 100_000,
    ],
)
def test_what_only_looks_like_them_is_refused(text: str) -> None:
    with pytest.raises(PlanFormatError):
        parse_plan(text)


@pytest.mark.parametrize(
    ('text', 'times'),
    [
        ('0.000: (go a) [5.000]\n0.000: (go b) [2.5]', (('0.000', '5.000'), ('0.000', '2.5'))),
        ('plan:\n0: (go a) [5]\n1: (go b) [2]', (('0', '5'), ('1', '2'))),
        ('0.0: (go a) [D:5.0; C:1.0]\n7: (push)', (('0.0', '5.0'), ('7', '0'))),
        ('0: (go a)\n7: (push)', (('0', '0'), ('7', '0'))),
        ('0: (go a)\n1: (push)', ()),
        ('[0] (go a)\n[1] (push)', ()),
        ('[0] (go a) [1] (push)', ()),
        ('(go a)\n(push)', ()),
    ],
)
def test_a_plan_of_actions_that_take_time(text: str, times: tuple[tuple[str, str], ...]) -> None:
    plan = parse_plan(text, timed=True)
    assert plan.times == tuple((Decimal(start), Decimal(long)) for start, long in times)
    assert len(plan) == 2
    assert parse_plan(str(plan), timed=True) == plan


@pytest.mark.parametrize(
    ('text', 'what'),
    [
        ('1: (go a) [5]\n0: (go b) [2]', 'the time 0 comes behind 1, after 1 steps: give every'),
        ('0: (go a) [5]\n(go b) [2]', 'a step has no time'),
        ('0: (go a) [5] [5]', 'a list in brackets'),
        ('0: (go a) [-5]', 'a list in brackets'),
    ],
)
def test_times_that_are_none(text: str, what: str) -> None:
    with pytest.raises(PlanFormatError) as caught:
        parse_plan(text, timed=True)
    assert what in caught.value.message


@pytest.mark.parametrize(
    'text',
    [
        '0: (a) [1]',
        '0.000: (move a b) [5.000]\n5.001: (move b c) [1]\n',
        '0.5 : (MOVE  a\tb)   [2.] \r\n\n0.5:(a)[0]\n',
        '2: (a) [1]\n1: (a) [1]',
        '0: (a) [1] 1: (b) [2]\n3: (c) [1]',
        '0: (a) [1]\n1: (b)',
        '0:\n(a) [1]',
        '0: (a) [D:1.0; C:1.0]',
        '\u0660: (a) [1]',
        '1e3: (a) [1]',
    ],
)
def test_lines_with_times_are_read_as_by_the_whole_grammar(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read() -> Plan | str:
        try:
            return parse_plan(text, timed=True)
        except PlanFormatError as error:
            return str(error)

    found = read()
    monkeypatch.setattr('safegen_ros.pddl.plan._read_timed_lines', lambda text: None)
    assert repr(found) == repr(read())


PROBLEM = read_problem(
    '(define (problem p) (:domain d) (:objects b1 b2 b-1 c_2 4-0) (:init) (:goal (and)))',
    read_domain(
        '(define (domain d) (:predicates (p)) (:action pickup :parameters (?x)) (:action wait)'
        '(:action stack :parameters (?x ?y)))'
    ),
)


def _taken(text: str) -> tuple[Plan, Extraction]:
    return extract_plan(text, PROBLEM)


HOSTILE = (
    '(' + 'a ' * 400_000, '(a' + ' ' * 900_000, '1' * 900_000, '"' * 900_000, '<think>' * 120_000,
    '(a)' + ' ' * 900_000 + '!', ';' * (MAX_PLAN_TEXT + 1), '(a)\n' * (MAX_PLAN_TEXT // 4 + 1),
)  # fmt: skip


@pytest.mark.parametrize('text', HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize('read', [parse_plan, _taken])
def test_what_is_hostile_or_too_long_is_refused(read: Callable[[str], object], text: str) -> None:
    with pytest.raises(PlanFormatError) as caught:
        read(text)
    assert len(caught.value.message) < 300
    assert ('limit' in caught.value.message) is (len(text) > MAX_PLAN_TEXT)


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
    'a divided name': '(pickup b1)\nthen (wa it)',
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
    for mutated in (text, text[:place] + letter + text[place:]):
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


LENIENT_REFUSED = {
    'prose': ('I will (carefully) pick it up', 1, 1, 'no line of the text is a list of steps; f'),
    'calls': ('lift(x) put(x, y)', 1, 1, 'no line of the text is a list of steps; found'),
    'a thought without an end': ('<think>\n(pickup b1)', 1, 1, "found '<think>' and no '</think>'"),
    'numbers that shrink': ('Plan:\n2. (a)\n1. (b)', 3, 1, 'the time 1 comes behind 2'),
    'times at once': ('Plan:\n0: (a)\n\n0: (b)', 4, 1, 'the time 0 is there twice'),
    'some numbers': ('Plan:\n1. (a)\n(b)', 3, 1, 'some steps have a time and some have none'),
    'a step over two lines': ('Plan:\n(pickup\nb1)', 2, 1, "'(pickup' may hold a step"),
}


@pytest.mark.parametrize('case', LENIENT_REFUSED)
def test_what_is_no_list_of_steps_is_refused(case: str) -> None:
    text, line, column, what = LENIENT_REFUSED[case]
    with pytest.raises(PlanFormatError) as caught:
        _taken(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert caught.value.what.startswith(what)
    assert caught.value.cure


LENIENT_TIMED = read_problem(
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
    plan, _ = extract_plan(text, LENIENT_TIMED)
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
        extract_plan(text, LENIENT_TIMED)


def test_an_object_with_an_at_sign_is_seen_in_prose_too() -> None:
    domain = read_domain(
        '(define (domain d) (:constants @sink) (:predicates (p ?x)) '
        '(:action go :parameters (?x) :effect (p ?x)) (:action rest :parameters ()))'
    )
    problem = read_problem('(define (problem x) (:domain d) (:init) (:goal (p @sink)))', domain)
    assert str(extract_plan('Here:\n(go @sink)', problem)[0]) == '(go @sink)'
    assert str(extract_plan('[go(@sink)]', problem)[0]) == '(go @sink)'
    json = '{"action": "go", "args": ["@sink"]}'
    for beside in ('then go @sink', 'then go sink', 'then (@sink', 'Step 2: rest', json):
        with pytest.raises(PlanFormatError, match='may hold a step'):
            extract_plan(f'(go @sink)\n{beside}', problem)
