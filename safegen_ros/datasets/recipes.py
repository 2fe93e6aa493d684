# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What every recipe of a dataset has: a text, a digest, and fields that all of them share."""

from __future__ import annotations

import json
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

from safegen_ros.datasets.files import RecipeError
from safegen_ros.schema import Rule, SchemaReader, between

Name = Annotated[
    str, Rule(lambda name: bool(name.strip()) and name.isprintable(), 'give the dataset a name')
]
Seed = Annotated[int, between(0, 2**63 - 1)]
BlockSize = Annotated[int, between(1, 10_000)]


class BaseRecipe:
    """Everything that decides the bytes of a dataset; a dataclass of plain values."""

    __slots__ = ()

    def to_json(self) -> str:
        """The text of its file."""
        return json.dumps(asdict(self), indent=1) + '\n'  # type: ignore[call-overload]

    @property
    def digest(self) -> str:
        """The key that separates it from every other recipe."""
        return sha256(self.to_json().encode()).hexdigest()


def check_version(file: SchemaReader, found: int, wanted: int) -> None:
    """Raises where a recipe is for another way from a recipe to a dataset."""
    file.need(found == wanted, 'version', found, f'this program makes {wanted}')


def read_json(path: Path) -> Any:
    """What a recipe file holds.

    Raises:
        RecipeError: it cannot be read, or is not JSON.
    """
    try:
        return json.loads(path.read_text(encoding='utf-8'))
    except OSError as error:
        raise RecipeError(f'{path}: cannot be read: {error.strerror}: name a recipe') from error
    except ValueError as error:
        raise RecipeError(f'{path}: is not JSON: {error}: correct it') from error
