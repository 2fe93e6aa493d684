# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Two attempts side by side, step by step, and two runs."""

from __future__ import annotations

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


def compare_html(problem: Problem | None, left: AttemptRecord, right: AttemptRecord) -> str:
    """Two attempts step by step as a table, with their verdicts.

    Args:
        problem: what both were for; None where it is not known, so that no states are compared.
    """
    both = (left, right)
    heads = [
        f'Attempt {each.number} ({each.source}): {CATEGORY_WORDS[each.verdict.category]}'
        for each in both
    ]
    failing = [-1 if each.verdict.ok else each.verdict.failing_step for each in both]
    worlds = [
        trajectory(problem, steps_of(each.steps)) if problem is not None else () for each in both
    ]
    rows = []
    for index, texts in enumerate(zip_longest(left.steps, right.steps, fillvalue=''), 1):
        cells = [
            (step_text_words(text, problem), index - 1 == fails) if text else ('', False)
            for fails, text in zip(failing, texts, strict=True)
        ]
        known = all(index < len(states) for states in worlds)
        same_world = known and worlds[0][index] == worlds[1][index]
        told = 'other step, same state' if same_world else 'different'
        rows.append((index, cells, 'same' if texts[0] == texts[1] else told))
    why = [(f'Attempt {each.number}', verdict_words(problem, each)) for each in both]
    return part('comparison', _parting_words(left, right), heads, rows, why)


def _parting_words(left: AttemptRecord, right: AttemptRecord) -> str:
    """In a sentence where two attempts part."""
    names = f'Attempt {left.number} and attempt {right.number}'
    if not left.steps and not right.steps:
        return f'{names}: in neither of them is there a step to read.'
    if left.steps == right.steps:
        return f'{names} are the same, step by step.'
    pairs = zip_longest(left.steps, right.steps)
    common = next(number for number, (a, b) in enumerate(pairs) if a != b)
    if not common:
        return f'{names} are different from the first step on.'
    return (
        f'{names} share the first {common} step{"s" * (common > 1)} and part in step {common + 1}.'
    )


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
