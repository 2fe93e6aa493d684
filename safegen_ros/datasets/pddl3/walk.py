# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which candidates become rows, and of which split: decided in the order of their numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from safegen_ros.datasets.failures import DatasetError
from safegen_ros.datasets.pddl3.blocks import BlockStore
from safegen_ros.datasets.pddl3.candidates import Refusal
from safegen_ros.datasets.pddl3.recipe import Recipe
from safegen_ros.datasets.pddl3.rows import Row, Split, is_test_class

_WALKED: tuple[Split, ...] = ('train', 'test', 'test_family')  # test_renamed is made of train


class Walk:
    """Fills the splits of one domain.

    Attributes:
        seen: how many candidates were looked at.
        refused: why some of them became no row.
        duplicates: how many equal an earlier row up to renaming.
        counts: rows of each split.
        scores: difficulty of the training rows.

    Args:
        recipe: the recipe.
        domain: name of the domain.
    """

    def __init__(self, recipe: Recipe, domain: str) -> None:
        self.domain = domain
        self.seen = 0
        self.refused: Counter[Refusal] = Counter()
        self.duplicates = 0
        self.counts: Counter[Split] = Counter()
        self.scores: list[float] = []
        self._wanted = recipe.domains[domain]
        self._keys: set[bytes] = set()
        self._held_out: Counter[str] = Counter()

    @property
    def missing(self) -> dict[Split, int]:
        """How many rows each split still lacks; nothing for those that are full."""
        lacking = {s: self._wanted.quotas[s] - self.counts[s] for s in _WALKED}
        return {split: count for split, count in lacking.items() if count}

    @property
    def full(self) -> bool:
        """Whether every split has all of its rows."""
        return not self.missing

    def take(self, made: Row | Refusal) -> Row | None:
        """The next candidate as a row of its split, if it becomes one."""
        self.seen += 1
        if not isinstance(made, Row):
            self.refused[made] += 1
            return None
        split: Split = 'test' if is_test_class(made.key) else 'train'
        if made.family in self._wanted.held_out:
            split = 'test_family'
        key = bytes.fromhex(made.key)
        if key in self._keys:
            self.duplicates += 1
            return None
        if self.counts[split] == self._wanted.quotas[split]:
            return None
        if split == 'test_family' and not self._has_its_turn(made.family):
            return None
        self._keys.add(key)
        self.counts[split] += 1
        if split == 'train':
            self.scores.append(made.difficulty)
        return replace(made, split=split)

    def _has_its_turn(self, family: str) -> bool:
        """Counts a row of a held-out family, unless the family has its share of them."""
        wanted = self._wanted
        most = -(-wanted.quotas['test_family'] // len(wanted.held_out))
        if self._held_out[family] == most:
            return False
        self._held_out[family] += 1
        return True

    def take_block(self, block: Iterator[Row | Refusal]) -> Iterator[Row]:
        """The rows that a block adds; what comes after the last one that is wanted is not seen."""
        for made in block:
            if self.full:
                return
            row = self.take(made)
            if row is not None:
                yield row

    def exhausted(self) -> DatasetError:
        """The error that says that there are not so many problems."""
        found = ', '.join(
            f'{self.counts[split]} of {self._wanted.quotas[split]} rows of {split}'
            for split in self.missing
        )
        return DatasetError(
            f'{self.domain}: {found} were found among {self.seen:,} candidates, of which '
            f'{self.duplicates:,} equal others up to renaming: lower the quotas, or widen the '
            'sizes or the families in the recipe'
        )


def walked(store: BlockStore, recipe: Recipe, domain: str) -> Iterator[Row]:
    """All rows of a domain but those of `test_renamed`, from blocks that are all there.

    Raises:
        DatasetError: a block is damaged or missing.
    """
    walk = Walk(recipe, domain)
    index = 0
    while not walk.full:
        yield from walk.take_block(store.read(domain, index))
        index += 1
