# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What goes with a request formally, and the rules in it that are in our own words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.blocks_small import THREE_TEXT

from safegen_ros.errors import ErrorCode, PddlError, SafegenError
from safegen_ros.language.reading import AmbiguousRule
from safegen_ros.pddl.sexpr import read_sexpr
from safegen_ros.tasks.pddl3.domains import builtin_domain, builtin_domain_text
from safegen_ros.tasks.planetarium.domains import planetarium_domain, planetarium_domain_text
from safegen_ros.tasks.planetarium.request import (
    MAX_REQUEST,
    joined,
    read_request,
    request_rules,
)

NEVER_ON_C = '(always (not (exists (?x) (on ?x c))))'


@pytest.mark.parametrize(
    ('text', 'found'),
    [
        ('Put a on b.', ''),
        ('Never put anything on c.', NEVER_ON_C),
        ('Put a on b, and never put anything on c.', NEVER_ON_C),
        ('Put a on b but never put anything on c; then rest', NEVER_ON_C),
        ('Put a on b, NEVER put anything on c', NEVER_ON_C),
        (
            'a must always be clear\nDo not hold b',
            '(and (always (clear a)) (always (not (holding b))))',
        ),
        ('Put a on b, but c must never be held.', '(always (not (holding c)))'),
        ('put c on b, b on a and a must never be on c', '(always (not (on a c)))'),
        ('Put a on b and never hold d.', ''),  # which is not there: the model may know
        ('Never sing.', ''),
        ('Until a is on b, do not hold c.', '(sometime-before (holding c) (on a b))'),
        ('If a is on b, never hold c.', '(always (not (and (holding c) (on a b))))'),
        ('Put a on b, and once it is there, never hold c.', ''),
        ('Put a on b when you can, never hold c.', '(always (not (holding c)))'),
    ],
)
def test_rules_in_our_words_are_read_by_their_grammar(text: str, found: str) -> None:
    assert request_rules(read_request(text, start=THREE_TEXT)).constraints == found
    assert (
        request_rules(read_request(text, 'blocksworld')).constraints == ''
    )  # no objects are known


@pytest.mark.parametrize(
    ('text', 'rest'),
    [
        ('Put a on b.', 'Put a on b.'),
        ('Put a on b, and never put anything on c.', 'Put a on b.'),
        ('Put a on b, but c must never be held.', 'Put a on b.'),
        ('Never hold c. Put a on b; then b on c.', 'Put a on b; then b on c.'),
        ('Put a on b and never hold d.', 'Put a on b. never hold d.'),
        ('Never hold c', ''),
    ],
)
def test_what_is_left_has_no_rule_that_was_read(text: str, rest: str) -> None:
    assert request_rules(read_request(text, start=THREE_TEXT)).rest == rest


def test_a_rule_with_two_meanings_is_not_guessed() -> None:
    with pytest.raises(AmbiguousRule) as caught:
        request_rules(read_request('Do not put a and c on b.', start=THREE_TEXT))
    assert len(caught.value.meanings) == 2


def test_the_constraints_of_the_start_hold_too() -> None:
    request = read_request('Go.', constraints='(sometime (on a b))', start=THREE_TEXT)
    assert request.constraints == '(and (sometime (on a b)) (always (not (on c b))))'
    assert request.start is not None
    assert joined('', ' ') == ''


def test_a_domain_is_a_name_or_a_text() -> None:
    own = builtin_domain_text('blocksworld').replace('(domain blocksworld)', '(domain mine)')
    for domain, name, text in (
        ('blocksworld', 'blocksworld', ''),
        (' Blocksworld-4ops ', 'blocksworld-4ops', ''),
        ('gripper', 'gripper', planetarium_domain_text('gripper')),
        (own, 'mine', own),
    ):
        request = read_request('Go.', domain)
        assert (request.domain.name, request.domain_text) == (name, text)
    assert read_request('Go.', start=THREE_TEXT).domain == builtin_domain('blocksworld')
    assert read_request('Go.', 'gripper').domain == planetarium_domain('gripper')


@pytest.mark.parametrize(
    ('given_', 'code'),
    [
        ({'text': ' \n'}, ErrorCode.EMPTY_TASK),
        ({'text': 'x' * (MAX_REQUEST + 1)}, ErrorCode.TASK_TOO_LARGE),
        ({'text': 'Go.'}, ErrorCode.UNKNOWN_DOMAIN),
        ({'text': 'Go.', 'domain': 'chess'}, ErrorCode.UNKNOWN_DOMAIN),
        ({'text': 'Go.', 'domain': '(define'}, ErrorCode.BAD_PDDL),
        ({'text': 'Go.', 'domain': 'ferry', 'start': THREE_TEXT}, ErrorCode.UNKNOWN_DOMAIN),
    ],
)
def test_what_cannot_be_read_is_named(given_: dict[str, str], code: ErrorCode) -> None:
    with pytest.raises(SafegenError) as caught:
        read_request(**given_)
    assert caught.value.code is code


def test_an_error_in_the_start_shows_its_line() -> None:
    with pytest.raises(PddlError, match=r'<start>:\d+:\d+') as caught:
        read_request('Go.', start=THREE_TEXT.replace('(on c a)', '(on c q)'))
    assert '(on c q)' in (caught.value.errors[0].excerpt or '')


WORDS = st.sampled_from(
    ['never', 'always', 'put', 'a', 'b', 'on', 'and', 'but', ',', '.', 'at most', 'one', 'block',
     'clear', 'not', 'do not', 'anything', ';', '(', '\n', '"']
)  # fmt: skip


@given(st.lists(WORDS | st.text(max_size=5), max_size=15).map(' '.join))
def test_any_text_is_a_request_or_refused(text: str) -> None:
    try:
        found = request_rules(read_request(text, start=THREE_TEXT)).constraints
    except SafegenError:
        return
    if found:
        _, section = read_sexpr(f'(:constraints {found})', 'found')
        assert len(section.items) == 2
