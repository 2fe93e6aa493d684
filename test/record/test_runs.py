# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Kept runs as a list, state by state, and as one file."""

from __future__ import annotations

import dataclasses
import io
import sqlite3
import zipfile
from pathlib import Path

import pytest
from support.kept_runs import PLAN, TASK, keep_run, kept_folder

from safegen_ros.pddl.writer import atom_text, problem_text
from safegen_ros.record.history import task_record
from safegen_ros.record.journal import JOURNAL
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
from safegen_ros.record.run_log import RunLog, load_run

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
