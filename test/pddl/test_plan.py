# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The strict grammar of plans: what is read, and what is refused where VAL would judge a prefix."""

from __future__ import annotations

import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st

from safegen_ros.errors import ErrorCode, PlanFormatError
from safegen_ros.pddl.plan import MAX_PLAN_TEXT, Plan, Step, make_plan, parse_plan

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
    ],
)
def test_accepted(text: str) -> None:
    assert parse_plan(text) == TWO


@pytest.mark.parametrize('text', ['', ' \n\t', '; nothing to do\n'])
def test_a_text_without_steps_is_the_empty_plan(text: str) -> None:
    assert parse_plan(text) == Plan()


def test_a_step_may_have_no_arguments() -> None:
    assert parse_plan('(wait)') == Plan((Step('wait'),))


REFUSED = {
    'leading prose': ('Here is the plan:\n(pickup b1)', 1, 1, 0),
    'trailing prose': ('(pickup b1)\n(stack b1 b2)\nDone.', 3, 1, 2),
    'bare fence': ('```\n(pickup b1)\n```', 1, 1, 0),
    'pddl fence': ('```pddl\n(pickup b1)\n```', 1, 1, 0),
    'json': ('{"steps": ["(pickup b1)"]}', 1, 1, 0),
    'json list': ('[(pickup b1)]', 1, 1, 0),
    'function call': ('pickup(b1)', 1, 1, 0),
    'no parentheses': ('pickup b1', 1, 1, 0),
    'bullet': ('- (pickup b1)', 1, 1, 0),
    'numbered': ('1. (pickup b1)', 1, 1, 0),
    'thought': ('<think>\n(pickup b1)', 1, 1, 0),
    'hash comment': ('# plan\n(pickup b1)', 1, 1, 0),
    'comma': ('(pickup b1),\n(stack b1 b2)', 1, 12, 1),
    'comma inside': ('(stack b1, b2)', 1, 1, 0),
    'extra parenthesis': ('(pickup b1))', 1, 12, 1),
    'missing parenthesis': ('(pickup b1)\n(stack b1 b2', 2, 1, 1),
    'nested': ('((pickup b1)(stack b1 b2))', 1, 1, 0),
    'empty step': ('(pickup b1) ()', 1, 13, 1),
    'variable': ('(pickup ?b)', 1, 1, 0),
    'quoted': ('(pickup "b1")', 1, 1, 0),
    'number': ('(pickup 1)', 1, 1, 0),
    'non-ASCII': ('(pickup b1\u2713)', 1, 1, 0),
    'letter that folds': ('(pic\u212aup b1)', 1, 1, 0),
    'no-break space': ('(pickup\u00a0b1)', 1, 1, 0),
    'NUL': ('(pickup b1)\0', 1, 12, 1),
    'comment inside a step': ('(pickup ; which\n b1)', 1, 1, 0),
    'stamp alone': ('(pickup b1)\n1:', 2, 3, 1),
    'two stamps': ('1: 2: (pickup b1)', 1, 4, 0),
    'duration first': ('[1] (pickup b1)', 1, 1, 0),
    'duration twice': ('(pickup b1) [1] [2]', 1, 17, 1),
    'duration after stamp': ('(pickup b1)\n1: [2]', 2, 4, 1),
    'negative time': ('-1: (pickup b1)', 1, 1, 0),
    'truncated': ('(pickup b1)\n(sta', 2, 1, 1),
}


@pytest.mark.parametrize('case', REFUSED)
def test_refused_at_its_place(case: str) -> None:
    text, line, column, steps = REFUSED[case]
    with pytest.raises(PlanFormatError) as caught:
        parse_plan(text)
    error = caught.value
    assert (error.line, error.column) == (line, column)
    assert error.code is ErrorCode.PLAN_REFUSED
    assert f'<plan>:{line}:{column}: ' in error.message
    assert f'after {steps} steps' in error.message
    assert 'write only steps' in error.message


def test_a_text_that_is_too_long_is_refused_whatever_it_holds() -> None:
    with pytest.raises(PlanFormatError, match='limit'):
        parse_plan(';' * (MAX_PLAN_TEXT + 1))


@pytest.mark.parametrize('text', ['(' + 'a ' * 400_000, '(a' + ' ' * 900_000, '1' * 900_000])
def test_hostile_repetition_is_refused(text: str) -> None:
    with pytest.raises(PlanFormatError) as caught:
        parse_plan(text)
    assert len(caught.value.message) < 300


NAMES = st.from_regex(r'[a-z][a-z0-9_\-]{0,6}', fullmatch=True)
PLANS = st.lists(st.lists(NAMES, min_size=1, max_size=4), max_size=8).map(make_plan)


@settings(strategies.SUITE, max_examples=60)
@given(PLANS)
def test_text_reads_back(plan: Plan) -> None:
    assert parse_plan(str(plan)) == plan
    assert len(plan) == len(plan.steps)
