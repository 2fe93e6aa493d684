# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which goals run, which wait, and which are refused."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from safegen_ros.errors import Canceled, ErrorCode, SafegenError
from safegen_ros.places import Places
from safegen_ros.planning.loop import Deadline

BEGIN_TIMEOUT_S = 5.0
"""How long an accepted goal may take to begin before its room is given to another one [s]."""


class GoalQueue:
    """Lets some goals run, keeps some more waiting in their order, and refuses all others.

    A server asks `reserve` when it decides whether to accept a goal, and does the work of each
    accepted goal, in a thread of its own, inside of `place`; or inside of `entered`, with a `turn`
    for each part of it that others have to wait for.

    Args:
        running: goals that may run at the same time.
        waiting: goals that may wait beside them.
        begin_timeout_s: how long room is kept for a goal that was accepted and never begins,
            because its client was gone before it could be told [s].

    Attributes:
        room: goals that may be here, running or waiting.

    Raises:
        ValueError: no goal may run, or the number of those that wait is negative.
    """

    def __init__(
        self, running: int, waiting: int, begin_timeout_s: float = BEGIN_TIMEOUT_S
    ) -> None:
        if waiting < 0:
            raise ValueError(f'{waiting} goals waiting: expected 0 or more')
        self._places = Places(running)
        self.room = running + waiting
        self._begin_timeout_s = begin_timeout_s
        self._changed = threading.Condition()
        self._open = self._aside = 0
        self._reserved: deque[float] = deque()

    def reserve(self, beside_aside: bool = False) -> bool:
        """Keeps room for a goal that is about to be accepted; false where there is none.

        Args:
            beside_aside: whether goals that are aside leave their room to this one.
        """
        with self._changed:
            now = time.monotonic()
            while self._reserved and now - self._reserved[0] > self._begin_timeout_s:
                self._reserved.popleft()
            aside = self._aside if beside_aside else 0
            if self._open - aside + len(self._reserved) >= self.room:
                return False
            self._reserved.append(now)
            return True

    def withdraw(self) -> None:
        """Gives back the room of a goal that was accepted and will not ask for its place."""
        with self._changed:
            if self._reserved:
                self._reserved.popleft()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Keeps the room of an accepted goal while it is here, which it is inside of the block.

        Raises:
            SafegenError: it came without a reservation, or too late for it, and there is no room
                (`QUEUE_FULL`).
        """
        self._enter()
        try:
            yield
        finally:
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
    def place(
        self, deadline: Deadline, notify: Callable[[int], None] = lambda position: None
    ) -> Iterator[None]:
        """As `entered`, and then as `turn`."""
        with self.entered(), self.turn(deadline, notify):
            yield

    @contextmanager
    def turn(
        self, deadline: Deadline, notify: Callable[[int], None] = lambda position: None
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

    def _enter(self) -> None:
        with self._changed:
            if self._reserved:
                self._reserved.popleft()
            elif self._open >= self.room:
                raise SafegenError(
                    f'{self._open} goals run or wait, which is the limit: send the goal again '
                    'later',
                    ErrorCode.QUEUE_FULL,
                )
            self._open += 1
