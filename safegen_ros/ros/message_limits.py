# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The border of this stack at DDS: every text of a message that is sent or comes in.

Requests and goals are refused, in both directions, with the field. What comes on a topic or as an
answer cannot be: a stop counts whatever its reason holds, so its texts are `cleaned`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.sexpr import MAX_TEXT
from safegen_ros.untrusted import hidden, unhidden

MAX_NAME = 4096
"""Most characters of a text that is not a task or a plan: names, atoms, reasons."""

MAX_ITEMS = 100_000
"""Most items of a list: steps, arguments or facts."""

_Value = TypeVar('_Value')

_TASK = dict.fromkeys(('domain', 'problem', 'constraints', 'start', 'request'), MAX_TEXT)
# A plan text that is too long is a plan with a verdict, FORMAT_ERROR, which the parser finds.
_WITHOUT = {'ValidatePlan_Request': ('plan',)}


def check_texts(message: Any, place: str = '') -> None:
    """Looks at every text and the length of every list of a message.

    Raises:
        SafegenError: `TASK_TOO_LARGE`, with the first field that is too long; or as
            `check_sendable`.
    """
    kind = type(message).__name__
    for name in message.get_fields_and_field_types():
        if name not in _WITHOUT.get(kind, ()):
            limit = _TASK.get(name, MAX_NAME) if kind == 'Task' else MAX_NAME
            _check(getattr(message, name), f'{place}.{name}' if place else name, limit)


def check_sendable(message: Any, place: str = '') -> None:
    """Looks for characters that DDS does not carry, or that hide what a text says.

    Raises:
        SafegenError: `BAD_PDDL`, with the first field that holds one, and which.
    """
    for name in message.get_fields_and_field_types():
        _check_sendable(getattr(message, name), f'{place}.{name}' if place else name)


def _check_sendable(value: Any, place: str) -> None:
    if isinstance(value, str):
        _check_characters(value, place)
    elif hasattr(value, 'get_fields_and_field_types'):
        check_sendable(value, place)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _check_sendable(item, f'{place}[{index}]')


def cleaned(value: _Value) -> _Value:
    """The same message, changed in place: those characters stand as their numbers in it.

    What is not a message, text or list stays as it is.
    """
    if isinstance(value, str):
        return unhidden(value)  # type: ignore[return-value]  # a text stays a text
    if isinstance(value, list):
        value[:] = map(cleaned, value)
    elif hasattr(value, 'get_fields_and_field_types'):
        for name in value.get_fields_and_field_types():
            setattr(value, name, cleaned(getattr(value, name)))
    return value


def _check_characters(text: str, place: str) -> None:
    character = hidden(text)
    if character:
        raise SafegenError(
            f'{place}: holds the character {character}, which is not seen or cut off on its way: '
            'remove it',
            ErrorCode.BAD_PDDL,
        )


def _check(value: Any, place: str, limit: int) -> None:
    if isinstance(value, str):
        if len(value) > limit:
            raise SafegenError(
                f'{place}: {len(value):,} characters are more than the limit of {limit:,}',
                ErrorCode.TASK_TOO_LARGE,
            )
        _check_characters(value, place)
    elif hasattr(value, 'get_fields_and_field_types'):
        check_texts(value, place)
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        if len(value) > MAX_ITEMS:
            raise SafegenError(
                f'{place}: {len(value):,} items are more than the limit of {MAX_ITEMS:,}',
                ErrorCode.TASK_TOO_LARGE,
            )
        for index, item in enumerate(value):
            if not isinstance(item, int | float):
                _check(item, f'{place}[{index}]', limit)
