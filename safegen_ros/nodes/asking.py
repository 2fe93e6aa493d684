# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Idempotent service requests, which are sent again until they are answered."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.task import Future

from safegen_ros.errors import ErrorCode
from safegen_ros.nodes.base import wait_for
from safegen_ros.nodes.text_limits import check_sendable

AGAIN_S = 1.0
"""Time until a request is sent again, doubled each time [s]."""


def answer_of(
    client: Any,
    request: Any,
    timeout_s: float,
    what: str,
    code: ErrorCode,
    given_up: Callable[[], bool] = lambda: False,
) -> Any:
    """The first answer to a request, which is sent again while there is none.

    A killed server counts as ready for up to 10 s, the lease of its participant. A request that is
    sent before its successor is connected is lost without an error.

    Args:
        client: of a service for which the same request twice does no harm.
        request: of the service.
        timeout_s: longest wait [s].
        what: name of the server, for messages.
        code: the error code when no answer comes.
        given_up: true ends the wait.

    Raises:
        SafegenError: with `code`; or as `check_sendable`.
    """
    check_sendable(request)
    answered: Any = Future()
    sent: list[Any] = []
    next_at, pause_s = time.monotonic(), AGAIN_S

    def take(done: Any) -> None:
        if not answered.done():
            answered.set_result(done.result())

    def ask() -> bool:
        nonlocal next_at, pause_s
        if time.monotonic() >= next_at:
            sent.append(client.call_async(request))
            sent[-1].add_done_callback(take)
            next_at += pause_s
            pause_s *= 2
        return given_up()

    try:
        ask()
        return wait_for(answered, timeout_s, what, code, given_up=ask)
    finally:
        for each in sent:
            if not each.done():
                client.remove_pending_request(each)
