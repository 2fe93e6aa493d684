# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Run records, their folders, and the report made from them."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timedelta, timezone
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safegen_ros.errors import ErrorCode, RecordError
from safegen_ros.paths import new_run_dir
from safegen_ros.record import run as records
from safegen_ros.record.present.report import render_report
from safegen_ros.record.present.telling import repeated
from safegen_ros.untrusted import unhidden
from safegen_ros.verdict import BrokenConstraint, Category, Verdict

TASK = records.TaskRecord('two', 'two.pddl', 'blocksworld', '', '(define (problem two))')
MODEL = records.ModelRecord('models/tiny', 5, 0.6, 0.9, 3, True)
BROKEN = Verdict(
    Category.SAFETY_VIOLATION, 'b1 is held too early', 0, 2, 0.5,
    (BrokenConstraint('(always (on-table b1))', (), 1, 0, '(on-table b1) must hold'),),
)  # fmt: skip
PLAN = ('(pickup b1)', '(stack b1 b2)')
RECORD = records.RunRecord(
    run_id='20260131T142500Z-3f9c',
    started='2026-01-31T14:25:00+00:00',
    task=TASK,
    model=MODEL,
    attempts=(
        records.AttemptRecord(1, 'model', '(pickup b1)', ('(pickup b1)',), BROKEN, 1.25),
        records.AttemptRecord(2, 'search', '\n'.join(PLAN), PLAN, Verdict(Category.SUCCESS), 0.5),
    ),
    plan=PLAN,
    plan_source='search',
    verdict=Verdict(Category.SUCCESS),
    steps=(records.StepRecord(0, PLAN[0], 0.0, 2.5), records.StepRecord(1, PLAN[1], 2.5, 3.0)),
    steps_done=2,
    blocks=(records.BlockRecord('b1', (0.2, 0.0, 0.0375), (0.0, 0.0, 0.0, 1.0)),),
    goal=(records.GoalRecord('(on b1 b2)', True),),
    reached=True,
    error_code=ErrorCode.NONE,
    timings={'planning': 1.75},
    versions={'python': '3.11.7'},
    artefacts=(records.ArtefactRecord('video', '', 'install libosmesa6'),),
)


def test_success_needs_the_proof_the_end_and_the_measured_goal():
    assert RECORD.ok
    for change in (
        {'reached': None},
        {'reached': False},
        {'error_code': ErrorCode.GOAL_MISMATCH},
        {'verdict': BROKEN},
    ):
        assert not dataclasses.replace(RECORD, **change).ok


def test_the_report_tells_every_attempt_step_and_measurement():
    text = render_report(RECORD)
    for words in (
        '# Run 20260131T142500Z-3f9c: success',
        'seed 3',
        '(define (problem two))',
        '### 1, by model: breaks a rule (SAFETY_VIOLATION)',
        'breaks a rule (SAFETY_VIOLATION) at step 1: b1 is held too early (1.25 s)',
        '(always (on-table b1))',
        '### 2, by search: proved safe (SUCCESS)',
        '| 2 | (stack b1 b2) | 2.50 | 3.00 |',
        '| (on b1 b2) | holds |',
        '| b1 | 0.2000 | 0.0000 | 0.0375 |',
        '| planning | 1.75 |',
        '| video | not made | install libosmesa6 |',
        '| python | 3.11.7 |',
    ):
        assert words in text


def test_the_report_of_a_failed_run_says_so_first_and_marks_what_was_not_done():
    record = dataclasses.replace(
        RECORD, steps=(records.StepRecord(0, PLAN[0], 0.0, None),), steps_done=0,
        goal=(records.GoalRecord('(on b1 b2)', False),), reached=False,
        error_code=ErrorCode.ROBOT_FAULT, message='the arm stopped',
    )  # fmt: skip
    text = render_report(record)
    assert text.startswith('# Run 20260131T142500Z-3f9c: FAILED\n')
    assert '- Ended by: ROBOT_FAULT' in text
    assert 'the arm stopped' in text
    assert '| 1 | (pickup b1) | 0.00 | not finished |' in text
    assert '| 2 | (stack b1 b2) |  | not executed |' in text
    assert '- Steps executed: 0 of 2' in text
    assert '| (on b1 b2) | DOES NOT HOLD |' in text


