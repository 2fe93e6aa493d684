# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The goal that is shown, what happens next and the plan that waits, from what is known."""

from __future__ import annotations

from safegen_ros.console.state import EXECUTE, PLAN, GoalView, Pending, Snapshot
from safegen_ros.errors import ErrorCode
from safegen_ros.pddl.model import Problem
from safegen_ros.record.present.cards import MOST_LIT, panel, reading_html, steps_html, task_html
from safegen_ros.record.present.constraint_status import lights, lights_html
from safegen_ros.record.present.markup import element, escaped
from safegen_ros.record.present.wording import (
    Situation,
    difference_words,
    ended_words,
    refusal_words,
    step_words,
    steps_of,
)

_STOPPED = (ErrorCode.EXECUTION_STOPPED, ErrorCode.PLANNING_STOPPED)


def situation(snapshot: Snapshot) -> Situation:
    """Where the stack stands, for `next_words`."""
    goal = snapshot.goal
    if not any(snapshot.nodes.values()):
        return Situation('no stack')
    if snapshot.stop.stopped:
        return Situation('stopped', reason=snapshot.stop.reason)
    if goal is None:
        return Situation('idle')
    if not goal.running:
        stopped = goal.code in _STOPPED and snapshot.stop.known
        outcome = 'The last goal was stopped; the stack was reset since.' if stopped else ''
        return Situation('ended', outcome=outcome or outcome_words(goal))
    steps, problem = steps_of(goal.plan), goal.problem
    words = [step_words(each, problem) for each in steps[goal.step : goal.step + 2]]
    first, after = (*words, '', '')[:2]
    # What waits is told on a topic of its own, which may be ahead of the feedback or behind it.
    stage = 'approval' if snapshot.waits else goal.stage
    if stage == 'executing' and not goal.moving and goal.step == 0:
        stage = 'preparing'
    return Situation(
        stage,
        attempt=goal.attempt,
        max_attempts=goal.max_attempts,
        source=goal.source,
        index=goal.step,
        total=len(steps),
        step=first,
        after=after,
        reason='' if stage != 'replanning' else difference_words(goal.detail, problem_of(goal)),
    )


def outcome_words(goal: GoalView) -> str:
    """How a goal ended, in a sentence."""
    if goal.code is ErrorCode.NONE:
        if goal.action == PLAN:
            return (
                'The plan is proved safe; nothing was moved for it.'
                if goal.plan
                else ('The request was understood; nothing was planned.')
            )
        return 'Every step is done, and the world was seen to be as the goal wants it.'
    message = difference_words(goal.message, problem_of(goal))
    return ended_words(goal.code or ErrorCode.UNKNOWN, message)


def problem_of(goal: GoalView) -> Problem | None:
    """A problem whose words the reasons of a goal are told in."""
    return goal.problem or goal.problems.get(0)


def goal_html(goal: GoalView | None) -> str:
    """The goal that is shown, with its plan as far as it is carried out."""
    if goal is None:
        return panel(element('p', 'No goal was sent since this console is open.'))
    who = 'sent from here' if goal.ours else 'sent by another client'
    what = {PLAN: 'plan only', EXECUTE: 'a plan of somebody else'}.get(goal.action, 'plan and move')
    parts = [task_html(goal.problem)]
    parts.append(element('p', f'Goal {goal.id[:8]}, {what}, {who}.', class_='sg-done'))
    if goal.reading:
        parts.append(reading_html('What the words were understood as', goal.reading))
    if goal.question:
        parts.append(element('p', f'To be said more clearly: {escaped(goal.question)}'))
    for each in goal.replans:
        told = escaped(difference_words(each.reason, problem_of(goal)))
        parts.append(element('p', f'Planned for anew: {told}'))
    if not goal.running:
        good = 'sg-good' if goal.code is ErrorCode.NONE else 'sg-bad'
        parts.append(element('p', escaped(outcome_words(goal)), class_=good))
    return panel(*parts)


