# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A dataset whose files say something else than they should is not taken for good."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from support.datasets_small import contents, silent, small_recipe

from safegen_ros.datasets.builder import RECIPE
from safegen_ros.datasets.files import MANIFEST, DatasetError
from safegen_ros.datasets.pddl3.candidates import candidate, renamed_row
from safegen_ros.datasets.pddl3.card import CARD
from safegen_ros.datasets.pddl3.check import check, check_against
from safegen_ros.datasets.pddl3.recipe import domain_recipe, load_recipe
from safegen_ros.datasets.pddl3.rows import (
    SPLITS,
    Row,
    is_test_class,
    pair_line,
    read_rows,
    row_of,
    row_problem,
)
from safegen_ros.datasets.pddl3.statistics import (
    BARE_NEW,
    RowFinding,
    Statistics,
    examined,
    load_statistics,
    longer_rows,
)
from safegen_ros.datasets.pddl3.walk import Walk
from safegen_ros.datasets.workers import HERE
from safegen_ros.paths import data_path
from safegen_ros.pddl.reader import read_problem
from safegen_ros.pddl.writer import constraint_text, problem_text
from safegen_ros.tasks.pddl3.domains import builtin_domain, kits
from safegen_ros.tasks.pddl3.domains.check import bucket
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.tasks.pddl3.prompts.styles import InstructStyle
from safegen_ros.tasks.pddl3.task import load_task
from safegen_ros.verify.validator import verify


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
        ('manifest.json', 'manifest.json: is not JSON'),
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
    (copy / 'train.jsonl').unlink()
    shutil.rmtree(copy / 'train')
    _forge(copy, 'test_family', change)
    with pytest.raises(DatasetError, match=message):
        check(copy, HERE, silent, val=False, partial=True)


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


@pytest.fixture(scope='module')
def rows(small: Path) -> list[Row]:
    return [row for split in SPLITS for row in read_rows(small / f'{split}.jsonl')]


@pytest.mark.slow
def test_an_operator_counts_where_its_constraint_is_broken(rows: list[Row]) -> None:
    for row in rows:
        broken = examined(row)[1].broken
        assert broken
        assert broken <= {*row.operators}
        constraints = row_problem(row).constraints
        if len(constraints) == 1:
            assert broken == {constraints[0].operator}


def test_what_no_plan_can_break_is_no_coverage(rows: list[Row]) -> None:
    mine = [row for row in rows if row.family == 'tightening-order']
    assert len(mine) > 3
    for row in mine:
        problem = row_problem(row)
        once = [c for c in problem.constraints if c.operator == 'at-most-once']
        assert once
        assert verify(replace(problem, constraints=tuple(once)), row.unconstrained_plan).ok
        assert examined(row)[1].broken == {'always'}


def test_the_bare_key_is_that_of_the_initial_state_and_the_goal(rows: list[Row]) -> None:
    row = next(row for row in rows if row.domain == 'ferry')
    problem = row_problem(row)
    other = replace(
        row, problem=problem_text(replace(problem, constraints=problem.constraints * 2))
    )
    elsewhere = replace(row, problem=problem_text(replace(problem, init=frozenset())))
    assert examined(other)[1].bare_key == examined(row)[1].bare_key != row.key
    assert examined(elsewhere)[1].bare_key != examined(row)[1].bare_key


def test_a_test_row_is_new_without_constraints_when_no_training_row_has_its_key(
    rows: list[Row],
) -> None:
    row = next(row for row in rows if row.domain == 'ferry' and row.split == 'train')
    statistics = Statistics()
    statistics.add_walk(Walk(small_recipe(), 'ferry'), (1.0, 2.0))
    keys = {'test': ('aa', 'bb', 'bb', 'cc'), 'train': ('aa', 'aa', 'dd'), 'test_family': ('dd',)}
    for split, own in keys.items():
        for key in own:
            statistics.add(replace(row, split=split), RowFinding(frozenset({'within'}), key))
    splits = statistics.values()['ferry']['splits']
    assert {split: found[BARE_NEW] for split, found in splits.items()} == {
        'test': 3, 'train': 0, 'test_family': 0,
    }  # fmt: skip
    assert {split: found['broken'] for split, found in splits.items()} == {
        split: {'within': len(own)} for split, own in keys.items()
    }


