# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tasks as token ids, with the labels of the plan and of the auxiliary state heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from safegen_ros.llm.canonical import attempt_words
from safegen_ros.llm.vocabulary import (
    ACTIONS,
    BLOCK_WORDS,
    BOS,
    EOS,
    MAX_BLOCKS,
    PAD,
    PLAN,
    VERDICT_WORD,
    WORD_ID,
)
from safegen_ros.worlds.pddl3.domains.blocksworld.attempts import Action
from safegen_ros.worlds.pddl3.domains.blocksworld.generator import Sample, samples

IGNORE = -100
SUPPORTS = MAX_BLOCKS + 2
MAX_LEFT = 40
MONITORS = 4
MONITOR_STATES = 3
STATE_COLUMNS = MAX_BLOCKS + 1 + MONITORS

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Encoded:
    """One training sequence.

    Attributes:
        ids: shape (L,), from `[bos]` to `[eos]`.
        plan_start: position of `[plan]`; the tokens after it are learned.
        states: shape (L - 1, STATE_COLUMNS); for the position before each plan token the support
            of every block, the number of steps left and the states of the first constraints.
    """

    ids: Ids
    plan_start: int
    states: Ids


def plan_words(actions: Sequence[Action], rank: Sequence[int]) -> list[str]:
    """A plan in canonical words, e.g. `unstack b5 b4 stack b5 b3`."""
    words = []
    for name, *blocks in actions:
        words += [str(name), *(BLOCK_WORDS[rank[int(block)]] for block in blocks)]
    return words


def encode(sample: Sample) -> Encoded:
    """The training sequence of one solved task."""
    rank = sample.text.rank
    words = [BOS, *sample.text.words]
    if sample.attempt:
        failed = plan_words(sample.attempt.actions, rank)
        verdict = VERDICT_WORD[sample.attempt.category]
        words += attempt_words(failed, verdict, sample.attempt.failing_step)
    words.append(PLAN)
    plan_start = len(words) - 1
    plan = plan_words(sample.plan, rank)
    words += [*plan, EOS]
    ids = np.array([WORD_ID[word] for word in words], dtype=np.int64)
    steps = np.cumsum([word in ACTIONS for word in plan]) - 1
    steps = np.append(steps, len(sample.plan))
    states = np.full((len(ids) - 1, STATE_COLUMNS), IGNORE, dtype=np.int64)
    states[plan_start:] = _state_rows(sample)[steps]
    return Encoded(ids, plan_start, states)


def _state_rows(sample: Sample) -> Ids:
    """What the heads predict before each step and after the last, shape (T + 1, columns)."""
    size, length = sample.sketch.size, len(sample.plan)
    rows = np.full((length + 1, STATE_COLUMNS), IGNORE, dtype=np.int64)
    support = sample.support
    # The table and the gripper have fixed classes, whatever the number of blocks is.
    rows[:, :size] = np.where(support >= size, support - size + MAX_BLOCKS, support)
    rows[:, MAX_BLOCKS] = np.minimum(np.arange(length, -1, -1), MAX_LEFT - 1)
    order = sample.text.constraint_order
    moving = [i for i in order if sample.sketch.constraints[i][0] != 'always'][:MONITORS]
    rows[:, MAX_BLOCKS + 1 : MAX_BLOCKS + 1 + len(moving)] = sample.monitors[:, moving]
    return rows


@dataclass(frozen=True, slots=True)
class Batch:
    """Right-padded sequences; causal attention makes a mask unnecessary.

    Attributes:
        ids: shape (B, L).
        labels: shape (B, L), the next token where it belongs to the plan, else `IGNORE`.
        states: shape (B, L, STATE_COLUMNS).
    """

    ids: Ids
    labels: Ids
    states: Ids


def collate(items: Sequence[Encoded]) -> Batch:
    """Pads sequences to one batch."""
    length = max(len(item.ids) for item in items) - 1
    ids = np.full((len(items), length), WORD_ID[PAD], dtype=np.int64)
    labels = np.full_like(ids, IGNORE)
    states = np.full((len(items), length, STATE_COLUMNS), IGNORE, dtype=np.int64)
    for row, item in enumerate(items):
        end = len(item.ids) - 1
        ids[row, :end] = item.ids[:-1]
        labels[row, item.plan_start : end] = item.ids[item.plan_start + 1 :]
        states[row, :end] = item.states
    return Batch(ids, labels, states)


class BatchSource:
    """Batch number i of a training run: a function of the seed and i only.

    Args:
        seed: seed of the run.
        chunk: tasks per chunk.
        batch: sequences per batch.
        repair_share: see `samples`.
    """

    def __init__(self, seed: int, chunk: int, batch: int, repair_share: float) -> None:
        self.seed = seed
        self.chunk = chunk
        self.batch = batch
        self.repair_share = repair_share
        self._number = -1
        self._batches: list[list[Encoded]] = []

    def __getitem__(self, step: int) -> Batch:
        number, place = divmod(step, self.chunk // self.batch)
        if number != self._number:
            self._batches = self._draw(number)
            self._number = number
        return collate(self._batches[place])

    def _draw(self, number: int) -> list[list[Encoded]]:
        stream = samples([self.seed, number], repair_share=self.repair_share)
        encoded = [encode(sample) for sample in islice(stream, self.chunk)]
        # Neighbours in the stream share goal and constraints: shuffle, then sort by length, so
        # that batches carry little padding.
        rng = np.random.default_rng([self.seed, number, 1])
        shuffled = [encoded[i] for i in rng.permutation(len(encoded))]
        shuffled.sort(key=lambda item: len(item.ids))
        batches = [shuffled[i : i + self.batch] for i in range(0, self.chunk, self.batch)]
        return [batches[i] for i in rng.permutation(len(batches))]
