# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Builds and checks a dataset of BoxNet2D; a build that was stopped goes on where it was.

A block is all tasks of a split with one size and one number of objects. It follows from the recipe
alone, so that its bytes are the same whenever and wherever it is made.
"""

from __future__ import annotations

import shutil
from hashlib import sha256
from pathlib import Path

from safegen_ros.datasets.boxnet.recipe import Block, Recipe, blocks, load_recipe
from safegen_ros.datasets.boxnet.rows import check_row, make_rows, read_rows
from safegen_ros.datasets.failures import DatasetError, RecipeError, writing
from safegen_ros.datasets.manifest import MANIFEST, Manifest, check_files, is_whole
from safegen_ros.datasets.pddl3.assemble import Notify, in_order
from safegen_ros.datasets.pddl3.blocks import WORK, tree_digest, write_atomically
from safegen_ros.datasets.pddl3.build import locked
from safegen_ros.datasets.workers import Workers

RECIPE = 'recipe.json'
"""Name of the file in the folder of a dataset."""


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


def build(folder: Path, recipe: Recipe, workers: Workers, notify: Notify) -> bool:
    """Builds a dataset, or what is missing of it.

    Args:
        folder: where; blocks that an earlier build of the same recipe has left there are used.
        recipe: of what.
        workers: who makes the blocks.
        notify: told how many blocks are done.

    Returns:
        Whether there was anything to do.

    Raises:
        DatasetError: the folder holds something else, a row is not what it must be, or a file
            cannot be written.
        RecipeError: the folder is that of another recipe.
    """
    _open(folder, recipe)
    if is_whole(folder):
        return False
    with locked(folder):
        _make(folder, recipe, workers, notify)
    shutil.rmtree(folder / WORK, ignore_errors=True)
    return True


def check(folder: Path, workers: Workers, notify: Notify) -> int:
    """Checks that files are whole and every row is what it promises; returns how many rows.

    Args:
        folder: of the dataset.
        workers: who checks rows.
        notify: told how many splits are done.

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


def _make(folder: Path, recipe: Recipe, workers: Workers, notify: Notify) -> None:
    """Makes the blocks that are missing, and the files of all; the manifest comes last."""
    program = tree_digest(Path(__file__).parents[1])
    places = {
        block: folder / WORK / split.name / f'{at:04d}.jsonl'
        for split in recipe.splits
        for at, block in enumerate(blocks(split))
    }
    missing = [block for block, path in places.items() if _lines(path, program) is None]
    done = len(places) - len(missing)
    made = in_order(workers, compute_block, ((block, recipe.seed) for block in missing))
    for block, lines in zip(missing, made, strict=True):
        with writing(folder):
            places[block].parent.mkdir(parents=True, exist_ok=True)
        write_atomically(places[block], _seal(lines, program) + lines)
        done += 1
        notify('blocks', done, len(places))
    files = {RECIPE: recipe.to_json().encode()}
    for split in recipe.splits:
        parts = (_lines(places[block], program) for block in blocks(split))
        files[f'{split.name}.jsonl'] = b''.join(part or b'' for part in parts)
    for name, content in files.items():
        write_atomically(folder / name, content)
    digests = {name: sha256(content).hexdigest() for name, content in sorted(files.items())}
    write_atomically(folder / MANIFEST, Manifest(recipe.digest, digests, {}).to_json().encode())


def _seal(lines: bytes, program: str) -> bytes:
    """A first line that tells whether a block is whole and made by these modules."""
    return f'{program} {sha256(lines).hexdigest()}\n'.encode()


def _lines(path: Path, program: str) -> bytes | None:
    """The lines of a block; None where it is missing, damaged, or made by other modules."""
    if not path.exists():
        return None
    seal, _, lines = path.read_bytes().partition(b'\n')
    return lines if seal + b'\n' == _seal(lines, program) else None


def _open(folder: Path, recipe: Recipe) -> None:
    """Makes a folder that of a recipe."""
    path = folder / RECIPE
    if path.exists():
        if load_recipe(path).digest != recipe.digest:
            raise RecipeError(
                f'{path}: is another recipe: choose another folder, or delete this one'
            )
        return
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DatasetError(f'{folder}: holds other things: choose an empty or a new folder')
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    write_atomically(path, recipe.to_json().encode())
