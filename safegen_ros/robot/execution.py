# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Executes a plan in a cell, step by step, under the constraints' monitors.

The plan is verified here, whoever sent it and whatever they claim. After each step the observed
world is compared with the proved one, and the constraints are progressed on what was observed: the
first difference stops the arm.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from safegen_ros.errors import Canceled, ErrorCode, RobotError, SafegenError
from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.ground import Grounder, goal_tests
from safegen_ros.pddl.model import Problem, State
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.pddl.writer import atom_text, formula_text
from safegen_ros.verdict import Verdict
from safegen_ros.verify.monitors import MonitorSet, Standing
from safegen_ros.verify.validator import Validator


class Cell(Protocol):
    """A robot and its surroundings, which symbolic actions change and atoms describe."""

    def prepare(self, objects: Sequence[str], init: State) -> None:
        """Brings the cell into the initial state of a task, or raises."""
        ...

    def execute(self, action: str, arguments: Sequence[str]) -> None:
        """Carries out one ground action, or raises."""
        ...

    def observe(self) -> State:
        """The atoms that are observed to be true now, or raises when nothing fits."""
        ...

    def stop(self) -> None:
        """Ends all motion at once, from any thread, and latches."""
        ...

    def reset_stop(self) -> None:
        """Allows motion again."""
        ...


@dataclass(frozen=True, slots=True)
class ExecutionProgress:
    """What the executor is doing: `verifying`, `preparing`, `moving`, `observed` or `done`."""

    phase: str
    step: int
    total: int
    current: Step | None = None


@dataclass(frozen=True, slots=True)
class ExecutionOutcome:
    """How an execution ended.

    Attributes:
        verdict: the executor's own verdict on the plan.
        steps_done: steps that were carried out and observed to have worked.
        observed: the last observed state; None when nothing was observed.
    """

    verdict: Verdict
    steps_done: int
    observed: State | None
    error_code: ErrorCode
    message: str
    seconds: float


def execute_plan(
    problem: Problem,
    plan: Plan,
    cell: Cell,
    *,
    time_budget_s: float,
    cancelled: Callable[[], bool] = lambda: False,
    notify: Callable[[ExecutionProgress], None] = lambda progress: None,
) -> ExecutionOutcome:
    """Verifies a plan, then carries it out.

    Args:
        problem: the task; its initial state is what the cell is prepared to.
        plan: the plan, from anybody.
        cell: the robot cell, or a symbolic one.
        time_budget_s: the cell is stopped after this time [s].
        cancelled: whether the caller wants to stop; asked between steps. Whoever sets it also
            calls `cell.stop()`, which ends the motion under way.
        notify: told of each phase and step.

    Returns:
        The outcome. Whenever its error code is not `NONE`, the cell has been stopped or has never
        moved.
    """
    start = time.monotonic()

    def late() -> bool:
        return not time.monotonic() - start < time_budget_s

    run = _Execution(problem, plan, cell, lambda: cancelled() or late(), notify)
    code, message = ErrorCode.NONE, ''
    try:
        with time_limit(time_budget_s, cell):
            run.verify()
            run.carry_out()
            run.check_stop()
    except SafegenError as error:
        cell.stop()
        code, message = _reason(error, cancelled(), late(), time_budget_s)
    except BaseException:
        cell.stop()
        raise
    seconds = time.monotonic() - start
    return ExecutionOutcome(run.verdict, run.done, run.observed, code, message, seconds)


