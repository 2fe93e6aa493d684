# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The report of a run for a person: Markdown from a `RunRecord`, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from safegen_ros.errors import ErrorCode
from safegen_ros.record.run import (
    ASSUMED,
    SYMBOLIC,
    AttemptRecord,
    ModelRecord,
    RunRecord,
    StepRecord,
    write_durably,
)
from safegen_ros.verdict import Category, Verdict

_TITLES = {
    Category.UNKNOWN: 'no verdict',
    Category.FORMAT_ERROR: 'format error',
    Category.SAFETY_VIOLATION: 'safety violation',
    Category.PRECONDITION_VIOLATION: 'precondition violation',
    Category.GOAL_NOT_SATISFIED: 'goal not satisfied',
    Category.SUCCESS: 'success',
}


def write_report(record: RunRecord, folder: Path) -> Path:
    """Write `report.md` and `report.json`; returns the path of the first."""
    write_durably(folder / 'report.json', record.to_json())
    write_durably(folder / 'report.md', render_report(record))
    return folder / 'report.md'


def render_report(record: RunRecord) -> str:
    """The report as Markdown text."""
    sections = (
        _summary(record),
        _task(record),
        _attempts(record),
        _plan(record),
        _world(record),
        _table('Timings', ('what', 'time [s]'), _seconds(record.timings)),
        _table('Files', ('what', 'file', 'note'), _files(record)),
        _table('Versions', ('what', 'version'), sorted(record.versions.items())),
    )
    return '\n'.join(line for section in sections for line in section)


def verdict_line(verdict: Verdict) -> str:
    """A verdict in one line: category, step and reason."""
    where = f' at step {verdict.failing_step + 1}' if verdict.failing_step >= 0 else ''
    reason = f': {verdict.reason}' if verdict.reason and not verdict.ok else ''
    return f'{_TITLES[verdict.category]}{where}{reason}'


def _summary(record: RunRecord) -> Iterator[str]:
    yield f'# Run {record.run_id}: {"success" if record.ok else "FAILED"}'
    yield ''
    yield f'- Task: {_inline(record.task.name)} from {_inline(record.task.source)}'
    yield f'- Started: {record.started}'
    yield f'- Model: {_model(record.model) if record.model.name else "none was asked"}'
    yield f'- Attempts: {len(record.attempts)}; plan written by {record.plan_source or "nobody"}'
    where = ' in a symbolic cell: nothing moved' if record.cell == SYMBOLIC else ''
    yield f'- Steps executed: {record.steps_done} of {steps_in_all(record)}{where}'
    if record.replans:
        yield f'- Planned for anew: {len(record.replans)} times'
    if record.approved_by:
        yield f'- Approved by: {_inline(record.approved_by)}'
    if record.second_opinion:
        yield '- Verdicts: with the second opinion of VAL'
    if not record.ok:
        yield f'- Ended by: {_ending(record)}'
    yield ''


def _done_before(record: RunRecord) -> int:
    """How many steps were done of the plans before the last one."""
    return sum(replan.steps_done for replan in record.replans)


def steps_in_all(record: RunRecord) -> int:
    """How many steps the run has: those that were done, and the last plan."""
    return _done_before(record) + len(record.plan)


def listed_steps(record: RunRecord) -> list[tuple[int, str, StepRecord | None]]:
    """The steps of a run with their numbers from 0; a step that was not begun has no record.

    One after which the world was not as proved has the number of the next plan's first one.
    """
    begun = [(step.index, step.step, step) for step in record.steps]
    known = {step.index for step in record.steps}
    planned = enumerate(record.plan, _done_before(record))
    rest = [(index, text, None) for index, text in planned if index not in known]
    return sorted([*begun, *rest], key=lambda row: row[0])


def _model(model: ModelRecord) -> str:
    return (
        f'{_inline(model.name)}, temperature {model.temperature:g}, '
        f'top-p {model.top_p:g}, seed {model.seed}, up to {model.max_attempts} attempts, '
        f'search fallback {"allowed" if model.search_fallback else "off"}'
    )


def _ending(record: RunRecord) -> str:
    """Why a run was no success; a code that says nothing is left out."""
    if record.error_code is ErrorCode.UNKNOWN:
        return _inline(record.message) or 'no end was recorded'
    if record.error_code is not ErrorCode.NONE:
        return f'{record.error_code.name}: {_inline(record.message)}'
    if record.reached is None:
        return 'the world was not measured at the end'
    if not record.reached:
        return f'the {_seen(record)} world does not satisfy the goal'
    return 'no proof'


def _seen(record: RunRecord) -> str:
    """What the world at the end is: measured, or only thought of."""
    return {SYMBOLIC: 'symbolic', ASSUMED: 'assumed'}.get(record.cell, 'measured')


def _task(record: RunRecord) -> Iterator[str]:
    yield '## Task'
    yield ''
    if record.task.pddl:
        yield f'As it was sent, in the format {_inline(record.task.format)}:'
        yield ''
    yield from _fenced(record.task.problem)
    if record.task.pddl:
        yield 'The same in PDDL:'
        yield ''
        yield from _fenced(record.task.pddl)
    if record.task.domain:
        yield f'Domain {_inline(record.task.domain_name)}, as it was sent:'
        yield ''
        yield from _fenced(record.task.domain)
    else:
        yield f'Domain {_inline(record.task.domain_name)} is built in.'
        yield ''
    yield from _translation(record)


