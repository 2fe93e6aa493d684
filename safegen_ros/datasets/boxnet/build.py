# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The dataset of BoxNet2D: a block is all tasks of a split with one size and number of objects."""

from __future__ import annotations

from pathlib import Path

from safegen_ros.datasets.boxnet.recipe import Block, BoxnetRecipe, blocks, load_recipe
from safegen_ros.datasets.boxnet.rows import check_row, make_rows, read_rows
from safegen_ros.datasets.builder import RECIPE, Builder, Notify, in_order
from safegen_ros.datasets.failures import DatasetError
from safegen_ros.datasets.manifest import check_files
from safegen_ros.datasets.workers import Workers
from safegen_ros.tasks import boxnet


def compute_block(block: Block, seed: int) -> bytes:
    """The lines of a block, each checked.

    Raises:
        DatasetError: a row is not what it must be.
    """
    lines = []
    for row in make_rows(block, seed):
        check_row(row, block)
        lines.append(row.to_line())
    return ''.join(lines).encode()


def _blocks(recipe: BoxnetRecipe) -> dict[str, list[tuple[Block, int]]]:
    return {split.name: [(b, recipe.seed) for b in blocks(split)] for split in recipe.splits}


build = Builder(
    load_recipe, _blocks, compute_block, (Path(__file__).parent, Path(boxnet.__file__).parent)
).build
"""Builds a dataset of BoxNet2D, or what is missing of it."""


def check(folder: Path, workers: Workers, notify: Notify) -> int:
    """Checks that files are whole and every row is what it promises; returns how many rows.

    Raises:
        DatasetError: the first thing that is wrong.
    """
    recipe = load_recipe(folder / RECIPE)
    check_files(folder, recipe.digest)
    given = ((folder / f'{split.name}.jsonl', list(blocks(split))) for split in recipe.splits)
    total = 0
    for done, count in enumerate(in_order(workers, _check_split, given), 1):
        total += count
        notify('splits', done, len(recipe.splits))
    return total


def _check_split(path: Path, parts: list[Block]) -> int:
    by_kind = {(part.size, part.objects): part for part in parts}
    seen = set[str]()
    counted = dict.fromkeys(by_kind, 0)
    for row in read_rows(path):
        kind = (row.task.width, row.task.height), len(row.task.targets)
        if kind not in by_kind or row.split != path.stem or row.task.id in seen:
            raise DatasetError(f'{path}: {row.task.id}: does not belong here: build it again')
        check_row(row, by_kind[kind])
        seen.add(row.task.id)
        counted[kind] += 1
        if counted[kind] > by_kind[kind].rows:
            raise DatasetError(f'{path}: {row.task.id}: is one too many: build it again')
    return len(seen)
