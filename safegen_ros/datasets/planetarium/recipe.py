# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a dataset of descriptions is made of: everything that decides its bytes."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from safegen_ros.datasets.files import (
    BaseRecipe,
    BlockSize,
    Name,
    RecipeError,
    Seed,
    check_version,
    read_json,
)
from safegen_ros.datasets.planetarium.layouts import LayoutTask, space_of, tasks_of
from safegen_ros.datasets.planetarium.pairs import kits
from safegen_ros.schema import SchemaReader, between

VERSION = 1
"""Version of the way from a recipe to a dataset; another may make other rows of the same recipe."""

SPLITS = ('train', 'test')

PAPER: Mapping[str, Mapping[str, int]] = {
    'blocksworld': {'train': 80_612, 'test': 4_993},
    'gripper': {'train': 49_363, 'test': 4_778},
    'floor-tile': {'train': 0, 'test': 6_172},
}
"""Rows of each split in table 1 of the paper."""

_Count = Annotated[int, between(0, 10_000_000)]


@dataclass(frozen=True, slots=True)
class PlanetariumRecipe(BaseRecipe):
    """A dataset before it is built.

    Attributes:
        pairs: rows of each split of each domain.
        shuffled: whether explicit descriptions list their atoms in a random order.
        block_size: problems that are made and stored together.
        version: of the way from a recipe to a dataset.
    """

    name: Name = 'planetarium'
    seed: Seed = 0
    pairs: Mapping[str, Mapping[str, _Count]] = field(default_factory=lambda: PAPER)
    shuffled: bool = False
    block_size: BlockSize = 100
    version: int = VERSION

    def total(self, split: str) -> int:
        """Rows of a split."""
        return sum(wanted[split] for wanted in self.pairs.values())


def scaled(recipe: PlanetariumRecipe, rows: int) -> PlanetariumRecipe:
    """A recipe for so many rows in all, with the shares of domains and splits nearly unchanged.

    Raises:
        RecipeError: the recipe asks for no row, so that there are no shares.
    """
    total = sum(map(recipe.total, SPLITS))
    if not total:
        raise RecipeError('pairs: ask for no row: raise one')
    pairs: dict[str, dict[str, int]] = {}
    before = 0
    for domain, wanted in recipe.pairs.items():
        pairs[domain] = {}
        for split, count in wanted.items():
            # Rounded where the running sums are, so that nothing is lost or gained in all.
            after = before + count
            pairs[domain][split] = rows * after // total - rows * before // total
            before = after
    return replace(recipe, pairs=pairs)


@dataclass(frozen=True, slots=True)
class Item:
    """A problem of a dataset.

    Attributes:
        number: of the problem within its task.
    """

    task: LayoutTask
    number: int
    pairs: int


def plan_items(recipe: PlanetariumRecipe, split: str) -> list[Item]:
    """The problems of a split, in their order.

    The rows of a domain are spread over its tasks as evenly as the numbers of their problems
    allow. No problem of a task is taken twice.

    Raises:
        RecipeError: a domain has fewer rows than are asked for.
    """
    items: list[Item] = []
    for domain, wanted in recipe.pairs.items():
        tasks = [task for task in tasks_of(kits()[domain]) if task.split == split]
        room = {task: len(space_of(kits()[domain], task.start, task.goal)) for task in tasks}
        rows = {task: room[task] * len(task.abstractions) for task in tasks}
        if sum(rows.values()) < wanted[split]:
            raise RecipeError(
                f'pairs.{domain}.{split}: is {wanted[split]:,}, but there are only '
                f'{sum(rows.values()):,}: lower it'
            )
        for task, quota in _shares(wanted[split], rows).items():
            each = len(task.abstractions)
            source = random.Random(f'{recipe.seed} {domain} {task.name}')  # noqa: S311  # no secret
            numbers = source.sample(range(room[task]), -(-quota // each))
            items += [
                Item(task, number, min(each, quota - at * each))
                for at, number in enumerate(numbers)
            ]
    random.Random(f'{recipe.seed} {split}').shuffle(items)  # noqa: S311  # no secret
    return items


def _shares(total: int, most: Mapping[LayoutTask, int]) -> dict[LayoutTask, int]:
    """A number spread evenly, with no share above its most; the smallest tasks first."""
    shares: dict[LayoutTask, int] = {}
    left = total
    for at, task in enumerate(sorted(most, key=lambda each: (most[each], each.name))):
        shares[task] = min(most[task], left // (len(most) - at))
        left -= shares[task]
    return shares


def load_recipe(path: Path) -> PlanetariumRecipe:
    """Reads a recipe file; what it leaves out is as in `PlanetariumRecipe`.

    Raises:
        RecipeError: the file is missing, it is not a recipe, or it asks for unknown things.
    """
    return recipe_of(read_json(path), str(path))


def recipe_of(values: Any, source: str) -> PlanetariumRecipe:
    """A recipe from the values of its file.

    Raises:
        RecipeError: as `load_recipe`.
    """
    file = SchemaReader(source, RecipeError)
    recipe = file.read(PlanetariumRecipe, values)
    check_version(file, recipe.version, VERSION)
    file.need(bool(recipe.pairs), 'pairs', recipe.pairs, f'name domains of {" ".join(kits())}')
    file.choices(recipe.pairs, 'pairs', kits())
    for domain, wanted in recipe.pairs.items():
        file.keys(wanted, f'pairs.{domain}', SPLITS)
    return recipe
