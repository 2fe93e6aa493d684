# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Writes a run down, every event first on the disk and then in the record, and reads it back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum
from pathlib import Path
from typing import Any

from safegen_ros.errors import RecordError
from safegen_ros.pddl.plan import Step
from safegen_ros.record import events
from safegen_ros.record.journal import JOURNAL, Journal, JournalEntry, is_written, load_signed
from safegen_ros.record.run import RunRecord, TaskRecord
from safegen_ros.record.signatures import Signer
from safegen_ros.schema import SchemaReader, plain
from safegen_ros.sync import Closing
from safegen_ros.tasks.task import ActionTask


class RunState(Enum):
    """Whether a run is over; the value says it in words."""

    RUNNING = 'running'
    ENDED = 'ended'
    CUT_OFF = 'cut off: its process ended without a result'


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A run as its journal has it.

    Attributes:
        entries: the events, in order.
        state: whether it is over.
        goals: the goals that belong to it, the one that was asked for first.
        signers: who signed the journals that it is made of.
    """

    record: RunRecord
    entries: tuple[JournalEntry, ...]
    state: RunState
    goals: tuple[events.GoalEvent, ...] = ()
    signers: tuple[Signer, ...] = ()


class RunLog(Closing):
    """A run that is being written down. One thread at a time may use it.

    Args:
        cell: what executes, as in `RunRecord`; empty while it is not known.
        stepwise: as in `RunRecord`.

    Attributes:
        record: all that the journal holds.
    """

    def __init__(
        self, folder: Path, task: TaskRecord, cell: str = '', stepwise: bool = False
    ) -> None:
        self._journal = Journal(folder / JOURNAL)
        started = datetime.now(timezone.utc).isoformat(timespec='seconds')
        begun = events.TaskEvent(folder.name, started, task, cell, stepwise)
        self._write(begun)
        self.record = events.begin(begun)

    def note(self, event: events.Event) -> None:
        """Writes an event down; when this returns, it is on the disk and in the record.

        Raises:
            RecordError: the disk did not take it: do not go on.
        """
        self._write(event)
        self.record = events.advance(self.record, event)

    def _write(self, event: events.Event) -> None:
        self._journal.append(events.KINDS[type(event)], **plain(event))

    def close(self) -> None:
        """Close the journal; harmless when repeated."""
        self._journal.close()


def load_run(folder: Path) -> KeptRun:
    """The run in a folder.

    Raises:
        RecordError: there is no journal, it is damaged, or nothing was written to it.
    """
    path = folder / JOURNAL
    try:
        written = is_written(path)  # before it is read: what comes to its end meanwhile has ended
        entries, signer = load_signed(path)
    except FileNotFoundError as error:
        raise RecordError(
            f'{path}: there is no journal in this folder: name one of safegen runs list'
        ) from error
    except OSError as error:
        raise RecordError(f'{path}: cannot be read: {error.strerror}') from error
    if not entries:
        raise RecordError(f'{path}: holds no entry: its process ended before it wrote anything')
    first, *rest = (read_event(path, entry) for entry in entries)
    if not isinstance(first, events.TaskEvent):
        raise RecordError(f'{path}: entry 0 is not a task: this is not a journal of a run')
    record = events.begin(first)
    for event in rest:
        record = events.advance(record, event)
    if any(isinstance(event, events.EndEvent) for event in rest):
        state = RunState.ENDED
    else:
        state = RunState.RUNNING if written else RunState.CUT_OFF
    goals = tuple(event for event in rest if isinstance(event, events.GoalEvent))
    return KeptRun(record, entries, state, goals, (signer,))


def read_event(place: Path | str, entry: JournalEntry) -> Any:
    """The event of an entry; raises `RecordError` if it is not an event."""
    kind = events.EVENTS.get(entry.kind)
    if kind is None:
        raise RecordError(f'{place}: entry {entry.number}: nothing here is called {entry.kind!r}')
    reader = SchemaReader('', RecordError)
    event: Any = reader.read(kind, dict(entry.data), f'{place}: entry {entry.number}')
    if isinstance(event, events.TaskEvent) and not _is_time(event.started):
        raise RecordError(f'{place}: entry {entry.number}: {event.started!a} is not a time')
    return event


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def task_record(task: ActionTask, source: str, domain_text: str) -> TaskRecord:
    """The task as it is written down.

    Args:
        source: the file that it came from, or who sent it.
        domain_text: PDDL of its domain; empty for a built-in one.
    """
    return TaskRecord(
        task.name,
        source,
        task.world,
        domain_text,
        task.problem_text,
        task.format,
        task.pddl,
    )


_TOLD = re.compile(r'\(([^()]*)\)')


def told_steps(texts: Sequence[str]) -> tuple[tuple[Step, ...], ...]:
    """Steps from the texts of a record, each with all that happens in it."""
    return tuple(
        tuple(
            Step(words[0], tuple(words[1:]))
            for words in map(str.split, _TOLD.findall(text))
            if words
        )
        for text in texts
    )
