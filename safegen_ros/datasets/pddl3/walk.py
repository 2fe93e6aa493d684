# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Blocks of candidates, and which of them become rows, decided in the order of their numbers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path

from safegen_ros.datasets.builder import BlockStore, WantedBlock
from safegen_ros.datasets.files import DatasetError, tree_digest
from safegen_ros.datasets.pddl3.candidates import REFUSALS, Refusal, candidate
from safegen_ros.datasets.pddl3.recipe import Recipe
from safegen_ros.datasets.pddl3.rows import Row, Split, is_test_class, row_of
from safegen_ros.tasks.pddl3.domains.folders import domain_folders

_WALKED: tuple[Split, ...] = ('train', 'test', 'test_family')  # test_renamed is made of train


class Walk:
    """Fills the splits of one domain.

    Attributes:
        refused: why some of them became no row.
        duplicates: how many equal an earlier row up to renaming.
        counts: rows of each split.
        scores: difficulty of the training rows.
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

    def take_block(self, lines: bytes) -> list[Row]:
        """The rows that a block adds; what comes after the last one that is wanted is not seen."""
        found = []
        for line in lines.decode().splitlines():
            if self.full:
                break
            made = json.loads(line)
            row = self.take(made if made in REFUSALS else row_of(made, f'a block of {self.domain}'))
            if row is not None:
                found.append(row)
        return found

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
        DatasetError: a block is missing.
    """
    walk = Walk(recipe, domain)
    for index in count():
        if walk.full:
            return
        yield from walk.take_block(store.whole(domain, index))


def block_store(folder: Path, recipe: Recipe) -> BlockStore:
    """The blocks of candidates, which recipes that choose otherwise among them may share."""
    return BlockStore(folder, lambda d: f'{recipe.candidates_digest(d)} {domain_digest(d)}')


@cache
def domain_digest(domain: str) -> str:
    """SHA-256 of the folder of a domain as it was when this process first asked."""
    return tree_digest(domain_folders()[domain])


def wanted_block(recipe: Recipe, domain: str, index: int) -> WantedBlock:
    """A block, and what `compute_block` makes it from."""
    return WantedBlock(domain, index, (recipe, domain, index))


def compute_block(recipe: Recipe, domain: str, index: int) -> bytes:
    """A line for each candidate of a block, which follow from their numbers alone.

    Raises:
        DatasetError: a candidate is not what it must be.
    """
    lines = []
    for number in range(index * recipe.block_size, (index + 1) * recipe.block_size):
        made = candidate(recipe, domain, number)
        lines.append(made.to_line() if isinstance(made, Row) else f'{json.dumps(made)}\n')
    return ''.join(lines).encode()