def test_the_statistics_of_a_dataset_are_those_of_its_rows(small: Path, rows: list[Row]) -> None:
    statistics = load_statistics(small)
    trained = {(r.domain, examined(r)[1].bare_key) for r in rows if r.split == 'train'}
    for domain, values in statistics.items():
        for split, found in values['splits'].items():
            mine = [row for row in rows if (row.domain, row.split) == (domain, split)]
            assert found['broken'] == Counter(o for row in mine for o in examined(row)[1].broken)
            assert found[BARE_NEW] == sum(
                (domain, examined(row)[1].bare_key) not in trained for row in mine
            )
            assert longer_rows(found) == sum(
                row.reference_length > len(row.unconstrained_plan.splitlines()) for row in mine
            )
        assert values['splits']['test_renamed'][BARE_NEW] == 0
    assert any(longer_rows(values['splits']['train']) for values in statistics.values())


def test_the_card_says_plainly_what_constraints_change(small: Path) -> None:
    card = (small / CARD).read_text(encoding='utf-8')
    statistics = load_statistics(small)
    for domain, values in statistics.items():
        for split, found in values['splits'].items():
            new = '-' if split == 'train' else found[BARE_NEW]
            line = f'| {domain} | {split} | {found["rows"]} | {longer_rows(found)} | {new} |'
            assert line in card.splitlines()
    splits = statistics['spanner']['splits']
    cells = (f'{splits[s]["operators"].get("at-most-once", 0)} (0)' for s in SPLITS)
    assert f'| at-most-once | {" | ".join(cells)} |' in card.splitlines()
    assert splits['train']['operators']['at-most-once'] > 0
    assert 'This is so for most training rows of spanner.' in card
    assert 'may occur in\ntraining with other constraints' in card
    assert '`(at-most-once (at bob shed))`' in card


def test_statistics_of_another_version_are_refused(tmp_path: Path, small: Path) -> None:
    text = (small / 'statistics.json').read_text(encoding='utf-8')
    assert BARE_NEW in text
    (tmp_path / 'statistics.json').write_text(text.replace(BARE_NEW, 'new'), encoding='utf-8')
    with pytest.raises(DatasetError, match=r'ferry lacks counts, as another version .*: remove'):
        load_statistics(tmp_path)


def test_one_class_in_eight_is_a_test_class() -> None:
    keys = [sha256(str(number).encode()).hexdigest()[:32] for number in range(8000)]
    assert 900 < sum(map(is_test_class, keys)) < 1100


def test_another_seed_and_size_puts_no_class_on_the_other_side(small: Path) -> None:
    tested = {row.key for row in read_rows(small / 'test.jsonl')}
    trained = {row.key for row in read_rows(small / 'train.jsonl')}
    other = small_recipe(seed=11, val=False)
    found = set()
    for domain in other.domains:
        walk = Walk(other, domain)
        for number in range(30):
            row = walk.take(candidate(other, domain, number))
            if row is not None:
                found.add((row.key, row.split))
    assert len(found) > 15
    assert not {key for key, split in found if split == 'train'} & tested
    assert not {key for key, split in found if split == 'test'} & trained


def test_renaming_keeps_the_class(small: Path) -> None:
    recipe = small_recipe()
    texts = set()
    for row in list(read_rows(small / 'train.jsonl'))[:6]:
        renamed = renamed_row(row, recipe)
        assert (renamed.key, renamed.renamed_from) == (row.key, row.id)
        assert renamed.reference_length == row.reference_length
        ours, theirs = (
            read_problem(each.problem, builtin_domain(each.domain), each.id).objects
            for each in (row, renamed)
        )
        assert not set(ours) & set(theirs)
        assert sorted(ours.values()) == sorted(theirs.values())
        assert renamed == renamed_row(row, recipe)
        texts.add(renamed.problem)
        assert renamed_row(row, replace(recipe, seed=8)).problem not in texts


def test_a_duplicate_takes_no_place() -> None:
    recipe = small_recipe()
    walk = Walk(recipe, 'ferry')
    made = [candidate(recipe, 'ferry', number) for number in range(10)]
    rows = [made for made in map(walk.take, made) if made is not None]
    assert rows
    assert not [row for row in map(walk.take, made) if row is not None]
    assert walk.duplicates >= len(rows)
    assert len({row.key for row in rows}) == len(rows)
    assert sum(walk.counts.values()) == len(rows)


