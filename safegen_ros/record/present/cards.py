# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The task, an attempt and the steps of a plan as markup, for the live page and for past runs."""

from __future__ import annotations

from collections.abc import Sequence

from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.writer import constraint_text
from safegen_ros.record.present.constraint_status import lights, lights_html
from safegen_ros.record.present.markup import element, escaped, list_html
from safegen_ros.record.present.pictures import before_after_html
from safegen_ros.record.present.wording import (
    CATEGORY_WORDS,
    goal_words,
    rule_words,
    step_words,
    steps_of,
    verdict_words,
)
from safegen_ros.record.run import AttemptRecord

STYLE = """
#webgl-software-rendering { display: none; }
.sg { padding: 2px 10px; font-size: 14px; line-height: 1.35; overflow-wrap: anywhere; }
.sg h3 { margin: .3em 0; font-size: 15px; }
.sg p { margin: .35em 0; }
.sg pre { overflow-x: auto; white-space: pre; font-size: 12px; padding: .5em;
  background: rgba(128, 128, 128, .15); }
.sg table { border-collapse: collapse; width: 100%; font-size: 13px; }
.sg td, .sg th { text-align: left; padding: .15em .6em .15em 0; vertical-align: top; }
.sg ol { margin: .3em 0; padding-left: 2em; }
.sg-next { border-left: 4px solid #2b7de9; padding-left: 8px; font-size: 15px; }
.sg-refused { border-left: 4px solid #e08a00; padding-left: 8px; }
div:has(> button):has(+ div .sg-next) { position: sticky; top: 0; z-index: 3; }
[style*="grid-template-rows: 1fr"] > [style*="overflow: hidden"]:has(.sg-next) {
  overflow: visible !important; }
.sg-stopped { border-left: 4px solid #c62828; padding-left: 8px; }
.sg-bad { color: #c62828; font-weight: bold; }
.sg-good { color: #1a7f4b; font-weight: bold; }
.sg-now { font-weight: bold; outline: 1px solid currentColor; }
.sg-fails { color: #c62828; font-weight: bold; text-decoration: underline wavy; }
.sg-lines { white-space: pre-line; }
.sg-done { opacity: .6; }
.sg-digest { font-family: monospace; overflow-wrap: anywhere; }
[data-mantine-color-scheme=dark] .sg-bad, [data-mantine-color-scheme=dark] .sg-fails {
  color: #ff8a80; }
[data-mantine-color-scheme=dark] .sg-good { color: #69d69b; }
"""
"""How the parts of this page look; colours that say something always say it in words, too.

The button right before what comes next, STOP, stays where it is while its panel is scrolled; no box
around it may hold it back. What viser says of a browser without a graphics card is left out, as it
would lie over the arm.
"""

MOST_STEPS, MOST_RULES, MOST_LIT = 60, 60, 200
"""Most steps that are listed, rules that are told, and steps that lights are drawn over."""


def panel(*parts: str) -> str:
    """Markup as the page has it."""
    return element('div', *parts, class_='sg')


def task_html(problem: Problem | None) -> str:
    """What is asked for: the goal and the rules in words, with their formulas."""
    if problem is None:
        return element('p', 'The task of this goal is not known here.')
    parts = [element('h3', f'Task {escaped(problem.name)}')]
    parts.append(element('p', 'It has to come to this:'))
    parts.append(list_html([escaped(each) for each in goal_words(problem)]))
    if not problem.constraints:
        return ''.join((*parts, element('p', 'There is no rule on the way.')))
    parts.append(element('p', 'and on the way:'))
    return ''.join((*parts, rules_html(problem)))


def reading_html(title: str, reading: str) -> str:
    """What words were understood as, in the lines of its own, below a title that opens it."""
    body = element('p', escaped(reading), class_='sg-lines')
    return element('details', element('summary', title), body)


def rules_html(problem: Problem) -> str:
    """The constraints of a problem in words, each with its formula."""
    told = [
        f'{escaped(rule_words(each, problem))}<br>{element("code", escaped(constraint_text(each)))}'
        for each in problem.constraints[:MOST_RULES]
    ]
    left = len(problem.constraints) - MOST_RULES
    return list_html([*told, f'and {left} more'] if left > 0 else told)


def attempt_html(attempt: AttemptRecord, problem: Problem | None) -> str:
    """An attempt: its verdict, the plan with the step that fails, the states around it, lights.

    Args:
        attempt: the attempt.
        problem: what it was made for; None where that is not known.
    """
    verdict, steps = attempt.verdict, steps_of(attempt.steps)
    good = 'sg-good' if verdict.ok else 'sg-bad'
    title = (
        f'Attempt {attempt.number}, {escaped(attempt.source)}: '
        f'{element("span", escaped(CATEGORY_WORDS[verdict.category]), class_=good)}'
    )
    parts = [
        element('h3', title),
        element('p', escaped(verdict_words(problem, attempt))),
    ]
    failing = verdict.failing_step
    if steps:
        parts.append(_folded('The plan', steps_html(attempt.steps, problem, fails=failing)))
    elif attempt.text.strip():
        parts.append(_folded('What was written', element('pre', escaped(attempt.text))))
    if problem is not None and steps and 0 <= failing < len(steps):
        parts.append(before_after_html(problem, steps, failing))
    if problem is not None and steps and len(steps) <= MOST_LIT:
        fail = verdict.failing_state if verdict.failing_state >= 0 else None
        parts.append(lights_html(lights(problem, steps), fail=fail, ended=True, planned=True))
    parts.append(
        element('p', f'{verdict.category.name} after {attempt.seconds:.1f} s', class_='sg-done')
    )
    return panel(*parts)


def _folded(title: str, body: str) -> str:
    return element('details', element('summary', title), body, open='')


def steps_html(
    texts: Sequence[str], problem: Problem | None, *, fails: int = -1, done: int = 0, now: int = -1
) -> str:
    """The steps of a plan in words.

    Args:
        texts: each as '(action arguments)'.
        problem: what it is for.
        fails: index of the step that fails; -1 where none does.
        done: how many are done.
        now: index of the step under way; -1 where none is.
    """
    steps = steps_of(texts)
    first = max(0, min((now if now >= 0 else fails) - MOST_STEPS // 2, len(steps) - MOST_STEPS))
    items = []
    for index, step in list(enumerate(steps))[first : first + MOST_STEPS]:
        words = escaped(step_words(step, problem))
        if index == fails:
            items.append(element('li', f'{words} — here it fails', class_='sg-fails'))
        elif index == now:
            items.append(element('li', f'{words} — now', class_='sg-now'))
        elif index < done:
            items.append(element('li', f'{words} — done', class_='sg-done'))
        else:
            items.append(element('li', words))
    left = len(steps) - first - len(items)
    more = element('p', f'and {left} more') if left > 0 else ''
    return element('ol', *items, start=first + 1) + more
