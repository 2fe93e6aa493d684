# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The grammar of actions and answers: exact first, then what is nearly the same, never a guess."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safegen_ros.tasks.household.actions import (
    AgentAnswer,
    AgentAnswerError,
    HouseholdAction,
    Verb,
    parse_action,
    read_answer,
)
from safegen_ros.tasks.household.kinds import kinds

_KNOWN = ('Cabinet (1)', 'Cabinet (2)', 'Fridge (1)', 'Mug (1)', 'ButterKnife (1)')


@given(st.sampled_from(Verb), st.sampled_from(sorted(kinds())), st.integers(1, 99), st.booleans())
def test_what_is_written_is_read_back(verb: Verb, kind: str, number: int, upper: bool) -> None:
    ending = verb in (Verb.DONE, Verb.FAILURE)
    action = HouseholdAction(verb, '' if ending else f'{kind} ({number})')
    text = str(action).upper() if upper else f'  {action}. '
    parsed = parse_action(text, _KNOWN)
    assert (parsed.action, parsed.exact) == (action, True)


@pytest.mark.parametrize(
    ('text', 'meant'),
    [
        ('goto Fridge (1)', 'go to Fridge (1)'),
        ('pickup Mug (1)', 'pick up Mug (1)'),
        ('pick up the mug', 'pick up Mug (1)'),
        ('open cabinett (2)', 'open Cabinet (2)'),
        ('pick up butter knife (1)', 'pick up ButterKnife (1)'),
        ('open cabinet 2', 'open Cabinet (2)'),
        ('turn of Fridge (1)', 'turn off Fridge (1)'),
        ('throw', 'throw'),
        ('go to Potato (3)', 'go to Potato (3)'),
    ],
)
def test_what_is_nearly_right_is_understood(text: str, meant: str) -> None:
    assert str(parse_action(text, _KNOWN).action) == meant


@pytest.mark.parametrize(
    'text',
    [
        '', 'dance', 'open', 'open cabinet', 'open Cabinet (x)', 'open Wardrobe (1)',
        'done Mug (1)', 'open Mug (1); open Fridge (1)', 'x' * 500, 'pick up potato', 'open (1)',
    ],
)  # fmt: skip
def test_what_may_mean_something_else_is_not_guessed(text: str) -> None:
    parsed = parse_action(text, _KNOWN)
    assert parsed.action is None
    assert parsed.reason


@given(st.text(max_size=120))
def test_any_text_is_read_or_refused(text: str) -> None:
    parsed = parse_action(text, _KNOWN)
    assert (parsed.action is None) == bool(parsed.reason)


@given(st.integers(0, 9999), st.integers(0, 9999))
def test_a_number_is_never_changed(number: int, other: int) -> None:
    parsed = parse_action(f'opne cabnet ({number})', [f'Cabinet ({other})'])
    assert parsed.action is None or parsed.action.target == f'Cabinet ({number})'


@given(st.text(), st.text())
def test_answers_are_read_back(think: str, action: str) -> None:
    answer = AgentAnswer(think, action)
    if len(str(answer)) < 20_000:
        assert read_answer(f'Here it is:\n```json\n{answer}\n```') == answer


def test_the_published_key_is_taken_too() -> None:
    assert read_answer('{"think": "t", "act": "done"}') == AgentAnswer('t', 'done')


@pytest.mark.parametrize(
    'text',
    ['', 'open Fridge (1)', '{', '{"action": 3}', '{"think": [], "action": "done"}', '[' * 9999,
     '{"a":' * 9999, '{}', 'x' * 30_000, '{"action": null}'],
)  # fmt: skip
def test_what_is_no_answer_says_why(text: str) -> None:
    with pytest.raises(AgentAnswerError, match=r'\w'):
        read_answer(text)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(['think', 'action', 'act', 'x']), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.text() | _VALUES.map(json.dumps))
def test_any_text_is_an_answer_or_an_answer_error(text: str) -> None:
    try:
        answer = read_answer(text)
    except AgentAnswerError as error:
        refused = str(error)
    else:
        refused = ''
        assert read_answer(str(answer)) == answer
    assert refused or '{' in text
