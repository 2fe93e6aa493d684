# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a dataset of BoxNet2D is made of: everything that decides its bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from safegen_ros.datasets.boxnet.draw import VARIANTS, Size
from safegen_ros.datasets.failures import RecipeError
from safegen_ros.robot.families.known import FAMILIES

VERSION = 1
"""Of the way from a recipe to a dataset; another one may make other rows of the same recipe."""

_LARGEST = 20
_MOST = 1_000_000


@dataclass(frozen=True, slots=True)
class Split:
    """Tasks of some sizes.

    Attributes:
        name: of its file.
        variant: one of `draw.VARIANTS`.
        held_out: whether its tasks are for tests.
        sizes: of the maps.
        objects: how many there may be.
        rows: tasks in all.
        each: most of one size and number of objects.
        arm: kind of the arms, a key of `FAMILIES`, for BoxNet3D; empty for BoxNet2D.
    """

    name: str
    variant: str
    held_out: bool
    sizes: tuple[Size, ...]
    objects: tuple[int, ...]
    rows: int
    each: int
    arm: str = ''


@dataclass(frozen=True, slots=True)
class Recipe:
    """A dataset before it is built.

    Attributes:
        name: of the dataset.
        seed: another one draws other tasks.
        splits: its parts.
        version: of the way from a recipe to a dataset.
    """

    name: str
    seed: int
    splits: tuple[Split, ...]
    version: int = VERSION

    def to_json(self) -> str:
        """The text of its file."""
        values = asdict(self)
        for split in values['splits']:
            if not split['arm']:  # recipes are older than BoxNet3D, and their digests count
                del split['arm']
        return json.dumps(values, indent=1) + '\n'

    @property
    def digest(self) -> str:
        """What tells it from every other recipe."""
        return sha256(self.to_json().encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Block:
    """Tasks of one size, made together.

    Attributes:
        split: that they belong to.
        size: of the maps.
        objects: how many.
        rows: most tasks.
    """

    split: Split
    size: Size
    objects: int
    rows: int


def blocks(split: Split) -> Iterator[Block]:
    """The parts of a split, with its rows shared out evenly."""
    kinds = [(size, objects) for size in split.sizes for objects in split.objects]
    Random(split.name).shuffle(kinds)  # noqa: S311  # few rows are of many kinds, too
    for at, (size, objects) in enumerate(kinds):
        # Rounded where the running sums are, so that nothing is lost or gained in all.
        share = split.rows * (at + 1) // len(kinds) - split.rows * at // len(kinds)
        yield Block(split, size, objects, min(share, split.each))


def scaled(recipe: Recipe, rows: int) -> Recipe:
    """A recipe for at most so many rows in each split."""
    splits = (replace(split, rows=min(split.rows, rows)) for split in recipe.splits)
    return replace(recipe, splits=tuple(splits))


def load_recipe(path: Path) -> Recipe:
    """Reads a recipe file.

    Raises:
        RecipeError: there is none, it is no recipe, or it asks for what there is not.
    """
    try:
        values = json.loads(path.read_text(encoding='utf-8'))
    except (OSError, ValueError) as error:
        raise RecipeError(f'{path}: cannot be read: {error}: name a recipe in JSON') from error
    try:
        recipe = Recipe(**{**values, 'splits': tuple(map(_split, values['splits']))})
    except (TypeError, KeyError, ValueError) as error:
        raise RecipeError(f'{path}: is no recipe: {error}: see the fields in the docs') from error
    _check(recipe, str(path))
    return recipe


def _split(values: Any) -> Split:
    sizes = tuple((width, height) for width, height in values['sizes'])
    return Split(**{**values, 'sizes': sizes, 'objects': tuple(values['objects'])})


def _check(recipe: Recipe, source: str) -> None:
    def need(holds: bool, place: str, cure: str) -> None:
        if not holds:
            raise RecipeError(f'{source}: {place}: {cure}')

    need(recipe.version == VERSION, 'version', f'this makes {VERSION}')
    need(isinstance(recipe.name, str) and recipe.name.isprintable(), 'name', 'give a name')
    need(type(recipe.seed) is int and recipe.seed >= 0, 'seed', 'take a whole number')
    names = [split.name for split in recipe.splits]
    need(0 < len(names) == len(set(names)), 'splits', 'give each a name of its own')
    for split in recipe.splits:
        place = f'splits.{split.name!s:.40}'
        plain = isinstance(split.name, str) and split.name.isidentifier() and split.name.isascii()
        need(plain, place, 'its name is that of a file: use letters, digits and _')
        known = ('', *FAMILIES)
        need(split.arm in known, f'{place}.arm', f'use one of {", ".join(FAMILIES)}, or none')
        need(split.variant in VARIANTS, f'{place}.variant', f'use one of {", ".join(VARIANTS)}')
        need(type(split.held_out) is bool, f'{place}.held_out', 'write true or false')
        sides = [side for size in split.sizes for side in size]
        sizes = sides and all(type(side) is int and 2 <= side <= _LARGEST for side in sides)
        need(bool(sizes), f'{place}.sizes', f'take sides of 2 to {_LARGEST}')
        counts = [type(count) is int and 1 <= count <= 8 for count in split.objects]
        need(bool(counts) and all(counts), f'{place}.objects', 'take 1 to 8')
        for name, value in (('rows', split.rows), ('each', split.each)):
            good = type(value) is int and 0 <= value <= _MOST
            need(good, f'{place}.{name}', f'take 0 to {_MOST:,}')