def tried_html(goal: GoalView | None) -> str:
    """Why the last attempt was refused and the last plan given up; empty where nothing was."""
    if goal is None:
        return ''
    parts = [_given_up(goal), _refused(goal)]
    told = [element('p', each, class_='sg-refused') for each in parts if each]
    return panel(*told) if told else ''


def _given_up(goal: GoalView) -> str:
    if not goal.replans:
        return ''
    told = escaped(difference_words(goal.replans[-1].reason, problem_of(goal)))
    return f'{element("b", "Planned for anew:")} {told}'


def _refused(goal: GoalView) -> str:
    refused = [each for each in goal.attempts if not each.verdict.ok]
    if not refused:
        return ''
    last, more = refused[-1], len(refused) - 1
    told = [refusal_words(goal.problems.get(last.replan), last)]
    if more:
        told.append(f'{more} before it {"was" if more == 1 else "were"} refused, too.')
    if goal.attempts[-1].verdict.ok:
        told.append(f'Attempt {goal.attempts[-1].number} is proved safe.')
    name = element('b', f'Attempt {last.number} was refused:')
    return f'{name} {escaped(" ".join(told))}'


def plan_html(snapshot: Snapshot) -> str:
    """The plan that waits for a person or is carried out, with the lights over it."""
    goal, pending = snapshot.goal, snapshot.pending
    above, below = [], []
    if pending is not None:
        digest = f'Digest of task and plan: {escaped(pending.digest)}'
        if not pending.may_be_approved:
            told = 'It is not proved, or not the plan that it says it is: it can only be refused.'
            above.append(element('p', told, class_='sg-bad'))
        below.append(element('p', digest, class_='sg-digest'))
        if pending.request and goal is not None:
            above.append(_read_as(pending.request, goal))
    if goal is None or not goal.plan:
        return panel(*above, *below) if pending is not None else ''
    now = goal.step if goal.moving else -1
    steps = steps_html(goal.plan, goal.problem, done=goal.step, now=now)
    return panel(*above, element('h3', _plan_title(goal)), steps, _lights(snapshot, goal), *below)


def _read_as(request: str, goal: GoalView) -> str:
    """A request in plain words with what a model made of it, to be confirmed with the plan."""
    told = element('b', 'A model read this request. Is the task what is meant?')
    return element('p', told) + element('p', f'“{escaped(request)}”') + task_html(goal.problem)


def countdown_words(pending: Pending | None, now: float) -> str:
    """How long a plan waits before it counts as refused; empty where none waits.

    Args:
        pending: the plan.
        now: Unix time [s].
    """
    if pending is None or not pending.digest:
        return ''
    return f'The plan counts as refused in {max(pending.expires - now, 0.0):.0f} s.'


def _plan_title(goal: GoalView) -> str:
    if goal.running:
        return 'What the arm will do' if goal.executes else 'Proved plan (nothing will move)'
    if goal.code is ErrorCode.NONE:
        return 'The plan, carried out' if goal.executes else 'Proved plan (not executed)'
    done = f'only {goal.step} of {len(goal.plan)} steps were' if goal.step else 'nothing was'
    return f'The plan, of which {done} carried out'


def _lights(snapshot: Snapshot, goal: GoalView) -> str:
    """The lights over the plan: what was seen, then what is foreseen."""
    if goal.problem is None or len(goal.plan) > MOST_LIT:
        return ''
    shown = lights(goal.problem, steps_of(goal.plan))
    over = goal.code is ErrorCode.NONE and goal.executes
    if goal.code is ErrorCode.NONE and not goal.executes:
        told = lights_html(shown, now=0, planned=True)
    else:
        told = lights_html(shown, now=None if over else goal.step, ended=over)
    broken = [
        element('p', f'The monitor sees it broken: {escaped(text)}', class_='sg-bad')
        for text, standing in snapshot.monitor.standings
        if standing == 'violated'
    ]
    return told + ''.join(broken)
