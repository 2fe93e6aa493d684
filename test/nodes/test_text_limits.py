# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Every text of every message that comes in has a limit, and the error names its field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from safegen_msgs import msg
from safegen_msgs.action import ExecutePlan, PlanTask, RunTask
from safegen_msgs.msg import Plan, Step, WorldState
from safegen_msgs.srv import Approve, MonitorStep, ValidatePlan
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.paths import share_dir
from safegen_ros.pddl.plan import MAX_PLAN_TEXT
from safegen_ros.pddl.sexpr import MAX_TEXT
from safegen_ros.ros.message_limits import (
    MAX_ITEMS,
    MAX_NAME,
    check_sendable,
    check_texts,
)

INCOMING = (
    PlanTask.Goal,
    RunTask.Goal,
    ExecutePlan.Goal,
    ValidatePlan.Request,
    MonitorStep.Request,
    Approve.Request,
    WorldState,
)


LONG = {f'task.{name}' for name in ('domain', 'problem', 'constraints', 'start', 'request')}


def texts(message: Any, place: str = '') -> Iterator[tuple[Any, str, str]]:
    """Every text field: the message that has it, its name and its place."""
    for name, kind in message.get_fields_and_field_types().items():
        here = f'{place}.{name}' if place else name
        value = getattr(message, name)
        if kind == 'string':
            yield message, name, here
        elif hasattr(value, 'get_fields_and_field_types'):
            yield from texts(value, here)
        elif kind == 'sequence<string>':
            value.append('')
            yield value, '', f'{here}[0]'
        elif kind.startswith('sequence<') and '/' in kind:
            inner = getattr(msg, kind[:-1].split('/')[-1])
            value.append(inner())
            yield from texts(value[0], f'{here}[0]')


def fill(holder: Any, name: str, text: str) -> None:
    if name:
        setattr(holder, name, text)
    else:
        holder[0] = text


@pytest.mark.parametrize('kind', INCOMING, ids=lambda kind: kind.__name__)
def test_every_text_has_a_limit(kind: Any) -> None:
    message = kind()
    found = list(texts(message))
    assert found
    check_texts(message)
    for holder, name, place in found:
        if (kind, place) == (ValidatePlan.Request, 'plan'):
            continue  # too long a plan has a verdict of its own
        limit = MAX_TEXT if place in LONG else MAX_NAME
        fill(holder, name, 'x' * limit)
        check_texts(message)
        fill(holder, name, 'x' * (limit + 1))
        with pytest.raises(SafegenError) as caught:
            check_texts(message)
        assert caught.value.code is ErrorCode.TASK_TOO_LARGE
        assert caught.value.message.startswith(f'{place}: {limit + 1:,} characters'), place
        fill(holder, name, '')


@pytest.mark.parametrize('character', ['\0', '\ud800', '\x1b', '\x9b', '\u202e', '\u2028'])
@pytest.mark.parametrize('kind', INCOMING, ids=lambda kind: kind.__name__)
def test_no_text_hides_a_character(kind: Any, character: str) -> None:
    message = kind()
    for holder, name, place in list(texts(message)):
        fill(holder, name, f'a{character}b\n\t')
        with pytest.raises(
            SafegenError, match=f'holds the character U.{ord(character):04X}'
        ) as why:
            check_sendable(message)
        assert why.value.message.startswith(f'{place}: ')
        if (kind, place) != (ValidatePlan.Request, 'plan'):  # which has a verdict of its own
            with pytest.raises(SafegenError, match='holds the character'):
                check_texts(message)
        fill(holder, name, 'für\n\tb1')
        check_sendable(message)


def test_lists_have_a_limit() -> None:
    goal = ExecutePlan.Goal(plan=Plan(steps=[Step()] * (MAX_ITEMS + 1)))
    with pytest.raises(SafegenError, match=r'^plan.steps: 100,001 items') as caught:
        check_texts(goal)
    assert caught.value.code is ErrorCode.TASK_TOO_LARGE


def test_the_limits_are_those_of_the_documentation() -> None:
    text = (share_dir() / 'docs' / 'security.md').read_text(encoding='utf-8')
    for limit in (MAX_TEXT, MAX_PLAN_TEXT, MAX_NAME, MAX_ITEMS):
        assert f'{limit:,} ' in text.replace('\n', ' ')
