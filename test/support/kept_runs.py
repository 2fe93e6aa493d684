# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A run as it is kept, without the stack that it takes: what happened comes from real parts."""

from __future__ import annotations

from pathlib import Path

from safegen_ros.errors import ErrorCode
from safegen_ros.record import events
from safegen_ros.record import run as records
from safegen_ros.record.replay import reverify
from safegen_ros.record.run_log import RunLog, task_record
from safegen_ros.tasks.pddl3.task import load_task

TASK = load_task("""
(define (problem two) (:domain blocksworld) (:objects a b)
  (:init (arm-empty) (on-table a) (on-table b) (clear a) (clear b))
  (:goal (on a b))
  (:constraints (always (not (on b a)))))""")
PLAN = ('(pickup a)', '(stack a b)')
UNSAFE = '(pickup b)\n(stack b a)\n(unstack b a)\n(putdown b)'
UNREADABLE = 'Sure! (pickup a)'


def kept_folder(root: Path, name: str = '20260131T142500Z-3f9c') -> Path:
    """A new folder of a run."""
    folder = root / name
    folder.mkdir(parents=True)
    return folder


def keep_run(
    folder: Path, facts: tuple[str, ...] = ('(on a b)',), reached: bool = True
) -> records.RunRecord:
    """Writes down a run of three attempts whose last one was executed on symbols."""
    with RunLog(folder, task_record(TASK, 'two.pddl', '')) as log:
        log.note(events.GoalEvent('run_task', '0f' * 16))
        log.note(events.UnboundEvent(('always-clear: the task has no object table',)))
        log.note(
            events.StackEvent(
                records.ModelRecord('models/tiny', 5, 0.6, 0.9, 3, True), records.SYMBOLIC
            )
        )
        for number, text in enumerate((UNREADABLE, UNSAFE, '\n'.join(PLAN)), 1):
            steps = () if text == UNREADABLE else tuple(text.split('\n'))
            source = 'search' if number == 3 else 'model'
            log.note(records.AttemptRecord(number, source, text, steps, TASK.verify(text), 0.25))
        log.note(events.PhaseEvent('verifying', 0.0))
        log.note(events.StepEvent(0, PLAN[0], 0.5))
        log.note(events.ObservedEvent(1, 1.0))
        log.note(events.StepEvent(1, PLAN[1], 1.0))
        log.note(events.ObservedEvent(2, 2.0))
        verdict = TASK.verify('\n'.join(PLAN))
        log.note(events.ResultEvent(PLAN, 'search', verdict, 2, facts, {'planning': 0.75}))
        log.note(events.EndEvent(ErrorCode.NONE, ''))
        log.note(events.MeasuredEvent(reached, (records.GoalRecord('(on a b)', reached),)))
        journal = records.ArtefactRecord('journal', 'journal.db')
        log.note(events.FilesEvent({'whole run': 3.0}, {'python': '3.11'}, (journal,)))
        return log.record


def assert_same_again(record: records.RunRecord, count: int | None = None) -> None:
    """All verdicts of a record, so many where that is told, are found again."""
    checks = reverify(record)
    assert len(checks) == count if count else checks
    assert not any(check.differences for check in checks)
