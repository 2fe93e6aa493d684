# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rows of a batch that belong to different callers, each drawn as if it were alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from safegen_ros.llm.backend import Sampling

if TYPE_CHECKING:
    import torch

Processor = Callable[['torch.Tensor', 'torch.Tensor'], 'torch.Tensor']
"""A logits processor of `transformers`: tokens so far and scores to scores, a row for each."""


@dataclass(slots=True, eq=False)
class Row:
    """One answer that is being written.

    Attributes:
        prompt: the tokens before it.
        sampling: how it is drawn.
        limit: most tokens that it may have.
        told: called with each token, and with None or an error at the end; not in the thread of
            the caller.
        generator: its own random numbers, which go on where they were after an interruption.
        processors: what else decides on its tokens; they see the row without its padding.
        ids: the tokens that are written.
        done: whether nothing more is written, because it ended or nobody waits for it.
    """

    prompt: Sequence[int]
    sampling: Sampling
    limit: int
    told: Callable[[int | Exception | None], None]
    generator: torch.Generator
    processors: Sequence[Processor] = ()
    ids: list[int] = field(default_factory=list)
    done: bool = False

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
    row gets depends on the rows beside it. Here every row has a temperature, top-p and random
    numbers of its own, and draws from them what `generate` would draw for it alone: on equal
    scores `torch.multinomial` gives the same tokens for the same seed.

    Args:
        rows: in the order of the batch.
        ends: the tokens that end an answer.
        interrupted: asked after every token with the number of rows that are not done and of
            tokens that were written; true ends the call, and the rows are to go on in another one.
    """

    def __init__(
        self, rows: Sequence[Row], ends: Collection[int], interrupted: Callable[[int, int], bool]
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
    def _process(row: Row, ids: torch.Tensor, scores: torch.Tensor) -> None:
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
