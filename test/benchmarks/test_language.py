# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The share of a collection that is read: what counts, what is paired, which reasons are told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from safegen_ros.benchmarks.language import (
    NO_DOMAIN,
    is_one_list,
    measure_folder,
    share_text,
    total,
    well_formed_text,
)
from safegen_ros.cli.main import app

DOMAIN = '(define (domain {}) (:predicates (p)) (:action a :effect {}))'
PROBLEM = '(define (problem one) (:domain {}) (:init) (:goal {}))'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A collection with two domains of one name, each beside its problem."""
    texts = {
        'a/domain.pddl': DOMAIN.format('one', '(p)'),
        'a/p1.pddl': PROBLEM.format('one', '(p)'),
        'a/again.pddl': PROBLEM.format('one', '(p)'),
        'a/wrong.pddl': PROBLEM.format('one', '(q7)'),
        'b/domain.PDDL': DOMAIN.format('One', '(oneof (p) (p))'),
        'b/p1.pddl': PROBLEM.format('one', '(and (p))'),
        'b/p2.pddl': PROBLEM.format('two', '(p)'),
        'c/d.pddl': DOMAIN.format('three', '(p p1)'),
        'c/e.pddl': DOMAIN.format('four', '(p p23)')[:-1],
        'notes.txt': 'no PDDL',
        'c/list.pddl': '(define (task t))',
    }
    for name, text in texts.items():
        path = tmp_path / 'set' / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / 'set'


def test_texts_count_once_and_problems_go_with_the_domain_beside_them(folder: Path) -> None:
    found = measure_folder(folder)
    assert (found.domains.read, found.domains.refused) == (1, 3)
    assert found.domains.reasons == {
        "the operator 'oneof' is not supported": 1,
        'predicate ... takes ... arguments, found ...': 1,
        '... is never closed': 1,
    }
    assert (found.problems.read, found.problems.refused) == (1, 1)
    assert found.unpaired.reasons == {NO_DOMAIN: 1, 'its domain is refused': 1}
    assert share_text(found.domains) == '1 of 4, 25 % (5 to 70)'
    assert well_formed_text(found.domains) == '33 % of 3'
    assert total([found, found]).domains.trials == 8
    assert total([found, found]).domains.well_formed == 6


def test_a_well_formed_text_is_one_list() -> None:
    good = ('(a (b))', ' ; a ( comment\n(a)\n; and another )', '()')
    bad = ('', 'a', '(a', '(a))', '(a) (b)', '(a) b', ')(', '(a ;)\n')
    assert all(map(is_one_list, good))
    assert not any(map(is_one_list, bad))


def test_a_domain_that_is_there_twice_is_paired_at_both_places(folder: Path) -> None:
    twin = folder / 'b' / 'e'
    twin.mkdir()
    (twin / 'domain.pddl').write_text((folder / 'a' / 'domain.pddl').read_text())
    (twin / 'p3.pddl').write_text(PROBLEM.format('one', '(not (p))'))
    found = measure_folder(folder)
    assert (found.domains.read, found.problems.read) == (1, 2)


def test_a_sample_is_drawn_by_its_seed(folder: Path) -> None:
    assert measure_folder(folder, 2, 1).domains.trials == 2
    one, again = measure_folder(folder, 1, 3), measure_folder(folder, 1, 3)
    assert one == again


def test_the_verb_prints_shares_and_reasons(folder: Path) -> None:
    done = CliRunner().invoke(app, ['bench', 'language', str(folder / 'a'), str(folder / 'b')])
    assert done.exit_code == 0, done.output
    assert '1 of 2, 50 %' in done.stdout
    assert 'oneof' in done.stdout
    words = ['bench', 'language', str(folder), '--json']
    values = json.loads(CliRunner().invoke(app, words).stdout)
    assert values['set']['domains']['percent'] == 25.0
    assert values['set']['domains']['percent_of_well_formed'] == 33.3
    assert CliRunner().invoke(app, ['bench', 'language', 'nowhere']).exit_code == 2
