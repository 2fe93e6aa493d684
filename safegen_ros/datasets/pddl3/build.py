# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Builds a dataset: blocks on all cores, then the files; a build that was stopped goes on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from itertools import count
from pathlib import Path

from safegen_ros.datasets.builder import (
    RECIPE,
    BlockStore,
    Notify,
    build_once,
    finish,
    in_order,
    locked,
    open_folder,
)
from safegen_ros.datasets.files import (
    MANIFEST,
    STATISTICS,
    DatasetError,
    LinesFile,
    folder_digest,
    writing,
)
from safegen_ros.datasets.pddl3.candidates import renamed_row
from safegen_ros.datasets.pddl3.card import CARD, card_text
from safegen_ros.datasets.pddl3.recipe import Recipe, load_recipe
from safegen_ros.datasets.pddl3.rows import PAIRS, SPLITS, Row, pair_files, pair_line
from safegen_ros.datasets.pddl3.statistics import Statistics, examined
from safegen_ros.datasets.pddl3.walk import Walk, block_store, compute_block, walked, wanted_block
from safegen_ros.datasets.workers import Workers
from safegen_ros.tasks.pddl3.domains.check import bucket, thresholds
from safegen_ros.verify.val import validate_binary

_GUESS = 3.0  # candidates for every row, of which shards make so many unless told otherwise


def build(folder: Path, recipe: Recipe, workers: Workers, notify: Notify) -> bool:
    """Builds a dataset, or what is missing of it.

    Args:
        folder: where; what an earlier build of the same recipe has left there is used.

    Returns:
        Whether there was anything to do.

    Raises:
        DatasetError: the folder is another dataset's or in use, a quota cannot be filled, or a
            file cannot be written.
    """
    if recipe.val:
        validate_binary()

    def make() -> None:
        assemble(folder, recipe, _walks(folder, recipe, workers, notify), workers, notify)

    return build_once(folder, recipe, load_recipe, make)


def _walks(folder: Path, recipe: Recipe, workers: Workers, notify: Notify) -> dict[str, Walk]:
    """Makes blocks until every split of every domain is full."""
    store = block_store(folder, recipe)
    walks = {domain: Walk(recipe, domain) for domain in recipe.domains}
    total = sum(sum(walk.missing.values()) for walk in walks.values())
    for domain, walk in walks.items():
        wanted = (wanted_block(recipe, domain, index) for index in count())
        with closing(store.made(workers, compute_block, wanted)) as blocks:
            while not walk.full:
                if walk.seen >= recipe.domains[domain].most_candidates:
                    raise walk.exhausted()
                walk.take_block(next(blocks))
                done = sum(sum(each.counts.values()) for each in walks.values())
                notify('problems', done, total)
    return walks


