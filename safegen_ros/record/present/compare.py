# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Two attempts side by side, step by step, and two runs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

from safegen_ros.pddl.model import Problem
from safegen_ros.record.history import duration_s, outcome_of
from safegen_ros.record.present.constraint_status import trajectory
from safegen_ros.record.present.html import part
from safegen_ros.record.present.report import summary
from safegen_ros.record.present.wording import (
    CATEGORY_WORDS,
    step_text_words,
    steps_of,
    verdict_words,
)
from safegen_ros.record.run import AttemptRecord
from safegen_ros.record.run_log import KeptRun


@dataclass(frozen=True, slots=True)
class ComparedStep:
    """A step of two plans.

    Attributes:
        index: from 0.
        left: of the first plan, in PDDL; empty where it has ended.
        right: of the second one, likewise.
        same: whether they are the same step.
        same_world: whether both lead to the same state; None where one of them cannot be followed.
    """

    index: int
    left: str
    right: str
    same: bool
    same_world: bool | None


@dataclass(frozen=True, slots=True)
class AttemptComparison:
    """Two attempts at one problem.

    Attributes:
        parts_at: index of the first step that is not the same; -1 where there is none.
    """

    left: AttemptRecord
    right: AttemptRecord
    steps: tuple[ComparedStep, ...]
    parts_at: int


def compare(
    problem: Problem | None, left: AttemptRecord, right: AttemptRecord
) -> AttemptComparison:
    """Two attempts step by step.

    Args:
        problem: what both were for; None where it is not known, so that no states are compared.
    """
    worlds = [
        trajectory(problem, steps_of(attempt.steps)) if problem is not None else ()
        for attempt in (left, right)
    ]
    found = []
    for index, (a, b) in enumerate(zip_longest(left.steps, right.steps, fillvalue='')):
        both = all(index + 1 < len(states) for states in worlds)
        same_world = worlds[0][index + 1] == worlds[1][index + 1] if both else None
        found.append(ComparedStep(index, a, b, a == b, same_world))
    parts_at = next((each.index for each in found if not each.same), -1)
    return AttemptComparison(left, right, tuple(found), parts_at)


def comparison_words(comparison: AttemptComparison) -> str:
    """In a sentence where two attempts part."""
    left, right = comparison.left, comparison.right
    names = f'Attempt {left.number} and attempt {right.number}'
    if not comparison.steps:
        return f'{names}: in neither of them is there a step to read.'
    if comparison.parts_at < 0:
        return f'{names} are the same, step by step.'
    common = comparison.parts_at
    if not common:
        return f'{names} are different from the first step on.'
    return (
        f'{names} share the first {common} step{"s" * (common > 1)} and part in step {common + 1}.'
    )


def compare_html(problem: Problem | None, comparison: AttemptComparison) -> str:
    """Two attempts as a table, with their verdicts."""
    both = (comparison.left, comparison.right)
    heads = [
        f'Attempt {each.number} ({each.source}): {CATEGORY_WORDS[each.verdict.category]}'
        for each in both
    ]
    failing = [-1 if each.verdict.ok else each.verdict.failing_step for each in both]
    rows = []
    for each in comparison.steps:
        cells = [
            (step_text_words(text, problem), each.index == fails) if text else ('', False)
            for fails, text in zip(failing, (each.left, each.right), strict=True)
        ]
        told = '=' if each.same else '≠ (same world)' if each.same_world else '≠'
        rows.append((each.index + 1, cells, told))
    why = [(f'Attempt {each.number}', verdict_words(problem, each)) for each in both]
    return part('comparison', comparison_words(comparison), heads, rows, why)


Difference = tuple[str, str, str]
"""What is different, how it is in the first run, and how in the second one."""


def compare_runs(left: KeptRun, right: KeptRun) -> tuple[Difference, ...]:
    """What is different in two runs."""
    one, other = _values(left), _values(right)
    rows = [(what, one.get(what, ''), other.get(what, '')) for what in {**one, **other}]
    steps = zip_longest(left.record.plan, right.record.plan, fillvalue='none')
    rows += [(f'step {number}', a, b) for number, (a, b) in enumerate(steps, 1)]
    return tuple(row for row in rows if row[1] != row[2])


def _values(kept: KeptRun) -> dict[str, str]:
    """What a run was, by titles; one that is there more than once has all its lines."""
    record = kept.record
    values = {'result': outcome_of(kept), 'took': f'{duration_s(kept):.1f} s'}
    for title, text in summary(record):
        what = title.lower()
        values[what] = f'{values[what]}; {text}' if what in values else text
    verdicts = [CATEGORY_WORDS[each.verdict.category] for each in record.attempts]
    return {
        **values,
        'text of the task': record.task.problem,
        'verdicts on attempts': '; '.join(verdicts),
        'versions': ', '.join(f'{name} {value}' for name, value in record.versions.items()),
    }
