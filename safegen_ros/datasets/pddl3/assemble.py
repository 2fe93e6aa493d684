# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Writes the files of a dataset from its blocks, one row after the other."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from safegen_ros.datasets.builder import BlockStore, Notify, finish, in_order
from safegen_ros.datasets.files import LinesFile, folder_digest, writing
from safegen_ros.datasets.manifest import MANIFEST, STATISTICS
from safegen_ros.datasets.pddl3.candidates import renamed_row
from safegen_ros.datasets.pddl3.card import CARD, card_text
from safegen_ros.datasets.pddl3.recipe import Recipe
from safegen_ros.datasets.pddl3.rows import PAIRS, SPLITS, Row, pair_files, pair_line
from safegen_ros.datasets.pddl3.statistics import Statistics, examined
from safegen_ros.datasets.pddl3.walk import Walk, block_store, walked
from safegen_ros.datasets.workers import Workers
from safegen_ros.tasks.pddl3.domains.check import bucket, thresholds

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
