# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What happened in a run, event by event, in plain words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from safegen_ros.pddl.model import Problem
from safegen_ros.record.journal import JournalEntry
from safegen_ros.record.present.wording import CATEGORY_WORDS, step_text_words
from safegen_ros.stages import ExecutionPhase
from safegen_ros.verdict import Category

_LONGEST = 300  # of one line [characters]

NOTEWORTHY = frozenset({'stop', 'release', 'replan'})
"""Kinds of events that a reader must not overlook."""


@dataclass(frozen=True, slots=True)
class Moment:
    """An event.

    Attributes:
        at: since the first event [s].
        kind: as in the journal.
        text: what happened.
    """

    at: float
    kind: str
    text: str


def timeline(entries: Sequence[JournalEntry], problem: Problem | None) -> tuple[Moment, ...]:
    """The events of a run; what is no event of its own to a reader is left out."""
    if not entries:
        return ()
    begun = datetime.fromisoformat(entries[0].time)
    found = []
    for entry in entries:
        tell = _TOLD.get(entry.kind)
        if tell is None:
            continue
        text = ' '.join(tell(entry.data, problem).split())
        at = (datetime.fromisoformat(entry.time) - begun).total_seconds()
        if text:
            short = text if len(text) <= _LONGEST else f'{text[:_LONGEST]}...'
            found.append(Moment(at, entry.kind, short))
    return tuple(found)


_Data = Mapping[str, Any]


def _task(data: _Data, problem: Problem | None) -> str:
    task = data['task']
    return f'The task {task["name"]} was sent by {task["source"]}.'


def _stack(data: _Data, problem: Problem | None) -> str:
    name = data['model']['name']
    return f'{name or "No model"} is asked for a plan.'


def _goal(data: _Data, problem: Problem | None) -> str:
    return _GOALS.get(data['action'], '')


_GOALS = {
    'plan_task': 'A plan is asked for.',
    'run_task': 'A plan and its execution are asked for.',
    'execute_plan': 'The execution of a plan is asked for.',
}


def _answer(data: _Data, problem: Problem | None) -> str:
    refused = data['refused']
    end = f'cannot be used: {refused}' if refused else 'is taken.'
    return f'Translation {data["reading"]}, answer {data["attempt"]}, {end}'


def _understood(data: _Data, problem: Problem | None) -> str:
    if data.get('question'):
        return f'It was asked back: {data["question"]}'
    return 'The request was understood.'


def _attempt(data: _Data, problem: Problem | None) -> str:
    category = Category[data['verdict']['category']]
    return f'Attempt {data["number"]} by {data["source"]}: {CATEGORY_WORDS[category]}.'


def _replan(data: _Data, problem: Problem | None) -> str:
    done = data['steps_done']
    return f'After step {done} the task was planned for anew: {data["reason"]}'


def _plan(data: _Data, problem: Problem | None) -> str:
    return f'A plan of {len(data["plan"])} steps came from {data["plan_source"]}.'


def _stop(data: _Data, problem: Problem | None) -> str:
    return f'{"STOPPED" if data["stopped"] else "Reset"}: {data["reason"]}'


def _release(data: _Data, problem: Problem | None) -> str:
    if data['phase'] == 'asked':
        return 'An operator asks for the tool to let go.'
    return f'The tool {"let go" if data["phase"] == "done" else "did NOT let go"}: {data["said"]}'


def _phase(data: _Data, problem: Problem | None) -> str:
    return _PHASES.get(data['phase'], str(data['phase']))


_PHASES = {
    ExecutionPhase.VERIFYING: 'The executor proves the plan for itself.',
    ExecutionPhase.REHEARSING: 'The plan is rehearsed on the twin.',
    ExecutionPhase.PREPARING: 'The arm makes ready.',
    ExecutionPhase.DONE: 'Every step is done.',
}


def _step(data: _Data, problem: Problem | None) -> str:
    return f'Step {data["index"] + 1} begins: {step_text_words(data["step"], problem)}.'


def _observed(data: _Data, problem: Problem | None) -> str:
    done = data['done']
    if data.get('look'):
        return f'The robot looked at {data["look"]}.'
    when = f'after step {done}' if done else 'before step 1'
    return f'The world was looked at {when}, and the run went on or ended by what was seen.'


def _result(data: _Data, problem: Problem | None) -> str:
    by = data.get('approved_by', '')
    allowed = f' {by} had approved the plan.' if by else ''
    return f'The goal ended with {data["steps_done"]} steps executed.{allowed}'


def _end(data: _Data, problem: Problem | None) -> str:
    if data['error'] == 'NONE':
        return 'It ended without an error.'
    return f'It ended with {data["error"]}: {data["message"]}'


def _measured(data: _Data, problem: Problem | None) -> str:
    found = {True: 'reaches the goal', False: 'DOES NOT reach the goal'}
    return f'The world at the end {found.get(data["reached"], "was not looked at")}.'


_TOLD: dict[str, Callable[[_Data, Problem | None], str]] = {
    'task': _task,
    'stack': _stack,
    'goal': _goal,
    'answer': _answer,
    'understood': _understood,
    'attempt': _attempt,
    'replan': _replan,
    'plan': _plan,
    'stop': _stop,
    'release': _release,
    'phase': _phase,
    'step': _step,
    'observed': _observed,
    'result': _result,
    'end': _end,
    'measured': _measured,
}
