# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The listener's side of the stop: what a node or a client knows from the topic `stopped`."""

from __future__ import annotations

import threading

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node

from safegen_msgs.msg import StopState
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.ros import qos

CURE = "look at the cell, then reset it with 'safegen reset' or the service reset"
"""What an operator has to do about a stop."""

TOPIC = 'stopped'

NEWS_TIMEOUT_S = 0.5
"""How long the news of a change may take to be heard [s]."""


class StopListener:
    """Knows from the topic `stopped` how it stands.

    Args:
        node: of the listener; its executor must be spinning elsewhere.
    """

    def __init__(self, node: Node) -> None:
        self._news = threading.Condition()
        self._state: StopState | None = None
        self._stops = 0
        # A separate group, so that states are taken in the order in which they came.
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

    def wait(self, timeout_s: float) -> StopState | None:
        """The state, also if it has to be waited for; None when it does not come in time [s]."""
        with self._news:
            self._news.wait_for(lambda: self._state is not None, timeout_s)
            return self._state

    def explain(self, error: SafegenError) -> SafegenError:
        """The message to the client of a goal that ended with an error at a stop of the stack."""
        # What the executor says is about the stop already, or about something worse.
        if 400 <= error.code < 500:
            return error
        return SafegenError(
            f'the stack was stopped, and nothing moves for this goal: {self.reason or CURE}',
            ErrorCode.PLANNING_STOPPED,
        )

    def _take(self, message: StopState) -> None:
        with self._news:
            before = self._state
            # A stop that was reset at once may never be heard as such; its number shows it.
            if message.stopped or (before is not None and message.count > before.count):
                self._stops += 1
            self._state = message
            self._news.notify_all()
