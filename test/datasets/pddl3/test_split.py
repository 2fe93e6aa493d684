# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The side of a problem depends on its class alone; its pairs ask as a served model is asked."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from support.datasets_small import small_recipe

from safegen_ros.datasets.files import DatasetError
from safegen_ros.datasets.pddl3.candidates import candidate, renamed_row
from safegen_ros.datasets.pddl3.recipe import domain_recipe
from safegen_ros.datasets.pddl3.rows import SPLITS, Row, is_test_class, read_rows
from safegen_ros.datasets.pddl3.walk import Walk
from safegen_ros.pddl.reader import read_problem
from safegen_ros.tasks.pddl3.domains import builtin_domain, kits
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.tasks.pddl3.prompts.styles import InstructStyle
from safegen_ros.tasks.pddl3.task import load_task


def test_one_class_in_eight_is_a_test_class() -> None:
    keys = [sha256(str(number).encode()).hexdigest()[:32] for number in range(8000)]
    assert 900 < sum(map(is_test_class, keys)) < 1100


def test_rows_are_on_their_side_in_every_dataset(small: Path) -> None:
    for split in SPLITS:
        rows = list(read_rows(small / f'{split}.jsonl'))
        assert rows
        for row in rows:
            if split != 'test_family':
                assert is_test_class(row.key) is (split == 'test')


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


def test_held_out_families_share_their_split(small: Path) -> None:
    recipe = small_recipe()
    rows = [row for row in read_rows(small / 'test_family.jsonl') if row.domain == 'ferry']
    assert {row.family for row in rows} == set(recipe.domains['ferry'].held_out)


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


def test_no_key_is_in_two_splits(small: Path) -> None:
    keys = [
        row.key
        for split in SPLITS
        for row in read_rows(small / f'{split}.jsonl')
        if not row.renamed_from
    ]
    assert len(keys) == len(set(keys)) == 24


@pytest.mark.parametrize('split', SPLITS)
def test_names_of_renamed_rows_are_like_those_of_others(small: Path, split: str) -> None:
    for row in read_rows(small / f'{split}.jsonl'):
        domain, number = row.id.rsplit('-', 1)
        assert domain == row.domain
        assert number.isdigit()
        assert row.english.startswith(f'Problem {row.id} of the domain {domain}.')


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
