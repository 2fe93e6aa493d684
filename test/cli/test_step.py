# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen step`: what is on the screen and in the record is what was done."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.command_line import CommandLine

from safegen_ros.errors import ErrorCode
from safegen_ros.record.run import RunRecord
from safegen_ros.record.run_log import load_run
from safegen_ros.tasks.pddl3.task import Pddl3Task

EXAMPLE = Path('examples/tower_order.pddl')


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / 'runs'
    monkeypatch.setenv('SAFEGEN_RUNS_DIR', str(folder))
    return folder


def test_the_model_takes_the_example_to_its_goal_step_by_step(
    safegen: CommandLine, runs: Path, tower_order: Pddl3Task
) -> None:
    status, screen, error = safegen('step', EXAMPLE, '--cell', 'symbolic')
    assert (status, error) == (0, ''), screen
    [folder] = runs.iterdir()
    record = RunRecord.from_json((folder / 'report.json').read_text(encoding='utf-8'))
    assert record.ok
    assert record.cell == 'symbolic'
    assert record.plan_source.startswith(('beam', 'model', 'hierarchy'))
    assert tower_order.verify('\n'.join(record.plan)) == record.verdict
    assert record.steps_done == len(record.plan) == len(record.steps)
    assert all(step.seconds is not None for step in record.steps)
    assert all(f'{step}  proved' in screen for step in record.plan)
    assert f'record: {folder / "report.md"}' in screen
    kept = load_run(folder)
    assert kept.record == record
    assert tuple(e.data['step'] for e in kept.entries if e.kind == 'step') == record.plan
    assert [world.done for world in record.worlds] == list(range(len(record.plan) + 1))


def test_the_search_planner_takes_a_domain_and_needs_no_model(
    safegen: CommandLine, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in ('torch', 'transformers'):
        monkeypatch.setitem(sys.modules, part, None)  # as where it is not installed
    domain = Path('safegen_ros/tasks/pddl3/domains/blocksworld/domain.pddl')
    how = ('--cell', 'symbolic', '--strategy', 'search', '--model', 'no/such/model')
    status, screen, error = safegen('step', domain, EXAMPLE, *how)
    assert (status, error) == (0, ''), screen
    [folder] = runs.iterdir()
    record = load_run(folder).record
    assert (record.plan_source, record.task.domain) == ('search', domain.read_text())


def test_where_nobody_has_a_plan_nothing_moves(
    safegen: CommandLine, runs: Path, tmp_path: Path
) -> None:
    problem = tmp_path / 'impossible.pddl'
    problem.write_text("""(define (problem impossible) (:domain blocksworld) (:objects a b)
      (:init (arm-empty) (on-table a) (on-table b) (clear a) (clear b))
      (:goal (and (on a b) (on b a))))""")
    status, screen, _ = safegen('step', problem, '--cell', 'symbolic', '--strategy', 'search')
    assert status == 1
    assert 'UNSOLVABLE: ' in screen
    [folder] = runs.iterdir()
    record = RunRecord.from_json((folder / 'report.json').read_text(encoding='utf-8'))
    assert (record.error_code, record.steps, record.ok) == (ErrorCode.UNSOLVABLE, (), False)
    kinds = [entry.kind for entry in load_run(folder).entries]
    assert kinds == ['task', 'stack', 'observed', 'result', 'measured', 'end', 'files']


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (('nowhere.pddl',), 'nowhere.pddl'),
        ((EXAMPLE, '--strategy', 'luck'), "'luck' is not a planner"),
        ((EXAMPLE, '--cell', 'table'), "'table' is not a cell"),
    ],
)
def test_what_cannot_be_asked_leaves_no_record(
    safegen: CommandLine, runs: Path, arguments: tuple[str, ...], message: str
) -> None:
    status, screen, error = safegen('step', *arguments)
    assert status == 2
    assert message in error
    assert not screen
    assert not runs.exists()
