# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Both sides of the stop: the executor's services and topic, and whoever listens to that topic."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any

from builtin_interfaces.msg import Time
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.duration import Duration
from rclpy.node import Node
from std_srvs.srv import Trigger

from safegen_msgs.msg import StopState
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.nodes import diagnostics, qos
from safegen_ros.nodes.base import SafegenNode
from safegen_ros.nodes.diagnostics import Health
from safegen_ros.nodes.stop_latch import CURE, Stop, StopLatch, stop_file

TOPIC = 'stopped'

FIRST_NEWS_S = 3.0
"""How long the topic may take to tell how it stands [s]; what is known is not waited for."""

NEWS_TIMEOUT_S = 0.5
"""How long the news of a change may take to be heard [s]."""

ENDED_S = 8.0
"""How long a goal that is stopped may take to end [s]; whoever calls waits a little longer."""

HERE_S = 0.2
"""How long a state that has arrived at this process may take to be read [s]."""

JUST_NOW_S = 5.0
"""For how long after a reset a node may not have heard of it [s]."""


class StopServer:
    """Lets everybody stop the arm, and an operator allow goals again.

    Interfaces:
        service `stop` (std_srvs/Trigger): latches; answers when the arm is at rest.
        service `reset` (std_srvs/Trigger): ends a stop; moves nothing.
        topic `stopped` (safegen_msgs/msg/StopState, latched).

    Args:
        node: whose goals are ended by a stop.
        halt: ends all motion; see `StopLatch`.
    """

    def __init__(self, node: SafegenNode, halt: Callable[[], None]) -> None:
        self._node = node
        file = stop_file(node.context.get_domain_id(), node.get_namespace())
        self._latch = StopLatch(file, halt)
        self._publisher = node.create_publisher(StopState, TOPIC, qos.LATCHED)
        self._publishing = threading.Lock()
        self._services = [
            node.create_service(Trigger, 'stop', self._serve_stop, callback_group=node.group),
            node.create_service(Trigger, 'reset', self._serve_reset, callback_group=node.group),
        ]
        self._publish()
        if self.state.stopped:
            node.get_logger().error(f'stopped since before the start: {self.state.reason}: {CURE}')

    @property
    def state(self) -> Stop:
        """How it stands now."""
        return self._latch.state

    def health(self) -> Health:
        """An operator has to mend a stop."""
        stop = self.state
        return Health(
            'stop',
            diagnostics.ERROR if stop.stopped else diagnostics.OK,
            f'stopped: {stop.reason}: {CURE}' if stop.stopped else 'not stopped',
            {'stops': stop.count},
        )

    def stop(self, reason: str) -> str:
        """Ends all motion and all goals, until a reset.

        Returns:
            What happened, for whoever asked.
        """
        failed = ''
        try:
            first = self._latch.stop(reason)
        except OSError as error:
            first, failed = True, f'; but a restart would not know of it: {error}'
            self._node.get_logger().error(f'the stop cannot be written down: {error}')
        if first:
            self._publish()
            failed += self._write_down(reason)
            self._node.get_logger().error(f'stopped: {reason}: {CURE}')
        return ('stopped' if first else f'was stopped already: {self.state.reason}') + failed

    def _serve_stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.message = self.stop('the service stop was called')
        response.success = self._node.goals.wait_idle(ENDED_S)
        if not response.success:
            response.message += '; but its goal has not ended: look at the cell'
        return response

    def _serve_reset(
        self, request: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        if self.state.stopped and not self._node.goals.wait_idle(ENDED_S):
            response.message = 'the goal that was stopped has not ended yet: reset it later'
            return response
        try:
            if self.state.stopped:
                self._node.journal.stop(False, 'the service reset was called', time.time())
            was_stopped = self._latch.reset()
        except (OSError, SafegenError) as error:
            response.message = f'it stays stopped: {error}'
            return response
        response.success = True
        response.message = 'the next goal may move' if was_stopped else 'it was not stopped'
        if was_stopped:
            self._publish()
            # Whoever calls this sends a goal next, to a node that has to know of it by then. Not
            # every middleware can tell.
            with contextlib.suppress(RuntimeError):
                self._publisher.wait_for_all_acked(Duration(seconds=NEWS_TIMEOUT_S))
            self._node.get_logger().warning('the stop was reset: the next goal may move')
        return response

    def _write_down(self, reason: str) -> str:
        """What to add to the answer where a stop cannot be written into the journal."""
        try:
            self._node.journal.stop(True, reason, self.state.time)
        except SafegenError as error:
            self._node.get_logger().error(error.message)
            return f'; but it is in no journal: {error.message}'
        return ''

    def _publish(self) -> None:
        with self._publishing:  # so that the last state is the last message
            self._publisher.publish(_message(self.state))


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


def _message(state: Stop) -> StopState:
    seconds = int(state.time)
    return StopState(
        stamp=Time(sec=seconds, nanosec=int((state.time - seconds) * 1e9)),
        stopped=state.stopped,
        reason=state.reason,
        count=state.count,
    )
