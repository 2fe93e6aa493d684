# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A run once more: the same where nothing was changed, and a difference wherever something was.

Release 0.1 recorded the runs of `test/golden/runs`, which are never replaced: they are read, proved
and executed again as they were then. Each has the kinds and data of a journal, one entry a line.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.kept_runs import TASK, keep_run, kept_folder

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.record.journal import JOURNAL, Journal
from safegen_ros.record.replay import reexecute, reverify, why_not_executed
from safegen_ros.record.run import (
    BlockRecord,
    RunRecord,
    WorldRecord,
)
from safegen_ros.record.run_log import load_run
from safegen_ros.robot.scene import load_scene
from safegen_ros.verdict import Category

END = ('(arm-empty)', '(clear a)', '(on a b)', '(on-table b)')

RUNS = sorted((Path(__file__).parents[1] / 'golden' / 'runs').glob('*.jsonl'))
UNEXECUTED = {
    'cancelled': 'nothing was executed', 'exhausted': 'nothing was executed',
    'household': 'it was worked on step by step', 'looks': 'the world was not as foreseen',
    'no-plan': 'nothing was executed', 'refused-plan': 'nothing was executed',
    'replan': 'the world was not as foreseen',
}  # fmt: skip
"""Runs without an execution that can be repeated, each with the reason."""


@pytest.fixture
def record(tmp_path: Path) -> RunRecord:
    return keep_run(kept_folder(tmp_path), END)


@pytest.mark.parametrize(
    ('number', 'change', 'named'),
    [
        (0, {'reason': 'no'}, "verdict.reason: recorded 'no', now "),
        (1, {'category': Category.SUCCESS}, "category: recorded 'SUCCESS', now 'SAFETY_VIOLATION'"),
        (1, {'goal_fraction': 5e-324}, 'verdict.goal_fraction: recorded 5e-324, now '),
        (1, {'broken': ()}, 'verdict.broken: recorded [], now [{'),
        (2, {'plan_length': 3}, 'verdict.plan_length: recorded 3, now 2'),
    ],
)
def test_a_verdict_that_was_another_one_is_named_with_its_field(
    record: RunRecord, number: int, change: dict[str, object], named: str
) -> None:
    attempts = list(record.attempts)
    verdict = replace(attempts[number].verdict, **change)
    attempts[number] = replace(attempts[number], verdict=verdict)
    checks = reverify(replace(record, attempts=tuple(attempts)))
    assert [bool(check.differences) for check in checks].count(True) == 1
    (difference,) = checks[number].differences
    assert named in difference


def test_a_plan_that_does_not_fit_its_verdict_is_found(record: RunRecord) -> None:
    *_, check = reverify(replace(record, plan=record.plan[:1]))
    assert "verdict.category: recorded 'SUCCESS', now 'GOAL_NOT_SATISFIED'" in check.differences


def test_a_task_that_cannot_be_read_any_more_is_refused(record: RunRecord) -> None:
    with pytest.raises(SafegenError, match="'chess' is not built in"):
        reverify(replace(record, task=replace(record.task, problem=_of_chess(record))))


def _of_chess(record: RunRecord) -> str:
    return record.task.problem.replace('blocksworld', 'chess')


@pytest.mark.parametrize(
    ('change', 'named'),
    [
        ({'steps_done': 1}, 'recorded 1 steps done, now 2'),
        ({'worlds': (WorldRecord(2, (*END, '(on b a)')),)}, 'recorded (on b a), which does not'),
        ({'worlds': (WorldRecord(2, END[1:]),)}, '(arm-empty) holds now, and did not then'),
    ],
)
def test_an_execution_that_was_another_one_is_named(
    record: RunRecord, change: dict[str, object], named: str
) -> None:
    (difference,) = reexecute(replace(record, **change), load_scene()).differences
    assert named in difference


def test_a_run_that_was_cancelled_is_carried_out_as_far_as_it_came(record: RunRecord) -> None:
    world = WorldRecord(1, ('(clear b)', '(holding a)', '(on-table b)'))
    cancelled = replace(
        record, error_code=ErrorCode.EXECUTION_CANCELED, steps_done=1, worlds=(world,)
    )
    check = reexecute(cancelled, load_scene())
    assert (check.outcome.steps_done, check.differences) == (1, ())
    assert check.outcome.error_code is ErrorCode.EXECUTION_CANCELED


def test_what_a_step_that_never_counted_has_left_is_no_difference(record: RunRecord) -> None:
    """The arm had done step 2, and was stopped while the validator was asked about it."""
    seen = WorldRecord(1, ('(clear b)', '(holding a)', '(on-table b)'))
    stopped = replace(record, error_code=ErrorCode.EXECUTION_STOPPED, steps_done=1)
    left = WorldRecord(1, END)
    for worlds in ((left,), (seen, left)):
        assert not reexecute(replace(stopped, worlds=worlds), load_scene()).differences
    other = replace(seen, facts=('(clear a)',))
    assert reexecute(replace(stopped, worlds=(other, left)), load_scene()).differences


def test_the_twin_puts_the_blocks_where_they_were_recorded(record: RunRecord) -> None:
    scene = load_scene()
    twin = replace(record, cell='twin')
    blocks = tuple(
        BlockRecord(name, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)) for name in TASK.problem.objects
    )
    check = reexecute(replace(twin, blocks=blocks), scene)
    assert check.outcome.error_code is ErrorCode.NONE, check.outcome.message
    assert check.deviation is not None
    assert check.deviation > 0.1
    assert all('mm from where it was recorded' in each for each in check.differences)
    assert len(check.differences) == 2


def test_what_cannot_be_carried_out_says_why(record: RunRecord) -> None:
    assert why_not_executed(record) == ''
    assert why_not_executed(replace(record, steps=(), steps_done=0)) == 'nothing was executed'
    unproved = replace(record, verdict=record.attempts[1].verdict)
    assert 'the executed plan was not proved' in why_not_executed(unproved)


def test_there_are_runs_of_every_kind():
    assert len(RUNS) >= 20


@pytest.mark.parametrize('path', RUNS, ids=lambda path: path.stem)
def test_a_recorded_run_replays_without_a_difference(path: Path, tmp_path: Path):
    with Journal(tmp_path / JOURNAL) as journal:
        journal.extend(json.loads(line) for line in path.read_text().splitlines())
    record = load_run(tmp_path).record
    assert [each.differences for each in reverify(record) if each.differences] == []
    why = why_not_executed(record)
    assert bool(why) == (path.stem in UNEXECUTED)
    assert why.startswith(UNEXECUTED.get(path.stem, ''))
    if not why:
        assert reexecute(record, load_scene(None)).differences == ()
