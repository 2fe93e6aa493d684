# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Checks a dataset from its files alone: what they say, what they promise, and what they prove."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path

from safegen_ros.datasets.builder import RECIPE, Notify, in_order
from safegen_ros.datasets.files import (
    MANIFEST,
    DatasetError,
    Manifest,
    check_files,
    faults,
    load_manifest,
)
from safegen_ros.datasets.pddl3.build import pddl_files
from safegen_ros.datasets.pddl3.candidates import proved, written
from safegen_ros.datasets.pddl3.recipe import Recipe, load_recipe
from safegen_ros.datasets.pddl3.rows import (
    SPLITS,
    Row,
    is_test_class,
    pair_files,
    pair_line,
    read_rows,
)
from safegen_ros.datasets.pddl3.statistics import load_statistics
from safegen_ros.datasets.workers import Workers
from safegen_ros.errors import SafegenError
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.pddl.reader import read_problem
from safegen_ros.tasks.pddl3.domains import builtin_domain, kits
from safegen_ros.tasks.pddl3.domains.check import bucket, difficulty
from safegen_ros.tasks.pddl3.domains.isomorphism import canonical_problem
from safegen_ros.verdict import Category
from safegen_ros.verify.validator import verify

_BATCH = 25  # rows that are checked together


def check(
    folder: Path, workers: Workers, notify: Notify, *, partial: bool = False, val: bool = True
) -> int:
    """Checks everything about a dataset but whether its recipe gives it, which a build checks.

    Args:
        partial: whether files may be missing, as in the folder that the package ships.
        val: whether VAL is asked about every plan, where the recipe asked it.

    Returns:
        How many rows there are.

    Raises:
        DatasetError: the first thing that is wrong.
    """
    recipe = load_recipe(folder / RECIPE)
    manifest = check_files(folder, recipe.digest, partial=partial)
    limits = {d: values['bucket_limits'] for d, values in load_statistics(folder).items()}
    rows = _unique(_all_rows(folder, manifest, recipe))
    batches = iter(lambda: list(islice(rows, _BATCH)), [])
    total = sum(map(recipe.total, SPLITS))
    done = 0
    given = ((batch, recipe, limits, val and recipe.val) for batch in batches)
    for count in in_order(workers, check_rows, given):
        done += count
        notify('rows', done, total)
    return done


def _all_rows(folder: Path, manifest: Manifest, recipe: Recipe) -> Iterator[Row]:
    """The rows of all files that are there, compared with the other files that hold them."""
    for split in SPLITS:
        path = folder / f'{split}.jsonl'
        if path.name not in manifest.files or not path.exists():
            if recipe.total(split) and path.name not in manifest.files:
                raise DatasetError(f'{folder / MANIFEST}: lists no {path.name}: build it again')
            continue
        pairs = {form: folder / name for form, name in pair_files(split).items()}
        others = {
            form: path.open(encoding='utf-8') for form, path in pairs.items() if path.exists()
        }
        found = 0
        for row in read_rows(path):
            found += 1
            for form, file in others.items():
                _same(file.readline(), pair_line(row, form), f'{pairs[form]}:{found}')
            if split in manifest.folders and (folder / split).is_dir():
                for suffix, text in pddl_files(row).items():
                    place = folder / split / f'{row.id}{suffix}'
                    _same(place.read_text(encoding='utf-8'), text, str(place))
            if row.split != split:
                raise DatasetError(f'{path}:{found}: {row.id} is of split {row.split}')
            yield row
        for file in others.values():
            file.close()
        if found != recipe.total(split):
            raise DatasetError(f'{path}: has {found} rows, not {recipe.total(split)}')


def _same(found: str, expected: str, place: str) -> None:
    if found != expected:
        raise DatasetError(f'{place}: does not say what its row says: build the dataset again')


