# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen show`: everything that is known of one run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.markup import escape

from safegen_ros.cli.failures import EXIT_BAD_INPUT, EXIT_FAILED, EXIT_OK, print_error
from safegen_ros.cli.verdicts import show_verdict
from safegen_ros.errors import SafegenError
from safegen_ros.paths import runs_dir
from safegen_ros.record.approval import ApprovalRecord
from safegen_ros.record.chain import signature_words
from safegen_ros.record.history import SUCCESS, duration_s, find_run, outcome_of, recorded_task
from safegen_ros.record.journal import JournalEntry
from safegen_ros.record.json_form import RecordError, plain
from safegen_ros.record.present.compare import Difference, compare_runs
from safegen_ros.record.present.report import listed_steps, steps_in_all
from safegen_ros.record.run import AttemptRecord, RunRecord, StepRecord
from safegen_ros.record.run_log import KeptRun, load_run
from safegen_ros.tasks.pddl3.formats import WORDS
from safegen_ros.terminal import Console

_LONGEST = 120  # of the values of an event on one line [characters]


def with_run(name: str, work: Callable[[Path, KeptRun], int]) -> int:
    """Does something with the run that a user means; a run that cannot be read is bad input."""
    try:
        found, kept = find_run(runs_dir(), name)
    except RecordError as error:
        print_error(error.message)
        return EXIT_BAD_INPUT
    return work(found, kept)


def show_run(name: str, as_json: bool, events: bool) -> int:
    """Prints the run that a user means; returns the exit status."""

    def work(folder: Path, kept: KeptRun) -> int:
        if as_json:
            print(json.dumps(run_json(folder, kept)))
        else:
            print_run(Console(), folder, kept, events)
        return EXIT_OK if record_state(kept)[0] else EXIT_FAILED

    return with_run(name, work)


def when_kept(as_json: bool) -> Callable[[Path], None]:
    """What to do with the folder of a run whose record is whole: print it as JSON, or nothing."""

    def print_json(folder: Path) -> None:
        print(json.dumps(run_json(folder, load_run(folder))))

    return print_json if as_json else lambda folder: None


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
    for line in _head(folder, kept):
        _line(console, line)
    for line in _task(kept.record):
        _line(console, line)
    _line(console, '')
    if not kept.record.attempts:
        _line(console, '[bold]no attempt[/]')
    for attempt in kept.record.attempts:
        _attempt(console, attempt)
    for reason in kept.record.passed:
        _line(console, f'[bold]next planner[/] was asked, since {escape(reason)}')
    for line in _plan(kept.record):
        _line(console, line)
    for line in _end(kept.record):
        _line(console, line)
    if events:
        _line(console, '[bold]events[/]')
        for entry in kept.entries:
            _line(console, f'  [dim]{escape(_event(entry))}[/]')


def _line(console: Console, line: str) -> None:
    console.print(line, highlight=False, soft_wrap=True)


def _head(folder: Path, kept: KeptRun) -> Iterator[str]:
    record, outcome = kept.record, outcome_of(kept)
    colour = 'green' if outcome == SUCCESS else 'red'
    yield f'[bold]run[/]         {record.run_id}  [bold {colour}]{outcome}[/]  ({kept.state.value})'
    if record.message:
        yield f'            [{colour}]{escape(record.message)}[/]'
    yield f'folder      {escape(str(folder))}'
    good, words = record_state(kept)
    yield f'record      {escape(words) if good else f"[bold red]{escape(words)}[/]"}'
    yield f'begun       {record.started}, {duration_s(kept):.1f} s'
    if record.model.name:
        model = record.model
        yield (
            f'model       {escape(model.name)}, temperature {model.temperature:g}, '
            f'top-p {model.top_p:g}, seed {model.seed}'
        )
    if record.cell:
        yield f'cell        {record.cell}'
    if record.site:
        yield f'site        rules of digest {escape(record.site)}'
    for rule in record.unbound:
        yield f'            [yellow]{escape(rule)}[/]'
    if record.second_opinion:
        yield 'verdicts    with the second opinion of VAL'


def _task(record: RunRecord) -> Iterator[str]:
    task = record.task
    yield f'[bold]task[/]        {escape(task.name)}  ({escape(task.source)}, {task.format})'
    yield f'domain      {escape(task.domain_name)}{"" if task.domain else " (built in)"}'
    if task.format == WORDS:
        yield f'request     {escape(" ".join(task.problem.split()))}'
    if record.understood is not None:
        told = record.understood.question or record.understood.reading
        yield f'understood  {escape(" ".join(told.split()))}'
    for answer in filter(lambda each: each.refused, record.answers):
        number = f'{answer.reading}.{answer.attempt}'
        yield f'  [dim]translation {number} was refused: {escape(answer.refused)}[/]'
    try:
        lines = recorded_task(record).summary()
    except SafegenError as error:
        yield f'  [red]it cannot be read any more[/]: {escape(error.message)}'
        yield escape(task.problem)
        return
    for title, text in lines:
        yield f'{title:<11} {escape(text) if title else f"[dim]{escape(text)}[/]"}'


