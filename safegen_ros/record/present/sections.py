# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The sections of the page of a run: what was asked, tried, executed and found at the end."""

from __future__ import annotations

from collections.abc import Iterator

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.model import Problem
from safegen_ros.record.history import SUCCESS, duration_s, outcome_of, recorded_task
from safegen_ros.record.present.cards import rules_html, steps_html
from safegen_ros.record.present.compare import compare, compare_html
from safegen_ros.record.present.constraint_status import (
    legend_html,
    lights,
    lights_html,
    lights_observed,
)
from safegen_ros.record.present.markup import element, escaped, list_html
from safegen_ros.record.present.pictures import before_after_html, film_html, goal_html, state_html
from safegen_ros.record.present.runs import Frame, Source, frames, problem_of_attempt
from safegen_ros.record.present.timeline import NOTEWORTHY, timeline
from safegen_ros.record.present.wording import (
    CATEGORY_WORDS,
    ended_words,
    goal_words,
    steps_of,
    verdict_words,
)
from safegen_ros.record.run import SYMBOLIC, AttemptRecord, RunRecord
from safegen_ros.record.run_log import KeptRun, RunState

MOST_STEPS = 200
"""Most steps of a plan that are listed or drawn."""

MOST_EVENTS = 400
"""Most events that are told."""

MOST_RULES = 100
"""Most constraints and conditions that are listed."""


_HOLDS = {True: 'holds ✓', False: 'DOES NOT HOLD ✕'}


def _section(title: str, *parts: str) -> str:
    return element('section', element('h2', title), *parts)


def _details(title: str, *parts: str) -> str:
    return element('details', element('summary', title), *parts)


def summary_html(kept: KeptRun, problem: Problem | None) -> str:
    """What the run was and how it ended, first of all."""
    record, outcome = kept.record, outcome_of(kept)
    kind, word = ('good', '✓ Done') if outcome == SUCCESS else ('bad', '✕ Not done')
    if kept.state is RunState.RUNNING:
        kind, word = 'open', '… Still going on'
    story = [element('p', escaped(line), class_='lead') for line in story_words(kept)]
    head = element('h1', f'{word}: {escaped(record.task.name, 120)}')
    begun = record.started.replace('T', ' ').replace('+00:00', ' UTC')
    about = (
        'A language model writes plans for a robot arm. A program checks each plan step by step, '
        'and only a plan that is proved to keep every rule may move the arm. This page tells one '
        f'run: {record.run_id}, begun {begun}, {duration_s(kept):.1f} s, result {outcome}.'
    )
    return element(
        'header',
        element('div', head, *story, class_=f'banner {kind}'),
        element('p', escaped(about, 600), class_='quiet'),
    )


def story_words(kept: KeptRun) -> Iterator[str]:
    """The run in a few sentences."""
    record = kept.record
    refused = [each for each in record.attempts if not each.verdict.ok]
    if not record.attempts:
        yield 'No plan was tried.'
    elif refused:
        reasons = ', '.join(
            dict.fromkeys(CATEGORY_WORDS[each.verdict.category] for each in refused)
        )
        was = 'attempt was' if len(refused) == 1 else 'attempts were'
        yield f'{len(refused)} {was} refused before anything moved ({reasons}).'
    if record.verdict.ok:
        source = f' by {record.plan_source}' if record.plan_source else ''
        yield f'A plan of {len(record.plan)} steps{source} was proved safe.'
    if record.approved_by:
        yield f'{record.approved_by} approved it.'
    if record.replans:
        count = len(record.replans)
        yield f'The world was not as foreseen, and the task was planned for anew {count} times.'
    yield _what_moved(record)
    if record.reached is not None:
        found = 'reaches the goal' if record.reached else 'DOES NOT reach the goal'
        yield f'The world at the end, looked at once more, {found}.'
    if record.error_code is not ErrorCode.NONE and kept.state is RunState.ENDED:
        yield ended_words(record.error_code, record.message)
    if kept.state is RunState.CUT_OFF:
        yield 'Its process ended without saying how; what it had written down is here.'


def _what_moved(record: RunRecord) -> str:
    if not record.steps_done and not record.steps:
        return 'Nothing moved.'
    who = 'A symbolic cell, in which nothing moves,' if record.cell == SYMBOLIC else 'The arm'
    return f'{who} carried out {record.steps_done} of {len(record.plan)} steps.'


