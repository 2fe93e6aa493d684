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
from safegen_ros.pddl.model import Problem, State
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.verdict import Verdict
from safegen_ros.verify.run_monitor import RunMonitor
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
    """What the executor does: verifying, rehearsing, preparing, moving, observed or done."""

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
        remaining: after a `STATE_MISMATCH` what is left of the task from that state on; None where
            that cannot be said.
    """

    verdict: Verdict
    steps_done: int
    observed: State | None
    error_code: ErrorCode
    message: str
    seconds: float
    remaining: Problem | None = None


class Watch(Protocol):
    """A second monitor beside the execution's own."""

    def begin(self) -> None:
        """Called before anything moves; raises where the execution is not watched."""
        ...

    def look(self, steps: int, observed: State) -> Callable[[], None]:
        """Takes the number of steps taken, and what was observed then.

        What it returns waits for an answer, and raises where the execution must not go on.
        """
        ...


def execute_plan(
    problem: Problem,
    plan: Plan,
    cell: Cell,
    *,
    time_budget_s: float,
    cancelled: Callable[[], bool] = lambda: False,
    notify: Callable[[ExecutionProgress], None] = lambda progress: None,
    resume: bool = False,
    watch: Watch | None = None,
    rehearse: Callable[[Plan, Verdict], Verdict] | None = None,
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
        resume: whether the cell is taken as it is, and not prepared; it must then be in the initial
            state of the task.
        watch: a second monitor.
        rehearse: what else a proved plan has to pass before anything moves; returns the verdict
            that it is given, or one that refuses the plan.

    Returns:
        The outcome. Whenever its error code is not `NONE`, the cell has been stopped or has never
        moved.
    """
    start = time.monotonic()

    def late() -> bool:
        return not time.monotonic() - start < time_budget_s

    run = _Execution(
        problem, plan, cell, resume, lambda: cancelled() or late(), notify, watch, rehearse
    )
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
    return ExecutionOutcome(
        run.verdict,
        run.done,
        run.observed,
        code,
        message,
        seconds,
        run.remaining if code is ErrorCode.STATE_MISMATCH else None,
    )


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
        resume: bool,
        must_stop: Callable[[], bool],
        notify: Callable[[ExecutionProgress], None],
        watch: Watch | None,
        rehearse: Callable[[Plan, Verdict], Verdict] | None,
    ) -> None:
        self.problem = problem
        self.plan = plan
        self.cell = cell
        self.resume = resume
        self.watch = watch
        self.rehearse = rehearse
        self.must_stop = must_stop
        self.notify = notify
        self.verdict = Verdict()
        self.done = 0
        self.observed: State | None = None
        self.remaining: Problem | None = None
        self.monitor = RunMonitor(problem, plan)

    def verify(self) -> None:
        """Refuses everything but a plan that is proved here and now."""
        self._tell('verifying')
        self.verdict = Validator(self.problem).verify(self.plan)
        if not self.verdict.ok:
            raise SafegenError(
                f'the plan is refused: {self.verdict.category.name}: {self.verdict.reason}',
                ErrorCode.PLAN_REFUSED,
            )
        if self.rehearse is not None:
            self._tell('rehearsing')
            self.verdict = self.rehearse(self.plan, self.verdict)
            if not self.verdict.ok:
                raise SafegenError(
                    f'the plan is refused, and nothing has moved: {self.verdict.reason}',
                    ErrorCode.REHEARSAL_FAILED,
                )
            self.check_stop()
        if self.watch is not None:
            self.watch.begin()

    def carry_out(self) -> None:
        """Moves, observes and compares until the plan is done."""
        self._tell('preparing')
        # A new goal is what allows motion again after a stop. Whoever stops sets what `check_stop`
        # asks before it stops the cell, so that a stop of this goal is not lost here.
        self.cell.reset_stop()
        self.check_stop()
        if not self.resume:
            self.cell.prepare(tuple(self.problem.objects), self.problem.init)
        self._look()
        for index, step in enumerate(self.plan.steps):
            self.check_stop()
            self._tell('moving', step)
            self._take(step)
            self._look()
            self.done = index + 1
            self._tell('observed', step)
        self.monitor.finish()
        self._tell('done')

    def _take(self, step: Step) -> None:
        try:
            self.cell.execute(step.action, step.arguments)
        except RobotError as error:
            if error.code is ErrorCode.STATE_MISMATCH:
                # What it has done instead may break a constraint, which is worse; and if not, it is
                # from there that somebody may plan anew.
                self._look()
            raise

    def _look(self) -> None:
        """Observes the world, and has it judged here and by whoever else watches."""
        self.observed = observed = self.cell.observe()
        answered = None if self.watch is None else self.watch.look(self.monitor.looks, observed)
        try:
            self.monitor.look(observed)
        except SafegenError as error:
            if error.code is ErrorCode.STATE_MISMATCH:
                self.remaining = self.monitor.remaining()
            raise  # whatever the other one finds
        if answered is not None:
            answered()

    def check_stop(self) -> None:
        """Raises when the goal was cancelled or its time is over."""
        if self.must_stop():
            raise Canceled('execution was stopped', ErrorCode.EXECUTION_CANCELED)

    def _tell(self, phase: str, step: Step | None = None) -> None:
        self.notify(ExecutionProgress(phase, self.done, len(self.plan), step))