def test_quotas_that_cannot_be_filled_are_named() -> None:
    kit = kits()['spanner']
    sizes = {'spanners': (2, 2), 'nuts': (2, 2), 'locations': (1, 1)}
    wanted = replace(
        domain_recipe(kit, {'train': 90, 'test': 9, 'test_family': 0, 'test_renamed': 0}, 0.0),
        sizes=sizes,
        weights={'foundation-first': 1},
    )
    recipe = replace(small_recipe(), domains={'spanner': wanted}, val=False)
    walk = Walk(recipe, 'spanner')
    for number in range(40):
        made = candidate(recipe, 'spanner', number)
        assert not isinstance(made, Row) or made.family == 'foundation-first'
        walk.take(made)
    error = walk.exhausted()
    assert isinstance(error, DatasetError)
    assert 'spanner: ' in error.message
    assert ' of 90 rows of train' in error.message
    assert 'among 40 candidates, of which ' in error.message


def _pairs(folder: Path, form: str, split: str) -> list[dict[str, object]]:
    lines = (folder / 'pairs' / form / f'{split}.jsonl').read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize('split', SPLITS)
def test_a_served_model_is_asked_the_same(small: Path, split: str) -> None:
    rows = list(read_rows(small / f'{split}.jsonl'))
    pairs = _pairs(small, 'pddl', split)
    assert len(rows) == len(pairs) > 0
    for row, pair in zip(rows, pairs, strict=True):
        assert pair['prompt'] == InstructStyle().messages(load_task(row.problem).problem, ())
        assert pair['completion'] == [{'role': 'assistant', 'content': row.plan}]


@pytest.mark.parametrize('form', ['json', 'english'])
def test_the_other_formats_say_what_they_are(small: Path, form: str) -> None:
    rows = list(read_rows(small / 'test.jsonl'))
    name = {'json': 'JSON', 'english': 'English'}[form]
    for row, pair in zip(rows, _pairs(small, form, 'test'), strict=True):
        ((message,)) = pair['prompt']  # type: ignore[misc]
        text = message['content']  # type: ignore[index]
        assert f'a planning domain in PDDL3 and a problem in {name}.' in text
        assert text.endswith(f'Problem:\n{row.json if form == "json" else row.english}')


def test_hugging_face_loads_every_configuration(small: Path, tmp_path: Path) -> None:
    from datasets import load_dataset

    for form in (None, *FORMATS):  # the default configuration has the rows
        loaded = load_dataset(str(small), form, cache_dir=str(tmp_path))
        assert {split: len(rows) for split, rows in loaded.items()} == {
            'train': 16, 'test': 4, 'test_family': 4, 'test_renamed': 4
        }  # fmt: skip
        ids = [row['id'] for row in loaded['test']]
        assert ids == [row.id for row in read_rows(small / 'test.jsonl')]


FOLDER = data_path('data/safegen-bench')
BARE = replace(load_recipe(FOLDER / RECIPE), val=False)
"""Its recipe; whether VAL is asked changes no byte of a row, and VAL is asked below."""


def of_split(split: str) -> list[Row]:
    return list(read_rows(FOLDER / f'{split}.jsonl'))


@pytest.mark.nightly
@pytest.mark.parametrize('domain', BARE.domains)
def test_the_test_problems_are_made_anew_byte_for_byte(domain: str) -> None:
    lines = (FOLDER / 'test.jsonl').read_text(encoding='utf-8').splitlines(keepends=True)
    mine = [
        (row, line)
        for row, line in zip(of_split('test'), lines, strict=True)
        if row.domain == domain
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
    for row in of_split('test_renamed')[::10]:
        domain, number = row.renamed_from.rsplit('-', 1)
        made = candidate(BARE, domain, int(number))
        assert isinstance(made, Row)
        assert renamed_row(replace(made, bucket=row.bucket), BARE) == row


@pytest.mark.nightly
def test_all_files_say_what_they_promise_and_val_accepts_every_plan() -> None:
    assert check(FOLDER, HERE, silent, partial=True) == 400


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
    unseen = {row.operators for row in of_split('test_family')} - {(name,) for name in trained}
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
    known = {shape for row in of_split('test') + of_split('test_renamed') for shape in _shapes(row)}
    held_out = {shape for row in of_split('test_family') for shape in _shapes(row)}
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
