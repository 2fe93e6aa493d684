# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether the arm is stopped, and why; only a stored release lets it move (`release_store`)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.nodes.base import SafegenNode
from safegen_ros.nodes.release_store import MOVING, NEW, RELEASED, ReleaseStore, Stored
from safegen_ros.ros.liveness import ALIVE_S, FINALIZED, NodeInstance
from safegen_ros.sync import boottime

NEVER_RELEASED = 'nothing was ever released here'
ANOTHER_EXECUTOR = 'another executor runs in this ROS domain and namespace'
ARM_NOT_RELEASED = 'no operator has released the real arm since its first start here'


@dataclass(frozen=True, slots=True)
class Stop:
    """A state of the latch.

    Attributes:
        reason: what stopped it; empty when it is not stopped.
        count: how often it was stopped up to now.
        time: when this state began, since the epoch [s].
    """

    stopped: bool
    reason: str
    count: int
    time: float


class StopLatch:
    """Stopped unless a release is stored, and after each stop until a reset; for any thread.

    A process that was killed while its arm moved comes back stopped, since it finds `moving` there.

    Args:
        store: of the executor; this latch is stopped while another executor has it.
        halt: ends all motion; called at each stop, as soon as it is latched.

    Attributes:
        calls: number of calls of `stop`; a reset that was asked for before the last one fails.
    """

    def __init__(self, store: ReleaseStore, halt: Callable[[], None] = lambda: None) -> None:
        self._store = store
        self._halt = halt
        self._lock = threading.Lock()
        self._arm = False
        self._stored = Stored(NEW)
        self._unstored = False
        self._state = Stop(True, NEVER_RELEASED, 0, time.time())
        self.calls = 0
        self.open()

    @property
    def state(self) -> Stop:
        """The state now."""
        return self._state

    @property
    def moving(self) -> bool:
        """Whether a motion is stored that has not ended."""
        return self._stored.state == MOVING

    def open(self) -> bool:
        """Takes the store, and reads it; false where another executor has it."""
        if not self._store.own():
            owner = self._store.owner()
            reason = f'{ANOTHER_EXECUTOR}: {owner}'
            self._state = Stop(True, reason, self._state.count, time.time())
            return False
        self._stored = stored = self._store.read()
        reason = '' if stored.state == RELEASED else stored.reason
        if stored.state == NEW:
            reason = NEVER_RELEASED
        self._state = Stop(bool(reason), reason, stored.count, stored.time or time.time())
        if stored.state == MOVING:
            self._state = Stop(False, '', stored.count, stored.time)
            with suppress(OSError):  # the stored `moving` is not a release either
                self.stop(f'the executor ended while it executed {stored.reason}')
        return True

    def commission(self, arm: bool) -> bool:
        """Says what moves; whether this is its first release, which a simulated cell gives itself.

        Args:
            arm: whether it is the real arm, which only an operator releases.

        Raises:
            OSError: the release could not be stored.
        """
        with self._lock:
            self._arm = arm
            new = self._state.reason in (NEVER_RELEASED, ARM_NOT_RELEASED)
            if new and arm:
                self._state = replace(self._state, reason=ARM_NOT_RELEASED)
            elif new and self._stored.state == NEW and self._store.first_release():
                self._stored = self._store.read()
                self._state = Stop(False, '', 0, time.time())
                return True
            if self._stored.state == RELEASED and self._state.reason in ('', ARM_NOT_RELEASED):
                held = arm and not self._stored.arm
                reason = ARM_NOT_RELEASED if held else ''
                self._state = Stop(held, reason, self._state.count, time.time())
        return False

    def look(self) -> None:
        """Stops where the stored state is no longer what this process has stored.

        Raises:
            OSError: as `stop`.
        """
        stored = self._stored
        if self._state.stopped or (found := self._store.read()) == stored:
            return
        with self._lock:
            if self._stored != stored:
                return  # it was in the middle of storing
        self.stop(found.reason or f'the stored release has changed: {found.state}')

    def stop(self, reason: str) -> bool:
        """Latches, halts, and only then stores it; whether it was not stopped before.

        Raises:
            OSError: it could not be stored. It is stopped in any case; the next call tries again.
        """
        self.calls += 1
        with self._lock:
            first = not self._state.stopped
            if first:
                self._state = Stop(True, reason, self._state.count + 1, time.time())
            try:
                # Once more, too, if it was stopped already: that costs nothing.
                self._halt()
            finally:
                if first or self._unstored:
                    self._unstored = True
                    self._store.add_stop(self._state.reason, self._state.count)
                    self._unstored = False
        return first

    def begin_motion(self, what: str) -> None:
        """Stores that a plan is executed; the release is back after `end_motion`.

        Raises:
            SafegenError: it is stopped.
            OSError: it could not be stored: nothing may move.
        """
        self.look()
        with self._lock:
            if self._state.stopped:
                raise SafegenError(f'stopped: {self._state.reason}', ErrorCode.EXECUTION_STOPPED)
            self._put(MOVING, what)

    def end_motion(self) -> None:
        """Stores the release again, unless it was stopped.

        Raises:
            OSError: it could not be stored.
        """
        with self._lock:
            if not self._state.stopped and self._stored.state == MOVING:
                self._put(RELEASED)

    def _put(self, state: str, reason: str = '') -> None:
        new = Stored(state, reason, self._stored.arm, self._state.count, time.time())
        self._store.write(new)
        self._stored = new

    def reset(self, calls: int | None = None) -> bool:
        """Allows goals again, and moves nothing; whether it was stopped.

        Args:
            calls: `calls` when the reset was asked for.

        Raises:
            SafegenError: it was stopped again meanwhile, or another executor has the store.
            OSError: the release could not be stored; it stays stopped.
        """
        with self._lock:
            if not self._state.stopped:
                return False
            if not self._store.own():
                raise SafegenError(f'{self._state.reason}: end one of the two')
            stored = self._store.release(self._store.stops(), self._arm, self._state.count)
            if calls is not None and calls != self.calls:
                self._unstored = True
                self._store.add_stop(self._state.reason, self._state.count)
                raise SafegenError('it was stopped again meanwhile: reset it again')
            if stored.state != RELEASED:
                raise SafegenError(f'a stop is stored: {stored.reason}')
            self._stored, self._unstored = stored, False
            self._state = Stop(False, '', self._state.count, time.time())
        return True


