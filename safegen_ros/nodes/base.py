# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the three nodes share: how they start and end, and how goals and futures are waited for."""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import rclpy
from rclpy.action import CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from safegen_ros.errors import ErrorCode, SafegenError

RESULT_TIMEOUT_S = 900
"""How long a finished goal's result is kept for a client that asks late [s]."""

POLL_S = 0.02
"""How often a wait looks at its other conditions; the future itself ends it at once [s]."""

BEGIN_TIMEOUT_S = 5.0
"""How long an accepted goal may take to begin before another one may be accepted [s]."""

CLOSE_TIMEOUT_S = 3.0
"""How long each part of a node's end may take [s]."""

CANCEL_STATE_TIMEOUT_S = 2.0
"""How long a goal's state may lag behind the cancel callback that has stopped its work [s]."""

_THREADS = 8
_CANCELED = (ErrorCode.PLANNING_CANCELED, ErrorCode.EXECUTION_CANCELED)


class SafegenNode(Node):
    """A node that takes one goal at a time and can be told to give up what it is doing."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.group = ReentrantCallbackGroup()
        self.closing = threading.Event()
        self._idle = threading.Condition()
        self._running = False
        self._accepted_at = -math.inf

    def accept_if_idle(self, goal: object) -> GoalResponse:
        """The policy for a second goal: it is rejected while one is running or about to.

        A goal that was accepted and never began, because its client was gone before it could be
        told, keeps the place for `BEGIN_TIMEOUT_S` only.
        """
        with self._idle:
            reserved = time.monotonic() - self._accepted_at < BEGIN_TIMEOUT_S
            if self.closing.is_set() or self._running or reserved:
                self.get_logger().warning('a goal is rejected: another one is running')
                return GoalResponse.REJECT
            self._accepted_at = time.monotonic()
            return GoalResponse.ACCEPT

    def begin(self) -> None:
        """Takes the place that the accepted goal has; the first thing that every goal does."""
        with self._idle:
            self._running = True
            self._accepted_at = -math.inf

    def accept_cancel(self, goal_handle: object) -> CancelResponse:
        """Every goal can be cancelled in every phase."""
        return CancelResponse.ACCEPT

    def unexpected(self, error: Exception) -> tuple[ErrorCode, str]:
        """The code and message for an error that is a fault of this program.

        It must not leave the callback: rclpy would answer the client with an empty result, in
        which every number is 0, and 0 reads as success.
        """
        self.get_logger().error(''.join(traceback.format_exception(error)))
        return ErrorCode.UNKNOWN, f'the {self.get_name()} failed, see its log: {error!r}'

    def finish(self, goal_handle: Any, result: Any, code: ErrorCode, message: str) -> Any:
        """Brings a goal to its one terminal state, fills in its errors, and is idle again."""
        result.error_code, result.error_msg = int(code), message
        try:
            if code in _CANCELED and not self.closing.is_set():
                _await(lambda: goal_handle.is_cancel_requested, CANCEL_STATE_TIMEOUT_S)
            if code is ErrorCode.NONE:
                goal_handle.succeed()
            elif goal_handle.is_cancel_requested:
                goal_handle.canceled()
            else:
                self.get_logger().error(f'{code.name}: {message}')
                goal_handle.abort()
        finally:
            with self._idle:
                self._running = False
                self._idle.notify_all()
        return result

    def close(self) -> None:
        """Ends what is under way; called once when the process is about to end."""
        self.closing.set()

    def wait_idle(self, timeout_s: float) -> None:
        """Waits until no goal is running, so that its client still gets an answer."""
        with self._idle:
            self._idle.wait_for(lambda: not self._running, timeout_s)


def _await(condition: Callable[[], bool], timeout_s: float) -> None:
    """Waits until a condition of another thread's making is true, or the time is over."""
    deadline = time.monotonic() + timeout_s
    pause = threading.Event()
    while not condition() and time.monotonic() < deadline:
        pause.wait(0.001)


def wait_for(
    future: Future,
    timeout_s: float,
    what: str,
    code: ErrorCode,
    *,
    given_up: Callable[[], bool] = lambda: False,
) -> Any:
    """Waits for a future outside of the executor's own callbacks.

    Args:
        future: what to wait for.
        timeout_s: longest wait [s].
        what: what is being waited for, for messages.
        code: the error code when it does not come.
        given_up: asked while waiting; true ends the wait as a time-out does.

    Raises:
        SafegenError: with `code`.
    """
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    deadline = time.monotonic() + timeout_s
    # The executor runs the callback as a task of its own; the future is done before that.
    while not done.wait(POLL_S) and not future.done():
        if time.monotonic() >= deadline:
            raise SafegenError(f'{what} did not answer within {timeout_s:.3g} s', code)
        if given_up():
            raise SafegenError(f'waiting for {what} was given up', code)
    return future.result()


@contextmanager
def cancel_if_left(sent: Future) -> Iterator[None]:
    """Cancels a goal that is accepted only after its sender has stopped waiting for that."""

    def cancel(accepted: Future) -> None:
        handle = accepted.result()
        if handle is not None and handle.accepted:
            handle.cancel_goal_async()

    try:
        yield
    except BaseException:
        sent.add_done_callback(cancel)
        raise


def _on_stop_signals(handler: Callable[[int, FrameType | None], None]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)


def _exit_now(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)


def run_node(make: Callable[[], SafegenNode]) -> int:
    """Runs a node until the process is told to end.

    A goal that is running then ends with an answer before the node does, which is why rclpy's own
    signal handlers, which cut the connections first, are not used.

    Returns:
        The exit status: 0 after SIGINT or SIGTERM, 1 when the node could not start or failed.
    """
    stop = threading.Event()
    _on_stop_signals(_exit_now)  # nothing runs yet that would have to be ended in order
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = make()
        _on_stop_signals(lambda *_: stop.set())
    except (
        SafegenError, InvalidParameterTypeException, InvalidParameterValueException
    ) as error:  # fmt: skip
        print(f'cannot start: {error}', file=sys.stderr, flush=True)
        rclpy.try_shutdown()
        return 1
    executor = MultiThreadedExecutor(num_threads=_THREADS)
    executor.add_node(node)
    failed = threading.Event()

    def spin() -> None:
        try:
            executor.spin()
        except ExternalShutdownException:
            pass
        except BaseException:
            # After an error in a callback nothing is known: the node ends, and with it the stack.
            failed.set()
            raise
        finally:
            stop.set()

    spinning = threading.Thread(target=spin, name='spin')
    spinning.start()
    stop.wait()
    node.close()
    node.wait_idle(CLOSE_TIMEOUT_S)
    executor.shutdown(timeout_sec=CLOSE_TIMEOUT_S)
    spinning.join(CLOSE_TIMEOUT_S)
    node.destroy_node()
    rclpy.try_shutdown()
    return 1 if failed.is_set() else 0
