# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The journals of the nodes put together: one run for each goal, as far as it was written down."""

from __future__ import annotations

import fcntl
import os
from datetime import datetime, timezone
from pathlib import Path

import pytest
from support.kept_runs import PLAN, TASK, kept_folder

from safegen_ros.errors import ErrorCode, RecordError
from safegen_ros.record.events import (
    EndEvent,
    Event,
    GoalEvent,
    MeasuredEvent,
    ObservedEvent,
    PlanEvent,
    ResultEvent,
    StepEvent,
    StopEvent,
    TaskEvent,
)
from safegen_ros.record.history import list_runs, outcome_of
from safegen_ros.record.journal import JOURNAL, load_journal
from safegen_ros.record.node_journal import NodeJournal, load_goals
from safegen_ros.record.replay import reverify, why_not_executed
from safegen_ros.record.run import SYMBOLIC, AttemptRecord, ReleaseRecord, ReplanRecord
from safegen_ros.record.run_events import MOST_GOALS, RunEvents
from safegen_ros.record.run_log import RunLog, RunState, task_record
from safegen_ros.tasks.pddl3.task import load_task


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec='microseconds')


RUN, EXECUTION, SECOND = '0a' * 16, '0b' * 16, '0c' * 16
VERDICT = TASK.verify('\n'.join(PLAN))


def _task(cell: str = '') -> TaskEvent:
    started = '2026-01-31T14:25:00+00:00'
    return TaskEvent(f'20260131T142500Z-{RUN[:8]}', started, task_record(TASK, 'a test', ''), cell)


def _steps(*indices: int) -> list[Event]:
    return [
        event
        for index in indices
        for event in (StepEvent(index, PLAN[index], 1.0), ObservedEvent(index + 1, 2.0))
    ]


def _planner(journal: NodeJournal) -> None:
    journal.write(RUN, _task(), GoalEvent('run_task', RUN))
    journal.write(RUN, AttemptRecord(1, 'search', '\n'.join(PLAN), PLAN, VERDICT, 0.1))
    journal.write(RUN, GoalEvent('execute_plan', EXECUTION))


def _executor(journal: NodeJournal) -> None:
    journal.write(
        EXECUTION, _task(SYMBOLIC), GoalEvent('execute_plan', EXECUTION), PlanEvent(PLAN, 'search'),
    )  # fmt: skip
    journal.write(EXECUTION, *_steps(0))


def test_planner_and_executor_make_one_run(tmp_path: Path) -> None:
    with (
        NodeJournal(tmp_path, '0.planner') as planner,
        NodeJournal(tmp_path, '0.executor') as executor,
    ):
        _planner(planner)
        executor.write('', StopEvent(True, 'while it was planned', _now()))
        executor.write('', StopEvent(False, 'another day', '2026-01-01T00:00:00.000000+00:00'))
        _executor(executor)
        (listed,) = list_runs(tmp_path)
        assert listed.kept is not None
        assert outcome_of(listed.kept) == 'RUNNING'
        executor.write(EXECUTION, *_steps(1))
        facts = ('(on a b)',)
        executor.write(EXECUTION, ResultEvent(PLAN, 'search', VERDICT, 2, facts))
        executor.write(EXECUTION, EndEvent(ErrorCode.NONE, ''))
        planner.write(RUN, ResultEvent(PLAN, 'search', VERDICT, 2, facts, {'planning': 0.5}))
        planner.write(RUN, MeasuredEvent(True), EndEvent(ErrorCode.NONE, ''))
    (listed,) = list_runs(tmp_path)
    kept = listed.kept
    assert kept is not None
    assert (listed.name, outcome_of(kept)) == (f'20260131T142500Z-{RUN[:8]}', 'SUCCESS')
    assert [step.step for step in kept.record.steps] == list(PLAN)
    assert (kept.record.steps_done, kept.record.cell) == (2, SYMBOLIC)
    assert len(kept.record.worlds) == 1
    assert [entry.number for entry in kept.entries] == list(range(len(kept.entries)))
    kinds = [entry.kind for entry in kept.entries]
    assert (kinds.count('step'), kinds.count('end'), kinds.count('stop')) == (2, 2, 1)