def test_a_run_without_a_plan_says_that_nothing_moved():
    text = render_report(records.RunRecord('r', 'now', TASK, MODEL))
    assert 'No plan: nothing moved.' in text
    assert 'Not measured.' in text
    assert '- Model: none was asked' in render_report(
        records.RunRecord('r', 'now', TASK, dataclasses.replace(MODEL, name=''))
    )


def test_a_run_that_was_planned_for_anew_lists_the_steps_of_all_its_plans():
    record = dataclasses.replace(
        RECORD,
        attempts=(RECORD.attempts[1], dataclasses.replace(RECORD.attempts[1], number=2, replan=1)),
        steps=(
            records.StepRecord(0, '(pickup b1)', 0.0, 1.0),
            records.StepRecord(1, '(stack b1 b2)', 1.0, None),
            records.StepRecord(1, '(pickup b1)', 3.0, 1.0),
        ),
        steps_done=2,
        replans=(records.ReplanRecord(1, 'missing (on b1 b2)', 1, '', '(define (problem left))'),),
        approved_by='the *tester*',
        second_opinion=True,
    )
    text = render_report(record)
    replanned = '- Replanned: (1) after 1 steps of the plan before it: missing (on b1 b2)'
    assert f'- Steps executed: 2 of 3\n{replanned}\n' in text
    assert '- Operator: approved by the \\*tester\\*\n' in text
    assert '- Verdicts: with the second opinion of VAL\n' in text
    assert '### 2, by search (replanned, 1): ' in text
    rows = [line for line in text.splitlines() if line.startswith('| ') and 'b1' in line]
    assert rows[:4] == [
        '| 1 | (pickup b1) | 0.00 | 1.00 |',
        '| 2 | (stack b1 b2) | 1.00 | not finished |',
        '| 2 | (pickup b1) | 3.00 | 1.00 |',
        '| 3 | (stack b1 b2) |  | not executed |',
    ]


UNREAD = records.AttemptRecord(1, 'model', 'hm', (), Verdict(Category.FORMAT_ERROR, 'no step'), 0.1)
ENGLISH = dataclasses.replace(TASK, problem='Problem two ...', format='english', pddl='(define)')
LAST = '| 2 | (stack b1 b2) | 2.50 | 3.00 |'


@pytest.mark.parametrize(
    ('change', 'told', 'untold'),
    [
        ({}, '## Measured world against the goal', 'as the model wrote it'),
        ({}, 'As it was sent:\n', 'nothing moved'),
        (
            {'plan': (), 'plan_source': ''},
            LAST,
            'nothing moved',
        ),  # the steps are listed all the same
        # The executor counts a step of which nobody has heard.
        ({'steps': RECORD.steps[:1]}, '| 2 | (stack b1 b2) |  | executed |', 'not executed'),
        ({'steps': RECORD.steps[:1]}, '- Steps executed: 2 of 2', ''),
        ({'plan': (), 'steps': (), 'steps_done': 0}, 'the goal holds already', 'No plan'),
        ({'goal': ()}, 'The goal has no condition', 'Not measured.'),
        (
            {'error_code': ErrorCode.UNKNOWN, 'message': 'KeyError: 5'},
            'Ended by: KeyError: 5\n',
            '',
        ),
        ({'error_code': ErrorCode.UNKNOWN}, 'Ended by: no end was recorded\n', ''),
        (
            {'error_code': ErrorCode.UNSOLVABLE, 'message': 'proved'},
            'Ended by: UNSOLVABLE: proved\n',
            '',
        ),
        ({'reached': None}, 'Ended by: the world was not measured at the end\n', ''),
        ({'reached': False}, 'Ended by: the measured world does not satisfy the goal\n', ''),
        ({'attempts': (UNREAD,)}, 'as the model wrote it', ''),
        ({'cell': 'symbolic'}, 'nothing moved', 'Measured world'),
        ({'cell': 'symbolic'}, '## Symbolic world against the goal', 'Measured world'),
        ({'cell': 'symbolic'}, 'nothing was measured', 'Measured world'),
        (
            {'cell': 'symbolic', 'reached': False},
            'the symbolic world does not satisfy',
            'measured world',
        ),
        ({'task': ENGLISH}, 'As it was sent, in the format english', 'As it was sent:\n'),
    ],
)
def test_what_a_run_was_is_told_in_words(change, told, untold):
    text = render_report(dataclasses.replace(RECORD, **change))
    assert told in text
    assert not untold or untold not in text


