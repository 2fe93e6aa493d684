# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The goal that is shown, what happens next, the plan that waits and the stack, as HTML."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime

from safegen_ros.console.state import EXECUTE, PLAN, GoalView, Pending, Snapshot, StopView
from safegen_ros.console.widgets import STEPS
from safegen_ros.errors import ErrorCode
from safegen_ros.pddl.model import Problem
from safegen_ros.record.present.cards import MOST_LIT, attempt_html, steps_html, task_html
from safegen_ros.record.present.chart import GanttChart, chart_html, chart_of_steps
from safegen_ros.record.present.constraint_status import lights, lights_html
from safegen_ros.record.present.html import PRESENT, macros
from safegen_ros.record.present.runs import problem_of_attempt
from safegen_ros.record.present.wording import (
    CATEGORY_WORDS,
    StackSituation,
    difference_words,
    ended_words,
    refusal_words,
    step_text_words,
    steps_of,
)
from safegen_ros.record.run import SYMBOLIC, AttemptRecord
from safegen_ros.record.signatures import doubts_and_request
from safegen_ros.tasks.pddl3.formats import WORDS

draw = macros('page.html', 'safegen_ros.console', PRESENT)
"""Draws a macro of the console's templates; what it returns is safe markup."""

LEVELS = ('OK', 'warning', 'ERROR', 'silent')
"""What the levels of `/diagnostics` are called."""

FRESH_S = 2.0
"""A sample or a heartbeat that is older is shown as old [s]."""

_STATES = {
    'no stack': ('No stack', 'stopped'),
    'stopped': ('STOPPED', 'stopped'),
    'idle': ('Ready', 'ready'),
    'ended': ('Ready', 'ready'),
    'approval': ('Waits for you', 'asks'),
    'preparing': ('Makes ready', 'moves'),
    'executing': ('MOVES', 'moves'),
    'replanning': ('Plans again', 'busy'),
    'translating': ('Reads', 'busy'),
    'waiting': ('Waits its turn', 'busy'),
}

_STEP_OF = {
    'waiting': 0, 'translating': 0, 'approval': 3, 'preparing': 4, 'executing': 4, 'no stack': 0,
}  # fmt: skip
_REFUSED = (ErrorCode.APPROVAL_REFUSED, ErrorCode.APPROVAL_TIMEOUT)

_CALLED = 'the service stop was called'  # as the executor says it

_STOPPED = (ErrorCode.EXECUTION_STOPPED, ErrorCode.PLANNING_STOPPED)


def situation(snapshot: Snapshot) -> StackSituation:
    """Where the stack stands, for `next_words`."""
    goal = snapshot.goal
    if not any(snapshot.nodes.values()):
        return StackSituation('no stack')
    if snapshot.stop.stopped:
        return StackSituation('stopped', reason=stop_words(snapshot.stop))
    if goal is None:
        return StackSituation('idle')
    if not goal.running:
        stopped = goal.code in _STOPPED and snapshot.stop.known
        outcome = 'The last goal was stopped; the stack was reset since.' if stopped else ''
        return StackSituation('ended', outcome=outcome or outcome_words(goal))
    plan, problem = shown_plan(snapshot, goal)
    words = [step_text_words(each, problem) for each in plan[goal.step : goal.step + 2]]
    first, after = (*words, '', '')[:2]
    # A waiting plan is published on a separate topic, before or after the events.
    stage = 'approval' if snapshot.waits else goal.stage
    if stage == 'executing' and not goal.moving and goal.step == 0:
        stage = 'preparing'
    return StackSituation(
        stage,
        attempt=goal.attempt,
        max_attempts=goal.max_attempts,
        source=goal.source,
        index=goal.step,
        total=len(plan),
        step=first,
        after=after,
        reason=_given_up_words(goal) if stage == 'replanning' else '',
    )


def stop_words(stop: StopView) -> str:
    """Why nothing may move, and since when."""
    reason = stop.reason.replace(_CALLED, 'STOP was called, here or by another client')
    at = f', at {datetime.fromtimestamp(stop.since).astimezone():%H:%M:%S}' if stop.since else ''
    return reason + at


