# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A run as plain facts, which terminal, Markdown and HTML show alike.

All of it is text without markup: each page escapes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from safegen_ros.errors import ErrorCode
from safegen_ros.pddl.extract import REMARK
from safegen_ros.pddl.model import Problem
from safegen_ros.record import events
from safegen_ros.record import run as records
from safegen_ros.record.history import outcome_of
from safegen_ros.record.present.report import seen_words
from safegen_ros.record.present.wording import CATEGORY_WORDS, step_text_words
from safegen_ros.record.run_log import KeptRun, RunState, read_event
from safegen_ros.record.signatures import ApprovalRecord
from safegen_ros.stages import ExecutionPhase
from safegen_ros.verdict import Category

GOOD, BAD, NOTE, ALARM = 'good', 'bad', 'note', 'alarm'
"""What a fact is to its reader, who must not overlook an alarm."""


@dataclass(frozen=True, slots=True)
class RunFact:
    """Something that happened.

    Attributes:
        tone: one of those above; empty for any other.
        details: more of it, line by line.
    """

    text: str
    tone: str = ''
    details: tuple[str, ...] = ()


def tell(event: events.Event, problem: Problem | None = None, cell: str = '') -> RunFact | None:
    """An event as a fact; None if it means nothing to a reader.

    Args:
        problem: of the run; None where steps cannot be put into its words.
        cell: what executes, as in the record.
    """
    if isinstance(event, events.MeasuredEvent):
        return _measured(event, seen_words(cell))
    if isinstance(event, events.StepEvent):
        return RunFact(f'Step {event.index + 1} begins: {step_text_words(event.step, problem)}.')
    told = _TOLD.get(type(event))
    return told(event) if told is not None else None


def timeline(kept: KeptRun, problem: Problem | None) -> tuple[tuple[float, RunFact], ...]:
    """The facts of a run, each with the time since its first event [s]."""
    if not kept.entries:
        return ()
    begun = datetime.fromisoformat(kept.entries[0].time)
    found = []
    for entry in kept.entries:
        fact = tell(read_event(Path(kept.record.run_id), entry), problem, kept.record.cell)
        if fact is not None:
            at = (datetime.fromisoformat(entry.time) - begun).total_seconds()
            found.append((at, fact))
    return tuple(found)


def _task(event: events.TaskEvent) -> RunFact:
    return RunFact(f'The task {event.task.name} was read from {event.task.source}.')


def _stack(event: events.StackEvent) -> RunFact | None:
    told = [f'{event.model.name} plans.'] if event.model.name else []
    told += [f'The cell is {event.cell}.'] if event.cell else []
    return RunFact(' '.join(told)) if told else None


def _goal(event: events.GoalEvent) -> RunFact | None:
    asked = {
        'plan_task': 'A plan is requested.',
        'run_task': 'A plan and its execution are requested.',
        'execute_plan': 'The execution of a plan is requested.',
    }.get(event.action)
    return RunFact(asked) if asked else None


def _answer(event: records.AnswerRecord) -> RunFact:
    name = f'Translation {event.reading}, answer {event.attempt},'
    if event.refused:
        return RunFact(f'{name} is not good: {event.refused}', NOTE)
    return RunFact(f'{name} is accepted.')


def _understood(event: records.UnderstoodRecord) -> RunFact:
    if not event.problem:
        return RunFact(f'A question back: {event.question}', NOTE)
    digest = f'digest of this reading: {event.digest}' if event.digest else ''
    details = tuple(filter(None, (event.reading, event.problem.rstrip(), digest)))
    if event.question:
        doubts = '; '.join(event.question.splitlines())
        return RunFact(f'The reading is in doubt: {doubts}.', ALARM, details)
    return RunFact('The request was understood.', GOOD, details)


def _attempt(event: records.AttemptRecord) -> RunFact:
    verdict = event.verdict
    told = f'{CATEGORY_WORDS[verdict.category]} ({verdict.category.name})'
    took = f'{len(event.steps)} steps, {event.seconds:.2f} s'
    why = () if verdict.ok else (verdict.reason,)
    tone = GOOD if verdict.ok else BAD
    if verdict.category in (Category.GOAL_NOT_SATISFIED, Category.PRECONDITION_VIOLATION):
        tone = NOTE
    return RunFact(f'{event.title}: {told}, {took}.', tone, (answer_line(event), *why))


def repeated(
    event: records.AttemptRecord, attempts: Iterable[records.AttemptRecord]
) -> RunFact | None:
    """A short fact for an attempt that repeats an earlier one; None for any other."""
    for earlier in attempts:
        same_task = (earlier.replan, earlier.base) == (event.replan, event.base)
        same_plan = (earlier.steps, earlier.text.strip()) == (event.steps, event.text.strip())
        if same_task and same_plan and earlier.number < event.number:
            who = f'Attempt {event.number} by {event.source}'
            same = 'plan' if event.steps else 'answer'
            return RunFact(f'{who}: the same {same} as attempt {earlier.number}.', BAD)
    return None


