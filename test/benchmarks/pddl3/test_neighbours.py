# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The nearest training plan is found and copied into the names of the problem."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.scripted_model import BENCH

from safegen_ros.benchmarks.pddl3.neighbours import nearest
from safegen_ros.benchmarks.pddl3.problems import load_problems
from safegen_ros.datasets.files import DatasetError
from safegen_ros.datasets.pddl3.rows import Row, read_rows, row_problem
from safegen_ros.tasks.pddl3.prompts.slots import slotted
from safegen_ros.tasks.pddl3.prompts.words import task_words
from safegen_ros.verify.validator import verify

ROWS = [row for row in read_rows(BENCH / 'test_renamed.jsonl') if row.domain != 'spanner']


def written(path: Path, rows: list[Row]) -> Path:
    path.write_text(''.join(row.to_line() for row in rows))
    return path


def runs(row: Row) -> set[str]:
    words = task_words(slotted(row_problem(row)), 'pddl')
    return {' '.join(words[i:j]) for i in range(len(words)) for j in range(i + 1, i + 4)} - {''}


def test_a_problem_in_other_names_is_found_and_its_plan_fits(tmp_path: Path) -> None:
    tests = load_problems(BENCH, 'test_renamed', ['blocksworld', 'ferry'], 5)
    other = [replace(p, problem=slotted(p.problem).problem) for p in tests]
    told: list[tuple[int, int]] = []
    train = written(tmp_path / 'train.jsonl', ROWS)
    copies = nearest(other, train, lambda what, done, total: told.append((done, total)))
    assert [copy.row for copy in copies] == [p.problem.name for p in tests]
    for problem, copy in zip(other, copies, strict=True):
        assert copy.similarity == 1.0
        assert verify(problem.problem, copy.plan).ok
    assert told[-1] == (len(ROWS), len(ROWS))


def test_the_nearest_is_the_one_that_a_search_through_all_finds(tmp_path: Path) -> None:
    tests = list(read_rows(BENCH / 'test.jsonl'))
    wanted = [row for row in tests if row.domain in ('blocksworld', 'grippers')][::7]
    problems = load_problems(BENCH, 'test', ['blocksworld', 'grippers'])[::7]
    copies = nearest(problems, written(tmp_path / 'train.jsonl', ROWS))
    trained = {row.id: (row.domain, runs(row)) for row in ROWS}
    for row, copy in zip(wanted, copies, strict=True):
        mine = runs(row)
        found = {
            name: len(mine & others) / len(mine | others)
            for name, (domain, others) in trained.items()
            if domain == row.domain
        }
        assert copy.similarity == pytest.approx(max(found.values()))
        assert copy.row == next(n for n, value in found.items() if value == max(found.values()))
        assert copy.similarity < 1.0  # no test problem is a training problem


def test_missing_rows_are_named(tmp_path: Path) -> None:
    problems = load_problems(BENCH, most=1)
    with pytest.raises(DatasetError, match='is missing: copying needs the training rows'):
        nearest(problems, tmp_path / 'train.jsonl')
    with pytest.raises(DatasetError, match='the training rows have none of spanner'):
        nearest(problems, written(tmp_path / 'train.jsonl', ROWS))
    (tmp_path / 'train.jsonl').write_text('{\n')
    with pytest.raises(DatasetError, match=r'train\.jsonl:1: is not JSON'):
        nearest(problems, tmp_path / 'train.jsonl')
