# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench boxnet` with arms of real shape: depths, runs in MuJoCo, and differences."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner, Result

from safegen_ros.cli.main import app

TASK = 'examples/boxnet/ur5e_hand_over.json'


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ['bench', 'boxnet', *map(str, words)])


def test_a_plan_is_solved_proved_and_run(tmp_path: Path) -> None:
    solved = run('solve', TASK)
    assert solved.exit_code == 0, solved.output
    assert 'Move [' in solved.stdout
    answer = tmp_path / 'plan.json'
    answer.write_text(solved.stdout)
    for depth in ('kinematic', 'physics'):
        judged = run('verify', TASK, answer, '--depth', depth)
        assert judged.stdout.startswith('SUCCESS (ok): solved in 5 steps'), depth
    done = run('run', TASK, answer)
    assert done.exit_code == 0, done.output
    assert done.stdout.count('ends as proved') == 5


def test_a_plan_that_is_refused_is_not_run(tmp_path: Path) -> None:
    answer = tmp_path / 'plan.json'
    answer.write_text('[{"Robot 0": "Move [2.75, 0.55], False"}]')
    done = run('run', TASK, answer)
    assert done.exit_code == 1
    assert 'PRECONDITION_VIOLATION' in done.stdout
    assert 'step 1: direct' not in done.stdout


def test_what_is_asked_wrongly_is_named() -> None:
    assert 'not one of analytic kinematic physics' in run('solve', TASK, '--depth', 'deep').output
    assert 'not one of ur5e mycobot_280' in run('compare', '--arm', 'puma').output
    flat = run('run', 'examples/boxnet/hand_over.json')
    assert 'arms without a shape' in flat.output


def test_depths_are_compared() -> None:
    done = run('compare', '--steps', 3, '--tasks', 0)
    assert done.exit_code == 0, done.output
    assert '3 random steps' in done.stdout
    assert 'kinematic and physics: agree' in done.stdout
    assert 'run in simulation' in done.stdout
