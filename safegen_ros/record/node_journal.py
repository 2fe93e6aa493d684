# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The journals of the nodes: the work of a stack for each goal, from any sender.

A node writes one file for each time that it is configured. So a file has one writer, a kill cuts
off only its end, and no node waits for another one. A goal that two nodes worked on is put together
when it is read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

from safegen_ros.errors import RecordError
from safegen_ros.paths import new_run_dir
from safegen_ros.record.events import (
    KINDS,
    NO_MODEL,
    EndEvent,
    Event,
    GoalEvent,
    MeasuredEvent,
    ObservedEvent,
    PhaseEvent,
    PlanEvent,
    ResultEvent,
    StackEvent,
    StepEvent,
    StopEvent,
    TaskEvent,
    advance,
    begin,
)
from safegen_ros.record.journal import (
    JOURNAL,
    EmptyJournalError,
    Journal,
    JournalEntry,
    is_written,
    load_journal,
    load_signed,
)
from safegen_ros.record.run import ReleaseRecord, RunRecord
from safegen_ros.record.run_log import KeptRun, RunState, read_event
from safegen_ros.record.signatures import Signer
from safegen_ros.schema import plain
from safegen_ros.sync import Closing

NODES = 'nodes'
"""Name of the folder of the journals, in that of all runs."""

GOAL_ID = 'goal_id'
"""The value of an entry that names the goal that it is about; an entry without is about all."""


class Executions:
    """Fits the events of the executions that a goal leads to into the run of that goal.

    An execution counts its steps and its time from 0; the run goes on counting.

    Attributes:
        done: steps of the run that are done.
    """

    def __init__(self) -> None:
        self.done = 0
        self._at = 0.0
        self._began: dict[str, tuple[int, float]] = {}

    def fit(self, execution: str, event: Any) -> Any:
        """The event as one of the run; None where the run has its own."""
        before, began = self._began.setdefault(execution, (self.done, self._at))
        if isinstance(event, TaskEvent):
            return StackEvent(NO_MODEL, event.cell)
        if isinstance(event, GoalEvent | ResultEvent | MeasuredEvent | EndEvent):
            return None
        if isinstance(event, StepEvent | ObservedEvent | PhaseEvent):
            self._at = began + event.at
            event = replace(event, at=self._at)
        if isinstance(event, StepEvent):
            return replace(event, index=before + event.index)
        if isinstance(event, ObservedEvent):
            self.done = before + event.done
            return replace(event, done=self.done)
        return event


class NodeJournal(Closing):
    """Writes what a node does; any thread may use it.

    Args:
        name: of the stack and the node, such as '0.executor'.

    Raises:
        RecordError: it cannot be written there.
    """

    def __init__(self, root: Path, name: str) -> None:
        try:
            folder = new_run_dir(root / NODES / name)
            self._journal = Journal(folder / JOURNAL)
        except OSError as error:
            raise RecordError(
                f'{root}: the journal of the node cannot be made there: {error.strerror}: name '
                'another folder by the parameter journal, or by SAFEGEN_RUNS_DIR'
            ) from error

    @property
    def path(self) -> Path:
        """The file."""
        return self._journal.path

    def write(self, goal: str, *events: Event) -> tuple[JournalEntry, ...]:
        """Writes events of a goal; the entries that it returns are on the disk.

        Args:
            goal: its id, 32 hexadecimal digits; empty where it is about no goal.
            events: what happened, in order.

        Raises:
            RecordError: the disk did not take them, and has none of them: do not go on.
        """
        about = {GOAL_ID: goal} if goal else {}
        return self._journal.extend(
            (KINDS[type(event)], {**about, **plain(event)}) for event in events
        )

    def close(self) -> None:
        """Closes the file, and removes it where nothing was written; harmless when repeated."""
        self._journal.close()
        path = self._journal.path
        if path.exists() and not load_journal(path):
            path.unlink()
            path.parent.rmdir()


@dataclass(slots=True)
class _Written:
    """What one node has written about one goal.

    Attributes:
        stack: the domain and the namespace of the node.
        entries: with the events that they are.
        running: whether the node is still there.
    """

    path: Path
    stack: str
    running: bool
    signer: Signer
    entries: list[tuple[JournalEntry, Any]] = field(default_factory=list)

    @property
    def events(self) -> list[Any]:
        return [event for _, event in self.entries]


@dataclass(frozen=True, slots=True)
class KeptGoals:
    """The goals in the journals of the nodes.

    Attributes:
        runs: by the id of the goal that was asked for, with the file that begins it.
        broken: why a journal cannot be read, by its file.
    """

    runs: dict[str, tuple[Path, KeptRun]]
    broken: dict[Path, str]


def load_goals(root: Path) -> KeptGoals:
    """All goals that the nodes have written down below a folder of runs."""
    written: dict[str, _Written] = {}
    stops: dict[str, list[tuple[JournalEntry, Signer]]] = defaultdict(list)
    releases: dict[str, list[tuple[ReleaseRecord, Signer]]] = defaultdict(list)
    broken: dict[Path, str] = {}
    for path in sorted((root / NODES).glob(f'*/*/{JOURNAL}')):
        try:
            _read(path, written, stops, releases)
        except FileNotFoundError:  # its node had written nothing, and has removed it
            continue
        except (RecordError, OSError) as error:
            broken[path] = str(error)
    led_to = {
        event.id
        for goal, each in written.items()
        for event in each.events
        if isinstance(event, GoalEvent) and event.id != goal
    }
    runs = {}
    for goal, each in written.items():
        # Its own planner may have been killed before it had written anything: then it stands alone.
        if goal not in led_to and isinstance(each.events[0], TaskEvent):
            runs[goal] = (each.path, _put_together(goal, written, stops[each.stack]))
    for stack, released in releases.items():
        _add_releases(runs, [goal for goal in runs if written[goal].stack == stack], released)
    return KeptGoals(runs, broken)


