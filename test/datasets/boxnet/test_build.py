# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Datasets of BoxNet2D: the same bytes again, and every damage found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from safegen_ros.benchmarks.measurement import silent
from safegen_ros.datasets.boxnet.recipe import BoxnetRecipe, blocks, load_recipe, scaled
from safegen_ros.datasets.boxnet.rows import build, check, read_rows
from safegen_ros.datasets.files import DatasetError, RecipeError
from safegen_ros.datasets.manifest import MANIFEST
from safegen_ros.datasets.workers import Workers, local_workers
from safegen_ros.paths import data_path

PAPER = data_path('config/boxnet/paper.json')


def small() -> BoxnetRecipe:
    """The splits of the paper, with a few tasks of 2 x 2 and 3 x 2."""
    recipe = scaled(load_recipe(PAPER), 4)
    splits = (replace(s, sizes=((2, 2), (3, 2)), objects=(1, 2)) for s in recipe.splits)
    return replace(recipe, splits=tuple(splits))


@pytest.fixture(scope='module')
def workers() -> Iterator[Workers]:
    with local_workers(1) as found:
        yield found


@pytest.fixture(scope='module')
def built(tmp_path_factory: pytest.TempPathFactory, workers: Workers) -> Path:
    out = tmp_path_factory.mktemp('boxnet') / 'out'
    assert build(out, small(), workers, silent)
    return out


def test_the_recipe_of_the_paper_has_its_sizes() -> None:
    recipe = load_recipe(PAPER)
    rows = {split.name: sum(block.rows for block in blocks(split)) for split in recipe.splits}
    assert rows == {
        'train': 55_000, 'test': 250, 'randrob': 200, 'newcoord': 250, 'unseenmap': 100,
        'train_unsolvable': 1_000, 'test_unsolvable': 50,
    }  # fmt: skip


@pytest.mark.nightly
def test_a_dataset_is_built_again_bit_for_bit_after_a_kill(
    built: Path, tmp_path: Path, workers: Workers
) -> None:
    assert not build(built, small(), workers, silent)
    count = 0

    def killed(what: str, done: int, total: int) -> None:
        nonlocal count
        count += 1
        if count == 5:
            raise KeyboardInterrupt

    out = tmp_path / 'again'
    with pytest.raises(KeyboardInterrupt):
        build(out, small(), workers, killed)
    made = []
    counting = Workers(
        1, lambda function, *given: made.append(given) or workers.submit(function, *given)
    )
    assert build(out, small(), counting, silent)
    total = sum(len(list(blocks(split))) for split in small().splits)
    assert 0 < len(made) < total
    assert (out / MANIFEST).read_bytes() == (built / MANIFEST).read_bytes()


def test_the_bytes_are_those_of_earlier_releases(built: Path) -> None:
    digest = sha256((built / MANIFEST).read_bytes()).hexdigest()
    assert digest == '584c3da924d36d05ed7cd98d2908e3c10b680d36d9b89487a45857d1838d127f'


def test_rows_hold_plans_and_proofs(built: Path, workers: Workers) -> None:
    assert check(built, workers, silent) >= 20
    test = list(read_rows(built / 'test.jsonl'))
    assert all(row.plan for row in test)
    assert any(row.paper_steps for row in test)
    unsolvable = list(read_rows(built / 'test_unsolvable.jsonl'))
    assert unsolvable
    assert all(row.proof and row.plan is None for row in unsolvable)


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        (lambda row: row.update(plan=row['plan'][:-1]), 'its plan is refused'),
        (lambda row: row.update(lower_bound=99), 'its plan is refused'),
        (lambda row: row.update(plan=None), 'not of its variant'),
        (lambda row: row.update(paper_steps='3'), 'not a whole number'),
        (lambda row: row.pop('proof'), 'is not a row'),
        (lambda row: row.update(split='train'), 'does not belong here'),
    ],
)
def test_a_row_that_is_not_what_it_promises_is_found(
    built: Path, tmp_path: Path, workers: Workers, change, words: str
) -> None:
    first, *others = (built / 'test.jsonl').read_text().splitlines()
    row = json.loads(first)
    change(row)
    lines = '\n'.join([json.dumps(row), *others]) + '\n'
    spoilt = tmp_path / 'spoilt'
    spoilt.mkdir()
    for path in built.iterdir():
        if path.is_file():
            (spoilt / path.name).write_bytes(path.read_bytes())
    (spoilt / 'test.jsonl').write_text(lines)
    with pytest.raises(DatasetError, match='is not what the manifest says'):
        check(spoilt, workers, silent)
    manifest = json.loads((spoilt / MANIFEST).read_text())
    manifest['files']['test.jsonl'] = sha256(lines.encode()).hexdigest()
    (spoilt / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(DatasetError, match=words):
        check(spoilt, workers, silent)


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        ({'version': 2}, 'version'),
        ({'seed': -1}, 'seed'),
        ({'splits': []}, 'splits'),
        ({'more': 1}, "unknown field 'more'"),
        ({'splits': [{'name': 'a/b'}]}, "field 'variant' is missing"),
    ],
)
def test_a_recipe_that_asks_for_what_there_is_not_is_refused(
    tmp_path: Path, change: dict[str, object], words: str
) -> None:
    path = tmp_path / 'recipe.json'
    path.write_text(json.dumps({**json.loads(PAPER.read_text()), **change}))
    with pytest.raises(RecipeError, match=words):
        load_recipe(path)
    splits = json.loads(PAPER.read_text())
    splits['splits'][0]['name'] = '../x'
    path.write_text(json.dumps(splits))
    with pytest.raises(RecipeError, match='that of a file'):
        load_recipe(path)