def _attempt(console: Console, attempt: AttemptRecord) -> None:
    after = f', after {attempt.base} steps' if attempt.base else ''
    _line(
        console,
        f'[bold]attempt {attempt.number}[/] by {escape(attempt.source)}{after}, '
        f'{attempt.seconds:.2f} s',
    )
    text = ' '.join(attempt.steps) or ' '.join(attempt.text.split()) or 'an empty answer'
    own = '  (as the model wrote it)' if attempt.unread else ''
    _line(console, f'  {escape(text)}{own}')
    show_verdict(console, attempt.verdict, attempt.steps or None)


def _plan(record: RunRecord) -> Iterator[str]:
    if not record.plan_source and not record.steps:
        yield '[bold]no plan[/]: nothing moved'
        return
    yield (
        f'[bold]plan[/] by {escape(record.plan_source or "somebody unknown")}, '
        f'{record.steps_done} of {steps_in_all(record)} steps executed'
    )
    for index, text, step in listed_steps(record):
        yield f'  {index + 1:>3}  {escape(text)}  [dim]{_times(step)}[/]'
    for replan in record.replans:
        yield (
            f'planned for anew ({replan.number}) after {replan.steps_done} steps of the plan '
            f'before it: {escape(replan.reason)}'
        )
    for approval in record.approvals:
        colour = 'default' if _holds(approval, record) else 'red'
        yield f'[{colour}]{escape(approval.in_words(record.plans))}[/]'
    if record.approved_by and not record.approvals:
        yield f'approved by {escape(record.approved_by)}'


def _times(step: StepRecord | None) -> str:
    if step is None:
        return 'not begun'
    lasted = 'not finished' if step.seconds is None else f'lasted {step.seconds:.2f} s'
    return f'at {step.begun_s:.2f} s, {lasted}'


def _end(record: RunRecord) -> Iterator[str]:
    for goal in record.goal:
        mark = '[green]holds[/]' if goal.holds else '[red]DOES NOT HOLD[/]'
        yield f'at the end  {mark} {escape(goal.condition)}'
    for block in record.blocks:
        x, y, z = (1000 * value for value in block.position)
        yield f'  [dim]{escape(block.name)} at x {x:.1f}, y {y:.1f}, z {z:.1f} mm[/]'
    for artefact in record.artefacts:
        yield f'file        {artefact.file or "no " + artefact.name} {escape(artefact.note)}'
    for release in record.releases:
        said = release.said or 'asked for, and no more is known'
        yield f'released    {release.at[11:19]}  {release.phase}: {escape(said)}'
    if record.versions:
        made = ', '.join(f'{name} {value}' for name, value in sorted(record.versions.items()))
        yield f'made by     [dim]{escape(made)}[/]'


def _event(entry: JournalEntry) -> str:
    values = json.dumps(entry.data, ensure_ascii=False)
    short = values if len(values) <= _LONGEST else values[: _LONGEST - 3] + '...'
    return f'{entry.number:>4}  {entry.time[11:23]}  {entry.kind:<8}  {short}'


def show_two(name: str, other: str, as_json: bool) -> int:
    """Prints what is different in two runs; returns the exit status."""

    def work(folder: Path, kept: KeptRun) -> int:
        return with_run(other, partial(_show_differences, kept, as_json))

    return with_run(name, work)


def _show_differences(left: KeptRun, as_json: bool, folder: Path, right: KeptRun) -> int:
    rows = compare_runs(left, right)
    names = [left.record.run_id, right.record.run_id]
    if as_json:
        print(json.dumps({'runs': names, 'different': rows}))
    else:
        _print(names, rows)
    return EXIT_OK


def _print(names: Sequence[str], rows: Sequence[Difference]) -> None:
    say = partial(Console().print, highlight=False, soft_wrap=True)
    say(f'[bold]- {names[0]}[/]\n[bold]+ {names[1]}[/]')
    for what, one, another in rows:
        say(f'[bold]{escape(what)}[/]')
        for mark, text in (('-', one), ('+', another)):
            say(f'  {mark} {escape(" ".join(text.split()) or "nothing")}')
    if not rows:
        say('nothing is different')
