# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The runs in a folder: which there are, how each of them ended, and the one that a user means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from safegen_ros.errors import ErrorCode, RecordError, SafegenError
from safegen_ros.record.node_journal import KeptGoals, load_goals
from safegen_ros.record.run import RunRecord, TaskRecord
from safegen_ros.record.run_log import KeptRun, RunState, load_run
from safegen_ros.tasks.pddl3.formats import WORDS
from safegen_ros.tasks.pddl3.task import load_task
from safegen_ros.tasks.table import read_action_task
from safegen_ros.tasks.task import ActionTask

LAST = 'last'
"""What stands for the newest run."""

_RUN_ID = re.compile(r'\d{8}T\d{6}Z-[0-9a-f]{4}')

SUCCESS, NOT_REACHED, RUNNING, CUT_OFF = 'SUCCESS', 'GOAL_NOT_REACHED', 'RUNNING', 'CUT_OFF'

UNDERSTOOD = 'UNDERSTOOD'
"""The end of a goal that only asks what words mean."""


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run in a list.

    Attributes:
        kept: the record; None when it cannot be read.
        error: why it cannot be read; empty when it can.
    """

    folder: Path
    kept: KeptRun | None
    error: str = ''

    @property
    def name(self) -> str:
        """The id of the run."""
        return self.kept.record.run_id if self.kept else self.folder.name


def run_folders(root: Path) -> list[Path]:
    """The folders of runs, newest first; none when there is no such root."""
    if not root.is_dir():
        return []
    found = [path for path in root.iterdir() if _RUN_ID.fullmatch(path.name) and path.is_dir()]
    return sorted(found, key=lambda path: path.name, reverse=True)


def list_runs(root: Path) -> Iterator[ListedRun]:
    """The runs in a folder, newest first; those that cannot be read too.

    A goal of a stack is one run: that of the folder where `safegen` has followed it, else that of
    the journals of the nodes.
    """
    goals = load_goals(root)
    listed = []
    for folder in run_folders(root):
        try:
            listed.append(ListedRun(folder, _followed(load_run(folder), goals)))
        except RecordError as error:
            listed.append(ListedRun(folder, None, error.message))
    followed = {goal.id for each in listed if each.kept for goal in each.kept.goals}
    listed += [
        ListedRun(path.parent, kept)
        for goal, (path, kept) in goals.runs.items()
        if goal not in followed
    ]
    listed += [ListedRun(path.parent, None, error) for path, error in goals.broken.items()]
    yield from sorted(listed, key=_began, reverse=True)


def _began(run: ListedRun) -> tuple[str, str, str]:
    """The order of runs: a name has the second, and the first entry the microsecond."""
    second = run.name[: len('20260101T000000Z')]
    return second, run.kept.entries[0].time if run.kept else '', run.name


def _followed(kept: KeptRun, goals: KeptGoals) -> KeptRun:
    """The run of a folder; how it went on after its process was killed is known to the nodes."""
    known = [goals.runs[goal.id][1] for goal in kept.goals if goal.id in goals.runs]
    if known:
        theirs = known[0].record
        record = replace(
            kept.record,
            releases=theirs.releases,
            passed=theirs.passed,
            site=theirs.site,
            approvals=theirs.approvals,
        )
        signers = (*kept.signers, *known[0].signers)
        kept = replace(kept, record=record, signers=signers)
    if kept.state is not RunState.CUT_OFF or not known:
        return kept
    ours, whole = kept.record, known[0]
    record = replace(whole.record, run_id=ours.run_id, started=ours.started, task=ours.task)
    return replace(whole, record=record, goals=kept.goals, signers=kept.signers)


def find_run(root: Path, name: str) -> tuple[Path, KeptRun]:
    """The run that a user means, and the folder of its journal.

    Args:
        name: its id, a part of that which no other run has, `LAST`, or the path of its folder.

    Raises:
        RecordError: there is no such run, or there are several, or it cannot be read.
    """
    found = _named(root, name)
    if found.kept is None:
        raise RecordError(found.error)
    return found.folder, found.kept


def _named(root: Path, name: str) -> ListedRun:
    runs = list(list_runs(root))
    if name == LAST and runs:
        return runs[0]
    found = [run for run in runs if run.name == name] or [
        run for run in runs if name and name in run.name
    ]
    if len(found) == 1:
        return found[0]
    if found:
        names = ' '.join(run.name for run in found[:5])
        raise RecordError(f'{name!r} is a part of {len(found)} runs: name one of {names}')
    path = Path(name)
    if name and path.is_dir():
        return ListedRun(path.resolve(), load_run(path.resolve()))
    newest = ' '.join(run.name for run in runs[:3])
    some = f'the newest are {newest}' if newest else 'no run is kept there yet'
    raise RecordError(f'there is no run {name!r} in {root}: {some}')


def outcome_of(kept: KeptRun) -> str:
    """How a run ended in a word: `SUCCESS`, an error code, or that it has not ended."""
    record = kept.record
    if kept.state is RunState.RUNNING:
        return RUNNING
    if kept.state is RunState.CUT_OFF:
        return CUT_OFF
    only_planned = bool(kept.goals) and kept.goals[0].action == 'plan_task'
    if record.ok or (only_planned and record.verdict.ok and record.error_code is ErrorCode.NONE):
        return SUCCESS
    if only_planned and record.understood is not None and record.error_code is ErrorCode.NONE:
        return UNDERSTOOD
    return NOT_REACHED if record.error_code is ErrorCode.NONE else record.error_code.name


def duration_s(kept: KeptRun) -> float:
    """How long a run took, from its first event to its last, and without making a video [s]."""
    whole = kept.record.timings.get('whole run')
    if whole is not None:
        return whole
    first, last = (datetime.fromisoformat(kept.entries[i].time) for i in (0, -1))
    return (last - first).total_seconds()


def recorded_task(record: RunRecord) -> ActionTask:
    """The task of a run, read again from its text.

    Raises:
        SafegenError: it can no longer be read, as when a built-in domain is gone.
    """
    return task_of(record.task)


def task_of(task: TaskRecord) -> ActionTask:
    """The same of the task as it is written down."""
    if task.format == WORDS:
        if not task.pddl:
            raise SafegenError('the request was not understood: there is no problem')
        return load_task(task.pddl, task.domain)
    return read_action_task(task.problem, task.domain, task.format, *task.places)
