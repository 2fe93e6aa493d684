# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A record is what its journal gives back, wherever the process was when it ended."""

from __future__ import annotations

import dataclasses
import io
import json
import random
import shutil
import sqlite3
import zipfile
from pathlib import Path

import pytest
from support.kept_runs import PLAN, TASK, keep_run, kept_folder

from safegen_ros.cli.failures import ExitStatus
from safegen_ros.cli.history import Filter, list_kept
from safegen_ros.errors import ErrorCode, RecordError
from safegen_ros.pddl.writer import atom_text, problem_text
from safegen_ros.record.events import EVENTS, EndEvent, GoalEvent, TaskEvent
from safegen_ros.record.history import (
    CUT_OFF,
    NOT_REACHED,
    RUNNING,
    SUCCESS,
    duration_s,
    find_run,
    list_runs,
    outcome_of,
)
from safegen_ros.record.journal import JOURNAL, Journal, load_journal
from safegen_ros.record.node_journal import NodeJournal
from safegen_ros.record.present import runs
from safegen_ros.record.present.constraint_status import trajectory
from safegen_ros.record.present.runs import (
    LEFT_OUT,
    FrameSource,
    download,
    frames,
    problem_of,
    problem_of_attempt,
)
from safegen_ros.record.present.wording import steps_of
from safegen_ros.record.run import ReplanRecord, RunRecord, StepRecord, WorldRecord
from safegen_ros.record.run_log import RunLog, RunState, load_run, task_record
from safegen_ros.schema import plain


def test_the_journal_alone_gives_back_the_whole_record(tmp_path: Path) -> None:
    folder = kept_folder(tmp_path)
    record = keep_run(folder)
    kept = load_run(folder)
    assert kept.record == record
    assert (kept.state, outcome_of(kept)) == (RunState.ENDED, SUCCESS)
    # A run that `safegen` follows is not told of stops and releases, and is planned for anew in
    # test_replay.py; one that is asked for in words is in test_words.py.
    others = {'stop', 'release', 'replan', 'plan', 'answer', 'understood', 'passed', 'approval'}
    assert {entry.kind for entry in kept.entries} == set(EVENTS) - others
    assert (record.plan, record.steps_done, record.second_opinion) == (PLAN, 2, False)
    assert [step.seconds for step in record.steps] == [0.5, 1.0]
    assert record.worlds[-1].facts == ('(on a b)',)
    assert duration_s(kept) == 3.0
    assert RunRecord.from_json(record.to_json()) == record


def test_a_run_that_was_cut_off_anywhere_is_read_as_far_as_it_went(tmp_path: Path) -> None:
    whole = kept_folder(tmp_path)
    keep_run(whole)
    entries = load_journal(whole / JOURNAL)
    known = -1
    for count in range(1, len(entries) + 1):
        folder = kept_folder(tmp_path / str(count))
        with Journal(folder / JOURNAL) as journal:
            for entry in entries[:count]:
                journal.append(entry.kind, **entry.data)
            if count == len(entries) - 3:
                assert outcome_of(load_run(folder)) == RUNNING
        kept = load_run(folder)
        ended = any(entry.kind == 'end' for entry in entries[:count])
        assert kept.state is (RunState.ENDED if ended else RunState.CUT_OFF)
        assert ended or outcome_of(kept) == CUT_OFF
        assert len(kept.record.attempts) + len(kept.record.steps) >= known
        known = len(kept.record.attempts) + len(kept.record.steps)
    assert kept.record == load_run(whole).record


def test_the_end_of_a_run_in_a_word(tmp_path: Path) -> None:
    folder = kept_folder(tmp_path)
    keep_run(folder)
    kept = load_run(folder)
    for change, word in (
        ({'reached': None}, NOT_REACHED),
        ({'error_code': ErrorCode.ROBOT_FAULT}, 'ROBOT_FAULT'),
    ):
        changed = dataclasses.replace(kept, record=dataclasses.replace(kept.record, **change))
        assert outcome_of(changed) == word


def test_runs_are_listed_newest_first_and_one_that_is_broken_hides_no_other(tmp_path: Path) -> None:
    folders = [kept_folder(tmp_path, f'20260101T00000{n}Z-000{n}') for n in range(4)]
    for folder in folders[:2]:
        keep_run(folder)
    (folders[2] / JOURNAL).write_bytes(b'no journal')
    (tmp_path / 'disagreements').mkdir()
    listed = list(list_runs(tmp_path))
    assert [each.folder for each in listed] == folders[::-1]
    assert [each.kept is None for each in listed] == [True, True, False, False]
    assert 'there is no journal in this folder' in listed[0].error
    assert 'is not a journal' in listed[1].error
    assert list(list_runs(tmp_path / 'none')) == []


