# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Problems of a collection, solved by `safegen solve` and by another planner."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from safegen_ros.benchmarks.solving import drawn
from safegen_ros.cli.main import app

DOMAIN = '(define (domain d) (:predicates (p) (q)) (:action a :effect (p)) (:action b :effect (q)))'
PROBLEM = '(define (problem {}) (:domain {}) (:init) (:goal {}))'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A collection with two problems, one of which no plan solves."""
    texts = {
        'domain.pddl': DOMAIN,
        'p1.pddl': PROBLEM.format('one', 'd', '(p)'),
        'p2.pddl': PROBLEM.format('two', 'other', '(and (p) (not (p)))'),
    }
    (tmp_path / 'set').mkdir()
    for name, text in texts.items():
        (tmp_path / 'set' / name).write_text(text)
    return tmp_path / 'set'


def test_a_larger_sample_begins_with_a_smaller_one(folder: Path) -> None:
    assert [problem.name for _, problem in drawn(folder, 0, 0, False)] == ['p1.pddl']
    whole = drawn(folder, 0, 3, True)
    assert len(whole) == 2
    assert drawn(folder, 1, 3, True) == whole[:1]


def test_both_planners_are_asked_once_and_a_wrong_plan_does_not_count(folder: Path) -> None:
    writes = f"{sys.executable} -c \"open('{{plan}}.1', 'w').write('(a)')\" {{domain}}"
    journal = folder / 'trials.jsonl'
    words = ['bench', 'solve', str(folder), '--any-name', '--journal', str(journal), '--json']
    words += ['--time-limit', '20', '--reference', writes]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    trials = json.loads(done.stdout)
    found = {(Path(t['problem']).name, t['planner'] == 'safegen'): t['status'] for t in trials}
    assert found == {
        ('p1.pddl', True): 'solved',
        ('p1.pddl', False): 'solved',
        ('p2.pddl', True): 'unsolvable',
        ('p2.pddl', False): 'GOAL_NOT_SATISFIED',
    }
    assert len(journal.read_text().splitlines()) == 4
    journal.write_text(f'{journal.read_text()}{{"problem": "p')  # killed while it wrote
    again = CliRunner().invoke(app, [word for word in words if word != '--json'])
    assert 'GOAL_NOT_SATISFIED' in again.stdout
    assert len(journal.read_text().splitlines()) == 4
