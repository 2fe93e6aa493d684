# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rows of a dataset as what a model reads and is to write: words with the states, or chat messages.

No learning library is imported here, so that processes start soon.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any, TypeVar

from safegen_ros.datasets.pddl3.rows import Row, row_problem
from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import Atom, Problem
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.tasks.pddl3.mistakes import failed_attempt
from safegen_ros.tasks.pddl3.prompts.slots import SlottedProblem, slotted
from safegen_ros.tasks.pddl3.prompts.styles import PromptStyle
from safegen_ros.tasks.pddl3.prompts.words import (
    attempt_words,
    plan_words,
    task_words,
    vocabulary,
)
from safegen_ros.verify.monitors import ConstraintMonitor, MonitorSet

MOST_MONITORS = 6
"""Constraints whose automata are taught, the first ones of a problem."""

MOST_STANDING = 8
"""Values of an automaton that are distinguished; the last one stands for all above."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What is true before each step of a plan and after the last, T + 1 moments.

    Attributes:
        atoms: the atoms that are true and that some action can change.
        standings: the value of the automaton of each of the first constraints.
    """

    atoms: tuple[tuple[Atom, ...], ...]
    standings: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Example:
    """A problem with the plan to learn, under canonical names.

    Attributes:
        bucket: easy, medium or hard.
        prompts: the words of the task in each format.
        attempt: the words of a failed attempt and of the verdict on it; empty for none.
        plan: the words of the plan.
        arities: words of each step.
        trace: the states on the way.
    """

    row: str
    domain: str
    bucket: str
    reference_length: int
    prompts: dict[str, tuple[str, ...]]
    attempt: tuple[str, ...]
    plan: tuple[str, ...]
    arities: tuple[int, ...]
    objects: frozenset[str]
    trace: Trace


def example(row: Row, repair: bool = False) -> Example:
    """What a row teaches.

    Args:
        repair: whether a failed attempt is wanted.

    Raises:
        SafegenError: its problem cannot be put into words.
    """
    task = slotted(row_problem(row))
    plan = task.plan(parse_plan(row.plan))
    return Example(
        row.id,
        row.domain,
        row.bucket,
        row.reference_length,
        {form: tuple(task_words(task, form)) for form in FORMATS},
        _attempt(task, row, plan) if repair else (),
        tuple(plan_words(plan)),
        tuple(1 + len(step.arguments) for step in plan.steps),
        frozenset(task.problem.objects),
        _trace(task.problem, plan),
    )


def _attempt(task: SlottedProblem, row: Row, plan: Plan) -> tuple[str, ...]:
    unsafe = task.plan(parse_plan(row.unconstrained_plan)) if row.unconstrained_plan else Plan()
    found = failed_attempt(task.problem, plan, unsafe, row.id)
    if found is None:
        return ()
    text, verdict = found
    return tuple(attempt_words(text, verdict.category, verdict.failing_step, vocabulary()))


def _trace(problem: Problem, plan: Plan) -> Trace:
    table = AtomTable(problem)
    grounder, monitors = Grounder(problem, table), MonitorSet(problem, table)
    watched = monitors.monitors[:MOST_MONITORS]
    state = table.encode(problem.init)
    standing = monitors.start(state)
    states, values = [state], [_values(watched, standing)]
    for step in plan.steps:
        after = grounder.action(step).apply(state)
        standing = monitors.progress(standing, after, state ^ after)
        state = after
        states.append(state)
        values.append(_values(watched, standing))
    return Trace(tuple(tuple(table.atoms(bits)) for bits in states), tuple(values))


def _values(monitors: Sequence[ConstraintMonitor], standing: int) -> tuple[int, ...]:
    return tuple(
        min((standing >> monitor.shift) & monitor.limit, MOST_STANDING - 1) for monitor in monitors
    )


def changing_atoms(examples: Iterable[Example]) -> dict[tuple[str, Atom], int]:
    """A number for every atom that is true somewhere, by domain and atom, in a fixed order."""
    found = {(e.domain, atom) for e in examples for moment in e.trace.atoms for atom in moment}
    return {atom: number for number, atom in enumerate(sorted(found))}


Message = dict[str, str]
Result = TypeVar('Result')

_SHARE_OF_A_WORKER = 500  # rows, below which starting a process costs more than it saves


@dataclass(frozen=True, slots=True)
class TrainingPair:
    """What a model is asked, and what it should answer.

    Attributes:
        prompt: the messages that ask.
        weight: how often it is taken, compared with others of its domain.
    """

    prompt: list[Message]
    answer: str
    domain: str
    weight: float


def instruction_pairs(
    row: Row, style: PromptStyle, formats: Mapping[str, float], repair_share: float = 0.0
) -> list[TrainingPair]:
    """A row in each format, and with a repair share once more with a failed attempt.

    Args:
        style: how the model is asked.
        formats: the weight of each format.
        repair_share: share of the weight that goes to prompts with an attempt.

    Raises:
        SafegenError: its problem cannot be put to this kind of model.
    """
    problem, plan = row_problem(row), parse_plan(row.plan)
    unsafe = parse_plan(row.unconstrained_plan) if row.unconstrained_plan else Plan()
    failed = failed_attempt(problem, plan, unsafe, row.id) if repair_share else None
    share = 0.0 if failed is None else repair_share
    answer = style.answer(plan, problem)
    histories: Any = (([], 1 - share), ([failed] if failed else [], share))
    return [
        TrainingPair(style.messages(problem, history, form), answer, row.domain, weight * part)
        for form, weight in formats.items()
        for history, part in histories
        if part > 0
    ]


def for_all_rows(function: Callable[[Row], Result], rows: Sequence[Row]) -> list[Result]:
    """What a function makes of every row, in their order, on all cores when it pays.

    Args:
        function: one that can be sent to another process.
    """
    workers = min(os.cpu_count() or 1, -(-len(rows) // _SHARE_OF_A_WORKER))
    if workers < 2:
        return [function(row) for row in rows]
    # A fork of a process in which torch has started its threads may hang.
    with ProcessPoolExecutor(workers, mp_context=get_context('spawn')) as pool:
        return list(pool.map(function, rows, chunksize=100))
