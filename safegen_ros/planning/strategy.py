# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Who is asked for a plan, in which order: a strategy is a line of text that names levels."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.planning.hierarchy.divide import divide_and_conquer
from safegen_ros.planning.loop import (
    MODEL,
    SEARCH,
    Deadline,
    History,
    Level,
    Proposals,
    Skipped,
    Solve,
    first_proof,
)
from safegen_ros.planning.proposer import SHARE, ModelProposer, Texts

HIERARCHY = 'hierarchy'

LEVELS = {
    MODEL: 'the model, again and again, told what was wrong with its last plan',
    'best of N': 'N answers of the model to the same question, until one is proved',
    'repair': 'the valid beginning of a refused plan, whose end the model writes anew',
    'shield': 'the model, kept from every step that is not admissible',
    'beam N': "a search over admissible steps that follows the model's N most likely plans",
    'beam': 'beam 2, beam 4, beam 8',
    HIERARCHY: 'the model, asked for one part of the task after the other',
    SEARCH: 'the search planner, which knows no model',
}
"""The levels with what answers there; N is a number from 1 to 64."""

DEFAULT = f'{MODEL}, beam, {HIERARCHY}, {SEARCH}'

WIDTHS = (2, 4, 8)
"""The beams of the level `beam`."""

MOST = 64

_NAME = re.compile(
    r'model|repair|shield|hierarchy|search|beam|(?:best of|beam) ([1-9][0-9]?)', re.ASCII
)

_NO_PLAN = (ErrorCode.ATTEMPTS_EXHAUSTED, ErrorCode.PLANNING_TIMEOUT, ErrorCode.TASK_TOO_LARGE)
"""How a division ends for want of a plan."""


def level_names(strategy: str) -> tuple[str, ...]:
    """The levels that a strategy names, separated by commas, with `beam` written out.

    Raises:
        SafegenError: it names none, or one that there is not (`UNKNOWN_STRATEGY`).
    """
    found: list[str] = []
    for part in strategy.split(','):
        name = ' '.join(part.split())
        match = _NAME.fullmatch(name)
        if match is None or int(match[1] or 1) > MOST:
            raise SafegenError(
                f'strategy {strategy[:80]!a}: {name[:40]!a} is no level: name one or more of '
                f'{", ".join(LEVELS)} with commas between them, N from 1 to {MOST}',
                ErrorCode.UNKNOWN_STRATEGY,
            )
        found += [f'beam {width}' for width in WIDTHS] if name == 'beam' else [name]
    return tuple(found)


def levels_of(
    strategy: str, model: ModelProposer, solve: Solve | None, max_attempts: int
) -> tuple[Level, ...]:
    """The levels of a strategy.

    Where a complex task comes to a level that puts it to the model as a whole, and `hierarchy`
    follows, that one is asked instead.

    Args:
        strategy: as of `level_names`.
        model: who is asked.
        solve: the search planner, or None where it may not answer.
        max_attempts: how often the level `model` is asked (the paper allows 5).

    Raises:
        SafegenError: as of `level_names`.
    """
    names = level_names(strategy)
    found = []
    for place, name in enumerate(names):
        level = _level(name, model, solve, max_attempts)
        if name not in (HIERARCHY, SEARCH) and HIERARCHY in names[place:]:
            level = replace(level, proposals=partial(_unless_complex, level.proposals, model))
        found.append(level)
    return tuple(found)


def _unless_complex(
    proposals: Proposals, model: ModelProposer, history: History, deadline: Deadline
) -> Texts:
    """What a level proposes for a simple task; a complex one is left to the hierarchy."""
    assessed = model.assessed(deadline)
    if assessed.complex:
        raise Skipped(f'the task is left to the {HIERARCHY}: {assessed.reason}', until=HIERARCHY)
    yield from proposals(history, deadline)


def _level(name: str, model: ModelProposer, solve: Solve | None, max_attempts: int) -> Level:
    plain = {
        MODEL: Level(MODEL, max_attempts, model.answers),
        'repair': Level('repair', 1, model.repaired),
        'shield': Level('shield', 1, model.shielded),
        HIERARCHY: Level(HIERARCHY, 1, partial(_divided, model, max_attempts)),
        SEARCH: search_level(solve),
    }
    if name in plain:
        return plain[name]
    kind, _, number = name.rpartition(' ')
    size = int(number)
    if kind == 'beam':
        return Level(name, 1, partial(model.beam, size))
    return Level(name, size, partial(model.samples, size))


def search_level(solve: Solve | None) -> Level:
    """The search planner as a level; None for one that may not answer."""

    def proposals(history: History, deadline: Deadline) -> Texts:
        if solve is None:
            raise Skipped('the goal or the node does not allow the search planner')
        yield str(solve(deadline.left_s, deadline.over))

    return Level(SEARCH, 1, proposals)


def _divided(
    model: ModelProposer, max_attempts: int, history: History, deadline: Deadline
) -> Texts:
    """A plan whose parts the model has planned, each proved before the next is asked for."""
    failed = dict[Hashable, SafegenError]()

    def plan_part(problem: Problem, limit_s: float, stop: Callable[[], bool]) -> Plan:
        same = frozenset(problem.objects), problem.init, frozenset(problem.goal_conjuncts())
        key = *same, frozenset(problem.constraints)
        if key in failed:  # one order of the sub-goals often ends where another has
            raise failed[key]
        part = model.part(problem)
        levels = levels_of('beam' if part.can_beam else MODEL, part, None, max_attempts)
        try:
            return first_proof(levels, part.task.verify, limit_s, stop)
        except SafegenError as error:
            failed[key] = error
            raise

    model.check_suitable()
    try:
        found = divide_and_conquer(
            model.task.problem,
            plan_part,
            time_limit_s=deadline.left_s * SHARE,
            cancelled=deadline.over,
        )
    except SafegenError as error:
        if error.code not in _NO_PLAN:
            raise
        raise Skipped(error.message, error.code) from error
    yield str(found.plan)
