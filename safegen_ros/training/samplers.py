# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""In which order examples are taken: domains in balance, neighbours of like length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from torch.utils.data import Sampler

_GROUP = 32  # batches that are sorted by length together


class BalancedSampler(Sampler[int]):
    """Goes through the examples so that batches hold all domains alike and little padding.

    Of each domain as many examples are taken as of the smallest one would be if all were taken
    equally often: small domains are gone through more often. The order is a function of the seed
    and the epoch.

    Args:
        domains: the domain of every item.
        lengths: the length of every item [tokens].
        weights: how often each item is taken, compared with others of its domain.
        batch: items in a batch.
        seed: of the order.
        balanced: whether domains are balanced; otherwise all items are taken by weight alone.
    """

    def __init__(
        self,
        domains: Sequence[str],
        lengths: Sequence[int],
        weights: Sequence[float],
        batch: int,
        seed: int,
        *,
        balanced: bool = True,
    ) -> None:
        names = domains if balanced else [''] * len(domains)
        of = np.array(names)
        self._groups = [np.flatnonzero(of == name) for name in sorted(set(names))]
        self._lengths = np.array(lengths)
        self._weights = np.array(weights, dtype=float)
        self._batch = batch
        self._seed = seed
        self._epoch = 0
        self._each = len(domains) // len(self._groups)

    def __len__(self) -> int:
        return self._each * len(self._groups)

    def set_epoch(self, epoch: int) -> None:
        """Chooses the order; the trainer calls it before each pass."""
        self._epoch = epoch

    def __iter__(self) -> Iterator[int]:
        rng = np.random.default_rng([self._seed, self._epoch])
        drawn = np.concatenate([self._draw(rng, group) for group in self._groups])
        chunk = self._batch * _GROUP
        order = drawn.reshape(len(self._groups), -1).T.ravel()  # the domains take turns
        batches: list[list[int]] = []
        for start in range(0, len(order), chunk):
            part = order[start : start + chunk]
            part = part[np.argsort(self._lengths[part] + rng.random(len(part)))]
            batches += [
                part[i : i + self._batch].tolist() for i in range(0, len(part), self._batch)
            ]
        for number in rng.permutation(len(batches)):
            yield from batches[number]

    def _draw(self, rng: np.random.Generator, group: np.ndarray) -> np.ndarray:
        """As many items of a group as of any other, each as often as its weight asks for.

        That is once more or less at most: where the weights ask for 1.3 of an item, it is taken
        once or, three times in ten, twice.
        """
        group = rng.permutation(group)
        asked = np.cumsum(self._weights[group])
        marks = np.floor(asked * (self._each / asked[-1]) + rng.random())
        marks[-1] = self._each
        return rng.permutation(np.repeat(group, np.diff(marks, prepend=0).astype(int)))
