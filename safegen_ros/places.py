# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Places that threads take in the order in which they asked for them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

POLL_S = 0.02
"""How often a thread that waits looks whether it still wants to [s]."""


class Places:
    """A number of places, first come, first served.

    A lock of `threading` goes to any thread that happens to ask when it is free, and one that asks
    again at once can keep it from all others. Here nobody is overtaken.

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
            told: the position in the line, from 1, each time that it has changed. Called in this
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
