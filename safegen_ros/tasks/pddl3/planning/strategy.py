# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The levels that a strategy names, made of a model and the search planner."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.planning.levels import BEAMS, HIERARCHY, SHIELD, level_names
from safegen_ros.planning.loop import (
    MODEL,
    SEARCH,
    History,
    Labelled,
    Level,
    Proposals,
    Skipped,
    Solve,
    first_proof,
)
from safegen_ros.search.solve import solve
from safegen_ros.sync import PlanningDeadline
from safegen_ros.tasks.context import PlanningContext
from safegen_ros.tasks.pddl3.planning.hierarchy.divide import divide_and_conquer
from safegen_ros.tasks.pddl3.planning.hierarchy.relaxed_analysis import thresholds_of
from safegen_ros.tasks.pddl3.planning.proposer import SHARE, ModelProposer, Temperatures, Texts
from safegen_ros.verify.validator import Validator


def levels_for(problem: Problem, format: str, context: PlanningContext) -> tuple[Level, ...]:
    """The levels that a goal and the parameters of the planner name; raises as `levels_of`.

    No planner is asked where the empty plan is proved.
    """
    values = context.values
    limits = [values[f'simple_{each}'] for each in ('objects', 'open_goals', 'steps')]
    proposer = ModelProposer(
        problem,
        context.backend,
        context.style,
        context.sampling,
        Temperatures(values['temperature'], values['temperature_step'], values['temperature_max']),
        context.feedback,
        thresholds_of(problem.domain.name, *limits),
        format,
    )

    def search(left_s: float, cancelled: Callable[[], bool]) -> Plan:
        return solve(problem, time_limit_s=left_s, cancelled=cancelled).plan

    levels = levels_of(
        context.strategy, proposer, search if context.may_search else None, context.max_attempts
    )
    empty = Validator(problem).verify(Plan(()))
    return (_GOAL_CHECK,) if empty.ok and not empty.wishes else levels


_GOAL_CHECK = Level('goal check', 1, lambda history, deadline: (text for text in ('',)))

_NO_PLAN = (
    ErrorCode.ATTEMPTS_EXHAUSTED, ErrorCode.PLANNING_TIMEOUT, ErrorCode.TASK_TOO_LARGE,
    ErrorCode.UNSUPPORTED_FEATURE,
)  # fmt: skip
"""The end of a division without a plan."""


def levels_of(
    strategy: str, model: ModelProposer, solve: Solve | None, max_attempts: int
) -> tuple[Level, ...]:
    """The levels of a strategy.

    Where a complex task comes to a level that puts it to the model as a whole, and `hierarchy`
    follows, that one is asked instead. One answer, a beam or the hierarchy leaves some of the time
    to the levels behind it, and takes all that is left where none of them can be asked.

    Args:
        strategy: as of `level_names`.
        solve: the search planner, or None where it may not answer.
        max_attempts: how often the level `model` is asked (the paper allows 5).

    Raises:
        SafegenError: as of `level_names`.
    """
    names = list[str]()
    for name in level_names(strategy):
        if names and not model.can_beam and _beams(name) and _beams(names[-1]):
            names[-1] = 'beam'  # one line says for all of them that there is none
        else:
            names.append(name)
    found = []
    for place, name in enumerate(names):
        behind = any(each != SEARCH or solve is not None for each in names[place + 1 :])
        level = _level(name, model, solve, max_attempts, SHARE if behind else 1.0)
        if name not in (HIERARCHY, SEARCH) and HIERARCHY in names[place:]:
            level = replace(level, proposals=partial(_unless_complex, level.proposals, model))
        found.append(level)
    return tuple(found)


def _beams(name: str) -> bool:
    return name.startswith(('beam', 'backtracking'))


def _unless_complex(
    proposals: Proposals, model: ModelProposer, history: History, deadline: PlanningDeadline
) -> Texts:
    """What a level proposes for a simple task; a complex one is left to the hierarchy."""
    assessed = model.assessed(deadline)
    if assessed.complex:
        raise Skipped(f'the task is left to the {HIERARCHY}: {assessed.reason}', until=HIERARCHY)
    yield from proposals(history, deadline)


def _level(
    name: str, model: ModelProposer, solve: Solve | None, max_attempts: int, share: float
) -> Level:
    plain = {
        MODEL: Level(MODEL, max_attempts, partial(model.answers, share)),
        'repair': Level('repair', 1, model.repaired),
        SHIELD: Level(SHIELD, 1, model.shielded),
        'beam': Level('beam', 1, partial(model.beam, 2, share, False)),
        HIERARCHY: Level(HIERARCHY, 1, partial(_divided, model, max_attempts, share)),
        SEARCH: search_level(solve),
    }
    if name in plain:
        return plain[name]
    kind, _, number = name.rpartition(' ')
    size = int(number)
    if _beams(kind):
        return Level(name, 1, partial(model.beam, size, share, kind == 'backtracking'))
    return Level(name, size, partial(model.samples, size))


def search_level(solve: Solve | None) -> Level:
    """The search planner as a level; None for one that may not answer."""

    def proposals(history: History, deadline: PlanningDeadline) -> Texts:
        if solve is None:
            raise Skipped('the goal or the node does not allow the search planner')
        yield str(solve(deadline.left_s, deadline.over))

    return Level(SEARCH, 1, proposals)


def _divided(
    model: ModelProposer,
    max_attempts: int,
    share: float,
    history: History,
    deadline: PlanningDeadline,
) -> Texts:
    """A plan whose parts the model has planned, each proved before the next is asked for.

    Its source names the levels that planned the parts.
    """
    failed = dict[Hashable, SafegenError]()
    sources = dict[Plan, str]()

    def plan_part(problem: Problem, limit_s: float, stop: Callable[[], bool]) -> Plan:
        same = frozenset(problem.objects), problem.init, frozenset(problem.goal_conjuncts())
        key = *same, frozenset(problem.constraints)
        if key in failed:  # one order of the sub-goals often ends where another has
            raise failed[key]
        part = model.part(problem)
        levels = levels_of(', '.join(BEAMS) if part.can_beam else MODEL, part, None, max_attempts)
        try:
            proved = first_proof(levels, Validator(problem).verify, limit_s, stop)
        except SafegenError as error:
            failed[key] = error
            raise
        sources[proved.plan] = proved.source
        return proved.plan

    model.check_suitable()
    try:
        found = divide_and_conquer(
            model.problem,
            plan_part,
            time_limit_s=deadline.left_s * share,
            cancelled=deadline.over,
        )
    except SafegenError as error:
        if error.code not in _NO_PLAN:
            raise
        raise Skipped(error.message, error.code) from error
    by = ', '.join(dict.fromkeys(sources[part.plan] for part in found.parts))
    yield Labelled(str(found.plan), f'{HIERARCHY} of {by}' if by else HIERARCHY)
