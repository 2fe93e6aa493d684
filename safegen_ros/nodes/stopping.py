# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The listener's side of the stop: what a node or a client knows from the topic `stopped`."""

from __future__ import annotations

import threading
import time
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node

from safegen_msgs.msg import StopState
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.nodes import qos
from safegen_ros.nodes.stop_latch import CURE

TOPIC = 'stopped'

FIRST_NEWS_S = 3.0
"""How long the topic may take to tell how it stands [s]; what is known is not waited for."""

NEWS_TIMEOUT_S = 0.5
"""How long the news of a change may take to be heard [s]."""

HERE_S = 0.2
"""How long a state that has arrived at this process may take to be read [s]."""

JUST_NOW_S = 5.0
"""For how long after a reset a node may not have heard of it [s]."""


class StopListener:
    """Knows from the topic `stopped` how it stands.

    Args:
        node: of the listener; its executor must be spinning elsewhere.
    """

    def __init__(self, node: Node) -> None:
        self._news = threading.Condition()
        self._state: StopState | None = None
        self._stops = 0
        # Of its own, so that states are taken in the order in which they came.
        group = MutuallyExclusiveCallbackGroup()
        node.create_subscription(StopState, TOPIC, self._take, qos.LATCHED, callback_group=group)

    @property
    def state(self) -> StopState | None:
        """The last state that was heard; None when none was."""
        return self._state

    @property
    def stops(self) -> int:
        """How many stops were noticed; a goal under way ends when this changes."""
        return self._stops

    @property
    def reason(self) -> str:
        """Why nothing may move; empty when nothing is known to forbid it."""
        state = self._state
        return f'{state.reason}: {CURE}' if state is not None and state.stopped else ''

    def still(self) -> str:
        """As `reason`, once the news of a reset is read that has arrived already.

        A reset is answered when its news is here; what is sent next may be looked at before it.
        """
        with self._news:
            self._news.wait_for(lambda: not self.reason, HERE_S)
            return self.reason

    def wait(self, timeout_s: float) -> StopState | None:
        """The state, also if it has to be waited for; None when it does not come in time [s]."""
        with self._news:
            self._news.wait_for(lambda: self._state is not None, timeout_s)
            return self._state

    def why_rejected(self) -> str:
        """Why a server of the arm that is there rejected a goal."""
        self.wait(FIRST_NEWS_S)
        with self._news:  # the news may come a moment later than the rejection
            self._news.wait_for(lambda: bool(self.reason), NEWS_TIMEOUT_S / 5)
            reason, state = self.reason, self._state
        if reason:
            return f'the stack is stopped: {reason}'
        other = 'another goal is running; wait or cancel it'
        if state is not None and state.count and _age_s(state) < JUST_NOW_S:
            return f'the news of the reset came after it: send it again; or {other}'
        return other

    def explain(self, error: SafegenError) -> SafegenError:
        """What the client of a goal is told that ended with an error when the stack was stopped."""
        # What the executor says is about the stop already, or about something worse.
        if 400 <= error.code < 500:
            return error
        return SafegenError(
            f'the stack was stopped, and nothing moves for this goal: {self.reason or CURE}',
            ErrorCode.PLANNING_STOPPED,
        )

    def _take(self, message: Any) -> None:
        with self._news:
            before = self._state
            # A stop that was reset at once may never be heard as such; its number tells of it.
            if message.stopped or (before is not None and message.count > before.count):
                self._stops += 1
            self._state = message
            self._news.notify_all()


def _age_s(state: StopState) -> float:
    """For how long that has been so [s]; clocks of other computers are a little ahead or behind."""
    return abs(time.time() - state.stamp.sec - state.stamp.nanosec * 1e-9)
