# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen runs show`: everything that is known of one run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from rich.markup import escape

from safegen_ros.cli.display import print_fact, print_folded, show_verdict
from safegen_ros.cli.failures import ExitStatus
from safegen_ros.errors import RecordError, SafegenError, UsageError
from safegen_ros.paths import runs_dir
from safegen_ros.record.events import MeasuredEvent
from safegen_ros.record.history import SUCCESS, duration_s, find_run, outcome_of, recorded_task
from safegen_ros.record.journal import JOURNAL, JournalEntry
from safegen_ros.record.present.compare import compare_runs
from safegen_ros.record.present.report import step_rows, summary
from safegen_ros.record.present.telling import tell
from safegen_ros.record.run import RunRecord
from safegen_ros.record.run_log import KeptRun, load_run, read_event
from safegen_ros.record.signatures import ApprovalRecord, signature_words
from safegen_ros.schema import plain
from safegen_ros.tasks.pddl3.formats import WORDS
from safegen_ros.terminal import Console

_LONGEST = 120  # of the values of an event on one line [characters]


def named_run(name: str) -> tuple[Path, KeptRun]:
    """The folder and the run that a user means; raises `UsageError` where it cannot be read."""
    try:
        return find_run(runs_dir(), name)
    except RecordError as error:
        raise UsageError(error.message) from error


def show_run(name: str, as_json: bool, events: bool) -> int:
    """Prints the run that a user means; returns the exit status."""
    folder, kept = named_run(name)
    if as_json:
        print(json.dumps(run_json(folder, kept)))
    else:
        print_run(Console(), folder, kept, events)
    return ExitStatus.OK if record_state(kept)[0] else ExitStatus.FAILED


def print_json(folder: Path) -> None:
    """Prints the run in a folder as JSON."""
    print(json.dumps(run_json(folder, load_run(folder))))


def record_state(kept: KeptRun) -> tuple[bool, str]:
    """Whether the signatures of a run are as they should be, and its state in words."""
    good, words = signature_words(kept.signers)
    return good and all(_holds(each, kept.record) for each in kept.record.approvals), words


def _holds(approval: ApprovalRecord, record: RunRecord) -> bool:
    """Whether an answer is about a recorded plan, and its signature right where there is one."""
    return approval.verified is not False and approval.fits(record.plans)


def run_json(folder: Path, kept: KeptRun) -> dict[str, Any]:
    """A run as values for JSON."""
    return {
        'run': kept.record.run_id,
        'folder': str(folder),
        'state': kept.state.name,
        'result': outcome_of(kept),
        'seconds': round(duration_s(kept), 3),
        'signature': dict(zip(('good', 'state'), record_state(kept), strict=True)),
        'record': plain(kept.record),
        'events': [
            {'number': e.number, 'time': e.time, 'kind': e.kind, 'data': e.data}
            for e in kept.entries
        ],
    }


def print_run(console: Console, folder: Path, kept: KeptRun, events: bool) -> None:
    """Prints a run for a person."""
    say = partial(console.print, highlight=False, soft_wrap=True)
    record, outcome = kept.record, outcome_of(kept)
    colour = 'green' if outcome == SUCCESS else 'red'
    say(f'[bold]run {record.run_id}[/]  [bold {colour}]{outcome}[/]  ({kept.state.value})')
    good, signed = record_state(kept)
    took = f'{duration_s(kept):.1f} s'
    rows = [('Folder', str(folder)), ('Record', signed), ('Took', took), *summary(record)]
    for title, text in (*rows, *_task(record)):
        bad = title == 'Record' and not good
        bad |= title == 'Operator' and not all(_holds(each, record) for each in record.approvals)
        print_folded(console, f'{title:<16} {escape(text)}', 'bold red' if bad else '', 17)
    for attempt in record.attempts:
        print_fact(console, tell(attempt), details=1)
        show_verdict(console, attempt.verdict, attempt.steps or None)
    steps = step_rows(record)
    by = escape(record.plan_source or 'no planner')
    say(f'[bold]plan[/] by {by}' if steps else '[bold]no plan[/]: nothing moved')
    for number, text, begun, lasted in steps:
        took = f'took {lasted} s' if lasted[0].isdigit() else lasted
        at = f'at {begun} s, {took}' if begun else took
        say(f'  {number:>3}  {escape(text)}  [dim]{at}[/]')
    if record.reached is not None:
        measured = MeasuredEvent(record.reached, record.goal, record.blocks)
        print_fact(console, tell(measured, cell=record.cell))
    for artefact in record.artefacts:
        say(f'file             {artefact.file or "no " + artefact.name} {escape(artefact.note)}')
    made = ', '.join(f'{name} {value}' for name, value in sorted(record.versions.items()))
    if made:
        print_folded(console, f'made by          [dim]{escape(made)}[/]', hang=17)
    if events:
        say('[bold]events[/]')
        for entry in kept.entries:
            print_folded(console, f'  [dim]{escape(_event(entry))}[/]', hang=34)


def _task(record: RunRecord) -> Iterator[tuple[str, str]]:
    """The request and its reading."""
    if record.task.format == WORDS:
        yield 'Request', ' '.join(record.task.problem.split())
    if record.understood is not None:
        for title, told in (
            ('Question', record.understood.question),
            ('Understood', record.understood.reading),
        ):
            if told:
                yield title, ' '.join(told.split())
    for answer in record.answers:
        if answer.refused:
            yield 'Not good', f'translation {answer.reading}.{answer.attempt}: {answer.refused}'
    try:
        for title, text in recorded_task(record).summary():
            yield title.capitalize(), text
    except SafegenError as error:
        yield 'Task', f'can no longer be read: {error.message}'
        yield '', record.task.problem


def _event(entry: JournalEntry) -> str:
    fact = tell(read_event(Path(JOURNAL), entry))
    text = ', '.join(_values(entry.data)) or 'no change' if fact is None else fact.text
    short = text if len(text) <= _LONGEST else text[: _LONGEST - 3] + '...'
    return f'{entry.number:>4}  {entry.time[11:23]}  {entry.kind:<10}  {short}'


def _values(data: Mapping[str, Any]) -> Iterator[str]:
    """The values of an event that no sentence has: each name with its value."""
    for name, value in data.items():
        if isinstance(value, Mapping):
            yield from _values(value)
        elif value:
            yield f'{name.replace("_", " ")} {value}'


def show_two(name: str, other: str, as_json: bool) -> int:
    """Prints what is different in two runs; returns the exit status."""
    (_, left), (_, right) = named_run(name), named_run(other)
    rows = compare_runs(left, right)
    names = [left.record.run_id, right.record.run_id]
    if as_json:
        print(json.dumps({'runs': names, 'different': rows}))
        return ExitStatus.OK
    say = partial(Console().print, highlight=False, soft_wrap=True)
    say(f'[bold]- {names[0]}[/]\n[bold]+ {names[1]}[/]')
    for what, one, another in rows:
        say(f'[bold]{escape(what)}[/]')
        for mark, text in (('-', one), ('+', another)):
            say(f'  {mark} {escape(" ".join(text.split()) or "nothing")}')
    if not rows:
        say('nothing is different')
    return ExitStatus.OK
