# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The timer of a watchdog: a bound, whoever is held up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


def boottime() -> float:
    """Seconds since the computer was started, also those in which it was suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class WatchdogTimer:
    """Expires where it is not fed in time.

    It is looked at once a period. When the time is over, what is queued can still feed it before
    the next look; then it has expired. So it expires at most the timeout and two periods after the
    last sign that came, whatever waits unread. A sign that is read while a look is overdue counts
    from the look before: nobody knows how long it was queued.

    Args:
        timeout_s: longest time without a sign [s].
        period_s: from one look to the next [s].
        clock: counts the seconds.
    """

    def __init__(
        self, timeout_s: float, period_s: float, clock: Callable[[], float] = boottime
    ) -> None:
        self.timeout_s = timeout_s
        self._period_s = period_s
        self._clock = clock
        self._lock = threading.Lock()
        self._looked = self._sign = clock()
        self._due = False

    def feed(self) -> None:
        """Notes a sign; any thread may call it."""
        with self._lock:
            now = self._clock()
            late = now - self._looked > self._period_s
            self._sign = max(self._sign, self._looked if late else now)

    @property
    def silent_s(self) -> float:
        """Time since the last sign [s]."""
        return self._clock() - self._sign

    def look(self) -> bool:
        """Whether it has expired; to be called once a period."""
        with self._lock:
            self._looked = self._clock()
            over = self._looked - self._sign > self.timeout_s
            expired, self._due = over and self._due, over
            return expired
