# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A run that is kept: state by state, and as one file to take away."""

from __future__ import annotations

import io
import os
import sqlite3
import stat
import zipfile
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from safegen_ros.errors import RecordError, SafegenError
from safegen_ros.pddl.facts import recorded_fact
from safegen_ros.pddl.model import Problem, State
from safegen_ros.record.history import task_of
from safegen_ros.record.journal import JOURNAL
from safegen_ros.record.present.constraint_status import trajectory
from safegen_ros.record.present.wording import step_text_words, steps_of
from safegen_ros.record.run import RunRecord, TaskRecord
from safegen_ros.record.run_log import KeptRun
from safegen_ros.tasks.pddl3.task import load_task

MAX_DOWNLOAD = 64 << 20
"""Most that the files of a run may come to in a download [bytes]."""

LEFT_OUT = 'LEFT_OUT.txt'
"""In a download, what is not in it."""


class FrameSource(Enum):
    """Where the state of a frame is from; the value says it in words."""

    OBSERVED = 'observed'
    PROVED = 'as proved; the monitor found the world so'
    FORESEEN = 'foreseen; not executed'


@dataclass(frozen=True, slots=True)
class WorldFrame:
    """The world after some steps.

    Attributes:
        step: how many steps; 0 is the start.
        text: the last step, in words; empty at the start.
        at: when it was seen, from the start of the execution [s]; None where that is not known.
    """

    step: int
    text: str
    state: State
    source: FrameSource
    at: float | None = None


def problem_of(record: RunRecord) -> Problem | None:
    """The problem of a run; None where it is not PDDL, or can no longer be read."""
    return _problem(record.task)


def problem_of_attempt(record: RunRecord, replan: int) -> Problem | None:
    """The problem that an attempt was for, which a replan changes; None as above."""
    if not replan:
        return problem_of(record)
    found = next((each for each in record.replans if each.number == replan), None)
    return None if found is None else _problem_left(found.problem, found.domain)


@lru_cache(32)
def _problem(task: TaskRecord) -> Problem | None:
    with suppress(SafegenError):
        found = getattr(task_of(task), 'problem', None)
        return found if isinstance(found, Problem) else None
    return None


@lru_cache(32)
def _problem_left(problem: str, domain: str) -> Problem | None:
    with suppress(SafegenError):
        return load_task(problem, domain).problem
    return None


def frames(problem: Problem, record: RunRecord) -> tuple[WorldFrame, ...]:
    """The states of a run: those that were observed or proved, then what was foreseen.

    A run whose steps do not follow from each other, as after an unrecorded disturbance, ends with
    the last known state.
    """
    known = dict(_known(record))
    begun = {each.index: each for each in record.steps}
    done = [begun[i].step for i in range(record.steps_done) if i in begun]
    if len(done) < record.steps_done:  # progress that was not heard, but the plan is known
        done = [*record.plan[: record.steps_done]]
    left = () if record.replans else record.plan[len(done) :]
    source = FrameSource.OBSERVED if 0 in known else FrameSource.PROVED
    found = [
        WorldFrame(0, '', known.get(0, problem.init), source if done else FrameSource.FORESEEN)
    ]
    for index, text in enumerate([*done, *left]):
        after = _after(problem, found[-1].state, text)
        executed = index < len(done)
        if executed and index + 1 in known:
            after, source = known[index + 1], FrameSource.OBSERVED
        else:
            source = FrameSource.PROVED if executed else FrameSource.FORESEEN
        if after is None:
            break
        each = begun.get(index)
        ended = None if each is None or each.seconds is None else each.begun_s + each.seconds
        words = step_text_words(text, problem)
        found.append(WorldFrame(index + 1, words, after, source, ended if executed else None))
    return tuple(found)


def _known(record: RunRecord) -> Iterator[tuple[int, State]]:
    """The states that are written down, by the number of steps before them."""
    for replan in record.replans:
        problem = problem_of_attempt(record, replan.number)
        if problem is not None:
            yield replan.steps_done, problem.init
    for world in record.worlds:
        yield world.done, frozenset(map(recorded_fact, world.facts))


def _after(problem: Problem, state: State, text: str) -> State | None:
    """The state after a step; None where it does not apply, or is a moment of a timed plan."""
    states = trajectory(replace(problem, init=state), steps_of([text]))
    return states[1] if len(states) == 2 else None


def download(folder: Path, kept: KeptRun) -> tuple[str, bytes]:
    """The files of a run as one archive: its name, and its bytes.

    What would be too much is left out and named in it; links are never followed.

    Raises:
        RecordError: a file cannot be read.
    """
    name = kept.record.run_id
    buffer = io.BytesIO()
    left_out = []
    size = 0
    try:
        with zipfile.ZipFile(buffer, 'w', zipfile.ZIP_DEFLATED) as archive:
            for path in run_files(folder):
                inside = path.relative_to(folder).as_posix()
                size += path.stat().st_size
                if size > MAX_DOWNLOAD:
                    left_out.append(inside)
                    continue
                archive.writestr(f'{name}/{inside}', _bytes(path))
            if left_out:
                archive.writestr(f'{name}/{LEFT_OUT}', '\n'.join([*left_out, '']))
    except (OSError, sqlite3.Error) as error:
        raise RecordError(f'{folder}: cannot be read: {error}') from error
    return f'{name}.zip', buffer.getvalue()


def run_files(folder: Path) -> list[Path]:
    """The files in the folder of a run, in order; links and what they lead to are left out."""
    found = [
        Path(where) / name
        for where, _, names in os.walk(folder)
        for name in names
        if not name.startswith(f'{JOURNAL}-')  # the log of a journal that is being written
    ]
    return sorted(path for path in found if stat.S_ISREG(path.lstat().st_mode))


def _bytes(path: Path) -> bytes:
    """The contents of a file; of a journal that is being written, with all that is committed."""
    if path.name != JOURNAL:
        return path.read_bytes()
    with closing(sqlite3.connect(f'file:{quote(str(path))}?mode=ro', uri=True)) as connection:
        return connection.serialize()
