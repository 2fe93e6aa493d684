# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The problems of a measurement: a split of a dataset, or larger ones from the generators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from safegen_ros.datasets.builder import RECIPE
from safegen_ros.datasets.files import MANIFEST, DatasetError, file_digest, load_manifest
from safegen_ros.datasets.pddl3.mixed import ANY_GOAL, RULES
from safegen_ros.datasets.pddl3.recipe import DomainRecipe, Recipe, load_recipe
from safegen_ros.datasets.pddl3.rows import read_rows, row_problem
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.model import AtomFormula, Problem
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.domains.kit import DomainKit, SizeError

LARGER: Mapping[str, tuple[Mapping[str, int], ...]] = {
    'blocksworld': tuple({'blocks': n} for n in (7, 8, 9, 10, 12, 20, 30)),
    'ferry': tuple({'locations': 5, 'cars': n} for n in range(5, 9)),
    'grippers': tuple({'robots': 2, 'rooms': 4, 'objects': n} for n in range(5, 9)),
    'spanner': tuple({'spanners': n + 1, 'nuts': n, 'locations': 5} for n in range(4, 8)),
}
"""Sizes beyond table VIII of SafeGen-LLM and beyond the recipe of the shipped dataset."""

GROWING = {'blocksworld': 'blocks', 'ferry': 'cars', 'grippers': 'objects', 'spanner': 'nuts'}
"""The parameter by which they grow."""

_ATTEMPTS = 100  # to draw a problem of a family that fits its size


@dataclass(frozen=True, slots=True)
class TestProblem:
    """One problem of a measurement, with the groups of its results.

    Attributes:
        operators: the PDDL3 operators of its constraints.
        paper_size: whether its size is one of table VIII of SafeGen-LLM.
        bucket: easy, medium or hard among the training rows of the domain; empty when unknown.
        reference_length: steps of a shortest safe plan; 0 when unknown.
    """

    __test__ = False

    domain: str
    family: str
    operators: tuple[str, ...]
    size: tuple[tuple[str, int], ...]
    paper_size: bool
    bucket: str
    reference_length: int
    problem: Problem


GROUPS: Mapping[str, Callable[[TestProblem], str]] = {
    'domain': lambda p: p.domain,
    'family': lambda p: f'{p.domain} {p.family}',
    'operators': lambda p: ' '.join(p.operators) or 'none',
    'size': lambda p: ' '.join((p.domain, *(f'{value} {name}' for name, value in p.size))),
    'paper_size': lambda p: 'of table VIII' if p.paper_size else 'other',
    'bucket': lambda p: p.bucket or 'unknown',
}
"""What results are grouped by."""


def kinds_of(problem: TestProblem) -> Iterator[str]:
    """What a problem counts as: by its rules, by its size, and by what its goal asks for."""
    yield 'rules: ' + (problem.family if problem.family in RULES else 'one-rule')
    growing = GROWING.get(problem.domain, '')
    least = {p.name: p.least for p in kits()[problem.domain].parameters}
    smallest = growing and dict(problem.size)[growing] == least[growing]
    yield 'sizes: ' + (f'{least[growing]} {growing}' if smallest else GROUPS['paper_size'](problem))
    if problem.family == ANY_GOAL:
        facts = (goal for goal in problem.problem.goal_conjuncts() if isinstance(goal, AtomFormula))
        yield from {f'goals: {problem.domain} {fact.predicate}' for fact in facts}


@dataclass(frozen=True, slots=True)
class Source:
    """Where problems come from.

    Attributes:
        manifest: SHA-256 of its manifest, which stands for every byte of it; empty for problems
            that are in no dataset.
        split: name of the split, or the change of the recipe instead.
    """

    name: str
    manifest: str
    seed: int
    split: str

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        written = f', manifest {self.manifest[:16]}' if self.manifest else ''
        return f'{self.split} of {self.name} (seed {self.seed}{written})'