def state_words(at: StackSituation, robot: str) -> tuple[str, str]:
    """The state of the stack in a word or two, and its tone."""
    word, tone = _STATES.get(at.stage, ('Plans', 'busy'))
    return 'Runs' if word == 'MOVES' and robot == SYMBOLIC else word, tone


def way(snapshot: Snapshot, at: StackSituation) -> list[tuple[str, str]]:
    """The steps of a task, each `done`, `now`, `failed` or `later`."""
    goal, failed = snapshot.goal, False
    step = max(_STEP_OF.get(at.stage, 2), 2 * bool(goal.record.replans)) if goal else 0
    if goal is not None and not goal.running:
        failed = goal.code is not ErrorCode.NONE
        moved = goal.executes and (goal.step or goal.record.steps)
        step = 3 if goal.code in _REFUSED else 4 if moved else 2
        step = step if failed else len(STEPS) - 1
        if goal.action == PLAN and not (goal.record.attempts or goal.plan):  # words were read
            return list(zip(STEPS, ['failed' if failed else 'now', *['later'] * 5], strict=True))
    elif goal is not None and at.stage == 'stopped':
        step = 4 if goal.stage == 'executing' else 2
    kinds = ['done'] * step + ['failed' if failed else 'now'] + ['later'] * len(STEPS)
    if goal is not None and not goal.running and not failed:
        kinds[step] = 'done'
        if not goal.executes:
            kinds[3:5] = ['later', 'later']
    return list(zip(STEPS, kinds, strict=False))


def step_of(steps: list[tuple[str, str]]) -> str:
    """The step whose card is opened: the one that goes on or has failed, or the last one."""
    return next((name for name, kind in steps if kind in ('now', 'failed')), steps[-1][0])


def attempt_line(attempt: AttemptRecord, problem: Problem | None, open_: bool) -> str:
    """An attempt in a line, with all of it behind a click."""
    verdict = attempt.verdict
    found = f'{"✓" if verdict.ok else "✕"} {CATEGORY_WORDS[verdict.category]}'
    why = ''
    if not verdict.ok and 0 <= verdict.failing_step < len(attempt.steps):
        step = step_text_words(attempt.steps[verdict.failing_step], problem)
        why = f'at step {verdict.failing_step + 1} of {len(attempt.steps)}, “{step}”'
    body = attempt_html(attempt, problem, title='')
    return panel(draw('tried_once', attempt.title, verdict.ok, found, why, body, open_))


def outcome_words(goal: GoalView) -> str:
    """How a goal ended, in a sentence."""
    if goal.code is ErrorCode.NONE:
        if goal.action == PLAN:
            return (
                'The plan is proved safe; nothing was moved for it.'
                if goal.plan
                else 'Your words were read: check the task below. Nothing is planned yet.'
            )
        return 'Every step is done, and the goal was observed to hold.'
    if goal.code in _STOPPED and _CALLED in goal.record.message:
        where = 'where it was' if goal.record.steps else 'before anything moved'
        return f'STOP was called, and the arm was stopped {where}.'
    message = difference_words(goal.record.message, problem_of(goal))
    return ended_words(goal.code or ErrorCode.UNKNOWN, message)


def shown_plan(snapshot: Snapshot, goal: GoalView) -> tuple[tuple[str, ...], Problem | None]:
    """The plan that is shown and its problem: for a plan that waits, just the approved text."""
    if snapshot.waits and snapshot.pending is not None:
        return snapshot.pending.steps, snapshot.pending.problem or goal.problem
    return goal.plan, goal.problem


def problem_of(goal: GoalView) -> Problem | None:
    """A problem whose words explain the reasons of a goal."""
    return goal.problem or problem_of_attempt(goal.record, 0)


def panel(*told: str) -> str:
    """Paragraphs of text, and what is drawn already, as the page has them."""
    return draw('panel', told)


