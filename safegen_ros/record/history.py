# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The runs in a folder: which there are, how each of them ended, and the one that a user means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from safegen_ros.errors import ErrorCode
from safegen_ros.record.events import KeptRun, RunState, load_run
from safegen_ros.record.run import RecordError, RunRecord
from safegen_ros.worlds.pddl3.task import Pddl3Task, load_task

LAST = 'last'
"""What stands for the newest run."""

_RUN_ID = re.compile(r'\d{8}T\d{6}Z-[0-9a-f]{4}')

SUCCESS, NOT_REACHED, RUNNING, CUT_OFF = 'SUCCESS', 'GOAL_NOT_REACHED', 'RUNNING', 'CUT_OFF'


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run in a list.

    Attributes:
        folder: where it is; its name is the run's id.
        kept: what was written down; None when that cannot be read.
        error: why it cannot be read; empty when it can.
    """

    folder: Path
    kept: KeptRun | None
    error: str = ''


def run_folders(root: Path) -> list[Path]:
    """The folders of runs, newest first; none when there is no such root."""
    if not root.is_dir():
        return []
    found = [path for path in root.iterdir() if _RUN_ID.fullmatch(path.name) and path.is_dir()]
    return sorted(found, key=lambda path: path.name, reverse=True)


def list_runs(root: Path) -> Iterator[ListedRun]:
    """The runs in a folder, newest first; those that cannot be read too."""
    for folder in run_folders(root):
        try:
            yield ListedRun(folder, load_run(folder))
        except RecordError as error:
            yield ListedRun(folder, None, error.message)


def find_run(root: Path, name: str) -> Path:
    """The folder of the run that a user means.

    Args:
        root: the folder of all runs.
        name: its id, a part of that which no other run has, `LAST`, or the path of its folder.

    Raises:
        RecordError: there is no such run, or there are several.
    """
    folders = run_folders(root)
    if name == LAST and folders:
        return folders[0]
    found = [f for f in folders if f.name == name] or [
        f for f in folders if name and name in f.name
    ]
    if len(found) == 1:
        return found[0]
    if found:
        names = ' '.join(folder.name for folder in found[:5])
        raise RecordError(f'{name!r} is a part of {len(found)} runs: say which of {names}')
    path = Path(name)
    if name and path.is_dir():
        return path.resolve()
    newest = ' '.join(folder.name for folder in folders[:3])
    some = f'the newest are {newest}' if newest else 'no run is kept there yet'
    raise RecordError(f'there is no run {name!r} in {root}: {some}')


def outcome_of(kept: KeptRun) -> str:
    """How a run ended in a word: `SUCCESS`, an error code, or that it has not ended."""
    record = kept.record
    if kept.state is RunState.RUNNING:
        return RUNNING
    if kept.state is RunState.CUT_OFF:
        return CUT_OFF
    if record.ok:
        return SUCCESS
    return NOT_REACHED if record.error_code is ErrorCode.NONE else record.error_code.name


def duration_s(kept: KeptRun) -> float:
    """How long a run took, from its first event to its last, and without making a video [s]."""
    whole = kept.record.timings.get('whole run')
    if whole is not None:
        return whole
    first, last = (datetime.fromisoformat(kept.entries[i].time) for i in (0, -1))
    return (last - first).total_seconds()


def recorded_task(record: RunRecord) -> Pddl3Task:
    """The task of a run, read again from its text.

    Raises:
        SafegenError: it cannot be read any more, as when a built-in domain is gone.
    """
    task = record.task
    problem_source, domain_source = task.places
    return load_task(
        task.problem,
        task.domain,
        format=task.format,
        problem_source=problem_source,
        domain_source=domain_source,
    )