def load_source(folder: Path, split: str) -> Source:
    """The problems of a measurement, after a look whether the split is the one that was built.

    Raises:
        DatasetError: the dataset is not whole, or the split is not what its manifest says.
    """
    manifest = load_manifest(folder)
    path = folder / f'{split}.jsonl'
    if path.name not in manifest.files:
        known = ' '.join(
            Path(n).stem for n in manifest.files if n.endswith('.jsonl') and '/' not in n
        )
        raise DatasetError(
            f'{folder}: there is no split {split!r}: take one of {known}', ErrorCode.EMPTY_TASK
        )
    if not path.is_file():
        raise DatasetError(f'{path}: is missing: build the dataset again')
    if file_digest(path) != manifest.files[path.name]:
        raise DatasetError(f'{path}: is not what the manifest says: build the dataset again')
    recipe = load_recipe(folder / RECIPE)
    return Source(recipe.name, file_digest(folder / MANIFEST), recipe.seed, split)


def load_problems(
    folder: Path, split: str = 'test', domains: Collection[str] = (), most: int = 0
) -> list[TestProblem]:
    """The problems of a split, in the order of the file.

    Args:
        domains: only these domains; empty for all.
        most: of each domain, the first ones only; 0 for all.

    Raises:
        SafegenError: there is no such split, or it has no problem of the domains.
    """
    counts: dict[str, int] = {}
    found = []
    for row in read_rows(folder / f'{split}.jsonl'):
        count = counts.setdefault(row.domain, 0)
        if (domains and row.domain not in domains) or (most and count >= most):
            continue
        counts[row.domain] = count + 1
        found.append(
            TestProblem(
                row.domain, row.family, row.operators, row.size, row.paper_size, row.bucket,
                row.reference_length, row_problem(row),
            )
        )  # fmt: skip
    if not found:
        raise SafegenError(
            f'{folder}: split {split} has no problem of {" ".join(domains) or "any domain"}: '
            f'it has {" ".join(counts) or "no rows"}',
            ErrorCode.EMPTY_TASK,
        )
    return found


def first_of_each(problems: Sequence[TestProblem], most: int) -> list[TestProblem]:
    """The first problems of each domain, in their order; all for 0."""
    counts: Counter[str] = Counter()
    found = []
    for problem in problems:
        counts[problem.domain] += 1
        if not most or counts[problem.domain] <= most:
            found.append(problem)
    return found


Sizes = Mapping[str, Sequence[Mapping[str, int]]]
"""Of every domain."""


def larger_sizes(domains: Collection[str] = ()) -> Sizes:
    """Those of `LARGER` for some domains, or for all.

    Raises:
        SafegenError: there are none for a domain.
    """
    unknown = [name for name in domains if name not in LARGER]
    if unknown:
        raise SafegenError(
            f'there are no larger sizes of domain {unknown[0][:40]!a}: take one of '
            f'{" ".join(LARGER)}',
            ErrorCode.UNKNOWN_DOMAIN,
        )
    return {name: sizes for name, sizes in LARGER.items() if not domains or name in domains}


def draw_larger(recipe: Recipe, seed: int, count: int, sizes: Sizes = LARGER) -> list[TestProblem]:
    """Problems of larger sizes, with the constraint families of a recipe in its proportions.

    Held-out families are left out, so that nothing but the size is new. The generators prove that
    a problem can be solved and that a plan which ignores its constraints breaks them; a shortest
    plan is not looked for.

    Args:
        recipe: of the dataset whose families are taken.
        seed: the same arguments give the same problems.
        sizes: the sizes of every domain; domains that the recipe lacks are left out.

    Raises:
        SizeError: hardly any family of the recipe fits a size.
    """
    found = []
    for domain, wanted in recipe.domains.items():
        for size in sizes.get(domain, ()):
            values = ' '.join(f'{value} {name}' for name, value in size.items())
            rng = Random(f'larger {domain} {values} {seed}')  # noqa: S311
            found += [_larger(rng, kits()[domain], wanted, size) for _ in range(count)]
    return found


def _larger(
    rng: Random, kit: DomainKit, wanted: DomainRecipe, size: Mapping[str, int]
) -> TestProblem:
    weights = {n: w for n, w in wanted.weights.items() if n not in wanted.held_out}
    for _ in range(_ATTEMPTS):
        family = rng.choices(list(weights), list(weights.values()))[0]
        try:
            made = kit.problem(rng.getrandbits(63), size, family)
        except SizeError:
            continue
        return TestProblem(
            kit.name, family, kit.families[family].operators, tuple(made.size.items()),
            kit.is_paper_size(made.size), '', 0, made.problem,
        )  # fmt: skip
    raise SizeError(
        f'{kit.name}: none of {_ATTEMPTS} draws from the families of the recipe fits '
        f'{dict(size)}: take other sizes'
    )