def goal_html(goal: GoalView | None) -> str:
    """The goal that is shown, with its plan as far as it is executed."""
    if goal is None:
        return panel('No goal was sent since the stack was started.')
    who = 'sent from here' if goal.ours else 'sent by another client'
    what = {PLAN: 'plan only', EXECUTE: 'a given plan'}.get(goal.action, 'plan and move')
    asked = goal.record.task
    words = asked.problem if goal.problem is None and asked.format == WORDS else ''
    told = [
        f'“{words}”' if words else task_html(goal.problem),
        draw('note', f'Goal {goal.id[:8]}, {what}, {who}.', 'sg-done'),
    ]
    understood = goal.record.understood
    if understood is not None and understood.question:
        told.append(draw('note', f'Question to a person: {understood.question}', 'sg-bad'))
    if understood is not None and understood.reading:
        told.append(draw('reading', 'Reading of the request', understood.reading))
    for each in goal.record.replans:
        told.append(f'Replanned: {difference_words(each.reason, problem_of(goal))}')
    if not goal.running:
        good = 'sg-good' if goal.code is ErrorCode.NONE else 'sg-bad'
        told.append(draw('note', outcome_words(goal), good))
    return panel(*told)


def tried_html(goal: GoalView | None) -> str:
    """Why the last attempt was refused and the last plan given up; empty where nothing was."""
    told = [] if goal is None else [*_given_up(goal), *_refused(goal)]
    return draw('tried', told) if told else ''


def _given_up(goal: GoalView) -> Iterator[tuple[str, str]]:
    if goal.record.replans:
        yield 'Replanned:', _given_up_words(goal)


def _given_up_words(goal: GoalView) -> str:
    return difference_words(goal.record.replans[-1].reason, problem_of(goal))


def _refused(goal: GoalView) -> Iterator[tuple[str, str]]:
    refused = [each for each in goal.record.attempts if not each.verdict.ok]
    if not refused:
        return
    last, more = refused[-1], len(refused) - 1
    told = [refusal_words(problem_of_attempt(goal.record, last.replan), last)]
    if more:
        told.append(f'{more} before it {"was" if more == 1 else "were"} refused, too.')
    newest = goal.record.attempts[-1]
    if newest.verdict.ok:
        told.append(f'Attempt {newest.number} is proved safe.')
    yield f'Attempt {last.number} was refused:', ' '.join(told)


def plan_html(snapshot: Snapshot) -> str:
    """The plan that waits for a person or is executed, with the lights over it."""
    goal, pending = snapshot.goal, snapshot.pending
    above, below = [], []
    if pending is not None:
        if not pending.may_be_approved:
            told = 'It is not proved, or not the plan that it says it is: it can only be refused.'
            above.append(draw('note', told, 'sg-bad'))
        below.append(
            draw('reading', f'Digest {pending.digest[:8]} of task and plan', pending.digest)
        )
        if pending.request and goal is not None:
            doubts, words = doubts_and_request(pending.request)
            above.append(draw('strong', 'A model read this request. Is the task what is meant?'))
            above += [f'“{words}”', *([draw('note', doubts, 'sg-bad')] if doubts else [])]
            above.append(task_html(pending.problem or goal.problem))
    steps, problem = shown_plan(snapshot, goal) if goal is not None else ((), None)
    if goal is None or not steps:
        return panel(*above, *below) if pending is not None else ''
    now = goal.step if goal.moving else -1
    listed = steps_html(steps, problem, done=goal.step, now=now)
    broken = [text for text, standing in snapshot.monitor.standings if standing == 'violated']
    plan = draw('plan', _plan_title(goal), listed, _lights(goal, steps, problem), broken)
    return panel(*above, plan, *below)


