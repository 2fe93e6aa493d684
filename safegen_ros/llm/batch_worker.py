# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Writes the answers of several callers together, first come, first served."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from safegen_ros.errors import BackendError, Canceled, SafegenError
from safegen_ros.llm.backend import Sampling

if TYPE_CHECKING:
    import torch

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
        write: Callable[[Sequence[BatchRow], Interrupted], None],
        most: int,
        name: str,
    ) -> None:
        self._turn = turn
        self._write = write
        self._most = most
        self._name = name
        self._changed = threading.Condition()
        self._waiting: deque[BatchRow] = deque()
        self._batch: list[BatchRow] = []
        self._closed = False
        self._thread = threading.Thread(target=self._work, name='batches', daemon=True)
        self._thread.start()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def submit(self, rows: Sequence[BatchRow]) -> None:
        """Puts rows at the end of the line.

        Raises:
            BackendError: the worker is closed.
        """
        with self._changed:
            if self._closed:
                raise self._end()
            self._waiting.extend(rows)
            self._changed.notify_all()

    def withdraw(self, rows: Sequence[BatchRow]) -> None:
        """Ends rows for which no caller waits; nothing more is reported for them."""
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

    def _try(self, rows: Sequence[BatchRow], interrupted: Interrupted) -> None:
        """Writes rows; if that fails, each row alone, so that only the faulty row fails."""
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
        """Whether to interrupt the batch: to end it, or to add rows."""
        with self._changed:
            if self._closed:
                return True
            waiting = min(len(self._waiting), self._most - active)
            return waiting >= active or (waiting > 0 and steps >= SLICE)

    def _named(self, error: Exception) -> SafegenError:
        if isinstance(error, SafegenError):
            return error
        return BackendError(f'{self._name}: the model failed: {error}')


Processor = Callable[['torch.Tensor', 'torch.Tensor'], 'torch.Tensor']
"""A logits processor of `transformers`: tokens so far and scores to scores, a row for each."""


@dataclass(slots=True, eq=False)
class BatchRow:
    """One answer that is being written.

    Attributes:
        prompt: the tokens before it.
        limit: most tokens that it may have.
        told: called with each token, and with None or an error at the end; not in the thread of
            the caller.
        generator: its own random numbers, which go on where they were after an interruption.
        processors: what else decides on its tokens; they see the row without its padding.
        done: whether nothing more is written, because it ended or no caller waits for it.
        log_probability: of the tokens, by the model alone.
    """

    prompt: Sequence[int]
    sampling: Sampling
    limit: int
    told: Callable[[int | Exception | None], None]
    generator: torch.Generator
    processors: Sequence[Processor] = ()
    ids: list[int] = field(default_factory=list)
    done: bool = False
    log_probability: float = 0.0

    @property
    def probability(self) -> float:
        """How likely the model finds the answer up to now, at temperature 1."""
        return math.exp(self.log_probability)

    def take(self, token: int, *, ends: bool) -> None:
        """Adds a token to the answer."""
        self.ids.append(token)
        self.told(token)
        if ends or len(self.ids) >= self.limit:
            self.finish()

    def finish(self, error: Exception | None = None) -> None:
        """Ends the answer, once."""
        if not self.done:
            self.done = True
            self.told(error)


class RowBatch:
    """One call of `generate` for several rows, padded on the left.

    `generate` draws the tokens of all rows from the one generator of the process, so that what a
    row gets depends on the rows beside it. Here every row has its own temperature, top-p and random
    numbers, and draws what `generate` would draw for it alone. On equal scores `torch.multinomial`
    gives the same tokens for the same seed.

    Args:
        ends: the tokens that end an answer.
        interrupted: called after every token with the numbers of open rows and of written tokens;
            true ends the call, and the rows continue in another one.
    """

    def __init__(
        self,
        rows: Sequence[BatchRow],
        ends: Collection[int],
        interrupted: Callable[[int, int], bool],
    ) -> None:
        from transformers import TemperatureLogitsWarper, TopPLogitsWarper

        self._rows = rows
        self._ends = ends
        self._interrupted = interrupted
        self._steps = 0
        self._over = False
        self._groups: list[tuple[list[int], list[Processor]]] = []
        alike: dict[tuple[float, float], list[int]] = {}
        for place, row in enumerate(rows):
            alike.setdefault((row.sampling.temperature, row.sampling.top_p), []).append(place)
        for (temperature, top_p), places in alike.items():
            if temperature > 0:
                warpers: list[Processor] = [TemperatureLogitsWarper(temperature)]
                if top_p < 1:
                    warpers.append(TopPLogitsWarper(top_p))
                self._groups.append((places, warpers))

    def sample(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """As a logits processor: zero for the token that each row gets, else minus infinity."""
        if self._over:  # on a GPU `generate` learns a token late that it is to stop
            return scores
        alone = scores.log_softmax(-1)
        for place, row in enumerate(self._rows):
            if row.processors and not row.done:
                self._process(row, input_ids[place : place + 1], scores[place : place + 1])
        chosen = scores.argmax(-1)
        for places, warpers in self._groups:
            part = scores[places]
            for warper in warpers:
                part = warper(input_ids[places], part)
            for place, shares in zip(places, part.softmax(-1), strict=True):
                row = self._rows[place]
                if not row.done:
                    chosen[place] = shares.multinomial(1, generator=row.generator)[0]
        likely = alone.gather(1, chosen[:, None])[:, 0].tolist()
        for row, logarithm in zip(self._rows, likely, strict=True):
            row.log_probability += 0.0 if row.done else logarithm
        return scores.new_full(scores.shape, float('-inf')).scatter_(1, chosen[:, None], 0.0)

    def watch(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
        """As a stopping criterion: which rows end here."""
        if not self._over:
            self._steps += 1
            for row, token in zip(self._rows, input_ids[:, -1].tolist(), strict=True):
                if not row.done:
                    row.take(token, ends=token in self._ends)
            active = sum(not row.done for row in self._rows)
            self._over = not active or self._interrupted(active, self._steps)
        ended = [self._over or row.done for row in self._rows]
        return input_ids.new_tensor(ended).bool()

    @staticmethod
    def _process(row: BatchRow, ids: torch.Tensor, scores: torch.Tensor) -> None:
        """Applies the processors of one row in place; an error of theirs ends this row alone."""
        own = ids[:, ids.shape[1] - len(row.prompt) - len(row.ids) :]
        kept = scores.clone()
        try:
            for processor in row.processors:
                kept = processor(own, kept)
        except Exception as error:  # its caller is to hear of it, whatever it is
            row.finish(error)
        else:
            scores.copy_(kept)