def planned_blocks(recipe: Recipe, domain: str) -> int:
    """How many blocks of a domain should be enough for its quotas."""
    rows = sum(recipe.domains[domain].quotas.values())
    return -(-int(_GUESS * rows) // recipe.block_size) + 1


def build_shard(
    folder: Path,
    recipe: Recipe,
    workers: Workers,
    notify: Notify,
    *,
    index: int,
    of: int,
    blocks: int | None = None,
) -> int:
    """Makes every `of`-th block, those that are there already excepted.

    Args:
        folder: where; shards may share it, or theirs are put together later.
        index: of the shard, from 0.
        blocks: of each domain, in all shards together; by default what should be enough.

    Returns:
        How many blocks were made.

    Raises:
        DatasetError: as `build`.
    """
    if recipe.val:
        validate_binary()
    open_folder(folder, recipe, load_recipe)
    store = block_store(folder, recipe)
    every = [
        wanted_block(recipe, domain, number)
        for domain in recipe.domains
        for number in range(blocks or planned_blocks(recipe, domain))
    ]
    todo = [b for b in every[index::of] if store.read(b.group, b.index) is None]
    for made, _ in enumerate(store.made(workers, compute_block, todo), 1):
        notify('blocks', made, len(todo))
    return len(todo)


def merge(folder: Path, workers: Workers, notify: Notify) -> None:
    """Makes a dataset of blocks that shards have made; they are kept.

    Raises:
        DatasetError: blocks are missing; the message says which, or how many more it takes.
    """
    recipe = load_recipe(folder / RECIPE)
    with locked(folder):
        store = block_store(folder, recipe)
        walks = {}
        for domain in recipe.domains:
            walks[domain] = _whole_walk(store, recipe, domain)
            notify('problems', len(walks), len(recipe.domains))
        assemble(folder, recipe, walks, workers, notify)


def _whole_walk(store: BlockStore, recipe: Recipe, domain: str) -> Walk:
    walk = Walk(recipe, domain)
    there = sorted(int(path.stem) for path in (store.folder / domain).glob('[0-9]*.jsonl'))
    last = there[-1] if there else -1
    for index in range(last + 1):
        if walk.full:
            break
        lines = store.read(domain, index)
        if lines is None:
            missing = [n for n in range(index, last + 1) if store.read(domain, n) is None]
            few = ' '.join(map(str, missing[:20]))
            raise DatasetError(
                f'{store.folder / domain}: {len(missing)} blocks are missing or damaged ({few}): '
                'run the shards that make them, or safegen data build on this folder'
            )
        walk.take_block(lines)
    if walk.full:
        return walk
    if walk.seen >= recipe.domains[domain].most_candidates:
        raise walk.exhausted()
    lacking = ', '.join(f'{count} rows of {split}' for split, count in walk.missing.items())
    raise DatasetError(
        f'{store.folder / domain}: {last + 1} blocks are not enough, {lacking} are missing: run '
        f'the shards with --blocks {_enough(walk, recipe, last + 1)}, or safegen data build on '
        'this folder'
    )


def _enough(walk: Walk, recipe: Recipe, blocks: int) -> int:
    """How many blocks should be enough, judged by the yield of those that are there."""
    quotas = recipe.domains[walk.domain].quotas
    share = min((1 - lacking / quotas[split] for split, lacking in walk.missing.items()))
    guess = blocks / share if share > 0 and blocks else 2 * planned_blocks(recipe, walk.domain)
    return max(int(1.2 * guess), blocks + 1)


_SCRATCH = '.*.part'  # names of files that are not finished


def assemble(
    folder: Path, recipe: Recipe, walks: Mapping[str, Walk], workers: Workers, notify: Notify
) -> None:
    """Writes a dataset whose blocks are all there; the manifest comes last.

    Raises:
        DatasetError: a block is damaged, or a file cannot be written.
    """
    with writing(folder / MANIFEST):
        (folder / MANIFEST).unlink(missing_ok=True)
    statistics = Statistics()
    total = sum(map(recipe.total, SPLITS))
    with _Files(folder, recipe) as files:
        for domain, walk in walks.items():
            limits = thresholds(walk.scores)
            statistics.add_walk(walk, limits)
            rows = _rows(block_store(folder, recipe), recipe, domain, workers)
            for row, found in in_order(workers, examined, ((row,) for row in rows)):
                placed = replace(row, bucket=bucket(row.difficulty, limits))
                statistics.add(placed, found)
                files.add(placed)
                if files.rows % 100 == 0:
                    notify('writing', files.rows, total)
        digests = files.finish()
    texts = {STATISTICS: statistics.to_json(), CARD: card_text(recipe, statistics.values())}
    finish(folder, recipe, digests, texts, files.folders)


def _rows(store: BlockStore, recipe: Recipe, domain: str, workers: Workers) -> Iterator[Row]:
    """Every row of a domain, those of `test_renamed` last and in the order of `train`."""
    quotas = recipe.domains[domain].quotas
    chosen: list[Row] = []
    trained = 0
    for row in walked(store, recipe, domain):
        if row.split == 'train':
            trained += 1
            # Evenly spread over the training rows.
            if len(chosen) < trained * quotas['test_renamed'] // quotas['train']:
                chosen.append(row)
        yield row
    yield from in_order(workers, renamed_row, ((row, recipe) for row in chosen))


class _Files:
    """All files of rows, pairs and PDDL of a dataset; unfinished ones are removed.

    Attributes:
        folders: SHA-256 of every folder of PDDL files, once finished.
    """

    def __init__(self, folder: Path, recipe: Recipe) -> None:
        self.rows = 0
        self.folders: dict[str, str] = {}
        self._folder = folder
        self._open: dict[str, LinesFile] = {}
        self._pddl: dict[str, dict[str, str]] = {}
        for stale in (*folder.glob(_SCRATCH), *(folder / PAIRS).rglob(_SCRATCH)):
            stale.unlink(missing_ok=True)  # of a build that was killed
        for split in SPLITS:
            if split in recipe.pddl_files and recipe.total(split):
                self._pddl[split] = {}
                with writing(folder / split):
                    shutil.rmtree(folder / split, ignore_errors=True)
                    (folder / split).mkdir(parents=True)

    def __enter__(self) -> _Files:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._open.values():
            file.abandon()

    def add(self, row: Row) -> None:
        """Writes a row into all files that have it."""
        self.rows += 1
        self._line(f'{row.split}.jsonl', row.to_line())
        for form, name in pair_files(row.split).items():
            self._line(name, pair_line(row, form))
        if row.split in self._pddl:
            for suffix, text in pddl_files(row).items():
                self._write(row.split, row.id + suffix, text.encode())

    def finish(self) -> dict[str, str]:
        """Gives all files their names; returns SHA-256 by path."""
        digests = {name: self._open[name].finish() for name in sorted(self._open)}
        self.folders = {name: folder_digest(files) for name, files in self._pddl.items()}
        if self._pddl:
            os.sync()  # once, instead of once for each of thousands of files
        return digests

    def _line(self, name: str, line: str) -> None:
        if name not in self._open:
            self._open[name] = LinesFile(self._folder / name)
        self._open[name].add(line.encode())

    def _write(self, split: str, name: str, data: bytes) -> None:
        path = self._folder / split / name
        with writing(path):
            path.write_bytes(data)
        self._pddl[split][name] = sha256(data).hexdigest()


def pddl_files(row: Row) -> dict[str, str]:
    """The texts of the PDDL files of a row, by suffix."""
    return {'.pddl': row.problem, '.plan': f'{row.plan}\n'}
