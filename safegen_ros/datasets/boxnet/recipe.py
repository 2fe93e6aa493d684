# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a dataset of BoxNet2D is made of: everything that decides its bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from typing import Annotated

from safegen_ros.datasets.boxnet.draw import VARIANTS, Size
from safegen_ros.datasets.files import BaseRecipe, Name, RecipeError, Seed, check_version, read_json
from safegen_ros.robot.arms import FAMILIES
from safegen_ros.schema import SchemaReader, between, one_of

VERSION = 1
"""Version of the way from a recipe to a dataset; another may make other rows of the same recipe."""

_Side = Annotated[int, between(2, 20)]
_Count = Annotated[int, between(0, 1_000_000)]


@dataclass(frozen=True, slots=True)
class Split:
    """Tasks of some sizes.

    Attributes:
        variant: one of `draw.VARIANTS`.
        held_out: whether its tasks are for tests.
        each: most of one size and number of objects.
        arm: kind of the arms, a key of `FAMILIES`, for BoxNet3D; empty for BoxNet2D.
    """

    name: str
    variant: Annotated[str, one_of(*VARIANTS)]
    held_out: bool
    sizes: tuple[tuple[_Side, _Side], ...]
    objects: tuple[Annotated[int, between(1, 8)], ...]
    rows: _Count
    each: _Count
    arm: Annotated[str, one_of('', *FAMILIES)] = ''


@dataclass(frozen=True, slots=True)
class BoxnetRecipe(BaseRecipe):
    """A dataset before it is built.

    Attributes:
        version: of the way from a recipe to a dataset.
    """

    name: Name
    seed: Seed
    splits: tuple[Split, ...]
    version: int = VERSION

    def to_json(self) -> str:
        """The text of its file."""
        values = asdict(self)
        for split in values['splits']:
            if not split['arm']:  # recipes are older than BoxNet3D, and their digests count
                del split['arm']
        return json.dumps(values, indent=1) + '\n'


@dataclass(frozen=True, slots=True)
class Block:
    """Tasks of one size, made together."""

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


def scaled(recipe: BoxnetRecipe, rows: int) -> BoxnetRecipe:
    """A recipe for at most so many rows in each split."""
    splits = (replace(split, rows=min(split.rows, rows)) for split in recipe.splits)
    return replace(recipe, splits=tuple(splits))


def load_recipe(path: Path) -> BoxnetRecipe:
    """Reads a recipe file.

    Raises:
        RecipeError: the file is missing, it is not a recipe, or it asks for unknown things.
    """
    file = SchemaReader(str(path), RecipeError)
    recipe = file.read(BoxnetRecipe, read_json(path))
    check_version(file, recipe.version, VERSION)
    names = [split.name for split in recipe.splits]
    file.need(0 < len(names) == len(set(names)), 'splits', names, 'give each another name')
    for split in recipe.splits:
        plain = split.name.isidentifier() and split.name.isascii()
        cure = 'its name is that of a file: use letters, digits and _'
        file.need(plain, 'splits.name', split.name, cure)
        for field in ('sizes', 'objects'):
            values = getattr(split, field)
            file.need(bool(values), f'splits.{split.name}.{field}', [], 'name some')
    return recipe
