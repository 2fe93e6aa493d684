# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Problems come from a dataset that is what it promises, or from the generators."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from support.datasets_small import small_recipe
from support.scripted_model import BENCH

from safegen_ros.benchmarks.pddl3.problems import (
    GROUPS,
    GROWING,
    LARGER,
    draw_larger,
    kinds_of,
    load_problems,
    load_source,
)
from safegen_ros.datasets.files import DatasetError, file_digest
from safegen_ros.datasets.pddl3.rows import read_rows
from safegen_ros.errors import SafegenError
from safegen_ros.pddl.plan import Plan
from safegen_ros.pddl.writer import problem_text
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.domains.kit import SizeError
from safegen_ros.verify.validator import Validator, verify


def test_a_split_is_read_in_order() -> None:
    rows = list(read_rows(BENCH / 'test_family.jsonl'))
    problems = load_problems(BENCH, 'test_family')
    assert [p.problem.name for p in problems] == [row.id for row in rows]
    for problem, row in zip(problems, rows, strict=True):
        assert verify(problem.problem, row.plan).ok
        assert (problem.family, problem.bucket, problem.size) == (row.family, row.bucket, row.size)
        assert (problem.operators, problem.paper_size) == (row.operators, row.paper_size)
        assert problem.reference_length == row.reference_length
    few = load_problems(BENCH, 'test', ['ferry', 'spanner'], 4)
    assert Counter(p.domain for p in few) == {'ferry': 4, 'spanner': 4}
    with pytest.raises(SafegenError, match='split test has no problem of harbour: it has blocks'):
        load_problems(BENCH, 'test', ['harbour'])


def test_a_source_stands_for_the_bytes_of_a_dataset(tmp_path: Path) -> None:
    source = load_source(BENCH, 'test')
    assert (source.name, source.split) == ('safegen-bench', 'test')
    assert source.manifest == file_digest(BENCH / 'manifest.json')
    folder = tmp_path / 'data'
    folder.mkdir()
    with pytest.raises(DatasetError, match='the dataset is not whole'):
        load_source(folder, 'test')
    for name in ('manifest.json', 'recipe.json', 'test.jsonl'):
        shutil.copy(BENCH / name, folder)
    assert load_source(folder, 'test') == source
    with pytest.raises(DatasetError, match=r"no split 'lucky': take one of test"):
        load_source(folder, 'lucky')
    with pytest.raises(DatasetError, match=r'train\.jsonl: is missing'):
        load_source(folder, 'train')
    lines = (folder / 'test.jsonl').read_text().splitlines(keepends=True)
    (folder / 'test.jsonl').write_text(''.join(lines[:-1]))
    with pytest.raises(DatasetError, match=r'test\.jsonl: is not what the manifest says'):
        load_source(folder, 'test')


def test_larger_problems_have_the_sizes_and_the_families_that_were_asked_for() -> None:
    recipe = small_recipe()
    problems = draw_larger(recipe, 5, 2)
    assert list(Counter(GROUPS['size'](p) for p in problems).values()) == [2] * 8
    for problem in problems:
        wanted = recipe.domains[problem.domain]
        assert dict(problem.size) in LARGER[problem.domain]
        assert not problem.paper_size
        grown = GROWING[problem.domain]
        assert dict(problem.size)[grown] > wanted.sizes[grown][1]
        assert problem.family in wanted.weights
        assert problem.family not in wanted.held_out
        assert kits()[problem.domain].measure(problem.problem) == dict(problem.size)
        assert not Validator(problem.problem).verify(Plan()).ok
    texts = [problem_text(p.problem) for p in problems]
    assert len({*texts}) == len(texts)
    assert [problem_text(p.problem) for p in draw_larger(recipe, 5, 2)] == texts
    assert [problem_text(p.problem) for p in draw_larger(recipe, 6, 2)] != texts


def test_sizes_without_room_are_refused() -> None:
    recipe = small_recipe()
    ferry = replace(recipe.domains['ferry'], weights={'express': 1})
    with pytest.raises(SizeError, match='ferry: none of 100 draws'):
        draw_larger(
            replace(recipe, domains={'ferry': ferry}),
            1,
            1,
            {'ferry': [{'locations': 5, 'cars': 1}]},
        )


def test_kinds_name_rules_size_and_goals() -> None:
    [problem, *_] = load_problems(BENCH, 'test', ['blocksworld'])
    assert {*kinds_of(problem)} == {'rules: one-rule', 'sizes: of table VIII'}
    asked = replace(problem, family='any-goal', size=(('blocks', 2),))
    assert {*kinds_of(asked)} == {
        'rules: any-goal',
        'sizes: 2 blocks',
        'goals: blocksworld on',
        'goals: blocksworld on-table',
    }
