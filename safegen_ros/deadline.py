# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Deadlines for a watcher that must act when nothing comes from what it watches."""

from __future__ import annotations

import time
from collections.abc import Callable


def boottime() -> float:
    """Seconds on a clock that never goes back and counts suspend."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Deadline:
    """A deadline that each sign of life moves on.

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
