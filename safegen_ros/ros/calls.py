# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What goes over DDS: the texts of every message, and requests with one bounded wait.

Requests and goals are refused, in both directions, with the field. What comes on a topic or as an
answer cannot be: a stop counts whatever its reason holds, so its texts are `cleaned`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from rclpy.client import Client
from rclpy.task import Future

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.sexpr import MAX_TEXT
from safegen_ros.untrusted import hidden, unhidden

Request = TypeVar('Request')
Response = TypeVar('Response')
Value = TypeVar('Value')

MAX_NAME = 4096
"""Most characters of a text that is not a task or a plan: names, atoms, reasons."""

MAX_ITEMS = 100_000
"""Most items of a list: steps, arguments or facts."""

_TASK = dict.fromkeys(('domain', 'problem', 'constraints', 'start', 'request'), MAX_TEXT)
# A plan text that is too long is a plan with a verdict, FORMAT_ERROR, which the parser finds.
_WITHOUT = {'ValidatePlan_Request': ('plan',)}


def check_texts(message: Any) -> None:
    """Looks at every text and the length of every list of a message.

    Raises:
        SafegenError: `TASK_TOO_LARGE`, with the first field that is too long; or as
            `check_sendable`.
    """
    _check(message, '', MAX_NAME)


def check_sendable(message: Any) -> None:
    """Looks for characters that DDS does not carry, or that hide what a text says.

    Raises:
        SafegenError: `BAD_PDDL`, with the first field that holds one, and which.
    """
    _check(message, '', None)


def _check(value: Any, place: str, limit: int | None) -> None:
    """Looks at a part of a message; without a limit at its characters alone."""
    if isinstance(value, str):
        if limit is not None and len(value) > limit:
            raise SafegenError(
                f'{place}: {len(value):,} characters are more than the limit of {limit:,}',
                ErrorCode.TASK_TOO_LARGE,
            )
        if character := hidden(value):
            raise SafegenError(
                f'{place}: holds the character {character}, which is not seen or cut off on its '
                'way: remove it',
                ErrorCode.BAD_PDDL,
            )
    elif hasattr(value, 'get_fields_and_field_types'):
        kind = type(value).__name__
        own, skipped = (_TASK if kind == 'Task' else {}), _WITHOUT.get(kind, ())
        for name in value.get_fields_and_field_types():
            if limit is None or name not in skipped:
                inner = f'{place}.{name}' if place else name
                most = None if limit is None else own.get(name, MAX_NAME)
                _check(getattr(value, name), inner, most)
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        if limit is not None and len(value) > MAX_ITEMS:
            raise SafegenError(
                f'{place}: {len(value):,} items are more than the limit of {MAX_ITEMS:,}',
                ErrorCode.TASK_TOO_LARGE,
            )
        for index, item in enumerate(value):
            if not isinstance(item, int | float):
                _check(item, f'{place}[{index}]', limit)


def cleaned(value: Value) -> Value:
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


POLL_S = 0.02
"""How often a wait looks at its other conditions; the future itself ends it at once [s]."""


def answer_of(
    client: Client[Request, Response],
    request: Request,
    timeout_s: float,
    what: str,
    code: ErrorCode,
    given_up: Callable[[], bool] = lambda: False,
) -> Response:
    """The answer to a request; call `wait_for_service` of the client before.

    Args:
        timeout_s: longest wait [s].
        what: name of the server, for messages.
        code: the error code when no answer comes.

    Raises:
        SafegenError: with `code`; or as `check_sendable`.
    """
    check_sendable(request)
    sent = client.call_async(request)
    try:
        return wait_for(sent, timeout_s, what, code, given_up=given_up)
    finally:
        client.remove_pending_request(sent)


def wait_for(
    future: Future[Value],
    timeout_s: float,
    what: str,
    code: ErrorCode,
    *,
    given_up: Callable[[], bool] = lambda: False,
) -> Value:
    """Waits for a future outside of the executor's own callbacks; a message is `cleaned`.

    Args:
        timeout_s: longest wait [s].
        code: the error code when it does not come.
        given_up: asked while waiting; true ends the wait as a time-out does.

    Raises:
        SafegenError: with `code`.
    """
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    deadline = time.monotonic() + timeout_s
    # The executor runs the callback as a separate task; the future is done before that.
    while not done.wait(POLL_S) and not future.done():
        if time.monotonic() >= deadline:
            raise SafegenError(f'{what} did not answer within {timeout_s:.3g} s', code)
        if given_up():
            raise SafegenError(f'waiting for {what} was given up', code)
    answer = future.result()
    if answer is None:  # it was cancelled: by rclpy, whose executor or client has gone
        raise SafegenError(f'{what} gave no answer', code)
    return cleaned(answer)
