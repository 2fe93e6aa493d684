# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tells simple tasks from complex ones: which to put to a model whole, and which to divide.

SafePilot (arXiv 2603.21523) asks a language model how complex a task is. Here it is measured, so
that the answer has a reason and is the same each time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.ground import goal_tests
from safegen_ros.pddl.model import Problem
from safegen_ros.search.budget import Budget, SearchLimit
from safegen_ros.search.solve import MEMORY_LIMIT_MB
from safegen_ros.search.task import no_plan
from safegen_ros.tasks.pddl3.planning.hierarchy.relaxed_analysis import Survey


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The largest values of a simple task.

    Attributes:
        objects: objects, constants included.
        open_goals: conjuncts of the goal that do not hold at the start.
        relaxed_steps: length of a relaxed plan, which is roughly two thirds of a real one.
    """

    objects: int = 17
    open_goals: int = 7
    relaxed_steps: int = 20


TRAINED = Thresholds()
"""The largest values in the wide ranges of the built-in domains (`DomainKit.sizes`), from which the
training problems of the shipped models are drawn. A model trained on others has others."""

_OBJECTS = {
    'blocksworld': 7,
    'blocksworld-4ops': 7,
    'ferry': 9,
    'gripper-strips': 14,
    'grippers': 14,
}
"""Objects of the largest such problem, in the domains where there are less than `TRAINED` says."""


def trained_on(domain: str) -> Thresholds:
    """The largest values in the training problems of a domain; of all domains for another one."""
    return replace(TRAINED, objects=_OBJECTS.get(domain, TRAINED.objects))


def thresholds_of(
    domain: str, objects: int = 0, open_goals: int = 0, relaxed_steps: int = 0
) -> Thresholds:
    """Thresholds for tasks of a domain; 0 takes what `trained_on` says.

    Args:
        domain: name of the domain.
        objects: as in `Thresholds`.
        open_goals: as in `Thresholds`.
        relaxed_steps: as in `Thresholds`.
    """
    usual = trained_on(domain)
    return Thresholds(
        objects or usual.objects,
        open_goals or usual.open_goals,
        relaxed_steps or usual.relaxed_steps,
    )


@dataclass(frozen=True, slots=True)
class Assessment:
    """What was found about a task.

    Attributes:
        complex: whether it should be divided.
        reason: why, in a sentence.
        objects: as in `Thresholds`.
        open_goals: as in `Thresholds`.
        relaxed_steps: as in `Thresholds`; -1 when it was decided without.
    """

    complex: bool
    reason: str
    objects: int
    open_goals: int
    relaxed_steps: int = -1


def assess(
    problem: Problem,
    ask: Callable[[Problem], object] = lambda problem: None,
    *,
    thresholds: Thresholds | None = None,
    time_limit_s: float = 1.0,
    cancelled: Callable[[], bool] = lambda: False,
) -> Assessment:
    """Finds out whether a task is simple or complex.

    Args:
        problem: the task.
        ask: writes the question to the model, as `PromptStyle.messages` with no history does, and
            raises `SafegenError` when the task cannot be put to it: it is complex where that is
            `TASK_TOO_LARGE`, and all else is raised here, too.
        thresholds: the largest values of a simple task; None for those of `trained_on`.
        time_limit_s: how long it may be looked at; a task that takes longer is complex [s].
        cancelled: whether the caller wants to stop.

    Raises:
        Unsolvable: there is no plan, as the relaxed task shows.
        Canceled: `cancelled` said so.
    """
    limits = thresholds or trained_on(problem.domain.name)
    table = AtomTable(problem)
    state = table.encode(problem.init)
    open_goals = sum(not test(state) for _, test in goal_tests(problem, table))
    objects = len(problem.objects)

    def found(reason: str, steps: int = -1, complex: bool = True) -> Assessment:
        return Assessment(complex, reason, objects, open_goals, steps)

    try:
        ask(problem)
    except SafegenError as error:
        if error.code is not ErrorCode.TASK_TOO_LARGE:
            raise
        return found(f'it cannot be put to the model as a whole: {error.message}')
    if objects > limits.objects:
        return found(f'it has {objects} objects, more than {limits.objects}')
    if open_goals > limits.open_goals:
        return found(f'it has {open_goals} open goals, more than {limits.open_goals}')
    try:
        survey = Survey(problem, Budget(time_limit_s, MEMORY_LIMIT_MB, cancelled))
        steps = survey.steps(problem.init, survey.task.start)
    except SearchLimit:
        return found(f'looking at its actions takes more than {time_limit_s:g} s')
    if steps is None:
        raise no_plan(survey.task, 'which shows before any search')
    if steps > limits.relaxed_steps:
        return found(f'it takes {steps} steps or more, over {limits.relaxed_steps}', steps)
    reason = f'{objects} objects, {open_goals} open goals and about {steps} steps are few'
    return found(reason, steps, complex=False)