def test_a_release_is_told_with_the_goal_that_came_before(tmp_path: Path) -> None:
    later, other = '0d' * 16, '0e' * 16
    with (
        NodeJournal(tmp_path, '0.planner') as planner,
        NodeJournal(tmp_path, '0.executor') as executor,
        NodeJournal(tmp_path, '1.executor') as elsewhere,
    ):
        executor.write('', ReleaseRecord('asked', '', _now()))
        executor.write('', ReleaseRecord('done', 'before any goal', _now()))
        _planner(planner)
        _executor(executor)
        elsewhere.write(other, _task(), GoalEvent('execute_plan', other))
        executor.write('', ReleaseRecord('asked', '', _now()))
        executor.write('', ReleaseRecord('failed', 'no pump', _now()))
        executor.write('', ReleaseRecord('asked', '', _now()))
        executor.write('', ReleaseRecord('done', 'the pump is off', _now()))
        planner.write(later, _task(), GoalEvent('execute_plan', later))
        executor.write('', ReleaseRecord('asked', '', _now()))
        runs = load_goals(tmp_path).runs
    told = {
        goal: [(each.phase, each.said) for each in kept.record.releases]
        for goal, (_, kept) in runs.items()
    }
    assert told == {
        RUN: [('failed', 'no pump'), ('done', 'the pump is off')],
        later: [('asked', '')],
        other: [],
    }


@pytest.mark.parametrize('planner_lives', [True, False])
def test_what_a_killed_node_has_not_written_is_known_from_the_other(
    tmp_path: Path, planner_lives: bool
) -> None:
    with NodeJournal(tmp_path, '0.executor') as executor:
        _executor(executor)
        if not planner_lives:
            executor.write(EXECUTION, ResultEvent(PLAN, 'search', VERDICT, 1))
            executor.write(EXECUTION, EndEvent(ErrorCode.EXECUTION_STOPPED, 'nobody was heard'))
    with NodeJournal(tmp_path, '0.planner') as planner:
        _planner(planner)
        if planner_lives:
            planner.write(RUN, ResultEvent(PLAN, 'search', VERDICT, 1))
            planner.write(RUN, EndEvent(ErrorCode.EXECUTOR_UNAVAILABLE, 'it is gone'))
    (listed,) = list_runs(tmp_path)
    assert listed.kept is not None
    record = listed.kept.record
    assert outcome_of(listed.kept) == ('EXECUTOR_UNAVAILABLE' if planner_lives else 'CUT_OFF')
    assert record.message == ('it is gone' if planner_lives else 'nobody was heard')
    assert ([step.index for step in record.steps], record.steps_done) == ([0], 1)


def test_a_goal_that_safegen_follows_is_listed_once_and_ends_as_the_nodes_say(
    tmp_path: Path,
) -> None:
    folder = kept_folder(tmp_path)
    with NodeJournal(tmp_path, '0.planner') as planner:
        _planner(planner)
        with RunLog(folder, task_record(TASK, 'two.pddl', '')) as log:
            log.note(GoalEvent('run_task', RUN))
            (listed,) = list_runs(tmp_path)
            assert listed.folder == folder
            assert listed.kept is not None
            assert listed.kept.state is RunState.RUNNING
        # Its process was killed, and the planner goes on.
        planner.write(RUN, EndEvent(ErrorCode.PLANNING_CANCELED, 'its client is gone'))
    (listed,) = list_runs(tmp_path)
    assert listed.kept is not None
    assert (listed.name, outcome_of(listed.kept)) == (folder.name, 'PLANNING_CANCELED')
    assert listed.kept.record.task.source == 'two.pddl'


