# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Problems come from a dataset that is what it promises, or from the generators."""

from __future__ import annotations

import io
import re
import resource
import shutil
import struct
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from support.datasets_small import small_recipe
from support.scripted_model import BENCH

from safegen_ros.benchmarks.pddl3.dataset_report import (
    PLOTS,
    draw_plots,
    plots_available,
    print_statistics,
)
from safegen_ros.benchmarks.pddl3.neighbours import nearest
from safegen_ros.benchmarks.pddl3.problems import (
    GROUPS,
    draw_unseen,
    load_problems,
    load_source,
)
from safegen_ros.benchmarks.pddl3.studies import GROWING, LARGER, draw_larger, kinds_of
from safegen_ros.datasets.files import DatasetError, file_digest
from safegen_ros.datasets.pddl3.made_up import parts
from safegen_ros.datasets.pddl3.rows import Row, read_rows, row_problem
from safegen_ros.datasets.pddl3.statistics import BARE_NEW, load_statistics, longer_rows
from safegen_ros.errors import SafegenError
from safegen_ros.paths import data_path
from safegen_ros.pddl.plan import Plan
from safegen_ros.pddl.writer import problem_text
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.domains.check import bucket, thresholds
from safegen_ros.tasks.pddl3.domains.kit import SizeError
from safegen_ros.tasks.pddl3.prompts.slots import slotted
from safegen_ros.tasks.pddl3.prompts.words import task_words
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


def test_problems_of_unseen_domains_follow_from_the_seed_and_are_not_trivial() -> None:
    problems = draw_unseen(5, 2)
    assert {each.domain for each in problems} == {*parts()['held_out']}
    assert not {*parts()['held_out']} & {*parts()['learned']}
    for problem in problems:
        assert not Validator(problem.problem).verify(Plan()).ok
        assert problem.reference_length > 0
    texts = [problem_text(p.problem) for p in problems]
    assert [problem_text(p.problem) for p in draw_unseen(5, 2)] == texts
    assert [problem_text(p.problem) for p in draw_unseen(6, 2)] != texts


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


STATISTICS = load_statistics(data_path('data/safegen-bench'))


def printed() -> str:
    out = io.StringIO()
    print_statistics(STATISTICS, Console(file=out, width=200))
    return out.getvalue()


def test_the_paper_stands_beside_ours() -> None:
    lines = [re.split(r' {2,}', line.strip()) for line in printed().splitlines()]
    assert ['blocksworld', 'paper', 'blocks 3-6', '500', '500', '50', '50'] in lines
    assert ['ours', 'blocks 3-6', '500', '500', '50', '50'] in lines
    sizes = 'spanners 2-3, nuts 2, locations 3-4'
    assert ['spanner', 'paper', sizes, '500', '500', '50', '50'] in lines
    always = next(line for line in lines if line[:2] == ['blocksworld', 'always'])
    splits = STATISTICS['blocksworld']['splits']
    assert always[2:4] == [
        f'{splits[s]["operators"]["always"]} ({splits[s]["broken"]["always"]})'
        for s in ('train', 'test')
    ]
    renamed, tested = splits['test_renamed'], splits['test']
    assert ['blocksworld', 'train', '500', str(longer_rows(splits['train'])), '-'] in lines
    assert ['test', '50', str(longer_rows(tested)), str(tested[BARE_NEW])] in lines
    assert ['test_renamed', '25', str(longer_rows(renamed)), '0'] in lines
    buckets = next(line for line in lines if line[0] == 'ferry' and len(line) == 8)
    assert list(map(int, buckets[1:4])) == list(
        STATISTICS['ferry']['splits']['train']['buckets'].values()
    )


@pytest.mark.nightly
def test_every_plot_is_a_picture(tmp_path: Path) -> None:
    assert plots_available()
    two = {domain: STATISTICS[domain] for domain in ('ferry', 'spanner')}
    paths = draw_plots(two, tmp_path / 'plots')
    assert {path.stem for path in paths} == set(PLOTS)
    for path in paths:
        data = path.read_bytes()
        assert data.startswith(b'\x89PNG\r\n')
        width, height = struct.unpack('>II', data[16:24])
        assert width > 900
        assert height > 300


def test_a_plot_is_whole_or_what_it_was(tmp_path: Path) -> None:
    (tmp_path / 'sizes.png').write_bytes(b'older')
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))  # like a full disk
    try:
        with pytest.raises(DatasetError, match=r'sizes\.png: cannot be written: '):
            draw_plots({'ferry': STATISTICS['ferry']}, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {'sizes.png': b'older'}


@pytest.mark.parametrize(
    ('scores', 'shares'),
    [
        ([float(n) for n in range(10)], [4, 4, 2]),
        ([1.0] * 3 + [2.0] * 5 + [3.0] * 2, [3, 5, 2]),
        ([1.0] * 5 + [2.0] * 4 + [3.0], [5, 4, 1]),
        ([1.0] * 4 + [2.0] * 4 + [3.0] * 2, [4, 4, 2]),
        ([7.0], [1, 0, 0]),
    ],
)
def test_buckets_come_as_near_to_the_percentiles_as_ties_allow(
    scores: list[float], shares: list[int]
) -> None:
    limits = thresholds(scores)
    found = [bucket(score, limits) for score in scores]
    assert [found.count(name) for name in ('easy', 'medium', 'hard')] == shares


def test_a_folder_without_statistics_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match='name the folder of a dataset that is built'):
        load_statistics(tmp_path)
    for text, message in (('{', 'is not JSON'), ('[]', 'holds no statistics')):
        (tmp_path / 'statistics.json').write_text(text)
        with pytest.raises(DatasetError, match=message):
            load_statistics(tmp_path)
