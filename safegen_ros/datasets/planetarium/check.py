# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Checks a dataset of descriptions from its files."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from safegen_ros.datasets.builder import RECIPE, Notify, in_order
from safegen_ros.datasets.failures import DatasetError
from safegen_ros.datasets.manifest import check_files
from safegen_ros.datasets.planetarium.build import check_pairs
from safegen_ros.datasets.planetarium.layouts import tasks_of
from safegen_ros.datasets.planetarium.pairs import (
    ABSTRACTIONS,
    Pair,
    kits,
    read_pairs,
    size_bin,
)
from safegen_ros.datasets.planetarium.recipe import SPLITS, Recipe, load_recipe
from safegen_ros.datasets.workers import Workers


def check(folder: Path, workers: Workers, notify: Notify) -> int:
    """Checks that files are whole and every row is what it promises; returns how many rows.

    Args:
        folder: of the dataset.
        workers: who checks rows.
        notify: told how many rows are done.

    Raises:
        DatasetError: the first thing that is wrong.
    """
    recipe = load_recipe(folder / RECIPE)
    check_files(folder, recipe.digest)
    done, total = 0, sum(map(recipe.total, SPLITS))
    for count in in_order(workers, check_pairs, ((each,) for each in _problems(folder, recipe))):
        done += count
        if done % 100 < count:
            notify('rows', done, total)
    return done


def _problems(folder: Path, recipe: Recipe) -> Iterator[list[Pair]]:
    """The rows of one problem after the other."""
    tasks = {
        (domain, task.start, task.goal): task
        for domain in kits()
        for task in tasks_of(kits()[domain])
    }
    ids: set[str] = set()
    for split in SPLITS:
        counted = dict.fromkeys(recipe.pairs, 0)
        for _, rows in groupby(read_pairs(folder / f'{split}.jsonl'), lambda row: row.problem):
            found = list(rows)
            for row in found:
                task = tasks.get((row.domain, row.start, row.goal))
                place = ABSTRACTIONS.index(row.abstraction)
                if (
                    task is None
                    or (bool(place // 2), bool(place % 2)) not in task.abstractions
                    or (row.split, row.placeholder) != (split, task.placeholders and place > 0)
                    or task.split != split
                    or row.size != size_bin(row.propositions)
                    or row.id in ids
                ):
                    raise DatasetError(f'{row.id}: is not what its fields say: build it again')
                ids.add(row.id)
                counted[row.domain] += 1
            yield found
        if any(recipe.pairs[domain][split] != count for domain, count in counted.items()):
            raise DatasetError(f'{folder / split}.jsonl: has {counted} rows: build it again')
