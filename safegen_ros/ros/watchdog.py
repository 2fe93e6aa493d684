# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What ends a goal from outside: a stop of the stack, or a process that it depends on is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node

from safegen_msgs.msg import StopState
from safegen_ros.errors import Canceled, ErrorCode, SafegenError
from safegen_ros.ros import diagnostics, qos
from safegen_ros.ros.diagnostics import Health
from safegen_ros.ros.liveness import (
    CLIENT,
    PERIOD_S,
    HeartbeatMonitor,
    NodeInstance,
)
from safegen_ros.ros.stack_state import Interruption
from safegen_ros.sync import Closing, WatchdogTimer

CURE = "look at the cell, then reset it with 'safegen reset' or the service reset"
"""What an operator has to do about a stop."""

ENDED_BY_STOP = frozenset({ErrorCode.EXECUTION_CANCELED, ErrorCode.VALIDATOR_UNAVAILABLE})
"""How an execution ends that a stop has ended."""

STOP_TOPIC = 'stopped'
"""The topic of the stop state."""

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
        node.create_subscription(
            StopState, STOP_TOPIC, self._take, qos.LATCHED, callback_group=group
        )

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
        if state is None or not state.stopped:
            return ''
        return f'the stack is stopped ({state.reason}); {CURE}'

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
        told = self.reason or f'the stack was stopped; {CURE}'
        return SafegenError(told, ErrorCode.PLANNING_STOPPED)

    def _take(self, message: StopState) -> None:
        with self._news:
            before = self._state
            # A stop that was reset at once may never be heard as such; its number shows it.
            if message.stopped or (before is not None and message.count > before.count):
                self._stops += 1
            self._state = message
            self._news.notify_all()


ACTIVE = 'active'

