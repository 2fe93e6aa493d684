# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen domain`, as a person uses it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from safegen_ros.cli.main import app
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.domains.folders import SEARCH_PATH

FOUR = ('blocksworld', 'ferry', 'grippers', 'spanner')


def _run(*arguments: str, directory: Path | None = None) -> subprocess.CompletedProcess[str]:
    found = {} if directory is None else {SEARCH_PATH: str(directory)}
    return subprocess.run(
        [sys.executable, '-m', *arguments], env={**os.environ, **found}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip


@pytest.mark.nightly
def test_from_a_name_to_a_domain_that_is_checked(tmp_path: Path) -> None:
    safegen = ('safegen_ros.cli.main',)
    made = CliRunner().invoke(app, ['domain', 'new', 'courier', '--into', str(tmp_path)])
    assert made.exit_code == 0, made.stderr
    assert made.stdout.splitlines()[-2:] == [
        f'export {SEARCH_PATH}={tmp_path}',
        'safegen domain check courier',
    ]
    checked = _run(*safegen, 'domain', 'check', 'courier', directory=tmp_path)
    assert checked.stdout == 'courier: in order (5 problems of each family)\n'
    assert checked.returncode == 0
    tests = _run('pytest', '-q', '-p', 'no:cacheprovider', str(tmp_path), directory=tmp_path)
    assert tests.returncode == 0, tests.stdout
    assert '4 passed' in tests.stdout
    words = tmp_path / 'courier' / '__init__.py'
    words.write_text(words.read_text().replace('lies at {1}', 'lies there'))
    checked = _run(*safegen, 'domain', 'check', '--json', directory=tmp_path)
    assert checked.returncode == 1
    found = json.loads(checked.stdout)['domains']
    assert list(found) == [*FOUR, 'courier']
    assert [finding['note'] for finding in found['courier']] == [False]
    assert 'it needs {0} {1}, once' in found['courier'][0]['message']


def test_what_is_wrong_and_what_is_noted_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    from safegen_ros.tasks.pddl3.domains import inspection
    from safegen_ros.tasks.pddl3.domains.inspection import DomainFinding

    found = [DomainFinding('ferry: one thing', note=True)]
    monkeypatch.setattr(inspection, 'inspect_domain', lambda *settings: iter(found))
    done = CliRunner().invoke(app, ['domain', 'check', 'ferry', '--problems', '3'])
    assert done.stdout == (
        'ferry: in order (3 problems of each family)\n  note: ferry: one thing\n'
    )
    assert done.exit_code == 0
    found.append(DomainFinding('ferry: another thing'))
    done = CliRunner().invoke(app, ['domain', 'check', 'ferry'])
    assert 'ferry: 1 to fix\n' in done.stdout
    assert '  wrong: ferry: another thing\n' in done.stdout
    assert done.exit_code == 1


def test_the_tables_have_every_family_and_show_no_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('FORCE_COLOR', '1')
    shown = _run('safegen_ros.cli.main', 'domain', 'list').stdout
    assert '\x1b[1mfamily' in shown
    assert 'U+001B' not in shown
    assert all(f' {family}  ' in shown for name in FOUR for family in kits()[name].families)


def test_domains_for_programs() -> None:
    done = CliRunner().invoke(app, ['domain', 'list', '--json'])
    found = {domain['name']: domain for domain in json.loads(done.stdout)['domains']}
    assert found.keys() >= set(FOUR)
    ferry = found['ferry']
    assert ferry['parameters'][0] == {
        'name': 'locations', 'paper': [3, 4], 'wide': [3, 5], 'least': 2, 'most': 200,
    }  # fmt: skip
    assert ferry['families'][0] == {
        'name': 'stop-before-delivery',
        'operators': ['sometime-before'],
        'paper': True,
        'rules': ['at least 3 locations'],
        'summary': 'each car is delivered only after the ferry has stopped at a certain location',
    }
    assert Path(ferry['file']).is_file()


def test_difficulty_is_measured() -> None:
    command = ['domain', 'list', 'spanner', '--difficulty', '--problems', '20', '--seed', '3']
    done = CliRunner().invoke(app, [*command, '--json'])
    assert done.exit_code == 0, done.output
    values = json.loads(done.stdout)
    (found,) = values['difficulty']
    assert (values['seed'], found['domain'], found['problems']) == (3, 'spanner', 20)
    assert -1 <= found['size'] <= found['score'] <= 1
    shown = CliRunner().invoke(app, command)
    row = ['spanner', '20', '3', f'{found["steps"]:.1f}', f'{found["score"]:.2f}']
    assert ' '.join(row) in ' '.join(shown.stdout.split())


def test_a_domain_file_is_checked_without_a_problem(tmp_path: Path) -> None:
    path = tmp_path / 'mine.pddl'
    path.write_text('(define (domain mine) (:predicates (p ?x)) (:action a :effect (p ?y)))')
    refused = CliRunner().invoke(app, ['domain', 'check', str(path)])
    assert refused.exit_code == 2
    assert f"{path}:1:66: variable '?y' is not bound" in refused.output
    assert '^' in refused.output
    path.write_text(path.read_text().replace(':effect', ':parameters (?y) :effect'))
    read = CliRunner().invoke(app, ['domain', 'check', str(path)])
    assert (read.exit_code, read.output) == (
        0, 'mine: can be read (1 actions, 1 predicates, 0 types)\n'
    )  # fmt: skip
    as_json = CliRunner().invoke(app, ['domain', 'check', str(path), '--json'])
    assert json.loads(as_json.output)['domains']['mine']['actions'] == ['a']
    assert CliRunner().invoke(app, ['domain', 'check', str(tmp_path / 'no.pddl')]).exit_code == 2
