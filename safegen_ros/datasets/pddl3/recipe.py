# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a dataset is made of: everything that decides its bytes, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

from safegen_ros.datasets.failures import RecipeError
from safegen_ros.datasets.pddl3.rows import SPLITS, Split
from safegen_ros.errors import SafegenError
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.domains.kit import DomainKit

VERSION = 1
"""Of the way from a recipe to a dataset; another one may make other rows of the same recipe."""

QUOTAS: Mapping[Split, int] = {'train': 500, 'test': 50, 'test_family': 25, 'test_renamed': 25}
"""Rows of each domain: train and test as in table VIII of SafeGen-LLM."""

_PATIENCE = 25  # candidates for every row that is asked for, until a domain is given up
_MOST_ROWS = 10_000_000
_MOST_SEED = 2**63 - 1


@dataclass(frozen=True, slots=True)
class DomainRecipe:
    """What is wanted of one domain.

    Attributes:
        quotas: rows of each split.
        paper_share: share of the candidates that have a size of table VIII of the paper.
        sizes: smallest and largest value of every size parameter of the others.
        weights: how often each constraint family is drawn, compared with the others.
        held_out: families that only `test_family` has.
    """

    quotas: Mapping[Split, int]
    paper_share: float
    sizes: Mapping[str, tuple[int, int]]
    weights: Mapping[str, int]
    held_out: tuple[str, ...] = ()

    @property
    def most_candidates(self) -> int:
        """How many candidates are made before the quotas are given up."""
        return _PATIENCE * (sum(self.quotas.values()) + 10)


@dataclass(frozen=True, slots=True)
class Recipe:
    """A dataset before it is built.

    Attributes:
        name: of the dataset.
        seed: another one makes other problems.
        domains: what is wanted of each domain, by the name of its folder.
        block_size: candidates that are made and stored together.
        val: whether VAL has to accept every plan, too.
        pddl_files: splits whose problems and plans are also written as files of their own.
        version: of the way from a recipe to a dataset.
    """

    name: str
    seed: int
    domains: Mapping[str, DomainRecipe]
    block_size: int = 50
    val: bool = True
    pddl_files: tuple[Split, ...] = ('train', 'test')
    version: int = field(default=VERSION)

    def to_json(self) -> str:
        """The text of its file."""
        return json.dumps(asdict(self), indent=1) + '\n'

    @property
    def digest(self) -> str:
        """What tells it from every other recipe."""
        return sha256(self.to_json().encode()).hexdigest()

    def candidates_digest(self, domain: str) -> str:
        """What tells its candidates of a domain from those of every other recipe.

        Name, quotas and held-out families choose among candidates and do not change them, so that
        recipes that differ in nothing else may share blocks.
        """
        kept = {name: value for name, value in asdict(self.domains[domain]).items()
                if name not in ('quotas', 'held_out')}  # fmt: skip
        values = [self.version, self.seed, self.block_size, self.val, kept]
        return sha256(json.dumps(values).encode()).hexdigest()

    def total(self, split: Split) -> int:
        """Rows of a split that are asked for."""
        return sum(wanted.quotas[split] for wanted in self.domains.values())


def domain_recipe(
    kit: DomainKit,
    quotas: Mapping[Split, int] = QUOTAS,
    paper_share: float = 0.5,
    held_out: Sequence[str] = (),
) -> DomainRecipe:
    """A recipe for a domain: its wide sizes, and half of the candidates for the paper's families.

    Args:
        kit: the domain.
        quotas: rows of each split.
        paper_share: as in `DomainRecipe`.
        held_out: likewise.
    """
    paper = [name for name, family in kit.families.items() if family.paper]
    others = [name for name in kit.families if name not in paper]
    even = not paper or not others
    weights = {
        name: 1 if even else len(others if name in paper else paper) for name in kit.families
    }
    sizes = {p.name: p.wide for p in kit.parameters}
    return DomainRecipe(dict(quotas), paper_share, sizes, weights, tuple(held_out))


def default_values(name: str) -> dict[str, Any]:
    """The values in a recipe file of a domain that no recipe mentions yet, without held-out ones.

    Raises:
        RecipeError: there is no such domain.
    """
    kit = kits().get(name)
    if kit is None:
        raise RecipeError(f'there is no domain {name!r}: use {" ".join(kits())}')
    values: dict[str, Any] = asdict(domain_recipe(kit, {**QUOTAS, 'test_family': 0}))
    return values


def fits(kit: DomainKit, size: Mapping[str, int], family: str) -> bool:
    """Whether a family has problems of a size."""
    try:
        kit.checked(size, family)
    except SafegenError:
        return False
    return True


def _fits_somewhere(kit: DomainKit, wanted: DomainRecipe, family: str) -> bool:
    grid = product(*(range(low, high + 1) for low, high in wanted.sizes.values()))
    return any(fits(kit, dict(zip(wanted.sizes, values, strict=True)), family) for values in grid)


def load_recipe(path: Path) -> Recipe:
    """Reads a recipe file.

    Raises:
        RecipeError: there is none, or it is not a recipe, or asks for what there is not.
    """
    try:
        text = path.read_text(encoding='utf-8')
        values = json.loads(text)
    except OSError as error:
        raise RecipeError(f'{path}: cannot be read: {error.strerror}: name a recipe') from error
    except ValueError as error:
        raise RecipeError(f'{path}: is not JSON: {error}: mend it') from error
    return recipe_of(values, str(path))


