# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The dataset of descriptions: its blocks, and the checks of its rows.

Every row is checked before it is written: its problem has a plan that the validator accepts, and
its description is understood to mean the problem.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

from safegen_ros.datasets.builder import RECIPE, Builder, Notify, in_order
from safegen_ros.datasets.files import DatasetError, read_row
from safegen_ros.datasets.manifest import STATISTICS, check_files, read_statistics
from safegen_ros.datasets.planetarium.layouts import tasks_of
from safegen_ros.datasets.planetarium.pairs import (
    ABSTRACTIONS,
    Pair,
    kits,
    make_pairs,
    read_pairs,
    size_bin,
)
from safegen_ros.datasets.planetarium.recipe import (
    SPLITS,
    Item,
    PlanetariumRecipe,
    load_recipe,
    plan_items,
)
from safegen_ros.datasets.workers import Workers
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.reader import read_problem
from safegen_ros.tasks.planetarium import descriptions
from safegen_ros.tasks.planetarium.description_parser import DescriptionError, parse_description
from safegen_ros.tasks.planetarium.domains import planetarium_domain
from safegen_ros.tasks.planetarium.equivalence import compare
from safegen_ros.tasks.planetarium.planner import find_plan

_COUNTED = ('split', 'abstraction', 'size', 'placeholder', 'fold', 'task')


def check_description(text: str, problem: Problem, placeholder: bool) -> None:
    """Checks that a description means a problem.

    Raises:
        DatasetError: it means another problem, or none.
    """
    try:
        heard = parse_description(text, problem.domain.name)
    except DescriptionError as error:
        raise DatasetError(error.message) from error
    if heard.init == problem.init and set(heard.goal_conjuncts()) == set(problem.goal_conjuncts()):
        return
    found = compare(problem, heard)
    if placeholder and not found.equivalent:
        found = compare(problem, heard, placeholder=True)
    if not found.equivalent:
        raise DatasetError(
            f'{text[:200]!r} does not mean the problem {problem.name} ({found.reason}): '
            'correct the words or the problem'
        )


def check(folder: Path, workers: Workers, notify: Notify) -> int:
    """Checks that files are whole and every row is what it promises; returns how many rows.

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


def _problems(folder: Path, recipe: PlanetariumRecipe) -> Iterator[list[Pair]]:
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
