# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen runs share`, and `safegen runs show` with another run to compare."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command_line import CommandLine
from support.kept_runs import keep_run, kept_folder

FIRST, SECOND = '20260131T142500Z-3f9c', '20260201T142500Z-0000'


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    keep_run(kept_folder(tmp_path, FIRST))
    keep_run(kept_folder(tmp_path, SECOND), reached=False)
    monkeypatch.setenv('SAFEGEN_RUNS_DIR', str(tmp_path))
    monkeypatch.setenv('COLUMNS', '200')
    return tmp_path


def test_a_run_becomes_a_page(safegen: CommandLine, runs: Path) -> None:
    status, out, _ = safegen('runs', 'share', '3f9c', '-o', runs / 'run.html')
    assert (status, out) == (0, f'{runs / "run.html"}\n')
    page = (runs / 'run.html').read_text(encoding='utf-8')
    assert page.startswith('<!doctype html>')
    assert FIRST in page


def test_what_cannot_be_shared_is_bad_input(safegen: CommandLine, runs: Path) -> None:
    status, _, err = safegen('runs', 'share', 'nothing-like-it')
    assert status == 2
    assert 'there is no run' in err
    status, _, err = safegen('runs', 'share', 'last', '-o', runs / 'none' / 'run.html')
    assert status == 2
    assert 'cannot be written' in err


def test_two_runs_are_compared(safegen: CommandLine, runs: Path) -> None:
    status, out, _ = safegen('runs', 'show', FIRST, '--compare', SECOND)
    assert status == 0
    assert out.splitlines()[:2] == [f'- {FIRST}', f'+ {SECOND}']
    assert 'result\n  - SUCCESS\n  + GOAL_NOT_REACHED\n' in out
    status, out, _ = safegen('runs', 'show', FIRST, '--compare', SECOND, '--json')
    told = json.loads(out)
    assert told['runs'] == [FIRST, SECOND]
    assert ['result', 'SUCCESS', 'GOAL_NOT_REACHED'] in told['different']
    status, out, _ = safegen('runs', 'show', FIRST, '--compare', FIRST)
    assert out.splitlines()[2:] == ['nothing is different']
    status, _, err = safegen('runs', 'show', FIRST, '--compare', 'nothing-like-it')
    assert status == 2
    assert 'there is no run' in err
