# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The part of safegen-bench that is shipped is what the build command makes, byte for byte."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest
from support.datasets_small import contents, silent

from safegen_ros.datasets.builder import RECIPE
from safegen_ros.datasets.pddl3.candidates import candidate, renamed_row
from safegen_ros.datasets.pddl3.check import check
from safegen_ros.datasets.pddl3.recipe import load_recipe
from safegen_ros.datasets.pddl3.rows import Row, read_rows
from safegen_ros.datasets.pddl3.statistics import load_statistics
from safegen_ros.datasets.workers import HERE
from safegen_ros.paths import data_path
from safegen_ros.pddl.writer import constraint_text
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.domains.check import bucket
from safegen_ros.tasks.pddl3.task import load_task

FOLDER = data_path('data/safegen-bench')
BARE = replace(load_recipe(FOLDER / RECIPE), val=False)
"""Its recipe; whether VAL is asked changes no byte of a row, and VAL is asked below."""


def rows(split: str) -> list[Row]:
    return list(read_rows(FOLDER / f'{split}.jsonl'))


@pytest.mark.nightly
@pytest.mark.parametrize('domain', BARE.domains)
def test_the_test_problems_are_made_anew_byte_for_byte(domain: str) -> None:
    lines = (FOLDER / 'test.jsonl').read_text(encoding='utf-8').splitlines(keepends=True)
    mine = [
        (row, line) for row, line in zip(rows('test'), lines, strict=True) if row.domain == domain
    ]
    assert len(mine) == 50
    limits = load_statistics(FOLDER)[domain]['bucket_limits']
    for row, line in mine:
        made = candidate(BARE, domain, row.number)
        assert isinstance(made, Row)
        placed = replace(made, split='test', bucket=bucket(made.difficulty, limits))
        assert placed.to_line() == line
        for suffix, text in (('.pddl', row.problem), ('.plan', f'{row.plan}\n')):
            assert (FOLDER / 'test' / f'{row.id}{suffix}').read_text(encoding='utf-8') == text


def test_the_renamed_problems_are_made_anew_byte_for_byte() -> None:
    for row in rows('test_renamed')[::10]:
        domain, number = row.renamed_from.rsplit('-', 1)
        made = candidate(BARE, domain, int(number))
        assert isinstance(made, Row)
        assert renamed_row(replace(made, bucket=row.bucket), BARE) == row


@pytest.mark.nightly
def test_all_files_say_what_they_promise_and_val_accepts_every_plan() -> None:
    assert check(FOLDER, HERE, silent, partial=True) == 400


def test_its_numbers_are_those_of_the_paper() -> None:
    statistics = load_statistics(FOLDER)
    assert {d: s['splits']['train']['rows'] for d, s in statistics.items()} == dict.fromkeys(
        ('blocksworld', 'ferry', 'grippers', 'spanner'), 500
    )
    for domain in ('blocksworld', 'ferry'):
        assert statistics[domain]['splits']['train']['paper_rows'] == 500
        assert statistics[domain]['splits']['test']['paper_rows'] == 50


def test_an_operator_and_other_families_are_held_out() -> None:
    statistics = load_statistics(FOLDER)
    trained = Counter[str]()
    for domain, wanted in BARE.domains.items():
        splits = statistics[domain]['splits']
        trained.update(splits['train']['operators'])
        assert set(splits['test_family']['families']) == set(wanted.held_out)
        assert not set(wanted.held_out) & {
            *splits['train']['families'],
            *splits['test']['families'],
        }
    unseen = {row.operators for row in rows('test_family')} - {(name,) for name in trained}
    assert unseen == {('hold-after',)}
    for domain, wanted in BARE.domains.items():
        assert set(wanted.weights) == set(kits()[domain].families)


def _shapes(row: Row) -> set[str]:
    """Its constraints with types instead of objects, and without numbers."""
    problem = load_task(row.problem).problem
    found = set()
    for constraint in problem.constraints:
        words = re.findall(r'[()]|[^\s()]+', constraint_text(constraint))
        shape = [problem.objects.get(word, word) for word in words if not word.isdigit()]
        found.add(' '.join((row.domain, *shape)))
    return found


def test_constraints_of_held_out_families_look_like_no_others() -> None:
    known = {shape for row in rows('test') + rows('test_renamed') for shape in _shapes(row)}
    held_out = {shape for row in rows('test_family') for shape in _shapes(row)}
    assert len(known) > len(held_out) >= 8
    assert not known & held_out


def test_it_is_small() -> None:
    files = contents(FOLDER)
    assert sum(map(len, files.values())) < 2_000_000
    assert {name.split('/')[0] for name in files} == {
        'README.md', 'manifest.json', 'recipe.json', 'statistics.json', 'test', 'test.jsonl',
        'test_family.jsonl', 'test_renamed.jsonl',
    }  # fmt: skip
    assert len([name for name in files if name.endswith('.pddl')]) == 200
