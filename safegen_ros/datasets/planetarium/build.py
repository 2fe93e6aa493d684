# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Builds a dataset of descriptions; a build that was stopped goes on where it was.

Problems are made in blocks, each a file of its own that is whole or not there. A block follows from
the recipe alone, so that its bytes are the same whenever and wherever it is made. Every row is
checked before it is written: its problem has a plan that the validator accepts, and its description
is understood to mean the problem.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path

from safegen_ros.datasets.failures import DatasetError, RecipeError, writing
from safegen_ros.datasets.manifest import MANIFEST, Manifest, is_whole
from safegen_ros.datasets.pddl3.assemble import Notify, in_order
from safegen_ros.datasets.pddl3.blocks import WORK, tree_digest, write_atomically
from safegen_ros.datasets.pddl3.build import locked
from safegen_ros.datasets.planetarium.lint import check_description
from safegen_ros.datasets.planetarium.pairs import Pair, make_pairs, pair_of
from safegen_ros.datasets.planetarium.recipe import (
    SPLITS,
    Item,
    Recipe,
    load_recipe,
    plan_items,
)
from safegen_ros.datasets.planetarium.statistics import STATISTICS, Statistics
from safegen_ros.datasets.workers import Workers
from safegen_ros.pddl.reader import read_problem
from safegen_ros.tasks.planetarium.domains import planetarium_domain
from safegen_ros.tasks.planetarium.planner import find_plan

RECIPE = 'recipe.json'
"""Name of the file in the folder of a dataset."""


def compute_block(recipe: Recipe, items: list[Item]) -> bytes:
    """The lines of some problems, each checked.

    Raises:
        DatasetError: a row is not what it must be.
    """
    lines = []
    for item in items:
        pairs = make_pairs(item.task, item.number, item.pairs, recipe.shuffled, recipe.seed)
        check_pairs(pairs)
        lines += [pair.to_line() for pair in pairs]
    return ''.join(lines).encode()


def check_pairs(pairs: list[Pair]) -> int:
    """Checks rows one by one; returns how many.

    Raises:
        DatasetError: a problem cannot be read or has no plan, its size is not what its row says, or
            its description means another one.
    """
    solved = ''
    for pair in pairs:
        problem = read_problem(pair.problem, planetarium_domain(pair.domain), pair.id)
        if len(problem.init) + len(problem.goal_conjuncts()) != pair.propositions:
            raise DatasetError(f'{pair.id}: has not {pair.propositions} propositions: build again')
        if pair.problem != solved:
            find_plan(problem)
            solved = pair.problem
        check_description(pair.text, problem, pair.placeholder)
    return len(pairs)


def build(folder: Path, recipe: Recipe, workers: Workers, notify: Notify) -> bool:
    """Builds a dataset, or what is missing of it.

    Args:
        folder: where; blocks that an earlier build of the same recipe has left there are used.
        recipe: of what.
        workers: who makes the blocks.
        notify: told how many problems are done.

    Returns:
        Whether there was anything to do.

    Raises:
        DatasetError: the folder holds something else, a row is not what it must be, or a file
            cannot be written.
        RecipeError: the folder is that of another recipe, or the recipe asks for too much.
    """
    _open(folder, recipe)
    if is_whole(folder):
        return False
    with locked(folder):
        _make(folder, recipe, workers, notify)
    shutil.rmtree(folder / WORK, ignore_errors=True)
    return True


def _make(folder: Path, recipe: Recipe, workers: Workers, notify: Notify) -> None:
    """Makes the blocks that are missing, and the files of all."""
    planned = {split: plan_items(recipe, split) for split in SPLITS}
    total = sum(map(len, planned.values()))
    done = 0
    for split, items in planned.items():
        with writing(folder):
            (folder / WORK / split).mkdir(parents=True, exist_ok=True)
        missing = [
            (path, part)
            for path, part in _blocks(folder, recipe, split, items)
            if not path.exists()
        ]
        done += len(items) - sum(len(part) for _, part in missing)
        made = in_order(workers, compute_block, ((recipe, part) for _, part in missing))
        for (path, part), lines in zip(missing, made, strict=True):
            write_atomically(path, _sealed(recipe, lines))
            done += len(part)
            notify('problems', done, total)
    _assemble(folder, recipe, planned)


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


def _blocks(
    folder: Path, recipe: Recipe, split: str, items: list[Item]
) -> Iterator[tuple[Path, list[Item]]]:
    """The file of every block, with its problems."""
    for at in range(0, len(items), recipe.block_size):
        path = folder / WORK / split / f'{at // recipe.block_size:08d}.jsonl'
        yield path, items[at : at + recipe.block_size]


def _sealed(recipe: Recipe, lines: bytes) -> bytes:
    """The lines of a block behind a line that tells whether they are whole and of today's words."""
    return f'{recipe.digest} {_program()} {sha256(lines).hexdigest()}\n'.encode() + lines


@cache
def _program() -> str:
    """What tells the modules that make rows from all other versions of them."""
    return tree_digest(Path(__file__).parent)


def _assemble(folder: Path, recipe: Recipe, planned: dict[str, list[Item]]) -> None:
    """Writes the files of the splits, block by block; the manifest comes last."""
    digests = {}
    statistics = Statistics()
    for split, items in planned.items():
        digest = sha256()
        path = folder / f'{split}.jsonl'
        scratch = path.with_name(f'.{path.name}.part')
        with writing(path), scratch.open('wb') as file:
            for block, _ in _blocks(folder, recipe, split, items):
                seal, _, lines = block.read_bytes().partition(b'\n')
                if seal + b'\n' + lines != _sealed(recipe, lines):
                    raise DatasetError(
                        f'{block}: is damaged, or of another version of safegen_ros: delete it and '
                        'run the build again, which makes it anew'
                    )
                for number, line in enumerate(lines.decode().splitlines(), 1):
                    statistics.add(pair_of(json.loads(line), f'{block}:{number}'))
                file.write(lines)
                digest.update(lines)
        scratch.replace(path)
        digests[path.name] = digest.hexdigest()
    for name, text in ((STATISTICS, statistics.to_json()), (RECIPE, recipe.to_json())):
        write_atomically(folder / name, text.encode())
        digests[name] = sha256(text.encode()).hexdigest()
    manifest = Manifest(recipe.digest, dict(sorted(digests.items())), {})
    write_atomically(folder / MANIFEST, manifest.to_json().encode())