@contextmanager
def time_limit(seconds: float, cell: Cell) -> Iterator[None]:
    """Stops the cell when the time is over, also in the middle of a motion."""
    wait = min(seconds, threading.TIMEOUT_MAX) if seconds > 0 else 0.0
    timer = threading.Timer(wait, cell.stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # a clock that was about to stop the cell must not stop the next execution


def _reason(
    error: SafegenError, cancelled: bool, late: bool, budget_s: float
) -> tuple[ErrorCode, str]:
    if isinstance(error, Canceled) and cancelled:
        return ErrorCode.EXECUTION_CANCELED, 'execution was cancelled, and has stopped'
    if isinstance(error, Canceled) and late:
        return (
            ErrorCode.EXECUTION_TIMEOUT,
            f'the plan was not done within {budget_s:g} s, and the execution has stopped: '
            'give the goal more time',
        )
    return error.code, error.message


class _Execution:
    """The state of one run of `execute_plan`."""

    def __init__(
        self,
        problem: Problem,
        plan: Plan,
        cell: Cell,
        must_stop: Callable[[], bool],
        notify: Callable[[ExecutionProgress], None],
    ) -> None:
        self.problem = problem
        self.plan = plan
        self.cell = cell
        self.must_stop = must_stop
        self.notify = notify
        self.verdict = Verdict()
        self.done = 0
        self.observed: State | None = None
        # The world is observed, so that nothing about it can be taken from the problem.
        self._table = AtomTable(problem, fold_static=False)
        self._monitors = MonitorSet(problem, self._table)
        self._standing: Standing | None = None

    def verify(self) -> None:
        """Refuses everything but a plan that is proved here and now."""
        self._tell('verifying')
        self.verdict = Validator(self.problem).verify(self.plan)
        if not self.verdict.ok:
            raise SafegenError(
                f'the plan is refused: {self.verdict.category.name}: {self.verdict.reason}',
                ErrorCode.PLAN_REFUSED,
            )

    def carry_out(self) -> None:
        """Moves, observes and compares until the plan is done."""
        self._tell('preparing')
        # A new goal is what allows motion again after a stop. Whoever stops sets what `check_stop`
        # asks before it stops the cell, so that a stop of this goal is not lost here.
        self.cell.reset_stop()
        self.check_stop()
        self.cell.prepare(tuple(self.problem.objects), self.problem.init)
        predicted = self.problem.init
        self._compare(predicted, 'before step 1')
        grounder = Grounder(self.problem, self._table)
        for index, step in enumerate(self.plan.steps):
            self.check_stop()
            self._tell('moving', step)
            self.cell.execute(step.action, step.arguments)
            after = grounder.action(step).apply(self._table.encode(predicted))
            predicted = self._table.decode(after)
            self._compare(predicted, f'after step {index + 1} {step}')
            self.done = index + 1
            self._tell('observed', step)
        self._check_goal()
        self._tell('done')

    def _compare(self, predicted: State, moment: str) -> None:
        """Progresses the constraints on the observed world, then compares it with the proof.

        In this order, since a world that breaks a constraint is worse than one that differs.
        """
        self.observed = self.cell.observe()
        bits = self._table.encode(self.observed)
        if self._standing is None:
            self._standing = self._monitors.start(bits)
        else:
            self._standing = self._monitors.progress(self._standing, bits)
        violated = self._monitors.violated(self._standing)
        if violated:
            raise RobotError(
                f'{moment} the observed world breaks {" ".join(self._monitors.texts(violated))}: '
                'look at the cell before the next goal',
                ErrorCode.MONITOR_VIOLATION,
            )
        if self.observed != predicted:
            missing = ' '.join(map(atom_text, sorted(predicted - self.observed)))
            extra = ' '.join(map(atom_text, sorted(self.observed - predicted)))
            raise RobotError(
                f'{moment} the world is not as proved: missing {missing or "nothing"}, '
                f'unexpected {extra or "nothing"}: look at the cell before the next goal',
                ErrorCode.STATE_MISMATCH,
            )

    def _check_goal(self) -> None:
        observed = self._table.encode(self.observed or frozenset())
        goals = goal_tests(self.problem, self._table)
        unmet = [formula_text(f) for f, test in goals if not test(observed)]
        if unmet:
            raise RobotError(
                f'every step is done, but the observed world lacks {" and ".join(unmet)}',
                ErrorCode.GOAL_MISMATCH,
            )
        left = self._monitors.unsatisfied(self._standing or 0)
        if left:
            raise RobotError(
                f'every step is done, but the observed world never satisfied '
                f'{" ".join(self._monitors.texts(left))}',
                ErrorCode.MONITOR_VIOLATION,
            )

    def check_stop(self) -> None:
        """Raises when the goal was cancelled or its time is over."""
        if self.must_stop():
            raise Canceled('execution was stopped', ErrorCode.EXECUTION_CANCELED)

    def _tell(self, phase: str, step: Step | None = None) -> None:
        self.notify(ExecutionProgress(phase, self.done, len(self.plan), step))