def recipe_of(values: Any, source: str) -> Recipe:
    """A recipe from the values of its file.

    Args:
        values: what the file holds.
        source: its name, for messages.

    Raises:
        RecipeError: as `load_recipe`.
    """
    reader = _Reader(source)
    top = reader.fields(
        values, '', ('name', 'seed', 'domains', 'block_size', 'val', 'pddl_files', 'version')
    )
    if top['version'] != VERSION:
        raise reader.error('version', f'is {top["version"]!r}', f'this program makes {VERSION}')
    name = top['name']
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise reader.error('name', f'is {name!r}', 'give the dataset a name')
    if not isinstance(top['val'], bool):
        raise reader.error('val', f'is {top["val"]!r}', 'write true or false')
    domains = {
        domain: _domain(reader, domain, wanted)
        for domain, wanted in reader.mapping(top['domains'], 'domains').items()
    }
    recipe = Recipe(
        name,
        reader.number(top['seed'], 'seed', 0, _MOST_SEED),
        domains,
        reader.number(top['block_size'], 'block_size', 1, 10_000),
        top['val'],
        tuple(reader.choices(top['pddl_files'], 'pddl_files', SPLITS)),
    )
    if not any(recipe.total(split) for split in SPLITS):
        raise reader.error('domains', 'ask for no row', 'raise a quota')
    return recipe


def _domain(reader: _Reader, name: str, values: Any) -> DomainRecipe:
    place = f'domains.{name}'
    kit = kits().get(name)
    if kit is None:
        raise reader.error(place, 'there is no such domain', f'use {" ".join(kits())}')
    own = reader.fields(values, place, ('quotas', 'paper_share', 'sizes', 'weights', 'held_out'))
    asked = reader.fields(own['quotas'], f'{place}.quotas', SPLITS)
    quotas: dict[Split, int] = {
        split: reader.number(
            asked[split], f'{place}.quotas.{split}', int(split == 'train'), _MOST_ROWS
        )
        for split in SPLITS
    }
    if quotas['test_renamed'] > quotas['train']:
        raise reader.error(
            f'{place}.quotas.test_renamed', 'exceeds train, of which it is made', 'lower it'
        )
    share = own['paper_share']
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
        raise reader.error(f'{place}.paper_share', f'is {share!r}', 'take a number from 0 to 1')
    ranges = reader.fields(own['sizes'], f'{place}.sizes', [p.name for p in kit.parameters])
    sizes = {
        p.name: reader.range(ranges[p.name], f'{place}.sizes.{p.name}', p.least, p.most)
        for p in kit.parameters
    }
    weights = {
        family: reader.number(weight, f'{place}.weights.{family}', 1, 1_000_000)
        for family, weight in reader.mapping(own['weights'], f'{place}.weights').items()
    }
    reader.choices(list(weights), f'{place}.weights', list(kit.families))
    held_out = reader.choices(own['held_out'], f'{place}.held_out', list(weights))
    wanted = DomainRecipe(quotas, share, sizes, weights, tuple(held_out))
    _check_families(reader, place, kit, wanted)
    return wanted


def _check_families(reader: _Reader, place: str, kit: DomainKit, wanted: DomainRecipe) -> None:
    if wanted.quotas['test_family'] and not wanted.held_out:
        raise reader.error(
            f'{place}.held_out', 'is empty, but test_family asks for rows', 'name a family'
        )
    if set(wanted.weights) == set(wanted.held_out):
        raise reader.error(f'{place}.weights', 'leave no family to train on', 'add one')
    for family in wanted.weights:
        if not _fits_somewhere(kit, wanted, family):
            ranges = ', '.join(f'{low} to {high} {n}' for n, (low, high) in wanted.sizes.items())
            raise reader.error(
                f'{place}.sizes', f'family {family!r} has no problem of {ranges}',
                'widen a range or leave the family out of the weights',
            )  # fmt: skip


class _Reader:
    """Takes values of a recipe file apart; every error names the place."""

    def __init__(self, source: str) -> None:
        self._source = source

    def error(self, place: str, what: str, cure: str) -> RecipeError:
        return RecipeError(f'{self._source}: {place + ": " if place else ""}{what}: {cure}')

    def mapping(self, value: Any, place: str) -> dict[str, Any]:
        if not isinstance(value, dict) or not value:
            raise self.error(place, f'is {_short(value)}', 'write an object with fields')
        return value

    def fields(self, value: Any, place: str, names: Sequence[str]) -> dict[str, Any]:
        found = self.mapping(value, place)
        for name in found:
            if name not in names:
                raise self.error(place, f'unknown field {name!r}', f'use {" ".join(names)}')
        for name in names:
            if name not in found:
                raise self.error(place, f'field {name!r} is missing', 'add it')
        return found

    def number(self, value: Any, place: str, least: int, most: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self.error(place, f'is {_short(value)}', f'take {least:,} to {most:,}')
        return value

    def range(self, value: Any, place: str, least: int, most: int) -> tuple[int, int]:
        if not isinstance(value, (list, tuple)) or len(value) != 2:
            raise self.error(place, f'is {_short(value)}', 'write [smallest, largest]')
        low, high = (self.number(each, place, least, most) for each in value)
        if low > high:
            raise self.error(place, f'is {_short(value)}', 'write [smallest, largest]')
        return low, high

    def choices(self, value: Any, place: str, known: Sequence[Any]) -> list[Any]:
        if not isinstance(value, (list, tuple)):
            raise self.error(place, f'is {_short(value)}', 'write a list')
        for each in value:
            if each not in known:
                raise self.error(place, f'there is no {each!r}', f'use {" ".join(known)}')
        return list(value)


def _short(value: Any) -> str:
    return repr(value)[:60]
