# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How long nothing was heard of somebody, by whoever may be held up himself."""

from __future__ import annotations

from safegen_ros.watched_time import WatchedTime

LONGEST_LOOK_S = 0.1
"""How much a look adds to a silence at most, where somebody looks every few milliseconds [s]."""


class Silence:
    """For how long nothing was heard, in `WatchedTime`; begins when it is made.

    A silence that is real goes on to be looked at, so it is noticed however long a process was held
    up before.

    Args:
        longest_look_s: how much a look adds to it at most [s]; looks must be less apart than that,
            or the silence is taken for shorter than it is.
    """

    def __init__(self, longest_look_s: float = LONGEST_LOOK_S) -> None:
        self._watch = WatchedTime(longest_look_s)
        self._heard = self._counted = 0
        self._heard_at = 0.0

    def hear(self) -> None:
        """Call it for each sign; from one thread."""
        self._heard += 1

    def seconds(self) -> float:
        """How long it has lasted [s]; this is a look, to be made from one thread."""
        heard, passed = self._heard, self._watch.look()
        if heard != self._counted:
            self._counted, self._heard_at = heard, passed
        return passed - self._heard_at