def answer_line(attempt: records.AttemptRecord) -> str:
    """The answer, in one line."""
    if attempt.steps:
        told = ' '.join(attempt.steps)
    elif attempt.verdict.ok:
        return 'the empty plan is proved: the goal holds already'
    else:
        told = ' '.join(attempt.text[:200].split()) or 'an empty answer'
    remark = attempt.text.split('\n', 1)[0]
    if remark.startswith(REMARK):
        told += f'  ({remark.removeprefix("; ")})'
    return f'{told}  (as the model wrote it)' if attempt.unread else told


def _replan(event: records.ReplanRecord) -> RunFact:
    return RunFact(
        f'After {event.steps_done} steps the task was replanned ({event.number}): {event.reason}',
        ALARM,
    )


def _approval(event: ApprovalRecord) -> RunFact:
    told = f'{event.by or "An operator"} {"approved" if event.approved else "refused"} the plan'
    reason = f': {event.reason}' if event.reason else '.'
    return RunFact(f'{told}{reason}', GOOD if event.approved else NOTE)


def _stop(event: events.StopEvent) -> RunFact:
    return RunFact(f'{"STOPPED" if event.stopped else "Reset"}: {event.reason}', ALARM)


def _release(event: records.ReleaseRecord) -> RunFact:
    if event.phase == 'asked':
        return RunFact('An operator releases the tool.', ALARM)
    done = 'let go' if event.phase == 'done' else 'did NOT let go'
    return RunFact(f'The tool {done}: {event.said}', ALARM)


def _phase(event: events.PhaseEvent) -> RunFact:
    told = {
        ExecutionPhase.VERIFYING: 'The executor proves the plan itself.',
        ExecutionPhase.REHEARSING: 'The plan is rehearsed on the twin.',
        ExecutionPhase.PREPARING: 'The executor has proved the plan again, and prepares.',
        ExecutionPhase.DONE: 'Every step is done.',
    }.get(event.phase, event.phase)  # type: ignore[call-overload]
    preparing = event.phase == ExecutionPhase.PREPARING
    details = (f'initial state: {event.detail}',) if preparing and event.detail else ()
    return RunFact(told, GOOD if preparing else '', details)


def _observed(event: events.ObservedEvent) -> RunFact:
    when = f'after step {event.done}' if event.done else 'before step 1'
    told = f'The world was observed {when}.'
    if event.look:
        told = f'The robot looked at {event.look}.'
    unseen = (f'out of view: {" ".join(event.unseen)}',) if event.unseen else ()
    seen = event.text or ' '.join(event.facts or ())
    return RunFact(told, '', (f'seen: {seen}', *unseen) if seen else unseen)


def _result(event: events.ResultEvent) -> RunFact:
    allowed = f' {event.approved_by} had approved the plan.' if event.approved_by else ''
    return RunFact(f'The goal ended with {event.steps_done} steps executed.{allowed}')


def _end(event: events.EndEvent) -> RunFact:
    if event.error is ErrorCode.NONE:
        return RunFact('It ended without an error.', GOOD)
    return RunFact(f'It ended with {event.error.name}: {event.message}', BAD)


def _measured(event: events.MeasuredEvent, seen: str) -> RunFact:
    """The world at the end, which was measured, or is only thought of."""
    if event.reached is None:
        return RunFact('The world at the end was not observed.')
    told = 'satisfies the goal' if event.reached else 'DOES NOT SATISFY THE GOAL'
    blocks = [
        '{}: {} at x {:.1f}, y {:.1f}, z {:.1f} mm'.format(
            each.name, seen, *(1000 * value for value in each.position)
        )
        for each in event.blocks
    ]
    goal = [
        f'{"✓ holds" if each.holds else "✗ DOES NOT HOLD"} {each.condition}' for each in event.goal
    ]
    tone = GOOD if event.reached else ALARM
    return RunFact(f'The {seen} world {told}.', tone, (*blocks, *goal))


_TOLD: dict[type, Callable[[Any], RunFact | None]] = {
    events.TaskEvent: _task,
    events.StackEvent: _stack,
    events.GoalEvent: _goal,
    records.AnswerRecord: _answer,
    records.UnderstoodRecord: _understood,
    records.AttemptRecord: _attempt,
    events.PassedEvent: lambda event: RunFact(f'The next planner tries: {event.reason}', NOTE),
    events.UnboundEvent: lambda event: RunFact(
        'Rules of the site do not apply.', NOTE, event.rules
    ),
    records.ReplanRecord: _replan,
    events.PlanEvent: lambda e: RunFact(
        f'A plan of {len(e.plan)} steps came from {e.plan_source}.'
    ),
    ApprovalRecord: _approval,
    events.StopEvent: _stop,
    records.ReleaseRecord: _release,
    events.PhaseEvent: _phase,
    events.ObservedEvent: _observed,
    events.ResultEvent: _result,
    events.EndEvent: _end,
}


def result_word(kept: KeptRun) -> tuple[str, str]:
    """Whether a run is done, as a tone and in a word."""
    if kept.state is RunState.RUNNING:
        return 'open', '… Running'
    return (GOOD, '✓ Done') if outcome_of(kept) == 'SUCCESS' else (BAD, '✕ Not done')