def _translation(record: RunRecord) -> Iterator[str]:
    """What came of a task in words."""
    for title, text in (
        ('Constraints that were given with it:', record.task.constraints),
        ('The state to start from that was given with it:', record.task.start),
        ('In canonical words:', record.understood.reading if record.understood else ''),
        ('It was asked back:', record.understood.question if record.understood else ''),
    ):
        if text:
            yield title
            yield ''
            yield from _fenced(text)
    for answer in record.answers:
        refused = f'not usable, {_inline(answer.refused)}' if answer.refused else 'taken'
        yield f'Translation {answer.reading}, answer {answer.attempt}: {refused}'
        yield ''
        yield from _fenced(answer.text)


def _attempts(record: RunRecord) -> Iterator[str]:
    yield '## Attempts'
    yield ''
    if not record.attempts:
        yield 'None.'
        yield ''
    for attempt in record.attempts:
        yield from _attempt(attempt)


def _attempt(attempt: AttemptRecord) -> Iterator[str]:
    verdict = attempt.verdict
    anew = f' (planned for anew, {attempt.replan})' if attempt.replan else ''
    yield f'### {attempt.number}, by {attempt.source}{anew}: {_TITLES[verdict.category]}'
    yield ''
    yield f'{_inline(verdict_line(verdict))} ({attempt.seconds:.2f} s)'
    yield ''
    if verdict.broken_constraints:
        yield 'Broken constraints:'
        yield ''
        yield from _fenced('\n'.join(verdict.broken_constraints))
    if attempt.unread:
        yield 'The answer, as the model wrote it:'
        yield ''
    yield from _fenced(attempt.text)


def _plan(record: RunRecord) -> Iterator[str]:
    yield '## Plan and execution'
    yield ''
    if record.plan_source:
        yield f'Verdict: {_inline(verdict_line(record.verdict))}'
    if record.plan_source and not record.plan:
        yield ''
        yield 'The empty plan is proved: the goal holds already, and no step is needed.'
    elif not record.plan:
        yield 'No plan is known.' if record.steps else 'No plan: nothing moved.'
    yield ''
    for replan in record.replans:
        done = f'{replan.steps_done} steps of the plan before it'
        yield f'Planned for anew ({replan.number}) after {done}: {_inline(replan.reason)}'
        yield ''
    rows = _step_rows(record)
    if rows:
        yield from _rows(('step', 'action', 'begun [s]', 'lasted [s]'), rows)


def _step_rows(record: RunRecord) -> list[tuple[str, str, str, str]]:
    """The steps of the plan, and those that were executed, whether a plan is known or not."""
    last = {step.index: step for step in record.steps}
    rows = []
    for index, text, step in listed_steps(record):
        start = f'{step.begun_s:.2f}' if step else ''
        done = index < record.steps_done and step is last.get(index)
        rows.append((str(index + 1), text, start, _lasted(step, done)))
    return rows


def _lasted(step: StepRecord | None, done: bool) -> str:
    if step is not None and step.seconds is not None:
        return f'{step.seconds:.2f}'
    if done:  # the executor counts it, but its progress was not heard to the end
        return 'executed'
    return 'not executed' if step is None else 'not finished'


def _world(record: RunRecord) -> Iterator[str]:
    yield f'## {_seen(record).capitalize()} world against the goal'
    yield ''
    if record.cell == SYMBOLIC:
        yield 'The world is the set of facts that the symbolic cell kept; nothing was measured.'
        yield ''
    if record.cell == ASSUMED:
        yield 'The blocks are assumed to be where the arm put them; only its joints were measured.'
        yield ''
    if record.reached is None:
        yield 'Nobody looked.' if record.cell == SYMBOLIC else 'Not measured.'
        yield ''
    elif not record.goal:
        yield 'The goal has no condition: every world satisfies it.'
        yield ''
    goal = [(g.condition, 'holds' if g.holds else 'DOES NOT HOLD') for g in record.goal]
    if goal:
        yield from _rows(('goal', _seen(record)), goal)
    blocks = [(b.name, *(f'{value:.4f}' for value in b.position)) for b in record.blocks]
    if blocks:
        yield from _rows(('block', 'x [m]', 'y [m]', 'z [m]'), blocks)


def _seconds(timings: dict[str, float]) -> list[tuple[str, str]]:
    return [(name, f'{value:.2f}') for name, value in timings.items()]


def _files(record: RunRecord) -> list[tuple[str, str, str]]:
    return [(a.name, a.file or 'not made', a.note) for a in record.artefacts]


def _table(title: str, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    listed = list(rows)
    if listed:
        yield f'## {title}'
        yield ''
        yield from _rows(head, listed)


def _rows(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f'| {" | ".join(head)} |'
    yield f'|{" --- |" * len(head)}'
    for row in rows:
        yield f'| {" | ".join(_inline(cell) for cell in row)} |'
    yield ''


def _inline(text: str) -> str:
    """Text of a model or client that cannot break out of its line or cell."""
    return re.sub(r'([\\`*_|<>\[\]])', r'\\\1', ' '.join(text.split()))


def _fenced(text: str) -> Iterator[str]:
    """Text as it is, in a fence longer than any within it."""
    longest = max((len(run) for run in re.findall('`+', text)), default=0)
    fence = '`' * max(3, longest + 1)
    yield fence
    yield text.rstrip('\n')
    yield fence
    yield ''
