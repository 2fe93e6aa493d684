# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Step-by-step mode in a cell: each step is the first of a plan proved from the current view.

`stepwise` takes one admissible step after the other, by any chooser. Here the levels of the
planning loop choose, so that the steps also lead to the goal. A plan is kept only as long as the
rest of it is proved from the observed world.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from safegen_ros.errors import Canceled, ErrorCode, SafegenError
from safegen_ros.pddl.model import Problem, State
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.planning.loop import Attempt, Level, Verify, plan_with_levels
from safegen_ros.robot.cell.execution import Cell, time_limit
from safegen_ros.tasks.context import StepOutcome, StepwiseRun
from safegen_ros.tasks.pddl3.planning.stepwise import (
    Choose,
    Limits,
    StepContext,
    StepwiseOutcome,
    TerminationReason,
    run_stepwise,
)
from safegen_ros.verify.run_monitor import refuse_clocked
from safegen_ros.verify.validator import Validator


class PlannedSteps:
    """Chooses steps by plans of a model, or of another planner.

    Args:
        levels: the planner of a problem, which is the rest of the task from the observed state on.
        time_budget_s: for one plan [s].
        notify: called with each proposal with its verdict.
        prove: whose verdict on the plans of a problem is needed.

    Attributes:
        plan: the rest of the last plan; the step that was chosen last stands first.
        source: the level that proposed it.
        attempts: all proposals so far.
    """

    def __init__(
        self,
        levels: Callable[[Problem], Sequence[Level]],
        time_budget_s: float,
        notify: Callable[[Attempt], None] = lambda attempt: None,
        prove: Callable[[Problem], Verify] = lambda problem: Validator(problem).verify,
    ) -> None:
        self.plan = Plan()
        self.source = ''
        self.attempts: list[Attempt] = []
        self._levels = levels
        self._time_budget_s = time_budget_s
        self._notify = notify
        self._prove = prove
        self._taken = 0

    def __call__(self, moment: StepContext, cancelled: Callable[[], bool]) -> Step | None:
        """The next step; None where the plan leads back to where the run has been.

        Raises:
            SafegenError: there is no proved plan from here; nothing may be done then.
        """
        self.plan = Plan(self.plan.steps[len(moment.steps) - self._taken :])
        self._taken = len(moment.steps)
        if not self._holds(moment):
            self.plan = self._planned(moment.problem, cancelled)
        step = self.plan.steps[0]
        return step if step in moment.choices else None

    def _holds(self, moment: StepContext) -> bool:
        """Whether the plan leads from the observed state to the goal, and its step may be taken."""
        steps = self.plan.steps
        if not steps or steps[0] not in moment.choices:
            return False
        return Validator(moment.problem).verify(self.plan).ok

    def _planned(self, problem: Problem, cancelled: Callable[[], bool]) -> Plan:
        outcome = plan_with_levels(
            self._levels(problem),
            self._prove(problem),
            self._time_budget_s,
            cancelled=cancelled,
            notify=lambda progress: self._judged(progress.attempt),
        )
        if outcome.plan is None:
            raise SafegenError(outcome.message, outcome.error_code)
        self.source = outcome.attempts[-1].source
        return outcome.plan

    def _judged(self, attempt: Attempt | None) -> None:
        if attempt is not None:
            numbered = replace(attempt, number=len(self.attempts) + 1)
            self.attempts.append(numbered)
            self._notify(numbered)


def work_in_cell(
    problem: Problem,
    cell: Cell,
    choose: Choose,
    limits: Limits,
    *,
    cancelled: Callable[[], bool] = lambda: False,
    notify: Callable[[StepContext], None] = lambda moment: None,
    acting: Callable[[Step], None] = lambda step: None,
) -> StepwiseOutcome:
    """Brings a cell into the initial state of a task, and works on the task step by step.

    Args:
        cell: the robot cell, or a symbolic one; it is stopped when the time is up, in the middle
            of a step too, and with every ending but `FINISHED`.
        limits: steps and time, the preparation included.
        cancelled: whether the caller wants to stop; the caller also stops the cell.
        notify: called with each moment before a step is chosen.
        acting: called with each step before it is taken; nothing moves where it raises.

    Raises:
        SafegenError: the cell does not come into the initial state; it has been stopped.
        Canceled: `cancelled` said so before that, or the time is up.
    """
    begun = time.monotonic()

    def act(step: Step) -> None:
        acting(step)
        cell.execute(step.action, step.arguments)

    outcome = None
    try:
        with time_limit(limits.time_budget_s, cell):
            cell.reset_stop()
            if cancelled():  # and had the cell stopped before it was allowed to move again
                raise Canceled('the run was cancelled', ErrorCode.EXECUTION_CANCELED)
            cell.prepare(tuple(problem.objects), problem.init)
            left = replace(limits, time_budget_s=limits.time_budget_s - (time.monotonic() - begun))
            outcome = run_stepwise(
                problem, cell.observe, act, choose, left, cancelled=cancelled, notify=notify
            )
    finally:
        if outcome is None or outcome.ending is not TerminationReason.FINISHED:
            cell.stop()
    return outcome


def play(
    problem: Problem, levels: Callable[[Problem], Sequence[Level]], run: StepwiseRun
) -> StepOutcome:
    """Works on a problem through an executor, each step being the first of a proved plan.

    Raises:
        SafegenError: the rest of the task counts seconds; nothing has moved.
    """
    refuse_clocked(problem)
    executor, begun = run.executor, False
    failed: SafegenError | None = None

    def kept(work: Callable[[], State]) -> State:
        nonlocal failed
        try:
            return work()
        except SafegenError as error:
            failed = error
            raise

    steps = PlannedSteps(levels, run.left_s(), run.answered, run.prove)

    def observe() -> State:
        nonlocal begun
        if not begun:
            begun = True
            return kept(executor.begin)
        return executor.observed

    def act(step: Step) -> None:
        kept(lambda: executor.take((step,), steps.source))

    def choose(moment: StepContext, cancelled: Callable[[], bool]) -> Step | None:
        with run.turn():
            return steps(moment, cancelled)

    limits = Limits(run.most_steps, run.left_s())
    outcome = run_stepwise(
        problem, observe, act, choose, limits, cancelled=run.cancelled, sight=executor
    )
    error: SafegenError | None = None
    if outcome.ending is TerminationReason.CANCELED:
        error = failed or Canceled(outcome.message, ErrorCode.PLANNING_CANCELED)
    elif outcome.error_code is not ErrorCode.NONE:
        error = SafegenError(outcome.message, outcome.error_code)
    return StepOutcome(outcome.verdict, error)
