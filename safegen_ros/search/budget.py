# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a search may use: time, memory, and the caller's patience."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from safegen_ros.errors import Canceled, ErrorCode, SafegenError
from safegen_ros.pddl.plan import Plan

_POLL_S = 0.01  # how often the caller is asked; asking may cost more than a step of the search
_MEGABYTE = 1 << 20


def _never() -> bool:
    return False


class Budget:
    """Limits of one search, to be asked often.

    Args:
        time_limit_s: wall-clock limit from now on [s].
        memory_limit_mb: most memory of the search, as estimated from the sizes of its parts [MiB].
    """

    def __init__(
        self,
        time_limit_s: float,
        memory_limit_mb: float,
        cancelled: Callable[[], bool] = _never,
    ) -> None:
        self.started = time.monotonic()
        self.time_limit_s = time_limit_s
        self.memory_limit_mb = memory_limit_mb
        self._cancelled = cancelled
        self._deadline = self.started + time_limit_s
        self._next_poll = self.started
        self._used = 0

    @property
    def seconds(self) -> float:
        """Time since the beginning [s]."""
        return time.monotonic() - self.started

    @property
    def left_s(self) -> float:
        """Time that is left [s]."""
        return self._deadline - time.monotonic()

    def tick(self) -> None:
        """Looks at the clock, and every now and then at the caller.

        Raises:
            SearchLimit: the time is over.
            Canceled: the caller wants to stop.
        """
        now = time.monotonic()
        if now < self._next_poll:
            return
        self._next_poll = min(now + _POLL_S, self._deadline)
        if self._cancelled():
            raise Canceled('the search was cancelled', ErrorCode.PLANNING_CANCELED)
        if now >= self._deadline:
            raise self.time_is_over()

    def part(self, seconds: float) -> Budget:
        """A separate budget that is over after some of the time that is left [s]."""
        return Budget(seconds, self.memory_limit_mb, self._cancelled)

    def use(self, size: int) -> None:
        """Counts memory that is kept to the end [bytes].

        Raises:
            SearchLimit: there is not so much.
        """
        self._used += size
        if self._used > self.memory_limit_mb * _MEGABYTE:
            raise self.memory_is_over()

    def room_for(self, size: int) -> int:
        """How many things of one size [bytes] fit into the memory that is left."""
        return max(int(self.memory_limit_mb * _MEGABYTE - self._used) // size, 0)

    def time_is_over(self) -> SearchLimit:
        """The error for that."""
        limit = f'{max(self.time_limit_s, 0.0):.3f}'.rstrip('0').rstrip('.')
        return SearchLimit(
            f'the search ended at its time limit of {limit} s: '
            'allow more time, or make the problem smaller'
        )

    def memory_is_over(self) -> SearchLimit:
        """The error for that."""
        return SearchLimit(
            f'the search ended at its memory limit of {self.memory_limit_mb:g} MiB: '
            'allow more memory, or make the problem smaller'
        )


IN_PROCESS: Final = 'in-process'
FAST_DOWNWARD: Final = 'fast-downward'
KAIROS: Final = 'kairos'


class Unsolvable(SafegenError):
    """A problem has no plan, and that is proved."""

    def __init__(
        self, problem: str, why: str, cure: str = 'change the goal or the constraints'
    ) -> None:
        super().__init__(f'problem {problem} has no plan: {why}: {cure}', ErrorCode.UNSOLVABLE)


class BrokenAtFirst(Unsolvable):
    """The initial state of a problem breaks a constraint."""

    def __init__(self, problem: str, constraint: str) -> None:
        why = f'its initial state breaks {constraint}'
        super().__init__(problem, why, 'change the initial state or the constraint')


class SearchLimit(SafegenError):
    """The search ended at its limit of time or of memory; nothing is known."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ErrorCode.PLANNING_TIMEOUT)


@dataclass(frozen=True, slots=True)
class Solution:
    """A plan that the validator accepts, and how it was found.

    Attributes:
        route: who answered, `IN_PROCESS`, `FAST_DOWNWARD` or `KAIROS`.
        optimal: whether no plan is shorter, which the search proved.
        seconds: what the search took, grounding and proof included [s].
        expanded: how many situations were expanded; 0 where the route does not report it.
    """

    plan: Plan
    route: str
    optimal: bool
    seconds: float
    expanded: int
