# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a dataset of descriptions is made of: everything that decides its bytes."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from safegen_ros.datasets.failures import RecipeError
from safegen_ros.datasets.planetarium.layouts import Task, space_of, tasks_of
from safegen_ros.datasets.planetarium.pairs import kits

VERSION = 1
"""Of the way from a recipe to a dataset; another one may make other rows of the same recipe."""

SPLITS = ('train', 'test')

PAPER: Mapping[str, Mapping[str, int]] = {
    'blocksworld': {'train': 80_612, 'test': 4_993},
    'gripper': {'train': 49_363, 'test': 4_778},
    'floor-tile': {'train': 0, 'test': 6_172},
}
"""Rows of each split in table 1 of the paper."""

_MOST = 10_000_000


@dataclass(frozen=True, slots=True)
class Recipe:
    """A dataset before it is built.

    Attributes:
        name: of the dataset.
        seed: another one takes other problems.
        pairs: rows of each split of each domain.
        shuffled: whether explicit descriptions tell their atoms in a random order.
        block_size: problems that are made and stored together.
        version: of the way from a recipe to a dataset.
    """

    name: str = 'planetarium'
    seed: int = 0
    pairs: Mapping[str, Mapping[str, int]] = field(default_factory=lambda: PAPER)
    shuffled: bool = False
    block_size: int = 100
    version: int = VERSION

    def to_json(self) -> str:
        """The text of its file."""
        return json.dumps(asdict(self), indent=1) + '\n'

    @property
    def digest(self) -> str:
        """What tells it from every other recipe."""
        return sha256(self.to_json().encode()).hexdigest()

    def total(self, split: str) -> int:
        """Rows of a split."""
        return sum(wanted[split] for wanted in self.pairs.values())


def scaled(recipe: Recipe, rows: int) -> Recipe:
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
        task: its task.
        number: of the problem within its task.
        pairs: how many descriptions of it are wanted.
    """

    task: Task
    number: int
    pairs: int


def plan_items(recipe: Recipe, split: str) -> list[Item]:
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


def _shares(total: int, most: Mapping[Task, int]) -> dict[Task, int]:
    """A number spread evenly, with no share above its most; the smallest tasks first."""
    shares: dict[Task, int] = {}
    left = total
    for at, task in enumerate(sorted(most, key=lambda each: (most[each], each.name))):
        shares[task] = min(most[task], left // (len(most) - at))
        left -= shares[task]
    return shares


def load_recipe(path: Path) -> Recipe:
    """Reads a recipe file; what it leaves out is as in `Recipe`.

    Raises:
        RecipeError: there is none, it is no recipe, or it asks for what there is not.
    """
    try:
        values = json.loads(path.read_text(encoding='utf-8'))
    except (OSError, ValueError) as error:
        raise RecipeError(f'{path}: cannot be read: {error}: name a recipe in JSON') from error
    return recipe_of(values, str(path))


def recipe_of(values: Any, source: str) -> Recipe:
    """A recipe from the values of its file.

    Args:
        values: what the file holds.
        source: its name, for messages.

    Raises:
        RecipeError: as `load_recipe`.
    """
    known = asdict(Recipe())
    if not isinstance(values, dict) or not values.keys() <= known.keys():
        raise RecipeError(f'{source}: is no recipe: use the fields {" ".join(known)}')
    given = {**known, **values}
    if given['version'] != VERSION:
        raise RecipeError(f'{source}: version: is {given["version"]!r}: this makes {VERSION}')
    if not isinstance(given['name'], str) or not given['name'].isprintable() or not given['name']:
        raise RecipeError(f'{source}: name: is {given["name"]!r}: give the dataset a name')
    if type(given['shuffled']) is not bool:
        raise RecipeError(f'{source}: shuffled: is {given["shuffled"]!r}: write true or false')
    for name, least, most in (('seed', 0, 2**63 - 1), ('block_size', 1, 10_000)):
        _check_number(f'{source}: {name}', given[name], least, most)
    pairs = given['pairs']
    if not isinstance(pairs, dict) or not pairs or not pairs.keys() <= kits().keys():
        raise RecipeError(f'{source}: pairs: name domains of {" ".join(kits())}')
    for domain, wanted in pairs.items():
        if not isinstance(wanted, dict) or tuple(wanted) != SPLITS:
            raise RecipeError(f'{source}: pairs.{domain}: give rows of {" and ".join(SPLITS)}')
        for split, count in wanted.items():
            _check_number(f'{source}: pairs.{domain}.{split}', count, 0, _MOST)
    return Recipe(**given)


def _check_number(place: str, value: Any, least: int, most: int) -> None:
    if type(value) is not int or not least <= value <= most:
        raise RecipeError(f'{place}: is {value!r}: take {least:,} to {most:,}')