@given(st.text())
def test_no_answer_of_a_model_breaks_out_of_its_fence(answer):
    attempt = records.AttemptRecord(
        1, 'model', answer, (), Verdict(Category.FORMAT_ERROR, answer), 0.0
    )
    text = render_report(records.RunRecord('r', 'now', TASK, MODEL, attempts=(attempt,)))
    lines = text.split('\n')
    begin = next(i for i, line in enumerate(lines) if line.startswith('### 1, by model'))
    opening = next(i for i in range(begin, len(lines)) if lines[i].startswith('```'))
    closing = lines.index(lines[opening], opening + 1)
    assert '\n'.join(lines[opening + 1 : closing]) == answer.rstrip('\n')
    assert lines[closing + 2 :][0].startswith('## Plan and execution')


TEXT = st.text(st.characters(exclude_categories=('Cs',))).map(unhidden)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
PLAIN = {str: TEXT, float: NUMBER, int: st.integers(-1, 99)}


def any_of(kind: Any) -> st.SearchStrategy[Any]:
    """Any value of the type of a field."""
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return st.builds(kind, **{each.name: any_of(hints[each.name]) for each in fields(kind)})
    inner = [any_of(each) for each in get_args(kind) if each is not ...]
    if isinstance(kind, UnionType):
        return st.one_of(inner)
    if get_origin(kind) is dict:
        return st.dictionaries(*inner, max_size=2)
    if ... in get_args(kind):
        return st.lists(*inner, max_size=2).map(tuple)
    if inner:
        return st.tuples(*inner)
    return PLAIN[kind] if kind in PLAIN else st.from_type(kind)


@settings(max_examples=40)
@given(any_of(records.RunRecord))
def test_json_gives_any_record_back(record):
    assert records.RunRecord.from_json(record.to_json()) == record
    render_report(record)


@pytest.mark.parametrize(
    ('path', 'value', 'place'),
    [
        (('run_id',), 5, 'report.run_id'),
        (('attempts', 0, 'verdict', 'category'), 'FINE', 'report.attempts[0].verdict.category'),
        (('attempts', 0, 'seconds'), True, 'report.attempts[0].seconds'),
        (('reached',), 1, 'report.reached'),
        (('blocks', 0, 'position'), [1.0], 'report.blocks[0].position'),
        (('model', 'extra'), 1, "report.model: unknown field 'extra'"),
    ],
)
def test_a_changed_record_is_refused_with_the_place(path, value, place):
    data = json.loads(RECORD.to_json())
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(RecordError) as caught:
        records.RunRecord.from_json(json.dumps(data))
    assert caught.value.message.startswith(place)


def test_text_that_is_not_json_is_refused():
    with pytest.raises(RecordError, match='is not JSON'):
        records.RunRecord.from_json('{')


def test_runs_of_the_same_second_get_their_own_folders(tmp_path):
    now = datetime(2026, 1, 31, 15, 25, tzinfo=timezone(timedelta(hours=1)))
    folders = {new_run_dir(tmp_path / 'runs', now) for _ in range(50)}
    assert len(folders) == 50
    assert all(folder.name.startswith('20260131T142500Z-') for folder in folders)
    assert all(folder.is_dir() for folder in folders)


def test_the_commit_of_a_checkout_tells_whether_files_differ(tmp_path):
    def git(*words):
        identity = ['-c', 'user.name=n', '-c', 'user.email=e@example.org']
        command = ['git', '-C', str(tmp_path), *identity, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    assert records.source_commit(tmp_path) == ''
    git('init', '-q')
    (tmp_path / 'inner').mkdir()
    (tmp_path / 'a').write_text('1')
    git('add', 'a')
    git('commit', '-q', '-m', 'first')
    commit = git('rev-parse', 'HEAD')
    assert records.source_commit(tmp_path) == commit
    assert records.source_commit(tmp_path / 'inner') == ''
    (tmp_path / 'a').write_text('2')
    assert records.source_commit(tmp_path) == commit + '+changes'


def test_a_repeated_attempt_is_told_in_a_line() -> None:
    verdict = Verdict(Category.GOAL_NOT_SATISFIED, 'not there')
    first = records.AttemptRecord(1, 'model', '(go a)', ('(go a)',), verdict, 0.1)
    second, other_task = replace(first, number=2), replace(first, number=3, base=2)
    told = repeated(second, [first, second])
    assert told is not None
    assert told.text == 'Attempt 2 by model: the same plan as attempt 1.'
    assert repeated(first, [first, second]) is None
    assert repeated(other_task, [first, second, other_task]) is None
