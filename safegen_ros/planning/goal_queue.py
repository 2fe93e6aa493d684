# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which goals run, which wait, and which are refused."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from safegen_ros.errors import Canceled, ErrorCode, SafegenError
from safegen_ros.sync import Places, PlanningDeadline


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
