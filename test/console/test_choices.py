# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What an operator may ask for: what is offered can be read, and no text does harm."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.blocks_small import THREE_TEXT

from safegen_ros.console import choices
from safegen_ros.console.choices import PASTED, read_pasted, read_problem
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.tasks.pddl3.domains import builtin_domain_text
from safegen_ros.tasks.pddl3.task import load_task

DOMAIN = builtin_domain_text('blocksworld').replace('domain blocksworld', 'domain mine')
MINE = THREE_TEXT.replace('blocksworld', 'mine')


def test_examples_come_before_the_test_problems() -> None:
    names = list(choices.problems())
    assert names[:4] == ['cold_rooms', 'fragile_block', 'reach_behind', 'tower_order']
    assert 'blocksworld-023' in names
    assert read_problem('tower_order').task.name == 'tower-order'
    assert read_problem('blocksworld-023').domain_text == ''


def test_a_name_is_no_path() -> None:
    for name in ('../config/sim', '/etc/passwd', 'nothing'):
        with pytest.raises(SafegenError, match='there is no problem'):
            read_problem(name)


@pytest.mark.parametrize('text', [f'{DOMAIN}\n{MINE}', f'{MINE}\n{DOMAIN}'])
def test_a_text_may_have_its_domain_before_or_behind_it(text: str) -> None:
    chosen = read_pasted(text)
    assert chosen.task.problem.domain.name == 'mine'
    assert chosen.source == PASTED
    again = load_task(chosen.task.problem_text, chosen.domain_text)
    assert again.problem == chosen.task.problem


def test_an_error_has_the_line_of_the_text_as_it_was_pasted() -> None:
    text = f'{DOMAIN}\n{MINE}'.replace('(on a b)', '(on a x)')
    line = next(n for n, row in enumerate(text.splitlines(), 1) if '(on a x)' in row)
    with pytest.raises(SafegenError) as caught:
        read_pasted(text)
    assert caught.value.message.startswith(f'{PASTED}:{line}:')
    assert '(on a x)' in caught.value.message
    assert caught.value.message.rstrip().endswith('^')


def test_json_is_known_by_its_brace() -> None:
    task = load_task(THREE_TEXT).written_as('json')
    assert read_pasted(task.problem_text).task.problem == task.problem


def test_what_is_not_supported_is_said_at_its_line() -> None:
    text = MINE.replace('(always (not (on c b)))', '(never (clear a))')
    with pytest.raises(SafegenError, match=r'<pasted text>:\d+:\d+: '):
        read_pasted(text, DOMAIN)


def test_a_text_without_an_end_is_not_read() -> None:
    with pytest.raises(SafegenError) as caught:
        read_pasted('(' * (choices.MAX_TEXT + 1))
    assert caught.value.code is ErrorCode.TASK_TOO_LARGE


@given(st.text(max_size=300) | st.text('(){}[]define :problem', max_size=120))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(SafegenError):
        read_pasted(text)
