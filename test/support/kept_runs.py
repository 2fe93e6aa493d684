# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A run as it is kept, without the stack that it takes: what happened comes from real parts."""

from __future__ import annotations

from pathlib import Path

from safegen_ros.errors import ErrorCode
from safegen_ros.record.events import (
    EndEvent,
    FilesEvent,
    GoalEvent,
    MeasuredEvent,
    ObservedEvent,
    PhaseEvent,
    ResultEvent,
    StackEvent,
    StepEvent,
    UnboundEvent,
)
from safegen_ros.record.history import task_record
from safegen_ros.record.replay import reverify
from safegen_ros.record.run import (
    SYMBOLIC,
    ArtefactRecord,
    AttemptRecord,
    GoalRecord,
    ModelRecord,
    RunRecord,
)
from safegen_ros.record.run_log import RunLog
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
) -> RunRecord:
    """Writes down a run of three attempts whose last one was executed on symbols."""
    with RunLog(folder, task_record(TASK, 'two.pddl', '')) as log:
        log.note(GoalEvent('run_task', '0f' * 16))
        log.note(UnboundEvent(('always-clear: the task has no object table',)))
        log.note(StackEvent(ModelRecord('models/tiny', 5, 0.6, 0.9, 3, True), SYMBOLIC))
        for number, text in enumerate((UNREADABLE, UNSAFE, '\n'.join(PLAN)), 1):
            steps = () if text == UNREADABLE else tuple(text.split('\n'))
            source = 'search' if number == 3 else 'model'
            log.note(AttemptRecord(number, source, text, steps, TASK.verify(text), 0.25))
        log.note(PhaseEvent('verifying', 0.0))
        log.note(StepEvent(0, PLAN[0], 0.5))
        log.note(ObservedEvent(1, 1.0))
        log.note(StepEvent(1, PLAN[1], 1.0))
        log.note(ObservedEvent(2, 2.0))
        verdict = TASK.verify('\n'.join(PLAN))
        log.note(ResultEvent(PLAN, 'search', verdict, 2, facts, {'planning': 0.75}))
        log.note(EndEvent(ErrorCode.NONE, ''))
        log.note(MeasuredEvent(reached, (GoalRecord('(on a b)', reached),)))
        journal = ArtefactRecord('journal', 'journal.db')
        log.note(FilesEvent({'whole run': 3.0}, {'python': '3.11'}, (journal,)))
        return log.record


def assert_same_again(record: RunRecord, count: int | None = None) -> None:
    """All verdicts of a record, so many where that is told, are found again."""
    checks = reverify(record)
    assert len(checks) == count if count else checks
    assert not any(check.differences for check in checks)
