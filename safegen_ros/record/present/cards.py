# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The task, an attempt and the steps of a plan as HTML, for the live page and for past runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from safegen_ros.language.english import constraint_sentence, formula_words
from safegen_ros.pddl.model import Problem, State
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.pddl.writer import constraint_text
from safegen_ros.record.present.chart import chart_html, chart_of_attempt
from safegen_ros.record.present.compare import compare_html
from safegen_ros.record.present.constraint_status import legend_html, lights, lights_html
from safegen_ros.record.present.html import part
from safegen_ros.record.present.pictures import before_after_html, film_html, goal_html, state_html
from safegen_ros.record.present.wording import (
    CATEGORY_WORDS,
    step_text_words,
    steps_of,
    verdict_words,
)
from safegen_ros.record.run import AttemptRecord
from safegen_ros.verdict import Category, Verdict

MOST_STEPS, MOST_RULES, MOST_LIT = 60, 100, 200
"""Most steps, rules and steps with lights that are shown at once."""

MOST_ROWS = 1000  # of the table of a plan

_MARKS = {'fails': 'here it fails', 'now': 'now', 'done': 'done'}


def task_html(problem: Problem | None) -> str:
    """The request: the goal and the rules in words, with their formulas."""
    if problem is None:
        return part('note', 'The task of this goal is not known here.')
    rules = [
        (constraint_sentence(each, problem), constraint_text(each))
        for each in problem.constraints[:MOST_RULES]
    ]
    left = len(problem.constraints) - len(rules)
    goal = [formula_words(each, problem) for each in problem.goal_conjuncts()[:MOST_RULES]]
    return part('task', problem.name, goal, rules, left)


def attempt_html(
    attempt: AttemptRecord,
    problem: Problem | None,
    before: AttemptRecord | None = None,
    most: int = MOST_STEPS,
    title: str | None = None,
) -> str:
    """An attempt: its verdict, the plan with the step that fails, the states around it, lights.

    Args:
        problem: what it was made for; None where that is not known.
        most: how many of its steps are listed at once.
        title: replaces that of the attempt; empty for no heading.
    """
    verdict, steps = attempt.verdict, steps_of(attempt.steps)
    failing = -1 if verdict.ok else verdict.failing_step
    told: dict[str, Any] = {
        'title': attempt.title if title is None else title,
        'ok': verdict.ok,
        'found': f'{"✓" if verdict.ok else "✕"} {CATEGORY_WORDS[verdict.category]}',
        'words': verdict_words(problem, attempt),
        'steps': '',
        'lights': '',
        'around': '',
        'failing': failing,
        'chart': '',
        'compared': '',
        'text': attempt.text,
        'reason': verdict.reason,
        'category': verdict.category.name,
        'seconds': f'{attempt.seconds:.1f} s' if attempt.seconds else '',
    }
    if attempt.steps:
        told['steps'] = steps_html(attempt.steps, problem, fails=failing, most=most)
    if problem is not None:
        told['chart'] = chart_html(chart_of_attempt(problem, attempt), fails=failing)
    if problem is not None and not problem.timed and 0 < len(steps) <= MOST_LIT:
        fail = _failing_state(problem, verdict)
        shown = lights(problem, steps)
        whole = len(shown[-1].standings) > len(steps) and fail in (None, len(steps))
        told['lights'] = lights_html(shown, fail=fail, ended=whole, planned=True)
        if 0 <= failing < len(steps):
            told['around'] = before_after_html(problem, steps, failing)
    if before is not None and before.steps and attempt.steps:
        told['before'] = before.number
        told['compared'] = compare_html(problem, before, attempt)
    return part('attempt', told)


def verdict_html(verdict: Verdict, problem: Problem, text: str, steps: Sequence[Step]) -> str:
    """A verdict for a notebook: the reason, and where each rule stands in each state."""
    attempt = AttemptRecord(1, '', text, tuple(map(str, steps)), verdict, 0.0)
    return part('notebook', [attempt_html(attempt, problem, title='Verdict'), legend_html()])


def problem_html(problem: Problem) -> str:
    """A problem for a notebook: goal and rules in words, the start and the goal as pictures."""
    pictures = (state_html(problem, problem.init, 'start'), goal_html(problem, 'goal'))
    return part('notebook', [task_html(problem), part('pair', pictures)])


def film_picture_html(problem: Problem, states: Sequence[State]) -> str:
    """The last of several states for a notebook; towers stand where they stood before."""
    title = f'after step {len(states) - 1}' if len(states) > 1 else 'start'
    pictures = film_html(problem, states, [title] * len(states))
    return part('notebook', pictures[-1:])


def plan_html(plan: Plan) -> str:
    """A plan for a notebook: a table of its steps, with times where it has them."""
    shown = plan.steps[:MOST_ROWS]
    times: list[tuple[str, ...]] = [(f'{start:f}', f'{lasts:f}') for start, lasts in plan.times]
    times = times or [()] * len(shown)
    rows = [(*time, str(step)) for time, step in zip(times, shown, strict=False)]
    table = part('plan', rows, bool(plan.times), len(plan) - len(shown))
    return part('notebook', [table])


def _failing_state(problem: Problem, verdict: Verdict) -> int | None:
    """The state in which a plan fails, by the number of steps before it; None where none does."""
    if verdict.ok or verdict.failing_state < 0:
        return None
    if not problem.domain.durative:
        return verdict.failing_state
    # Over time there is a state for each start and each end of a step.
    step = verdict.failing_step if verdict.failing_step >= 0 else verdict.plan_length
    return min(step + (verdict.category is Category.SAFETY_VIOLATION), verdict.plan_length)


def steps_html(
    texts: Sequence[str],
    problem: Problem | None,
    *,
    fails: int = -1,
    done: int = 0,
    now: int = -1,
    most: int = MOST_STEPS,
) -> str:
    """The steps of a plan in words.

    Args:
        texts: each as '(action arguments)'.
        fails: index of the step that fails; -1 where none does.
        now: index of the step under way; -1 where none is.
        most: how many are listed, around the one that fails or is under way.
    """
    first = max(0, min((now if now >= 0 else fails) - most // 2, len(texts) - most))
    shown = []
    for index, text in enumerate(texts[first : first + most], first):
        kind = {fails: 'fails', now: 'now'}.get(index, 'done' if index < done else '')
        style = f'sg-{kind}' if kind else ''
        shown.append((step_text_words(text, problem), _MARKS.get(kind, ''), style))
    return part('steps', shown, first, len(texts) - first - len(shown))