class SoleExecutor:
    """Keeps two executors of one name from moving an arm: each of them would take every goal."""

    def __init__(self, node: SafegenNode, stop: Callable[[str], object]) -> None:
        self._node = node
        self._stop = stop
        self._checked = False
        self._begun, self._pause = boottime(), threading.Event()
        node.heartbeats.listen(self._hear)

    def check(self) -> None:
        """Makes sure that no other executor is alive; one that has just ended is waited for.

        Raises:
            SafegenError: another one is.
        """
        self._pause.wait(ALIVE_S - boottime() + self._begun)  # listened long enough to hear one
        if not self._node.heartbeats.wait_for(lambda: not self._others(), 2 * ALIVE_S):
            raise SafegenError(
                f'another executor runs as {self._node.get_fully_qualified_name()} in this ROS '
                'domain, maybe of another user or computer: end one of the two, or give this one '
                'another namespace or ROS_DOMAIN_ID'
            )
        self._checked = True

    def _others(self) -> list[NodeInstance]:
        alive = self._node.heartbeats.instances(self._node.get_fully_qualified_name())
        return [each for each in alive if each.id != self._node.heartbeat.instance]

    def _hear(self, instance: NodeInstance) -> None:
        name, own = self._node.get_fully_qualified_name(), self._node.heartbeat.instance
        another = instance.node == name and instance.id != own and instance.state != FINALIZED
        # Before its own check it has never moved anything, and will not where that fails.
        if another and self._checked:
            self._stop(f'another executor runs as {name} in this ROS domain: end one of the two')
