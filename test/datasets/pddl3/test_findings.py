# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The statistics and the card say what constraints change, and what of a test is new."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from support.datasets_small import small_recipe

from safegen_ros.datasets.files import DatasetError
from safegen_ros.datasets.pddl3.card import CARD, card_text
from safegen_ros.datasets.pddl3.recipe import Recipe
from safegen_ros.datasets.pddl3.rows import SPLITS, Row, read_rows, row_problem
from safegen_ros.datasets.pddl3.statistics import (
    BARE_NEW,
    RowFinding,
    Statistics,
    finding,
    load_statistics,
    longer_rows,
)
from safegen_ros.datasets.pddl3.walk import Walk
from safegen_ros.pddl.writer import problem_text
from safegen_ros.verify.validator import verify


@pytest.fixture(scope='module')
def rows(small: Path) -> list[Row]:
    return [row for split in SPLITS for row in read_rows(small / f'{split}.jsonl')]


@pytest.mark.slow
def test_an_operator_counts_where_its_constraint_is_broken(rows: list[Row]) -> None:
    for row in rows:
        broken = finding(row).broken
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
        assert finding(row).broken == {'always'}


def test_the_bare_key_is_that_of_the_initial_state_and_the_goal(rows: list[Row]) -> None:
    row = next(row for row in rows if row.domain == 'ferry')
    problem = row_problem(row)
    other = replace(
        row, problem=problem_text(replace(problem, constraints=problem.constraints * 2))
    )
    elsewhere = replace(row, problem=problem_text(replace(problem, init=frozenset())))
    assert finding(other).bare_key == finding(row).bare_key != row.key
    assert finding(elsewhere).bare_key != finding(row).bare_key


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
    trained = {(r.domain, finding(r).bare_key) for r in rows if r.split == 'train'}
    for domain, values in statistics.items():
        for split, found in values['splits'].items():
            mine = [row for row in rows if (row.domain, row.split) == (domain, split)]
            assert found['broken'] == Counter(o for row in mine for o in finding(row).broken)
            assert found[BARE_NEW] == sum(
                (domain, finding(row).bare_key) not in trained for row in mine
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


def test_the_card_of_other_domains_says_nothing_of_spanner(small: Path) -> None:
    whole = small_recipe()
    recipe = Recipe('ferries', 3, {'ferry': whole.domains['ferry']}, val=False)
    card = card_text(recipe, {'ferry': load_statistics(small)['ferry']})
    assert 'spanner' not in card.lower()
    assert 'new even without constraints' in card


def test_statistics_of_another_version_are_refused(tmp_path: Path, small: Path) -> None:
    text = (small / 'statistics.json').read_text(encoding='utf-8')
    assert BARE_NEW in text
    (tmp_path / 'statistics.json').write_text(text.replace(BARE_NEW, 'new'), encoding='utf-8')
    with pytest.raises(DatasetError, match=r'ferry lacks counts, as another version .*: remove'):
        load_statistics(tmp_path)
