# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Serves one model in this process to many callers at once."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from safegen_ros.errors import BackendError, ErrorCode
from safegen_ros.llm.backend import CallClock, Sampling
from safegen_ros.llm.batch_worker import BatchRow, BatchWorker, Interrupted, RowBatch
from safegen_ros.llm.token_watch import TokenWatch
from safegen_ros.llm.transformers_backend import TransformersBackend
from safegen_ros.sync import POLL_S

BATCH = 16
"""Answers that are written together; each next one costs less than the one before."""

WAITING = 64
"""Calls that may wait beside those that are answered."""

_Told = tuple[int, int | Exception | None]


class BatchingBackend(TransformersBackend):
    """A `TransformersBackend` whose open calls share the model.

    A thread writes the answers of all callers together, in the order in which they came; who comes
    later joins those that are being written (`batch_worker.SLICE`). Each answer is drawn from its
    own seed. So it does not depend on its neighbours, as far as the arithmetic of the device gives
    a row the same scores in every batch. The i-th answer of a call takes the i-th seed. What a
    caller does, or fails at, ends no other answer. Plans kept to admissible steps are batched as
    well; a beam and an answer with a given beginning take the whole model, in their turn.

    Args:
        model_dir, device, four_bit: as of `TransformersBackend`.
        batch: most answers that are written together.
        waiting: calls that may be open beside as many as a batch holds; one more is refused with
            `QUEUE_FULL`.

    Raises:
        BackendError: as of `TransformersBackend`.
        ValueError: the batch has no room, or the number of calls that wait is negative.
    """

    def __init__(
        self,
        model_dir: str | Path,
        device: str = 'auto',
        four_bit: bool = False,
        *,
        batch: int = BATCH,
        waiting: int = WAITING,
    ) -> None:
        if batch < 1 or waiting < 0:
            raise ValueError(f'batch {batch}, waiting {waiting}: expected at least 1 and 0')
        super().__init__(model_dir, device, four_bit)
        self._most_open = batch + waiting
        self._open = 0
        self._counting = threading.Lock()
        name = str(self.model_dir)
        until_closed = CallClock(name, Sampling(), lambda: self._worker.closed)
        self._worker = BatchWorker(lambda: self.turn(until_closed), self._write, batch, name)

    @property
    def open_calls(self) -> int:
        """How many calls are answered or wait."""
        return self._open

    def close(self) -> None:
        """Ends every call that shares the model with a `BackendError`, and lets go of the weights.

        No beam and no answer with a given beginning may be open.
        """
        self._worker.close()
        super().close()

    def _rows(
        self,
        prompts: Sequence[Sequence[int]],
        sampling: Sampling,
        clock: CallClock,
        watch: TokenWatch,
        more: dict[str, Any],
    ) -> Generator[tuple[int, list[int], float], None, None]:
        if more.keys() - {'logits_processor'}:  # a setting for the whole of `generate`
            yield from super()._rows(prompts, sampling, clock, watch, more)
            return
        told: SimpleQueue[_Told] = SimpleQueue()
        rows = [
            self._row(prompt, replace(sampling, seed=sampling.seed + place), place, told, more)
            for place, prompt in enumerate(prompts)
        ]
        left = set(range(len(rows)))
        with self._admitted(rows):
            try:
                while left:
                    try:
                        place, token = told.get(timeout=POLL_S)
                    except Empty:
                        clock.check()
                        continue
                    clock.check()
                    if place not in left:
                        continue
                    if isinstance(token, Exception):
                        raise token
                    if token is not None:
                        watch.feed(place, token)
                    if token is None or watch.stopped(place):
                        left.discard(place)
                        self._worker.withdraw([rows[place]])
                        yield place, rows[place].ids, rows[place].probability
            finally:
                self._worker.withdraw(rows)

    def _row(
        self,
        prompt: Sequence[int],
        sampling: Sampling,
        place: int,
        told: SimpleQueue[_Told],
        more: dict[str, Any],
    ) -> BatchRow:
        return BatchRow(
            prompt,
            sampling,
            limit=min(sampling.max_new_tokens, self._room(len(prompt))),
            told=lambda token: told.put((place, token)),
            generator=self._torch.Generator(self.device).manual_seed(sampling.seed),
            processors=more.get('logits_processor', ()),
        )

    @contextmanager
    def _admitted(self, rows: Sequence[BatchRow]) -> Iterator[None]:
        """Puts rows in line, and counts the call as open once they are there.

        Raises:
            BackendError: it is one call too many, or the worker is closed.
        """
        with self._counting:
            if self._open >= self._most_open:
                raise BackendError(
                    f'{self.model_dir}: {self._open} calls are open, which is the limit: ask again '
                    'later',
                    ErrorCode.QUEUE_FULL,
                )
            self._worker.submit(rows)
            self._open += 1
        try:
            yield
        finally:
            with self._counting:
                self._open -= 1

    def _write(self, rows: Sequence[BatchRow], interrupted: Interrupted) -> None:
        """Writes behind all rows at once; see `BatchWorker`."""
        ids, mask = self._padded([[*row.prompt, *row.ids] for row in rows])
        # No row may get beyond the context, that of one that ended beside the others included.
        most = min(max(row.limit - len(row.ids) for row in rows), self.context - ids.shape[1])
        batch = RowBatch(rows, self.ends, interrupted)
        greedy = Sampling(temperature=0.0, max_new_tokens=most)
        with self._torch.inference_mode():
            self.model.generate(
                input_ids=ids,
                attention_mask=mask,
                logits_processor=[batch.sample],
                stopping_criteria=[batch.watch],
                **self._settings(greedy, most),
            )
