# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rows of a dataset as chat messages; imports no learning library, so that processes start soon."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TypeVar

from safegen_ros.datasets.pddl3.rows import Row, row_problem
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.tasks.pddl3.mistakes import failed_attempt
from safegen_ros.tasks.pddl3.prompts.styles import PromptStyle

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
    found = []
    for form, weight in formats.items():
        if share < 1:
            prompt = style.messages(problem, [], form)
            found.append(TrainingPair(prompt, answer, row.domain, weight * (1 - share)))
        if failed is not None:
            prompt = style.messages(problem, [failed], form)
            found.append(TrainingPair(prompt, answer, row.domain, weight * share))
    return found


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
