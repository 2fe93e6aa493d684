# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""In which order examples are taken: domains in their shares, neighbours of like length."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from torch.utils.data import Sampler

_GROUP = 32  # batches that are sorted by length together


class BalancedSampler(Sampler[int]):
    """Goes through the examples so that batches hold all domains and little padding.

    An epoch has as many examples as there are, in the shares of their domains: examples of a
    domain with few of them are taken more often. Seed and epoch decide the order.

    Args:
        domains: the domain of every item.
        lengths: the length of every item [tokens].
        weights: how often each item is taken, compared with others of its domain.
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


BUCKETS = ('easy', 'medium', 'hard')

Phase = tuple[float, float, float, float]
"""The share of training at which it ends; then the shares of easy, medium and hard prompts."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How the trainer reads prompts.

    Attributes:
        prompts: different prompts of a batch of completions.
        generations: completions of each prompt, one after the other.
        repeats: how often a batch is read; the trainer takes a slice of it each time.
        batches: batches of completions of the whole run.
    """

    prompts: int
    generations: int
    repeats: int
    batches: int


class CurriculumSampler(Sampler[int]):
    """The prompts of a run in order; those of a batch are a function of the seed and its number.

    The domains take turns, so that a batch holds all of them alike. Where their number does not
    divide that of the prompts, the next batch goes on with the next domain. A domain without a
    prompt in a bucket takes one of the buckets that it has.

    Args:
        domains: the domain of every prompt.
        buckets: its bucket.
        weights: how often it is taken, compared with others of its domain and bucket.
        phases: how the buckets are mixed.
        shape: how the trainer reads.
    """

    def __init__(
        self,
        domains: Sequence[str],
        buckets: Sequence[str],
        weights: Sequence[float],
        phases: Sequence[Phase],
        shape: Shape,
        seed: int,
    ) -> None:
        found: dict[tuple[str, str], list[int]] = defaultdict(list)
        for number, place in enumerate(zip(domains, buckets, strict=True)):
            found[place].append(number)
        self._groups = {place: np.array(numbers) for place, numbers in found.items()}
        self._domains = sorted(set(domains))
        self._weights = np.array(weights, dtype=float)
        self._phases = phases
        self._shape = shape
        self._seed = seed

    def __len__(self) -> int:
        shape = self._shape
        return shape.prompts * shape.generations * shape.repeats * shape.batches

    def __iter__(self) -> Iterator[int]:
        for batch in range(self._shape.batches):
            chosen = self.prompts(batch)
            for _ in range(self._shape.repeats):
                for number in chosen:
                    yield from [number] * self._shape.generations

    def prompts(self, batch: int) -> list[int]:
        """The different prompts of a batch, from 0."""
        rng = np.random.default_rng([self._seed, batch])
        shares = np.array(self._phase(batch)[1:])
        first = batch * self._shape.prompts
        found: list[int] = []
        for turn in range(first, first + self._shape.prompts):
            domain = self._domains[turn % len(self._domains)]
            own = [self._groups.get((domain, bucket)) for bucket in BUCKETS]
            there = np.where([group is not None for group in own], shares, 0.0)
            if there.sum() == 0:  # the phase wants no problem of this domain
                there = np.array([group is not None for group in own], dtype=float)
            group = own[rng.choice(len(BUCKETS), p=there / there.sum())]
            found.append(self._draw(rng, np.asarray(group), found))
        return found

    def _phase(self, batch: int) -> Phase:
        done = batch / self._shape.batches
        return next(phase for phase in self._phases if done < phase[0])

    def _draw(self, rng: np.random.Generator, group: np.ndarray, taken: Sequence[int]) -> int:
        """One of a group, which the batch does not hold yet, unless it holds them all."""
        fresh = group[~np.isin(group, taken)]
        choice = fresh if len(fresh) else group
        weights = self._weights[choice]
        return int(rng.choice(choice, p=weights / weights.sum()))
