# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""In which order examples are taken: domains in their shares, neighbours of like length."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from torch.utils.data import Sampler

_GROUP = 32  # batches that are sorted by length together


class BalancedSampler(Sampler[int]):
    """Goes through the examples so that batches hold all domains and little padding.

    An epoch has as many examples as there are, in the shares of their domains: examples of a
    domain with few of them are taken more often. The order is a function of the seed and the
    epoch.

    Args:
        domains: the domain of every item.
        lengths: the length of every item [tokens].
        weights: how often each item is taken, compared with others of its domain.
        batch: items in a batch.
        seed: of the order.
        shares: how often each domain is taken, compared with the others; 1 where it is not named.
    """

    def __init__(
        self,
        domains: Sequence[str],
        lengths: Sequence[int],
        weights: Sequence[float],
        batch: int,
        seed: int,
        shares: Mapping[str, float] | None = None,
    ) -> None:
        names = sorted(set(domains))
        of = np.array(domains)
        self._groups = [np.flatnonzero(of == name) for name in names]
        asked = np.array([(shares or {}).get(name, 1.0) for name in names])
        self._counts = np.floor(len(domains) * asked / asked.sum() + 1e-9).astype(int)
        self._lengths = np.array(lengths)
        self._weights = np.array(weights, dtype=float)
        self._batch = batch
        self._seed = seed
        self._epoch = 0

    def __len__(self) -> int:
        return int(self._counts.sum())

    def set_epoch(self, epoch: int) -> None:
        """Chooses the order; the trainer calls it before each pass."""
        self._epoch = epoch

    def __iter__(self) -> Iterator[int]:
        rng = np.random.default_rng([self._seed, self._epoch])
        drawn = [self._draw(rng, *each) for each in zip(self._groups, self._counts, strict=True)]
        chunk = self._batch * _GROUP
        places = [(np.arange(count) + 0.5) / max(count, 1) for count in self._counts]
        # The domains take turns, each as often as its share asks for.
        order = np.concatenate(drawn)[np.argsort(np.concatenate(places), kind='stable')]
        batches: list[list[int]] = []
        for start in range(0, len(order), chunk):
            part = order[start : start + chunk]
            part = part[np.argsort(self._lengths[part] + rng.random(len(part)))]
            batches += [
                part[i : i + self._batch].tolist() for i in range(0, len(part), self._batch)
            ]
        for number in rng.permutation(len(batches)):
            yield from batches[number]

    def _draw(self, rng: np.random.Generator, group: np.ndarray, count: int) -> np.ndarray:
        """So many items of a group, each as often as its weight asks for.

        That is once more or less at most: where the weights ask for 1.3 of an item, it is taken
        once or, three times in ten, twice.
        """
        group = rng.permutation(group)
        asked = np.cumsum(self._weights[group])
        marks = np.floor(asked * (count / asked[-1]) + rng.random())
        marks[-1] = count
        return rng.permutation(np.repeat(group, np.diff(marks, prepend=0).astype(int)))
