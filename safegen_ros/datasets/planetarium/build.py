# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The dataset of descriptions: its blocks, and the checks of its rows.

Every row is checked before it is written: its problem has a plan that the validator accepts, and
its description is understood to mean the problem.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from safegen_ros.datasets.builder import Builder
from safegen_ros.datasets.failures import DatasetError
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
from safegen_ros.pddl.reader import read_problem
from safegen_ros.tasks.planetarium import descriptions
from safegen_ros.tasks.planetarium.domains import planetarium_domain
from safegen_ros.tasks.planetarium.planner import find_plan


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


def _blocks(recipe: Recipe) -> dict[str, list[tuple[Recipe, list[Item]]]]:
    size = recipe.block_size
    return {
        split: [(recipe, items[at : at + size]) for at in range(0, len(items), size)]
        for split, items in ((each, plan_items(recipe, each)) for each in SPLITS)
    }


def _statistics(lines: Iterator[tuple[str, str]]) -> dict[str, str]:
    statistics = Statistics()
    for line, place in lines:
        statistics.add(pair_of(json.loads(line), place))
    return {STATISTICS: statistics.to_json()}


build = Builder(
    load_recipe,
    _blocks,
    compute_block,
    (Path(__file__).parent, Path(descriptions.__file__).parent),
    _statistics,
).build
"""Builds a dataset of descriptions, or what is missing of it."""
