# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The record of a run in words: story, summary, rows of steps, and the Markdown report."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment

from safegen_ros.errors import ErrorCode
from safegen_ros.paths import write_durably
from safegen_ros.record.present.html import PRESENT, Fit, environment
from safegen_ros.record.present.wording import CATEGORY_WORDS, ended_words
from safegen_ros.record.run import ASSUMED, SYMBOLIC, ModelRecord, RunRecord, StepRecord
from safegen_ros.record.run_log import KeptRun, RunState
from safegen_ros.verdict import Verdict


# All of it is text without markup: each page escapes it.
def story(kept: KeptRun) -> Iterator[str]:
    """A run in a few sentences."""
    record = kept.record
    refused = [each for each in record.attempts if not each.verdict.ok]
    if not record.attempts:
        yield 'No plan was tried.'
    elif refused:
        reasons = ', '.join(
            dict.fromkeys(CATEGORY_WORDS[each.verdict.category] for each in refused)
        )
        was = 'attempt was' if len(refused) == 1 else 'attempts were'
        when = '' if record.stepwise or record.replans else ' before anything moved'
        yield f'{len(refused)} {was} refused{when} ({reasons}).'
    if record.verdict.ok:
        source = f' by {record.plan_source}' if record.plan_source else ''
        yield f'A plan of {len(record.plan)} steps{source} was proved safe.'
    if record.approved_by:
        yield f'{record.approved_by} approved it.'
    if record.replans:
        count = len(record.replans)
        yield f'The world was not as foreseen, and the task was replanned {count} times.'
    yield moved(record)
    if record.reached is not None:
        found = 'reaches the goal' if record.reached else 'DOES NOT reach the goal'
        yield f'The world at the end, looked at once more, {found}.'
    if record.error_code is not ErrorCode.NONE and kept.state is RunState.ENDED:
        told = ended_words(record.error_code, record.message)
        yield told.replace('nothing moved', 'nothing more moved') if record.steps_done else told
    if kept.state is RunState.CUT_OFF:
        yield 'Its process ended without a result. This is its record until then.'


def moved(record: RunRecord) -> str:
    """The executed steps."""
    if not record.plan and not record.steps:
        return 'There was no plan: nothing moved.'
    if not record.steps_done and not record.steps:
        return 'Nothing moved.'
    who = 'A symbolic cell, in which nothing moves,' if record.cell == SYMBOLIC else 'The arm'
    return f'{who} executed {record.steps_done} of {steps_in_all(record)} steps.'


def seen_words(cell: str) -> str:
    """What the world at the end is: measured, or only thought of."""
    return {SYMBOLIC: 'symbolic', ASSUMED: 'assumed'}.get(cell, 'measured')


def model_words(model: ModelRecord) -> str:
    """A model and how it was asked."""
    return (
        f'{model.name}, temperature {model.temperature:g}, top-p {model.top_p:g}, seed '
        f'{model.seed}, up to {model.max_attempts} attempts, search fallback '
        f'{"allowed" if model.search_fallback else "off"}'
    )


def ending(record: RunRecord) -> str:
    """Why a run was not a success; a code that says nothing is left out."""
    if record.error_code is ErrorCode.UNKNOWN:
        return record.message or 'no end was recorded'
    if record.error_code is not ErrorCode.NONE:
        return f'{record.error_code.name}: {record.message}'
    if record.reached is None:
        return 'the world was not measured at the end'
    if not record.reached:
        return f'the {seen_words(record.cell)} world does not satisfy the goal'
    return 'no proof'