def test_any_damage_to_one_journal_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv('SAFEGEN_RUNS_DIR', str(tmp_path))
    whole = kept_folder(tmp_path, '20260101T000000Z-0000')
    keep_run(whole)
    with NodeJournal(tmp_path, '0.planner') as planner:
        start = '2026-01-31T14:25:00+00:00'
        task = TaskEvent('20260102T000000Z-0a0a0a0a', start, task_record(TASK, 'a test', ''))
        planner.write('0a' * 16, task, GoalEvent('run_task', '0a' * 16))
    second = kept_folder(tmp_path, '20260103T000000Z-0001')
    keep_run(second)
    chance = random.Random(7)
    for damaged in (second / JOURNAL, planner.path):
        content = damaged.read_bytes()
        for _ in range(40):
            flipped = bytearray(content)
            for _ in range(chance.choice((1, 1, 8, 400))):
                flipped[chance.randrange(len(flipped))] = chance.randrange(256)
            damaged.write_bytes(flipped[: chance.choice((len(flipped), len(flipped) // 2))])
            assert list_kept(0, Filter(), as_json=True) in (ExitStatus.OK, ExitStatus.BAD_INPUT)
            listed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
            others = {run['run']: run['result'] for run in listed if run['result'] != 'UNREADABLE'}
            assert others[whole.name] == SUCCESS
            assert len(listed) == 3
            assert len(others) >= 2
        damaged.write_bytes(content)


@pytest.mark.parametrize('start', ['', 'now', '2026-01-31', '2026-01-31T14:25:00'])
def test_a_run_that_began_at_no_time_hides_no_other(tmp_path: Path, start: str) -> None:
    keep_run(kept_folder(tmp_path, '20260101T000000Z-0000'))
    folder = kept_folder(tmp_path, '20260101T000001Z-0001')
    with Journal(folder / JOURNAL) as journal:
        journal.append('task', **plain(TaskEvent('x', start, task_record(TASK, 'a test', ''))))
    broken, kept = list_runs(tmp_path)
    assert 'is not a time' in broken.error
    assert kept.kept is not None


@pytest.mark.parametrize(
    ('name', 'found'),
    [
        ('last', '20260102T000000Z-bbbb'),
        ('20260101T000000Z-aaaa', '20260101T000000Z-aaaa'),
        ('aaaa', '20260101T000000Z-aaaa'),
        ('20260102', '20260102T000000Z-bbbb'),
    ],
)
def test_a_run_is_found_by_what_is_its_own(tmp_path: Path, name: str, found: str) -> None:
    for each in ('20260101T000000Z-aaaa', '20260102T000000Z-bbbb'):
        keep_run(kept_folder(tmp_path, each))
    folder, kept = find_run(tmp_path, name)
    assert (folder, kept.record.run_id) == (tmp_path / found, found)


def test_without_runs_nothing_is_found_but_the_path_of_one(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match='no run is kept there yet'):
        find_run(tmp_path / 'none', 'last')
    folder = kept_folder(tmp_path)
    moved = tmp_path / 'sent to me'
    keep_run(folder)
    shutil.move(folder, moved)
    found, kept = find_run(tmp_path, str(moved))
    assert (found, kept.record.run_id) == (moved.resolve(), folder.name)


@pytest.mark.parametrize(
    ('kind', 'data', 'words'),
    [
        ('dance', {}, "entry 1: nothing here is called 'dance'"),
        ('end', {'error': 'NONE'}, "entry 1: field 'message' is missing"),
        ('end', {'error': ['NONE'], 'message': ''}, r'entry 1\.error'),
    ],
)
def test_an_entry_that_says_what_nobody_understands_is_named(
    tmp_path: Path, kind: str, data: dict[str, object], words: str
) -> None:
    folder = kept_folder(tmp_path)
    with RunLog(folder, keep_run(kept_folder(tmp_path / 'other')).task):
        pass
    with Journal(folder / JOURNAL) as journal:
        journal.append(kind, **data)
    with pytest.raises(RecordError, match=words):
        load_run(folder)


def test_a_journal_that_begins_with_no_task_is_no_run(tmp_path: Path) -> None:
    folder = kept_folder(tmp_path)
    with Journal(folder / JOURNAL) as journal:
        with pytest.raises(RecordError, match='holds no entry'):
            load_run(folder)
        journal.append('end', error='NONE', message='')
    with pytest.raises(RecordError, match='entry 0 is not a task'):
        load_run(folder)


def test_an_end_that_is_told_twice_counts_as_told_last(tmp_path: Path) -> None:
    folder = kept_folder(tmp_path)
    with RunLog(folder, keep_run(kept_folder(tmp_path / 'other')).task) as log:
        log.note(EndEvent(ErrorCode.NONE, ''))
        log.note(EndEvent(ErrorCode.SERVER_LOST, 'gone'))
    assert load_run(folder).record.error_code is ErrorCode.SERVER_LOST


STATES = trajectory(TASK.problem, steps_of(PLAN))
FACTS = [tuple(map(atom_text, sorted(state))) for state in STATES]


def _record(tmp_path: Path) -> RunRecord:
    return keep_run(kept_folder(tmp_path), facts=FACTS[-1])


def test_the_states_of_a_run_are_the_observed_ones_where_they_were_written_down(
    tmp_path: Path,
) -> None:
    found = frames(TASK.problem, _record(tmp_path))
    assert [frame.state for frame in found] == list(STATES)
    assert [frame.source for frame in found] == [
        FrameSource.PROVED,
        FrameSource.PROVED,
        FrameSource.OBSERVED,
    ]
    assert [frame.at for frame in found] == [None, 1.0, 2.0]
    assert [frame.text for frame in found] == ['', 'pick up a from the table', 'put a on b']


def test_what_was_not_executed_is_foreseen(tmp_path: Path) -> None:
    record = dataclasses.replace(_record(tmp_path), worlds=())
    cut = dataclasses.replace(record, steps=record.steps[:1], steps_done=1)
    assert [f.source for f in frames(TASK.problem, cut)][1:] == [
        FrameSource.PROVED,
        FrameSource.FORESEEN,
    ]
    none = dataclasses.replace(record, steps=(), steps_done=0)
    assert {frame.source for frame in frames(TASK.problem, none)} == {FrameSource.FORESEEN}
    unheard = dataclasses.replace(record, steps=())
    assert [frame.state for frame in frames(TASK.problem, unheard)] == list(STATES)


def test_a_world_that_differs_is_shown_as_it_was_seen(tmp_path: Path) -> None:
    """After step 1 the block fell; the task was planned for anew, and both steps taken again."""
    record = _record(tmp_path)
    again = dataclasses.replace(TASK.problem, init=STATES[0])
    replanned = dataclasses.replace(
        record,
        steps=(record.steps[0], StepRecord(1, PLAN[0], 2.0, 1.0), StepRecord(2, PLAN[1], 3.0, 1.0)),
        steps_done=3, replans=(ReplanRecord(1, 'b fell', 1, '', problem_text(again)),),
        worlds=(WorldRecord(0, FACTS[0]), WorldRecord(3, FACTS[2])),
    )  # fmt: skip
    found = frames(TASK.problem, replanned)
    assert [frame.state for frame in found] == [STATES[0], STATES[0], STATES[1], STATES[2]]
    assert [frame.source for frame in found] == [
        FrameSource.OBSERVED, FrameSource.OBSERVED, FrameSource.PROVED, FrameSource.OBSERVED,
    ]  # fmt: skip
    # Without the replan written down the steps do not follow from each other.
    lost = dataclasses.replace(replanned, replans=(), worlds=())
    assert len(frames(TASK.problem, lost)) == 2


def test_the_problem_of_a_run_and_of_an_attempt_after_a_replan(tmp_path: Path) -> None:
    record = _record(tmp_path)
    assert problem_of(record) == TASK.problem
    assert problem_of_attempt(record, 0) == TASK.problem
    assert problem_of_attempt(record, 1) is None
    again = dataclasses.replace(TASK.problem, constraints=())
    replan = ReplanRecord(1, 'b fell', 1, '', problem_text(again))
    assert problem_of_attempt(dataclasses.replace(record, replans=(replan,)), 1) == again
    lost = dataclasses.replace(record, task=dataclasses.replace(record.task, problem='(define'))
    assert problem_of(lost) is None


def test_a_download_has_the_files_of_the_run_and_nothing_else(tmp_path: Path) -> None:
    folder = kept_folder(tmp_path)
    keep_run(folder)
    (folder / 'log').mkdir()
    (folder / 'log' / 'planner.log').write_text('hello', encoding='utf-8')
    (tmp_path / 'secret').write_text('secret', encoding='utf-8')
    (folder / 'link').symlink_to(tmp_path / 'secret')
    (folder / 'all').symlink_to(tmp_path)
    name, data = download(folder, load_run(folder))
    assert name == f'{folder.name}.zip'
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert set(archive.namelist()) == {
            f'{folder.name}/{inside}' for inside in (JOURNAL, 'log/planner.log')
        }
        archive.extractall(tmp_path / 'out')
    assert load_run(tmp_path / 'out' / folder.name).record == load_run(folder).record


def test_a_journal_that_is_being_written_is_downloaded_with_all_that_is_committed(
    tmp_path: Path,
) -> None:
    folder = kept_folder(tmp_path)
    with RunLog(folder, task_record(TASK, 'two.pddl', '')):
        _, data = download(folder, load_run(folder))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        archive.extractall(tmp_path / 'out')
    path = tmp_path / 'out' / folder.name / JOURNAL
    with sqlite3.connect(path) as database:
        assert database.execute('select count(*) from entry').fetchone() == (1,)


def test_what_would_be_too_much_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = kept_folder(tmp_path)
    keep_run(folder)
    (folder / 'twin.mp4').write_bytes(b'\0' * 100_000)
    monkeypatch.setattr(runs, 'MAX_DOWNLOAD', 50_000)
    _, data = download(folder, load_run(folder))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert f'{folder.name}/twin.mp4' not in archive.namelist()
        assert archive.read(f'{folder.name}/{LEFT_OUT}') == b'twin.mp4\n'