def task_html(record: RunRecord, problem: Problem | None) -> str:
    """What was asked for."""
    texts = [('The task as it was sent', record.task.problem)]
    texts += [('The same in PDDL', record.task.pddl)] if record.task.pddl else []
    texts += (
        [('The domain that was sent with it', record.task.domain)] if record.task.domain else []
    )
    told = [_details(title, element('pre', escaped(text, 20_000))) for title, text in texts]
    asked_back = record.understood.question if record.understood else ''
    reading = record.understood.reading if record.understood else ''
    if asked_back:
        told.insert(0, element('p', f'It was asked back: {escaped(asked_back)}'))
    if reading:
        told.insert(
            0, _details('What the words were understood as', element('pre', escaped(reading)))
        )
    if problem is None:
        return _section('What was asked', _summary(record), *told)
    goals = [escaped(text) for text in goal_words(problem)[:MOST_RULES]]
    rules = rules_html(problem) if problem.constraints else element('p', 'none')
    start = state_html(problem, problem.init, 'the start')
    pictures = element('div', start, goal_html(problem, 'what the goal asks for'), class_='sg-pair')
    asked = element(
        'div',
        element('div', element('h3', 'The goal'), list_html(goals)),
        element(
            'div',
            element('h3', 'Rules that every plan has to keep'),
            rules,
        ),
        class_='columns',
    )
    return _section('What was asked', pictures, asked, *told)


def _summary(record: RunRecord) -> str:
    """A task without states that can be drawn, as it tells itself."""
    try:
        lines = recorded_task(record).summary()
    except SafegenError as error:
        return element('p', f'This task cannot be read any more: {escaped(error.message)}')
    told = [f'{escaped(title)}: {escaped(text)}'.removeprefix(': ') for title, text in lines]
    return list_html(told[:MOST_RULES])


def attempts_html(record: RunRecord, most: int) -> str:
    """The attempts with their verdicts, failing steps and the lights of their rules.

    Args:
        record: the run.
        most: how many of them are told in full.
    """
    if not record.attempts:
        return _section('Attempts', element('p', 'none'))
    shown = record.attempts[:most]
    cards = []
    previous: AttemptRecord | None = None
    for attempt in shown:
        same = previous is not None and previous.replan == attempt.replan
        cards.append(_attempt(record, attempt, previous if same else None))
        previous = attempt
    left = len(record.attempts) - len(shown)
    more = [element('p', f'{left} more attempts are in the journal.')] if left else []
    return _section('Attempts', legend_html(), *cards, *more)


def _attempt(record: RunRecord, attempt: AttemptRecord, previous: AttemptRecord | None) -> str:
    # What is left of a task that is worked on step by step is not written down.
    problem = None if attempt.base else problem_of_attempt(record, attempt.replan)
    verdict = attempt.verdict
    sign, kind = ('✓', 'good') if verdict.ok else ('✕', 'bad')
    after = f', after {attempt.base} steps' if attempt.base else ''
    after += f', plan {attempt.replan + 1} of the task' if attempt.replan else ''
    title = (
        f'Attempt {attempt.number} by {escaped(attempt.source, 80)}{after}: '
        f'{element("span", f"{sign} {CATEGORY_WORDS[verdict.category]}", class_=kind)}'
    )
    parts = [element('h3', title), element('p', escaped(verdict_words(problem, attempt)))]
    steps = steps_of(attempt.steps)
    listed = _steps(problem, attempt)
    if problem is not None and steps:
        shown = lights(problem, steps[:MOST_STEPS])
        fail = verdict.failing_state if verdict.failing_state >= 0 and not verdict.ok else None
        whole = len(shown[-1].standings) > len(steps) and fail in (None, len(steps))
        row = lights_html(shown, fail=fail, ended=whole, planned=True)
        parts.append(element('div', listed, element('div', row), class_='columns'))
        if 0 <= verdict.failing_step < min(len(steps), MOST_STEPS):
            parts.append(element('h3', f'Where it fails: step {verdict.failing_step + 1}'))
            parts.append(before_after_html(problem, steps, verdict.failing_step))
    else:
        parts.append(listed)
    if previous is not None and previous.steps and attempt.steps:
        told = compare_html(problem, compare(problem, previous, attempt))
        parts.append(_details(f'What changed since attempt {previous.number}', told))
    parts.append(_details('What was written', element('pre', escaped(attempt.text, 20_000))))
    reason = element('p', escaped(verdict.reason))
    parts.append(_details('The verdict as the verifier gives it', reason))
    return element('article', *parts, class_='card')