def test_a_task_that_was_planned_for_anew(tmp_path: Path) -> None:
    left = TASK.problem_text.replace('(arm-empty) (on-table a)', '(holding a)')
    left = left.replace(' (clear a)', '')
    rest = ('(stack a b)',)
    verdict = load_task(left).verify(rest[0])
    assert verdict.ok
    with NodeJournal(tmp_path, '0.executor') as executor:
        _executor(executor)
        executor.write(SECOND, _task(SYMBOLIC), GoalEvent('execute_plan', SECOND))
        executor.write(SECOND, StepEvent(0, rest[0], 0.0), ObservedEvent(1, 1.0))
    with NodeJournal(tmp_path, '0.planner') as planner:
        _planner(planner)
        planner.write(RUN, ReplanRecord(1, 'it slipped', 1, '', left))
        planner.write(
            RUN, AttemptRecord(1, 'search', rest[0], rest, verdict, 0.1, replan=1),
            GoalEvent('execute_plan', SECOND),
        )  # fmt: skip
    (listed,) = list_runs(tmp_path)
    assert listed.kept is not None
    record = listed.kept.record
    assert len(record.attempts) == 2
    assert [(step.index, step.step) for step in record.steps] == list(enumerate(PLAN))
    assert record.steps_done == 2
    assert why_not_executed(record) == ('the world was not as foreseen, and the task was replanned')
    checks = reverify(record)
    assert [check.what for check in checks] == [
        'attempt 1 (search)', 'attempt 1 (search)', 'the plan',
    ]  # fmt: skip
    assert not any(check.differences for check in checks)


def test_a_journal_that_was_changed_is_named_and_hides_no_other(tmp_path: Path) -> None:
    with NodeJournal(tmp_path, '0.planner') as planner:
        _planner(planner)
    with NodeJournal(tmp_path, '0.executor') as executor:
        _executor(executor)
        damaged = executor.path
    damaged.write_bytes(damaged.read_bytes().replace(b'pickup a', b'pickup b'))
    found = load_goals(tmp_path)
    assert list(found.runs) == [RUN]
    assert list(found.broken) == [damaged]
    assert 'REWRITTEN at entry 2' in found.broken[damaged]
    assert sorted(run.kept is None for run in list_runs(tmp_path)) == [False, True]


def test_a_journal_that_its_node_is_about_to_begin_is_no_damage(tmp_path: Path) -> None:
    folder = tmp_path / 'nodes' / '0.executor' / 'one'
    folder.mkdir(parents=True)
    (folder / JOURNAL).touch()
    with NodeJournal(tmp_path, '0.planner') as planner:
        _planner(planner)
        taken = os.open(folder, os.O_RDONLY)
        fcntl.flock(taken, fcntl.LOCK_EX)
        found = load_goals(tmp_path)
        assert (list(found.runs), found.broken) == ([RUN], {})
        os.close(taken)
        assert 'is empty: its process ended' in load_goals(tmp_path).broken[folder / JOURNAL]


def test_nothing_written_leaves_nothing_behind(tmp_path: Path) -> None:
    with NodeJournal(tmp_path, '0.planner') as planner:
        assert load_journal(planner.path) == ()
    assert not list((tmp_path / 'nodes' / '0.planner').iterdir())
    (tmp_path / 'file').touch()
    with pytest.raises(RecordError, match=r'cannot be made there: .*the parameter journal'):
        NodeJournal(tmp_path / 'file', '0.planner')


def test_events_of_goals_that_nobody_claims_are_kept_for_a_while_only() -> None:
    told: list[str] = []
    events = RunEvents(lambda run, event: told.append(run))
    goals = [f'{number:032x}' for number in range(MOST_GOALS + 1)]
    for goal in goals:
        events.take(goal, EndEvent(ErrorCode.NONE, ''))
    events.claim(goals[0])
    events.claim(goals[-1])
    events.claim(goals[-1])
    assert told == [goals[-1]]
    assert (events.ended(goals[0]), events.ended(goals[-1])) == (False, True)
    events.forget(goals[-1])
    assert events.run_of(goals[-1]) == ''