def _add_releases(
    runs: dict[str, tuple[Path, KeptRun]],
    goals: list[str],
    released: list[tuple[ReleaseRecord, Signer]],
) -> None:
    """Gives each release to the goal of its stack that began last before it."""
    for event, signer in sorted(released, key=lambda each: each[0].at):
        begun = {goal: runs[goal][1].entries[0].time for goal in goals}
        before = [goal for goal in goals if begun[goal] <= event.at]
        if before:
            last = max(before, key=lambda goal: begun[goal])
            path, kept = runs[last]
            record, signers = advance(kept.record, event), (*kept.signers, signer)
            runs[last] = (path, replace(kept, record=record, signers=signers))


def _read(
    path: Path,
    written: dict[str, _Written],
    stops: dict[str, list[tuple[JournalEntry, Signer]]],
    releases: dict[str, list[tuple[ReleaseRecord, Signer]]],
) -> None:
    running = is_written(path)  # before it is read: what comes to its end meanwhile has ended
    stack = path.parts[-3].rpartition('.')[0]
    try:
        read, signer = load_signed(path)
    except EmptyJournalError:
        if running:  # its node is about to begin it
            return
        raise
    checked = []  # whole, before any of it counts
    for entry in read:
        data = dict(entry.data)
        goal = data.pop(GOAL_ID, '')
        if not isinstance(goal, str):
            raise RecordError(f'{path}: entry {entry.number}: {goal!r} is not an id of a goal')
        entry = replace(entry, data=data)
        checked.append((goal, entry, read_event(path, entry)))
    for goal, entry, event in checked:
        if isinstance(event, StopEvent):
            stops[stack].append((entry, signer))
        elif isinstance(event, ReleaseRecord):
            releases[stack].append((event, signer))
        else:
            if goal not in written:
                written[goal] = _Written(path, stack, running, signer)
            written[goal].entries.append((entry, event))


def _put_together(
    goal: str, written: dict[str, _Written], stops: list[tuple[JournalEntry, Signer]]
) -> KeptRun:
    main = written[goal]
    first, *rest = main.events
    record: RunRecord = begin(first)
    entries = [entry for entry, _ in main.entries]
    put = _with_steps if first.stepwise else _with_executions
    for event in put(goal, rest, written, entries):
        record = advance(record, event)
    if any(isinstance(event, EndEvent) for event in rest):
        state = RunState.ENDED
    else:
        state = RunState.RUNNING if main.running else RunState.CUT_OFF
    goals = tuple(event for event in rest if isinstance(event, GoalEvent))
    begun, ended = entries[0].time, max(entry.time for entry in entries)
    meanwhile = [each for each in stops if begun <= each[0].data['since'] <= ended]
    entries += [stop for stop, _ in meanwhile]
    parts = [main, *(written[each.id] for each in goals if each.id in written)]
    signers = (*(part.signer for part in parts), *(signer for _, signer in meanwhile))
    entries.sort(key=lambda entry: entry.time)  # which keeps those of one file in their order
    numbered = tuple(replace(entry, number=number) for number, entry in enumerate(entries))
    return KeptRun(record, numbered, state, goals, signers)


def _with_executions(
    goal: str, events: list[Any], written: dict[str, _Written], entries: list[JournalEntry]
) -> Iterator[Any]:
    """The events of a goal, with those of the executions that it led to in their place.

    How an execution ended is in the result of the goal, unless that one never came.
    """
    answered = any(isinstance(event, ResultEvent) for event in events)
    executions = Executions()
    for event in events:
        yield event
        if not isinstance(event, GoalEvent) or event.id == goal or event.id not in written:
            continue
        for entry, inner in written[event.id].entries:
            entries.append(entry)
            if (fitted := executions.fit(event.id, inner)) is not None:
                yield fitted
            elif not answered and isinstance(inner, ResultEvent | MeasuredEvent | EndEvent):
                yield inner


def _with_steps(
    goal: str, events: list[Any], written: dict[str, _Written], entries: list[JournalEntry]
) -> Iterator[Any]:
    """As `_with_executions`, for a goal that was worked on step by step.

    Each step is an execution, which the goal reports itself once it has heard the result: the
    executor's report counts only for a step that the goal never reports.
    """
    done = 0
    for number, event in enumerate(events):
        yield event
        if isinstance(event, ObservedEvent):
            done = event.done
        if not isinstance(event, GoalEvent) or event.id == goal or event.id not in written:
            continue
        heard = any(isinstance(each, ObservedEvent) for each in _until_next(events[number + 1 :]))
        source = ''
        for entry, inner in written[event.id].entries:
            entries.append(entry)
            if isinstance(inner, PlanEvent):
                source = inner.plan_source
            elif isinstance(inner, TaskEvent):
                yield StackEvent(NO_MODEL, inner.cell)
            elif isinstance(inner, StepEvent) and not heard:
                yield replace(inner, index=done, source=source)
            elif isinstance(inner, ObservedEvent) and not heard:
                yield replace(inner, done=done + inner.done)


def _until_next(events: list[Any]) -> Iterator[Any]:
    """The events up to the next goal."""
    return takewhile(lambda each: not isinstance(each, GoalEvent), events)
