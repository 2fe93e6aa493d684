# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Requests of services: one request, one bounded wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from rclpy.client import Client
from rclpy.task import Future

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.ros.message_limits import check_sendable, cleaned

Request = TypeVar('Request')
Response = TypeVar('Response')
Value = TypeVar('Value')

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