NO_SENDER = (
    'no heartbeat lists this goal, and nothing moves for a sender that cannot be watched: send it '
    'with safegen_ros.client, send a run_task goal, or publish safegen_msgs/msg/Heartbeat on topic '
    'heartbeat with the id of the goal in its field sent'
)
NO_VALIDATOR = 'nothing moves without exactly one active validator: start it, and end any other one'


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What counts as the loss of a process.

    Attributes:
        timeout_s: longest time without a heartbeat with the awaited change [s].
        optional: whether the process is expected only once it has shown it.
        dropped: the loss where the process lives and shows it no longer; empty for none.
        strict: name of this process, if a stall of it for the timeout counts as a loss, since no
            peer waits for it then; else empty.
        then: called with the reason, in a separate thread.
    """

    timeout_s: float
    optional: bool = False
    dropped: str = ''
    strict: str = ''
    then: Callable[[str], object] | None = None


class ProcessWatch(Closing):
    """Watches a process until it is closed.

    The first instance with the awaited change is the one that has to go on with it. Another
    instance of its name is a loss, unless it is a client: a restart, or a duplicate.

    Args:
        who: what the process is, for the reason.
        shows: whether a heartbeat shows the awaited change.

    """

    def __init__(
        self,
        monitor: HeartbeatMonitor,
        who: str,
        shows: Callable[[NodeInstance], bool],
        rules: Rules,
    ) -> None:
        self._lost = ''
        self._monitor, self._who, self._shows, self._rules = monitor, who, shows, rules
        self._lock = threading.Lock()
        self._watched: NodeInstance | None = None
        self._timer = None if rules.optional else self._new_timer()
        monitor.add(self)

    def _new_timer(self) -> WatchdogTimer:
        return WatchdogTimer(self._rules.timeout_s, PERIOD_S, self._monitor.clock)

    @property
    def lost(self) -> str:
        """Why it is lost; empty while it is not. A hold-up counts before the next look, too."""
        self._check_schedule(self._monitor.unlooked_s)
        return self._lost

    def _check_schedule(self, unlooked_s: float) -> None:
        if self._rules.strict and unlooked_s > self._rules.timeout_s:
            self._lose(f'{self._rules.strict} was not scheduled for {unlooked_s:.1f} s')

    @property
    def silent_s(self) -> float:
        """Time since the last heartbeat that has shown it [s]; 0 where none is expected yet."""
        return 0.0 if self._timer is None else self._timer.silent_s

    def take(self, instance: NodeInstance) -> None:
        """Takes a heartbeat."""
        rules, shows, watched = self._rules, self._shows(instance), self._watched
        if watched is None and shows:
            watched = self._watched = instance
            self._timer = self._timer or self._new_timer()
        if watched is None or self._timer is None:
            return
        if instance.id != watched.id:
            if watched.state != CLIENT and instance.node == watched.node:
                self._lose(f'{self._who} was started again, or runs twice')
        elif shows:
            self._timer.feed()
        elif rules.dropped:
            self._lose(rules.dropped)

    def look(self, unlooked_s: float) -> None:
        """Looks at the timer; `unlooked_s` is the time since the look before [s]."""
        self._check_schedule(unlooked_s)
        if self._timer is not None and self._timer.look():
            self._lose(f'{self._who} sent no heartbeat for {self._rules.timeout_s:g} s')

    def _lose(self, reason: str) -> None:
        with self._lock:
            if self._lost:
                return
            self._lost = reason
        if self._rules.then is not None:
            threading.Thread(target=self._rules.then, args=(reason,), name='lost').start()

    def close(self) -> None:
        """Ends the watch."""
        self._monitor.remove(self)


class SupervisorWatch(ProcessWatch):
    """Watches the supervisor of this process, which has no node; see `ProcessWatch`.

    Args:
        beat: gives a number that changes while it runs.
    """

    def __init__(self, monitor: HeartbeatMonitor, beat: Callable[[], int], rules: Rules) -> None:
        self._beat, self._last = beat, beat()
        super().__init__(monitor, 'the supervisor of the stack', lambda _: False, rules)

    def look(self, unlooked_s: float) -> None:
        """See `ProcessWatch.look`."""
        last, self._last = self._last, self._beat()
        if self._last != last and self._timer is not None:
            self._timer.feed()
        super().look(unlooked_s)


class ExecutionWatchdog:
    """Stops the arm where the sender of the goal, the validator or the supervisor is lost.

    Nothing begins to move before both are known by their heartbeats.

    Attributes:
        timeout_s: longest silence of both, and longest time without being scheduled [s].
    """

    def __init__(
        self,
        heartbeats: HeartbeatMonitor,
        interruption: Interruption,
        stop: Callable[[str], object],
    ) -> None:
        self.timeout_s = 4.0
        self._heartbeats = heartbeats
        self._interruption = interruption
        self._stop = stop
        self._watches: tuple[ProcessWatch, ...] = ()

    def health(self) -> Health:
        """How long ago the last heartbeats came that must not stop while a plan is executed."""
        watches = self._watches
        if not watches:
            return Health('heartbeat', diagnostics.OK, 'no execution to watch')
        silence = max(each.silent_s for each in watches)
        late = silence > self.timeout_s / 2
        return Health(
            'heartbeat',
            diagnostics.WARN if late else diagnostics.OK,
            f'last heartbeat {silence:.1f} s ago, of at most {self.timeout_s:g} s',
            {'silence [s]': f'{silence:.1f}', 'timeout [s]': self.timeout_s},
        )

    @contextmanager
    def watching(self, goal_id: bytes, cancelled: Callable[[], bool]) -> Iterator[None]:
        """Watches while the goal is executed.

        Raises:
            SafegenError: no heartbeat lists the goal (`GOAL_REJECTED`), or there is not just one
                active validator (`VALIDATOR_UNAVAILABLE`).
            Canceled: before both were known.
        """
        validator = self._heartbeats.full_name('validator')

        def sends(instance: NodeInstance) -> bool:
            return goal_id in instance.sent

        def validates(instance: NodeInstance) -> bool:
            return instance.node == validator and instance.state == ACTIVE

        def sender_known() -> bool:
            return any(map(sends, self._heartbeats.instances()))

        def validator_known() -> bool:
            there = self._heartbeats.instances(validator)
            return len(there) == 1 and validates(there[0])

        self._await(sender_known, cancelled, NO_SENDER, ErrorCode.GOAL_REJECTED)
        self._await(validator_known, cancelled, NO_VALIDATOR, ErrorCode.VALIDATOR_UNAVAILABLE)
        rules = Rules(timeout_s=self.timeout_s, strict='the executor', then=self._stop)
        with (
            ProcessWatch(
                self._heartbeats,
                'the sender of the goal',
                sends,
                replace(rules, dropped='the sender of the goal no longer waits for it'),
            ) as sender,
            ProcessWatch(
                self._heartbeats,
                'the validator',
                validates,
                replace(rules, dropped='the validator is no longer active'),
            ) as judge,
            self._supervisor(rules),
        ):
            self._watches = sender, judge
            try:
                yield
            finally:
                self._watches = ()

    def _supervisor(self, rules: Rules) -> AbstractContextManager[object]:
        known = self._interruption
        if not known.supervised:
            return nullcontext()
        return SupervisorWatch(self._heartbeats, known.supervisor_beat, rules)

    def _await(
        self,
        known: Callable[[], bool],
        cancelled: Callable[[], bool],
        reason: str,
        code: ErrorCode,
    ) -> None:
        """Waits for a heartbeat; raises `SafegenError` with the reason when none comes in time."""
        if not self._heartbeats.wait_for(lambda: known() or cancelled(), self.timeout_s):
            raise SafegenError(reason, code)
        if cancelled():
            raise Canceled('cancelled before the execution', ErrorCode.EXECUTION_CANCELED)
