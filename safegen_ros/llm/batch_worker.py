# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Writes the answers of several callers together, first come, first served."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress

from safegen_ros.errors import BackendError, Canceled, SafegenError
from safegen_ros.llm.row_batch import Row

SLICE = 32
"""Tokens after which a batch is interrupted for others who wait, where it has room.

The model has to read all rows again to take others in. So it is done earlier only when at least as
many wait as are being written."""

Interrupted = Callable[[int, int], bool]


class BatchWorker:
    """A thread that writes rows, as many at once as it may.

    Args:
        turn: in which the model may be called; raises `Canceled` once the worker is closed.
        write: writes behind rows, for a token at least and until they are done or interrupted, as
            `RowBatch` does.
        most: rows that are written together.
        name: of the model, for messages.
    """

    def __init__(
        self,
        turn: Callable[[], AbstractContextManager[None]],
        write: Callable[[Sequence[Row], Interrupted], None],
        most: int,
        name: str,
    ) -> None:
        self._turn = turn
        self._write = write
        self._most = most
        self._name = name
        self._changed = threading.Condition()
        self._waiting: deque[Row] = deque()
        self._batch: list[Row] = []
        self._closed = False
        self._thread = threading.Thread(target=self._work, name='batches', daemon=True)
        self._thread.start()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def submit(self, rows: Sequence[Row]) -> None:
        """Puts rows at the end of the line.

        Raises:
            BackendError: the worker is closed.
        """
        with self._changed:
            if self._closed:
                raise self._end()
            self._waiting.extend(rows)
            self._changed.notify_all()

    def withdraw(self, rows: Sequence[Row]) -> None:
        """Ends rows for which nobody waits any more; nothing more is told of them."""
        with self._changed:
            for row in rows:
                row.done = True
            self._waiting = deque(row for row in self._waiting if not row.done)

    def close(self) -> None:
        """Ends every row with a `BackendError`, and the thread; a second time it does nothing."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()

    def _end(self) -> BackendError:
        return BackendError(f'{self._name}: the model was closed: open it again')

    def _work(self) -> None:
        while self._wanted():
            with suppress(Canceled), self._turn():
                self._gather()
                self._try(self._batch, self._interrupted)
        with self._changed:
            for row in (*self._batch, *self._waiting):
                row.finish(self._end())

    def _wanted(self) -> bool:
        """Waits until there is something to write; false once the worker is closed."""
        with self._changed:
            self._batch = [row for row in self._batch if not row.done]
            self._changed.wait_for(lambda: self._closed or self._waiting or self._batch)
            return not self._closed

    def _gather(self) -> None:
        """Fills the batch from the line."""
        with self._changed:
            while self._waiting and len(self._batch) < self._most:
                self._batch.append(self._waiting.popleft())

    def _try(self, rows: Sequence[Row], interrupted: Interrupted) -> None:
        """Writes rows; where that fails, each by itself, so that only the one to blame fails."""
        try:
            if rows:
                self._write(rows, interrupted)
        except Exception as error:  # the thread has to go on, and the caller to hear of it
            rows = [row for row in rows if not row.done]
            if len(rows) > 1:
                for row in rows:
                    self._try([row], lambda active, steps: self._closed)
            elif rows:
                rows[0].finish(self._named(error))

    def _interrupted(self, active: int, steps: int) -> bool:
        """Whether the batch is to be interrupted: to end, or to take in others."""
        with self._changed:
            if self._closed:
                return True
            waiting = min(len(self._waiting), self._most - active)
            return waiting >= active or (waiting > 0 and steps >= SLICE)

    def _named(self, error: Exception) -> SafegenError:
        if isinstance(error, SafegenError):
            return error
        return BackendError(f'{self._name}: the model failed: {error}')