class PlanChart:
    """The plan that waits for a person or is executed, over time.

    The executor says which step it has begun; the seconds since then are counted here.
    """

    def __init__(self) -> None:
        self._of: tuple[tuple[str, ...], Problem | None] = ((), None)
        self._chart: GanttChart | None = None
        self._step: tuple[str, int] = ('', -1)
        self._since = 0.0

    def update(self, snapshot: Snapshot, now: float) -> str:
        """The chart as it is; `now` by the monotonic clock [s]."""
        goal = snapshot.goal
        if goal is None:
            return ''
        steps, problem = shown_plan(snapshot, goal)
        if steps != self._of[0] or problem is not self._of[1]:
            self._of = steps, problem
            self._chart = chart_of_steps(problem, steps) if problem is not None else None
        if self._chart is None:
            return ''
        present = self._present(goal, now) if goal.moving else None
        return panel(chart_html(self._chart, done=goal.step, now=present))

    def _present(self, goal: GoalView, now: float) -> float | None:
        """The present on the clock of the plan, in full seconds, and within the step."""
        steps = self._chart.steps if self._chart is not None else ()
        if goal.step >= len(steps):
            return None
        if (goal.id, goal.step) != self._step:
            self._step, self._since = (goal.id, goal.step), now
        start, end = steps[goal.step]
        return min(start + int(now - self._since), end)


def countdown_words(pending: Pending | None, now: float) -> str:
    """How long a plan waits before it counts as refused; empty where none waits.

    Args:
        now: Unix time [s].
    """
    if pending is None or not pending.digest:
        return ''
    return f'The plan counts as refused in {max(pending.expires - now, 0.0):.0f} s.'


def _plan_title(goal: GoalView) -> str:
    if goal.running:
        return 'What the arm will do' if goal.executes else 'Proved plan (nothing will move)'
    if goal.code is ErrorCode.NONE:
        return 'The executed plan' if goal.executes else 'Proved plan (not executed)'
    return f'The plan: {goal.step} of {len(goal.plan)} steps completed'


def _lights(goal: GoalView, steps: tuple[str, ...], problem: Problem | None) -> str:
    """The lights over the plan: observed ones, then predicted ones."""
    if problem is None or len(steps) > MOST_LIT:
        return ''
    shown = lights(problem, steps_of(steps))
    over = goal.code is ErrorCode.NONE and goal.executes
    if goal.code is ErrorCode.NONE and not goal.executes:
        return lights_html(shown, now=0, planned=True)
    return lights_html(shown, now=None if over else goal.step, ended=over)


def stack_html(snapshot: Snapshot) -> str:
    """How the stack is: nodes, stop, link, heartbeats, monitors and diagnostics."""
    nodes = [
        (name, state or 'not there', state != 'active') for name, state in snapshot.nodes.items()
    ]
    told = [draw('table', 'Nodes', nodes), draw('table', 'Link', _links(snapshot))]
    return panel(*told, _monitors(snapshot), _parts(snapshot))


def _links(snapshot: Snapshot) -> list[tuple[str, str, bool]]:
    look, stop = snapshot.look, snapshot.stop
    told = 'not known' if not stop.known else stop.reason if stop.stopped else 'not stopped'
    rows = [
        ('stop', told, False),
        ('last sample of the arm', _age(look.heard or None), False),
        ('last heartbeat of a sender', _age(snapshot.beat), False),
    ]
    if snapshot.others:
        rows.append(('goals beside the one shown', str(snapshot.others), False))
    return rows


def _age(at: float | None) -> str:
    if at is None:
        return 'none yet'
    age = time.monotonic() - at
    return 'now' if age < FRESH_S else f'{age:.0f} s ago'


def _monitors(snapshot: Snapshot) -> str:
    monitor = snapshot.monitor
    rows = [(text, standing, standing == 'violated') for text, standing in monitor.standings]
    told = f'After step {monitor.step}:' if rows else 'No rule is monitored yet.'
    return draw('table', 'Rules in the observed world', rows, told, monitor.reason if rows else '')


def _parts(snapshot: Snapshot) -> str:
    parts = sorted(snapshot.parts.values(), key=lambda part: (-part.level, part.name))
    rows = [
        (part.name, f'{LEVELS[min(part.level, 3)]}: {part.message}', part.level >= 2)
        for part in parts
    ]
    return draw('table', 'Diagnostics', rows, '' if rows else 'No node has reported yet.')
