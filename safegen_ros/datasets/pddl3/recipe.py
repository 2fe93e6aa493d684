# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a dataset is made of: everything that decides its bytes, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from itertools import product
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
from safegen_ros.datasets.pddl3.mixed import RULES
from safegen_ros.datasets.pddl3.rows import SPLITS, Split
from safegen_ros.errors import SafegenError
from safegen_ros.schema import SchemaReader, between
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.domains.kit import UNCONSTRAINED, DomainKit

VERSION = 1
"""Version of the way from a recipe to a dataset; another may make other rows of the same recipe."""

QUOTAS: Mapping[Split, int] = {'train': 500, 'test': 50, 'test_family': 25, 'test_renamed': 25}
"""Rows of each domain: train and test as in table VIII of SafeGen-LLM."""

_PATIENCE = 25  # candidates for every row that is asked for, until a domain is given up
_MOST_ROWS = 10_000_000


@dataclass(frozen=True, slots=True)
class DomainRecipe:
    """The settings of one domain.

    Attributes:
        quotas: rows of each split.
        paper_share: share of the candidates that have a size of table VIII of the paper.
        sizes: smallest and largest value of every size parameter of the others.
        weights: how often each constraint family, or kind of `mixed.RULES`, is drawn, compared
            with the others.
        held_out: families that only `test_family` has.
    """

    quotas: Mapping[Split, Annotated[int, between(0, _MOST_ROWS)]]
    paper_share: Annotated[int | float, between(0, 1)]
    sizes: Mapping[str, tuple[int, int]]
    weights: Mapping[str, Annotated[int, between(1, 1_000_000)]]
    held_out: tuple[str, ...] = ()

    @property
    def most_candidates(self) -> int:
        """How many candidates are made before the quotas are given up."""
        return _PATIENCE * (sum(self.quotas.values()) + 10)


@dataclass(frozen=True, slots=True)
class Recipe(BaseRecipe):
    """A dataset before it is built.

    Attributes:
        name: of the dataset.
        seed: another one makes other problems.
        domains: the settings of each domain, by the name of its folder.
        block_size: candidates that are made and stored together.
        val: whether VAL has to accept every plan, too.
        pddl_files: splits whose problems and plans are also written as separate files.
        version: of the way from a recipe to a dataset.
    """

    name: Name
    seed: Seed
    domains: Mapping[str, DomainRecipe]
    block_size: BlockSize = 50
    val: bool = True
    pddl_files: tuple[Split, ...] = ('train', 'test')
    version: int = field(default=VERSION)

    def candidates_digest(self, domain: str) -> str:
        """The key that separates its candidates of a domain from those of every other recipe.

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
    """A domain's wide sizes, with half of the candidates for the families of the paper."""
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


def size_family(name: str) -> str:
    """The family whose sizes a name among the weights may have."""
    return UNCONSTRAINED if name in RULES else name


def fits(kit: DomainKit, size: Mapping[str, int], family: str) -> bool:
    """Whether a family has problems of a size."""
    try:
        kit.checked(size, size_family(family))
    except SafegenError:
        return False
    return True


def _fits_somewhere(kit: DomainKit, wanted: DomainRecipe, family: str) -> bool:
    grid = product(*(range(low, high + 1) for low, high in wanted.sizes.values()))
    return any(fits(kit, dict(zip(wanted.sizes, values, strict=True)), family) for values in grid)


def load_recipe(path: Path) -> Recipe:
    """Reads a recipe file.

    Raises:
        RecipeError: the file is missing, it is not a recipe, or it asks for unknown things.
    """
    return recipe_of(read_json(path), str(path))


def recipe_of(values: Any, source: str) -> Recipe:
    """A recipe from the values of its file.

    Raises:
        RecipeError: as `load_recipe`.
    """
    file = SchemaReader(source, RecipeError)
    recipe = file.read(Recipe, values)
    check_version(file, recipe.version, VERSION)
    domains = {name: _checked(file, name, wanted) for name, wanted in recipe.domains.items()}
    recipe = replace(recipe, domains=domains)
    if not any(recipe.total(split) for split in SPLITS):
        raise file.fault('domains', 'ask for no row', 'raise a quota')
    return recipe


def _checked(file: SchemaReader, name: str, wanted: DomainRecipe) -> DomainRecipe:
    """A domain's recipe in the one order of splits and sizes; raises for unknown ones."""
    place, kit, quotas = f'domains.{name}', kits().get(name), wanted.quotas
    if kit is None:
        raise file.fault(place, 'there is no such domain', f'use {" ".join(kits())}')
    file.keys(quotas, f'{place}.quotas', SPLITS)
    file.need(quotas['train'] > 0, f'{place}.quotas.train', 0, f'take 1 to {_MOST_ROWS:,}')
    if quotas['test_renamed'] > quotas['train']:
        what = 'exceeds train, of which it is made'
        raise file.fault(f'{place}.quotas.test_renamed', what, 'lower it')
    file.keys(wanted.sizes, f'{place}.sizes', [p.name for p in kit.parameters])
    for parameter in kit.parameters:
        at, (low, high) = f'{place}.sizes.{parameter.name}', wanted.sizes[parameter.name]
        for value in (low, high):
            holds, cure = between(parameter.least, parameter.most)
            file.need(holds(value), at, value, cure)
        file.need(low <= high, at, [low, high], 'write [smallest, largest]')
    # The bytes of a recipe, and so its digest, and the draws of sizes follow these orders.
    sizes = {p.name: wanted.sizes[p.name] for p in kit.parameters}
    wanted = replace(wanted, quotas={split: quotas[split] for split in SPLITS}, sizes=sizes)
    file.need(bool(wanted.weights), f'{place}.weights', {}, 'name a family')
    file.choices(wanted.weights, f'{place}.weights', [*kit.families, *RULES])
    file.choices(wanted.held_out, f'{place}.held_out', list(wanted.weights))
    if quotas['test_family'] and not wanted.held_out:
        what = 'is empty, but test_family asks for rows'
        raise file.fault(f'{place}.held_out', what, 'name a family')
    mixed = [name for name in wanted.weights if name in RULES]
    if mixed and wanted.held_out:
        what = f'cannot be beside {mixed[0]!r}, which draws from all families'
        raise file.fault(f'{place}.held_out', what, 'leave one of them out')
    if set(wanted.weights) == set(wanted.held_out):
        raise file.fault(f'{place}.weights', 'leave no family to train on', 'add one')
    for family in wanted.weights:
        if not _fits_somewhere(kit, wanted, family):
            ranges = ', '.join(f'{low} to {high} {n}' for n, (low, high) in wanted.sizes.items())
            raise file.fault(
                f'{place}.sizes', f'family {family!r} has no problem of {ranges}',
                'widen a range or leave the family out of the weights',
            )  # fmt: skip
    return wanted
