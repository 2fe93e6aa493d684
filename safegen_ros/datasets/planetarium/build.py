# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The dataset of descriptions: its blocks, and the checks of its rows.

The problem of every row has a plan that the validator accepts, before the row is written.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby, zip_longest
from pathlib import Path

from safegen_ros.datasets.builder import RECIPE, Builder, Notify, in_order
from safegen_ros.datasets.files import (
    STATISTICS,
    DatasetError,
    check_files,
    read_row,
    read_statistics,
)
from safegen_ros.datasets.planetarium.layouts import tasks_of
from safegen_ros.datasets.planetarium.pairs import (
    Pair,
    kits,
    make_pairs,
    read_pairs,
)
from safegen_ros.datasets.planetarium.recipe import (
    SPLITS,
    Item,
    PlanetariumRecipe,
    load_recipe,
    plan_items,
)
from safegen_ros.datasets.workers import Workers
from safegen_ros.pddl.reader import read_problem
from safegen_ros.tasks.planetarium import descriptions
from safegen_ros.tasks.planetarium.domains import find_plan, planetarium_domain

_COUNTED = ('split', 'abstraction', 'size', 'placeholder', 'fold', 'task')


def check(folder: Path, workers: Workers, notify: Notify) -> int:
    """Checks that files are whole and every row is what it promises; returns how many rows.

    Raises:
        DatasetError: the first thing that is wrong.
    """
    recipe = load_recipe(folder / RECIPE)
    check_files(folder, recipe.digest)
    done, total = 0, sum(map(recipe.total, SPLITS))
    given = ((recipe, each) for each in _problems(folder, recipe))
    for count in in_order(workers, check_made, given):
        done += count
        if done % 100 < count:
            notify('rows', done, total)
    return done


def _problems(folder: Path, recipe: PlanetariumRecipe) -> Iterator[list[Pair]]:
    """The rows of one problem after the other."""
    ids: set[str] = set()
    for split in SPLITS:
        counted = dict.fromkeys(recipe.pairs, 0)
        for _, rows in groupby(read_pairs(folder / f'{split}.jsonl'), lambda row: row.problem):
            found = list(rows)
            for row in found:
                if row.split != split or row.id in ids or row.domain not in counted:
                    raise _wrong(row)
                ids.add(row.id)
                counted[row.domain] += 1
            yield found
        if any(recipe.pairs[domain][split] != count for domain, count in counted.items()):
            raise DatasetError(f'{folder / split}.jsonl: has {counted} rows: build it again')


def compute_block(recipe: PlanetariumRecipe, items: list[Item]) -> bytes:
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


def check_made(recipe: PlanetariumRecipe, pairs: list[Pair]) -> int:
    """Checks that the rows of a problem are those that the recipe makes; as `check_pairs`.

    Raises:
        DatasetError: one is not.
    """
    first = pairs[0]
    tasks = {(each.start, each.goal): each for each in tasks_of(kits()[first.domain])}
    try:
        task, number = tasks[first.start, first.goal], int(first.id.split('-')[-2])
        made = make_pairs(task, number, len(pairs), recipe.shuffled, recipe.seed)
    except (LookupError, ValueError) as error:  # there is no such problem
        raise _wrong(first) from error
    for row, wanted in zip_longest(pairs, made):
        if row != wanted:
            raise _wrong(row or first)
    return check_pairs(pairs)


def _wrong(row: Pair) -> DatasetError:
    return DatasetError(f'{row.id}: is not what its fields say: build it again')


def check_pairs(pairs: list[Pair]) -> int:
    """Checks rows one by one; returns how many.

    Raises:
        DatasetError: a problem cannot be read or has no plan, or its size is not what its row says.
    """
    solved = ''
    for pair in pairs:
        problem = read_problem(pair.problem, planetarium_domain(pair.domain), pair.id)
        if len(problem.init) + len(problem.goal_conjuncts()) != pair.propositions:
            raise DatasetError(f'{pair.id}: has not {pair.propositions} propositions: build again')
        if pair.problem != solved:
            find_plan(problem)
            solved = pair.problem
    return len(pairs)


def _blocks(recipe: PlanetariumRecipe) -> dict[str, list[tuple[PlanetariumRecipe, list[Item]]]]:
    size = recipe.block_size
    return {
        split: [(recipe, items[at : at + size]) for at in range(0, len(items), size)]
        for split, items in ((each, plan_items(recipe, each)) for each in SPLITS)
    }


def _statistics(lines: Iterator[tuple[str, str]]) -> dict[str, str]:
    """The file that counts the rows of each domain by each of `_COUNTED`."""
    counts = {domain: {name: Counter[str]() for name in _COUNTED} for domain in kits()}
    for line, place in lines:
        pair = read_row(Pair, json.loads(line), place)
        values = {**asdict(pair), 'task': f'{pair.start}_to_{pair.goal}'}
        for name in _COUNTED:
            counts[pair.domain][name][str(values[name])] += 1
    sorted_counts = {
        domain: {name: dict(sorted(found.items())) for name, found in of_domain.items()}
        for domain, of_domain in counts.items()
        if of_domain['split']
    }
    return {STATISTICS: json.dumps(sorted_counts, indent=1) + '\n'}


def load_statistics(folder: Path) -> dict[str, dict[str, dict[str, int]]]:
    """The values of the statistics of a dataset.

    Raises:
        DatasetError: there are none, or they are unreadable.
    """
    values = read_statistics(folder)
    if any(set(v) != set(_COUNTED) for v in values.values()):
        raise DatasetError(f'{folder / STATISTICS}: holds no statistics: build the dataset again')
    return values


build = Builder(
    load_recipe,
    _blocks,
    compute_block,
    (Path(__file__).parent, Path(descriptions.__file__).parent),
    _statistics,
).build
"""Builds a dataset of descriptions, or what is missing of it."""
