# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The problems of a measurement: those of a split of a dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from safegen_ros.datasets.builder import RECIPE
from safegen_ros.datasets.files import MANIFEST, DatasetError, file_digest, load_manifest
from safegen_ros.datasets.pddl3.lessons import held_out_problems
from safegen_ros.datasets.pddl3.made_up import parts
from safegen_ros.datasets.pddl3.recipe import load_recipe
from safegen_ros.datasets.pddl3.rows import read_rows, row_problem
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.model import Problem


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


def draw_unseen(seed: int, count: int) -> list[TestProblem]:
    """Problems of the domains that no lesson is about, by the number of their rules.

    Args:
        count: of each domain.
    """
    return [
        TestProblem(
            name, f'{len(each.problem.constraints)} rules', (),
            (('objects', len(each.problem.objects)),), False, '', len(each.plan.steps),
            each.problem,
        )
        for name in sorted(parts()['held_out'])
        for each in held_out_problems(name, seed, count)
    ]  # fmt: skip