def _steps(problem: Problem | None, attempt: AttemptRecord) -> str:
    if not attempt.steps:
        return ''
    fails = attempt.verdict.failing_step if not attempt.verdict.ok else -1
    if problem is not None:
        return element('div', steps_html(attempt.steps, problem, fails=fails))
    items = [
        element('li', f'{escaped(text)} — here it fails', class_='sg-fails')
        if index == fails
        else element('li', escaped(text))
        for index, text in enumerate(attempt.steps[:MOST_STEPS])
    ]
    left = len(attempt.steps) - MOST_STEPS
    more = element('p', f'and {left} more steps') if left > 0 else ''
    return element('div', element('ol', *items), more)


def execution_html(record: RunRecord, problem: Problem | None) -> str:
    """The states of the run, and the lights over them."""
    if not record.plan and not record.steps:
        return _section('Execution', element('p', 'There was no plan: nothing moved.'))
    if problem is None:
        items = [element('li', escaped(text)) for text in record.plan[:MOST_STEPS]]
        return _section('Execution', element('ol', *items))
    found = frames(problem, record)[: MOST_STEPS + 1]
    states = [frame.state for frame in found]
    seen = sum(frame.source is not Source.FORESEEN for frame in found) - 1
    now = None if seen == len(found) - 1 else max(0, seen)
    pictures = film_html(problem, states, [_caption(frame) for frame in found])
    film = [
        element('div', picture, class_='frame', data_told=_caption(frame))
        for frame, picture in zip(found, pictures, strict=True)
    ]
    slider = (
        '<div class="scrub" hidden><label>step <input type="range" min="0" value="0" step="1" '
        'aria-label="step of the plan"></label><output></output></div>'
    )
    told = _what_moved(record)
    row = lights_html(lights_observed(problem, states), now=now, ended=now is None)
    return _section(
        'Execution, state by state',
        element('p', escaped(told)),
        slider,
        element('div', *film, class_='film'),
        element('h3', 'The same monitors over these states'),
        row,
    )


def _caption(frame: Frame) -> str:
    when = f', seen after {frame.at:.1f} s' if frame.at is not None else ''
    what = f'after step {frame.step}: {frame.text}' if frame.step else 'the start'
    return f'{what} ({frame.source.value}{when})'


def timeline_html(kept: KeptRun, problem: Problem | None) -> str:
    """What happened and when; stops and replans stand out."""
    moments = timeline(kept.entries, problem)
    rows = [
        element(
            'tr',
            element('td', f'{moment.at:.2f} s', class_='time'),
            element(
                'td', escaped(moment.text), class_='alarm' if moment.kind in NOTEWORTHY else None
            ),
        )
        for moment in moments[:MOST_EVENTS]
    ]
    left = len(moments) - MOST_EVENTS
    more = element('p', f'{left} more events are in the journal.') if left > 0 else ''
    table = element('table', element('tbody', *rows))
    return _section('Timeline', _details(f'{len(moments)} events', table, more))


def end_html(record: RunRecord) -> str:
    """The world at the end against the goal, and what the run was made with."""
    goal = [
        f'{element("code", escaped(each.condition))} {_HOLDS[each.holds]}'
        for each in record.goal[:MOST_RULES]
    ]
    model = record.model
    values = [('cell', record.cell), ('plan by', record.plan_source)]
    if model.name:
        asked = f'temperature {model.temperature:g}, top-p {model.top_p:g}, seed {model.seed}'
        values.insert(0, ('model', f'{model.name.rpartition("/")[2]}, {asked}'))
    if record.second_opinion:
        values.append(('verdicts', 'with the second opinion of VAL'))
    values += [(name, f'{seconds:.2f} s') for name, seconds in sorted(record.timings.items())]
    values += sorted(record.versions.items())
    rows = [
        element(
            'tr', element('th', escaped(name, 80), scope='row'), element('td', escaped(value, 200))
        )
        for name, value in values
        if value
    ]
    found = list_html(goal) if goal else element('p', 'It was not compared with the goal.')
    made = _details('How it was made', element('table', element('tbody', *rows)))
    return _section('The world at the end', found, made)