def summary(record: RunRecord) -> Iterator[tuple[str, str]]:
    """What a run was, line by line: a title, and the text behind it."""
    task = record.task
    yield 'Task', f'{task.name or "without a name"} from {task.source}, in the format {task.format}'
    if task.domain_name:  # of a request that was not understood there is none
        yield 'Domain', f'{task.domain_name}{"" if task.domain else ", built in"}'
    yield 'Started', record.started
    yield 'Model', model_words(record.model) if record.model.name else 'none was asked'
    if record.cell:
        yield 'Cell', record.cell
    if record.site:
        yield 'Site', f'rules of digest {record.site}'
    for rule in record.unbound:
        yield 'Not bound', rule
    if record.second_opinion:
        yield 'Verdicts', 'with the second opinion of VAL'
    yield 'Attempts', f'{len(record.attempts)}; plan written by {record.plan_source or "none"}'
    for reason in record.passed:
        yield 'Next planner', f'asked, since {reason}'
    where = ' in a symbolic cell: nothing moved' if record.cell == SYMBOLIC else ''
    yield 'Steps executed', f'{record.steps_done} of {steps_in_all(record)}{where}'
    for replan in record.replans:
        done = f'{replan.steps_done} steps of the plan before it'
        yield 'Replanned', f'({replan.number}) after {done}: {replan.reason}'
    if record.approvals:
        for approval in record.approvals:
            yield 'Operator', approval.in_words(record.plans)
    elif record.approved_by:
        yield 'Operator', f'approved by {record.approved_by}'
    for release in record.releases:
        said = release.said or 'asked for, and no more is known'
        yield 'Released', f'{release.at[11:19]}, {release.phase}: {said}'
    if not record.ok:
        yield 'Ended by', ending(record)


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


def step_rows(record: RunRecord) -> list[tuple[str, str, str, str]]:
    """Number, action, start [s] and duration [s] of each step, whether a plan is known or not."""
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


_FOUND = {category: f'{words} ({category.name})' for category, words in CATEGORY_WORDS.items()}


def write_report(record: RunRecord, folder: Path) -> Path:
    """Write `report.md` and `report.json`; returns the path of the first."""
    write_durably(folder / 'report.json', record.to_json())
    write_durably(folder / 'report.md', render_report(record))
    return folder / 'report.md'


def render_report(record: RunRecord) -> str:
    """The report as Markdown text."""
    template = _templates().get_template('report.md')
    return template.render(
        run=record,
        summary=list(summary(record)),
        found=_FOUND,
        verdicts=[
            f'{verdict_line(each.verdict)} ({each.seconds:.2f} s)' for each in record.attempts
        ],
        verdict=verdict_line(record.verdict),
        steps=step_rows(record),
        seen=seen_words(record.cell),
        goal=[(g.condition, 'holds' if g.holds else 'DOES NOT HOLD') for g in record.goal],
        blocks=[(b.name, *(f'{value:.4f}' for value in b.position)) for b in record.blocks],
        timings=[(name, f'{value:.2f}') for name, value in record.timings.items()],
        files=[(each.name, each.file or 'not made', each.note) for each in record.artefacts],
    )


def verdict_line(verdict: Verdict) -> str:
    """A verdict in one line: category, step and reason."""
    where = f' at step {verdict.failing_step + 1}' if verdict.failing_step >= 0 else ''
    reason = f': {verdict.reason}' if verdict.reason and not verdict.ok else ''
    return f'{_FOUND[verdict.category]}{where}{reason}'


@cache
def _templates() -> Environment:
    found = environment(PRESENT)
    found.finalize = _inline
    found.filters['fenced'] = _fenced
    return found


def _inline(value: Any) -> Any:
    """Text of a model or client that cannot break out of its line or cell."""
    if hasattr(value, '__html__'):
        return value
    # Within a word, `_` is not a mark of Markdown.
    marks = r'[\\`*|<>\[\]]|(?<!\w)_|_(?!\w)'
    return Fit(re.sub(marks, r'\\\g<0>', ' '.join(str(value).split())))


def _fenced(text: str) -> Fit:
    """Text as it is, in a fence longer than any within it."""
    longest = max((len(run) for run in re.findall('`+', text)), default=0)
    fence = '`' * max(3, longest + 1)
    return Fit('\n'.join((fence, text.rstrip('\n'), fence)))
