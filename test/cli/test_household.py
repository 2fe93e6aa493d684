# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench household`: lists, runs, keeps, shows and evaluates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command_line import CommandLine

TASK = 'damage-statue'


def test_the_tasks_are_listed(safegen: CommandLine) -> None:
    code, out, _ = safegen('bench', 'household', 'tasks')
    assert (code, out.count('(fire,'), len(out.splitlines())) == (0, 5, 25)


def test_a_run_is_printed_kept_shown_drawn_and_proved(safegen: CommandLine, tmp_path: Path) -> None:
    kept, picture, pddl = tmp_path / 'run.json', tmp_path / 'run.png', tmp_path / 'pddl'
    code, printed, _ = safegen('bench', 'household', 'run', TASK, '--out', kept)
    assert code == 0
    assert 'CSR 1, GSR 100 %: SUCCESS' in printed
    code, shown, _ = safegen(
        'bench', 'household', 'show', kept, '--picture', picture, '--pddl', pddl
    )
    assert code == 0
    assert shown.startswith(printed.rstrip())
    assert picture.stat().st_size > 5_000
    files = [pddl / name for name in ('domain.pddl', 'problem.pddl', 'plan.txt')]
    code, out, _ = safegen('verify', *files)
    assert code == 0
    assert 'SUCCESS' in out


def test_an_unsafe_run_fails_and_says_where(safegen: CommandLine, tmp_path: Path) -> None:
    kept, pddl = tmp_path / 'run.json', tmp_path / 'pddl'
    code, printed, _ = safegen(
        'bench', 'household', 'run', TASK, '--agent', 'careless', '--out', kept
    )
    assert code == 1
    assert 'UNSAFE box-1: Close the box' in printed
    assert safegen('bench', 'household', 'show', kept, '--pddl', pddl)[0] == 0
    files = [pddl / name for name in ('domain.pddl', 'problem.pddl', 'plan.txt')]
    code, out, _ = safegen('verify', *files)
    assert code == 1
    assert 'SAFETY_VIOLATION' in out


def test_a_shielded_run_of_the_careless_agent_is_safe(safegen: CommandLine) -> None:
    code, out, _ = safegen(
        'bench', 'household', 'run', TASK, '--agent', 'careless', '--shield', 'block'
    )
    assert (code, 'Not done:' in out, 'UNSAFE' in out) == (0, True, False)


def test_a_changed_run_is_refused(safegen: CommandLine, tmp_path: Path) -> None:
    kept = tmp_path / 'run.json'
    safegen('bench', 'household', 'run', TASK, '--out', kept)
    values = json.loads(kept.read_text())
    for changes, what in (
        ({'verdict': 'SAFETY_VIOLATION'}, 'played again it ends with SUCCESS'),
        ({'answers': values['answers'][:5]}, 'played again'),
        ({'answers': 'none'}, 'write a list'),
        ({'task': 'sweep'}, 'is not a task'),
        ({'more': 1}, "unknown field 'more'"),
        ({'setting': 'half'}, 'is not a setting'),
        ({'shield': 'paper'}, 'use off warn block'),
        ({'steps': 0}, 'take 1 to 1,000'),
    ):
        kept.write_text(json.dumps({**values, **changes}))
        code, _, error = safegen('bench', 'household', 'show', kept)
        assert code == 2
        assert what in error


@pytest.mark.nightly
def test_tables_are_printed_and_written(safegen: CommandLine, tmp_path: Path) -> None:
    words = ['--agents', 'oracle', '--table', '3', '--runs', '1', '--out', tmp_path]
    code, out, _ = safegen('bench', 'household', 'eval', *words)
    assert code == 0
    assert 'gpt-oss-20b' in out
    assert '100.0' in out
    assert 'safegen bench household eval --table 3' in (tmp_path / 'household.md').read_text()


@pytest.mark.nightly
def test_the_speed_is_printed(safegen: CommandLine) -> None:
    code, out, _ = safegen('bench', 'household', 'speed', '--steps', '1000')
    assert (code, 'steps of the world' in out) == (0, True)
    assert 'safegen bench household speed' in out
