# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How long nothing was heard of somebody, by whoever may be held up himself."""

from __future__ import annotations

import time

LONGEST_LOOK_S = 0.1
"""How much a look adds to a silence at most, where somebody looks every few milliseconds [s]."""


class Silence:
    """For how long nothing was heard; begins when it is made.

    Only time counts during which somebody looks again and again: after a process was held up, what
    it has not heard may still be waiting for it. A silence that is real goes on to be looked at, so
    it is noticed all the same.

    Args:
        longest_look_s: how much a look adds to it at most [s]; looks must be less apart than that,
            or the silence is taken for shorter than it is.
    """

    def __init__(self, longest_look_s: float = LONGEST_LOOK_S) -> None:
        self._longest_look_s = longest_look_s
        self._heard, self._counted, self._silent_s = 0, 0, 0.0
        self._looked = time.monotonic()

    def hear(self) -> None:
        """Call it for each sign; from one thread."""
        self._heard += 1

    def seconds(self) -> float:
        """How long it has lasted [s]; this is a look, to be made from one thread."""
        now, heard = time.monotonic(), self._heard
        self._silent_s += min(now - self._looked, self._longest_look_s)
        if heard != self._counted:
            self._counted, self._silent_s = heard, 0.0
        self._looked = now
        return self._silent_s
