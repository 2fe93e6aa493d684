# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Time that was looked on at, for whoever waits for a sign of another process."""

from __future__ import annotations

import time


class WatchedTime:
    """Counts only time during which somebody looks again and again.

    Who was held up, alone or with all of the computer, has seen nothing meanwhile, and what came
    may still be waiting: that time is no silence of the other side. Whoever looks at least as often
    as the longest look lasts loses nothing; of a rarer look, only so much counts.

    Args:
        longest_look_s: so much counts at most from one look to the next [s].
    """

    def __init__(self, longest_look_s: float) -> None:
        self._longest_look_s = longest_look_s
        self._passed_s = 0.0
        self._looked = time.monotonic()

    def look(self) -> float:
        """Counts on to now; returns what has passed since this object was made [s]."""
        now = time.monotonic()
        self._passed_s += min(now - self._looked, self._longest_look_s)
        self._looked = now
        return self._passed_s
