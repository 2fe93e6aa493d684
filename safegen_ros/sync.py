# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Timers, a fair semaphore, a queue of goals, a latched stop, and what a `with` closes."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TypeVar

from safegen_ros.errors import Canceled, ErrorCode, SafegenError

_Self = TypeVar('_Self', bound='Closing')


class Closing(ABC):
    """Base of what is open from its construction until `close`."""

    @abstractmethod
    def close(self) -> None:
        """Releases the resource; safe to call twice."""

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class LatchedStop:
    """Base of what any thread may stop; a stop is latched until it is reset.

    Args:
        name: what messages call it.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Ends the motion or step under way, within 10 ms, and latches."""
        self._stopped.set()

    def reset_stop(self) -> None:
        """Allows motion and steps again."""
        self._stopped.clear()

    def _check_ready(self) -> None:
        """Raises `Canceled` while a stop is latched."""
        if self._stopped.is_set():
            raise Canceled(
                f'{self._name} was stopped: reset the stop to go on', ErrorCode.EXECUTION_CANCELED
            )


def boottime() -> float:
    """Seconds on a clock that never goes back and counts suspend."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Deadline:
    """A deadline that each signal of the watched process moves on.

    All time counts, also time in which this process was not scheduled: a watcher that slept longer
    than its own timeout has not watched.

    Args:
        timeout_s: time from now, and from each `restart`, to the deadline [s].
        clock: seconds of a clock that never goes back.
    """

    def __init__(self, timeout_s: float, clock: Callable[[], float] = boottime) -> None:
        self.timeout_s = timeout_s
        self._clock = clock
        self.restart()

    def restart(self) -> None:
        """Moves the deadline to `timeout_s` from now."""
        self._due = self._clock() + self.timeout_s

    @property
    def left_s(self) -> float:
        """Time to the deadline [s]; negative behind it."""
        return self._due - self._clock()

    @property
    def over(self) -> bool:
        """Whether the deadline has passed."""
        return self.left_s <= 0


class PlanningDeadline:
    """The time that planning may take.

    Args:
        seconds: wall-clock limit, from now on [s].
    """

    def __init__(self, seconds: float, cancelled: Callable[[], bool]) -> None:
        self.seconds = seconds
        self.cancelled = cancelled
        self.start = time.monotonic()

    @property
    def left_s(self) -> float:
        """What is left of it [s]."""
        return self.start + self.seconds - time.monotonic()

    def with_cancelled(self, cancelled: Callable[[], bool]) -> PlanningDeadline:
        """The same time, with another answer to whether the caller wants to stop."""
        same = PlanningDeadline(self.seconds, cancelled)
        same.start = self.start
        return same

    def over(self) -> bool:
        """Whether the work has to stop: cancelled, or too late."""
        return self.cancelled() or self.left_s <= 0


class WatchdogTimer:
    """A deadline for signals that may wait in a queue, looked at once a period.

    After the timeout, queued signals can still feed the timer until the next look; then it has
    expired. The bound is the timeout and two periods after the last signal. A signal that is read
    while a look is overdue counts from the look before, as its time in the queue is unknown.

    Args:
        timeout_s: longest time without a signal [s].
        period_s: from one look to the next [s].
        clock: seconds of a clock that never goes back.
    """

    def __init__(
        self, timeout_s: float, period_s: float, clock: Callable[[], float] = boottime
    ) -> None:
        self.timeout_s = timeout_s
        self._period_s = period_s
        self._clock = clock
        self._lock = threading.Lock()
        self._looked = self._fed = clock()
        self._due = False

    def feed(self) -> None:
        """Notes a signal; any thread may call it."""
        with self._lock:
            now = self._clock()
            late = now - self._looked > self._period_s
            self._fed = max(self._fed, self._looked if late else now)

    @property
    def silent_s(self) -> float:
        """Time since the last signal [s]."""
        return self._clock() - self._fed

    def look(self) -> bool:
        """Whether it has expired; to be called once a period."""
        with self._lock:
            self._looked = self._clock()
            over = self._looked - self._fed > self.timeout_s
            expired, self._due = over and self._due, over
            return expired


POLL_S = 0.02
"""How often a thread that waits looks whether it still wants to [s]."""


class Places:
    """A number of places, first come, first served.

    A lock of `threading` goes to any thread that happens to ask when it is free, and one that asks
    again at once can keep it from all others. Here the order is kept.

    Args:
        count: how many threads may have a place at the same time.

    Raises:
        ValueError: there is no place.
    """

    def __init__(self, count: int) -> None:
        if count < 1:
            raise ValueError(f'{count} places: expected at least 1')
        self._free = count
        self._line: deque[object] = deque()
        self._changed = threading.Condition()

    @contextmanager
    def place(
        self, check: Callable[[], None], told: Callable[[int], None] = lambda position: None
    ) -> Iterator[None]:
        """Waits for a place and keeps it inside of the block.

        Args:
            check: asked every `POLL_S` while waiting; what it raises ends the wait.
            told: the position in the line, from 1, each time that it has changed. Runs in this
                thread.
        """
        self._take(check, told)
        try:
            yield
        finally:
            with self._changed:
                self._free += 1
                self._changed.notify_all()

    def _take(self, check: Callable[[], None], told: Callable[[int], None]) -> None:
        me = object()
        with self._changed:
            self._line.append(me)
        last = -1
        try:
            while position := self._wait(me, last):
                if position != last:
                    told(position)
                last = position
                check()
        except BaseException:
            with self._changed:
                self._line.remove(me)
                self._changed.notify_all()
            raise

    def _wait(self, me: object, known: int) -> int:
        """The position after a change or a moment; 0 when the place is taken by that."""
        with self._changed:
            self._changed.wait_for(lambda: self._position(me) != known, POLL_S)
            position = self._position(me)
            if not position:
                self._line.popleft()
                self._free -= 1
                self._changed.notify_all()
            return position

    def _position(self, me: object) -> int:
        index = self._line.index(me)
        return index + 1 if index or not self._free else 0


class GoalQueue:
    """Lets some goals run, keeps some more waiting in their order, and refuses all others.

    A server calls `enter` for each goal that it accepts, and works on each in its own thread. Each
    part that others have to wait for is a `turn`; `leave` is the end.

    Attributes:
        room: goals that may be here, running or waiting.

    Raises:
        ValueError: no goal may run, or the number of those that wait is negative.
    """

    def __init__(self, running: int, waiting: int) -> None:
        if waiting < 0:
            raise ValueError(f'{waiting} goals waiting: expected 0 or more')
        self._places = Places(running)
        self.room = running + waiting
        self._changed = threading.Condition()
        self._open = self._aside = 0

    def enter(self, beside_aside: bool = False) -> None:
        """Keeps room for a goal until `leave`.

        Raises:
            SafegenError: there is no room (`QUEUE_FULL`).
        """
        with self._changed:
            if self._open - (self._aside if beside_aside else 0) >= self.room:
                raise SafegenError(
                    f'{self._open} goals run or wait, which is the limit: wait or cancel one, and '
                    'send the goal again',
                    ErrorCode.QUEUE_FULL,
                )
            self._open += 1

    def leave(self) -> None:
        """Gives back the room of a goal that has entered."""
        with self._changed:
            self._open -= 1
            self._changed.notify_all()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Inside of the block a goal that is here does nothing that others have to wait for."""
        with self._changed:
            self._aside += 1
        try:
            yield
        finally:
            with self._changed:
                self._aside -= 1

    @contextmanager
    def turn(
        self, deadline: PlanningDeadline, notify: Callable[[int], None] = lambda position: None
    ) -> Iterator[None]:
        """Waits until a goal that is here may run, which it does inside of the block.

        Args:
            deadline: of the goal; the wait is a part of its time.
            notify: told the position of the goal among those that wait, from 1, each time that it
                has changed; not told anything where the goal need not wait.

        Raises:
            Canceled: the goal was cancelled before it ran (`PLANNING_CANCELED`).
            SafegenError: its time was over before it ran (`PLANNING_TIMEOUT`).
        """

        def check() -> None:
            if deadline.cancelled():
                raise Canceled(
                    'the goal was cancelled while it waited', ErrorCode.PLANNING_CANCELED
                )
            if deadline.left_s <= 0:
                raise SafegenError(
                    f'the goal waited for {deadline.seconds:g} s behind others: give it more time',
                    ErrorCode.PLANNING_TIMEOUT,
                )

        with self._places.place(check, notify):
            yield

    @property
    def here(self) -> int:
        """How many goals run or wait now."""
        with self._changed:
            return self._open

    def wait_idle(self, timeout_s: float) -> bool:
        """Waits until no goal runs or waits; false when that takes longer."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._open, timeout_s)
