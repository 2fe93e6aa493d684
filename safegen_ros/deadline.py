# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Deadlines for a watcher that must act when the watched process is silent."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


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