def _unique(rows: Iterator[Row]) -> Iterator[Row]:
    ids: set[str] = set()
    keys: dict[str, str] = {}
    for row in rows:
        if row.id in ids:
            raise DatasetError(f'{row.id}: is there twice: build the dataset again')
        ids.add(row.id)
        if not row.renamed_from:
            other = keys.setdefault(row.key, row.id)
            if other != row.id:
                raise DatasetError(f'{row.id}: equals {other} up to renaming: build it again')
        elif row.renamed_from in ids and keys.get(row.key) != row.renamed_from:
            raise DatasetError(f'{row.id}: is not {row.renamed_from} in other words')
        yield row


def check_rows(
    rows: list[Row], recipe: Recipe, limits: Mapping[str, tuple[float, float]], val: bool
) -> int:
    """Checks rows one by one; returns how many.

    Raises:
        DatasetError: the first thing that is wrong.
    """
    for row in rows:
        try:
            wrong = next(
                (what for what, holds in _promises(row, recipe, limits, val) if not holds()), ''
            )
        except (SafegenError, KeyError, ValueError) as error:
            raise DatasetError(f'{row.id}: {error}: build the dataset again') from error
        if wrong:
            raise DatasetError(f'{row.id}: {wrong}: build the dataset again')
    return len(rows)


def _promises(
    row: Row, recipe: Recipe, limits: Mapping[str, tuple[float, float]], val: bool
) -> Iterator[tuple[str, Callable[[], bool]]]:
    """What a row promises, and how to see whether it holds."""
    kit = kits()[row.domain]
    held_out = row.family in recipe.domains[row.domain].held_out
    problem = read_problem(row.problem, builtin_domain(kit.names[0]), row.id)
    plan, free = parse_plan(row.plan), parse_plan(row.unconstrained_plan)
    bare = replace(problem, constraints=())
    yield 'its problem has another name', lambda: problem.name == row.id
    texts = {'pddl': row.problem, 'json': row.json, 'english': row.english}
    yield 'its three texts are not those of one problem', lambda: written(problem) == texts
    yield 'its key is that of another problem', lambda: canonical_problem(problem).key == row.key
    yield 'its split has no such family', lambda: held_out == (row.split == 'test_family')
    if not held_out:
        side = row.split == 'test'
        yield 'it is on the wrong side of the split', lambda: is_test_class(row.key) == side
    size = dict(row.size)
    yield 'its size is not that of its problem', lambda: kit.measure(problem) == size
    yield 'its paper_size is wrong', lambda: kit.is_paper_size(size) == row.paper_size
    used = {constraint.operator for constraint in problem.constraints}
    yield 'its constraints have other operators', lambda: used == set(row.operators)
    yield 'its score is wrong', lambda: difficulty(kit, problem) == row.difficulty
    level = bucket(row.difficulty, limits[row.domain])
    yield 'its bucket is wrong', lambda: row.bucket == level
    yield 'its plan has another length', lambda: len(plan) == row.reference_length
    yield 'VAL cannot judge its plan', lambda: proved(problem, plan, val=val)
    yield 'its unconstrained plan is longer', lambda: len(free) <= len(plan)
    yield 'its unconstrained plan does not reach the goal', lambda: verify(bare, free).ok
    broken = Category.SAFETY_VIOLATION
    if problem.constraints:
        yield 'its unconstrained plan is safe', lambda: verify(problem, free).category is broken


def check_against(folder: Path, other: Path) -> int:
    """Compares a dataset with one that is published, byte by byte.

    Returns:
        How many files and folders of the published one were compared.

    Raises:
        DatasetError: a file differs or is missing.
    """
    ours, theirs = load_manifest(folder), load_manifest(other)
    for whose, manifest in ((folder, ours), (other, theirs)):
        for fault in faults(whose, manifest, partial=whose is other):
            raise DatasetError(fault)
    mine, published = ({**each.files, **each.folders} for each in (ours, theirs))
    for name in {**published, **mine}:
        if mine.get(name) != published.get(name):
            raise DatasetError(
                f'{folder / name}: differs from what {other / MANIFEST} lists: another recipe or '
                'another version of safegen_ros can be why; compare the files'
            )
    return sum((other / name).exists() for name in published)
