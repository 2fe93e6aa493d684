# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A dataset whose files say something else than they should is not taken for good."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from support.datasets_small import contents, silent

from safegen_ros.datasets.files import DatasetError
from safegen_ros.datasets.manifest import MANIFEST
from safegen_ros.datasets.pddl3.check import check, check_against
from safegen_ros.datasets.pddl3.rows import pair_line, row_of
from safegen_ros.datasets.workers import HERE


@pytest.fixture
def copy(small: Path, tmp_path: Path) -> Path:
    """A copy of the small dataset that a test may change."""
    return shutil.copytree(small, tmp_path / 'copy')


def test_a_dataset_that_was_built_is_what_it_promises(small: Path) -> None:
    before = contents(small)
    assert check(small, HERE, silent) == 28
    assert contents(small) == before


def test_a_part_is_checked_when_a_part_is_asked_for(copy: Path, small: Path) -> None:
    (copy / 'train.jsonl').unlink()
    shutil.rmtree(copy / 'train')
    shutil.rmtree(copy / 'pairs')
    with pytest.raises(DatasetError, match=r'is missing: build the dataset again'):
        check(copy, HERE, silent)
    assert check(copy, HERE, silent, partial=True, val=False) == 12
    whole = len(json.loads((small / MANIFEST).read_text())['files']) + 2
    assert check_against(small, small) == whole
    assert check_against(small, copy) == whole - 14


@pytest.mark.parametrize(
    ('name', 'message'),
    [
        ('train.jsonl', 'train.jsonl: is not what the manifest says'),
        ('README.md', 'README.md: is not what the manifest says'),
        ('pairs/json/test.jsonl', 'test.jsonl: is not what the manifest says'),
        ('test/stray.pddl', 'test: its files are not what the manifest says'),
        ('manifest.json', 'manifest.json: is no manifest'),
    ],
)
def test_a_file_that_was_changed_is_found(copy: Path, name: str, message: str) -> None:
    with (copy / name).open('a') as file:
        file.write(' x')
    with pytest.raises(DatasetError, match=message):
        check(copy, HERE, silent)


def _forge(folder: Path, split: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Changes the first row of a split, and everything that goes with it."""
    path = folder / f'{split}.jsonl'
    first, *rest = path.read_text().splitlines(keepends=True)
    values = json.loads(first)
    change(values)
    files = {path: json.dumps(values, ensure_ascii=False) + '\n' + ''.join(rest)}
    for form in ('pddl', 'json', 'english'):
        place = folder / f'pairs/{form}/{split}.jsonl'
        others = place.read_text().splitlines(keepends=True)[1:]
        files[place] = pair_line(row_of(values, 'forged'), form) + ''.join(others)
    manifest = json.loads((folder / MANIFEST).read_text())
    for place, text in files.items():
        place.write_text(text)
        name = place.relative_to(folder).as_posix()
        manifest['files'][name] = sha256(text.encode()).hexdigest()
    (folder / MANIFEST).write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (lambda r: r.update(plan=r['plan'].splitlines()[0]), 'its plan has another length'),
        (
            lambda r: r.update(plan=r['unconstrained_plan'],
                               reference_length=len(r['unconstrained_plan'].splitlines())),
            'our validator refuses the plan',
        ),
        (lambda r: r.update(unconstrained_plan=r['plan']), 'its unconstrained plan is safe'),
        (lambda r: r.update(unconstrained_plan=''), 'plan does not reach the goal'),
        (lambda r: r.update(english=f'{r["english"]}- x\n'), 'build the dataset again'),
        (lambda r: r.update(family='express'), 'its split has no such family'),
        (lambda r: r.update(paper_size=not r['paper_size']), 'its paper_size is wrong'),
        (lambda r: r.update(size=[*r['size'][:1], *r['size'][:1]]), 'its size is not that of'),
        (lambda r: r.update(key='0' * 32), 'its key is that of another problem'),
        (lambda r: r.update(operators=['within']), 'its constraints have other operators'),
        (lambda r: r.update(difficulty=99.0), 'its score is wrong'),
        (lambda r: r.update(bucket='hard' if r['bucket'] == 'easy' else 'easy'), 'bucket is wrong'),
        (lambda r: r.update(id='ferry-9'), 'its problem has another name'),
        (lambda r: r.update(domain='spanner'), 'build the dataset again'),
        (lambda r: r.update(split='train'), 'is of split train'),
        (lambda r: r.update(problem='(define'), 'build the dataset again'),
    ],
)  # fmt: skip
def test_a_row_that_does_not_keep_its_promises_is_found(
    copy: Path, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    _forge(copy, 'test_family', change)
    with pytest.raises(DatasetError, match=message):
        check(copy, HERE, silent, val=False)


def test_a_row_that_is_there_twice_is_found(copy: Path) -> None:
    lines = (copy / 'train.jsonl').read_text().splitlines()
    twin = json.loads(lines[1])
    _forge(copy, 'train', lambda row: row.update(twin))
    with pytest.raises(DatasetError):
        check(copy, HERE, silent, val=False)
    shutil.rmtree(copy / 'train')
    with pytest.raises(DatasetError, match=f'{twin["id"]}: is there twice'):
        check(copy, HERE, silent, val=False, partial=True)


def test_a_test_problem_among_the_training_rows_is_found(copy: Path) -> None:
    stolen = json.loads((copy / 'test.jsonl').read_text().splitlines()[0])
    shutil.rmtree(copy / 'train')
    _forge(copy, 'train', lambda row: row.update({**stolen, 'split': 'train', 'id': 'ferry-8'}))
    with pytest.raises(DatasetError, match=f'{stolen["id"]}: equals ferry-8 up to renaming'):
        check(copy, HERE, silent, val=False, partial=True)


@pytest.mark.parametrize(
    ('line', 'message'),
    [
        ('{', 'train.jsonl:1: is not JSON'),
        ('[]', 'train.jsonl:1: is not a row'),
        ('{"id": "ferry-1"}', 'train.jsonl:1: is not a row'),
    ],
)
def test_a_line_that_is_no_row_is_found(copy: Path, line: str, message: str) -> None:
    path = copy / 'train.jsonl'
    path.write_text(f'{line}\n')
    manifest = json.loads((copy / MANIFEST).read_text())
    manifest['files']['train.jsonl'] = sha256(path.read_bytes()).hexdigest()
    (copy / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(DatasetError, match=message):
        check(copy, HERE, silent)


def test_a_field_of_another_kind_is_found(small: Path) -> None:
    values = json.loads((small / 'train.jsonl').read_text().splitlines()[0])
    with pytest.raises(DatasetError, match="here: number: is '7': write a whole number, or build"):
        row_of({**values, 'number': '7'}, 'here')
    with pytest.raises(DatasetError, match='here: is not a row, its size'):
        row_of({**values, 'size': [3]}, 'here')


def test_another_dataset_is_not_the_published_one(copy: Path, small: Path) -> None:
    manifest = json.loads((copy / MANIFEST).read_text())
    (copy / 'train.jsonl').write_text('')
    manifest['files']['train.jsonl'] = sha256(b'').hexdigest()
    (copy / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(DatasetError, match=r'train.jsonl: differs from what .*manifest.json lists'):
        check_against(copy, small)
    with pytest.raises(DatasetError, match=r'nowhere.manifest.json: cannot be read'):
        check_against(copy, small / 'nowhere')
