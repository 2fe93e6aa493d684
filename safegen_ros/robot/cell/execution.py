# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Executes a plan in a cell, step by step, under the constraints' monitors.

The plan is verified here, from any sender and with any claim. After each step the observed world is
compared with the proved one, and the constraints are progressed on the observation: the first
difference stops the arm.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from safegen_ros.errors import Canceled, ErrorCode, RobotError, SafegenError
from safegen_ros.pddl.model import State
from safegen_ros.pddl.plan import Step
from safegen_ros.stages import ExecutionPhase
from safegen_ros.verdict import Verdict

ConcurrentStep = tuple[Step, ...]
"""Simultaneous actions: one of each robot that acts."""


class Stoppable(Protocol):
    """What moves, and can be told not to."""

    def stop(self) -> None:
        """Ends all motion at once, from any thread, and latches."""

    def reset_stop(self) -> None:
        """Allows motion again."""


class Monitor(Protocol):
    """Follows the observed states of one execution, such as `RunMonitor`.

    Attributes:
        looks: how many were observed; the first one is the initial state.
    """

    looks: int

    def look(self, observed: State) -> None:
        """Takes in the initial state, then that after each step; raises where one is not right."""

    def finish(self) -> None:
        """Raises where the state after the last step does not satisfy the goal."""


@runtime_checkable
class Deadlines(Protocol):
    """A monitor of constraints that a state may break by lasting too long."""

    def due_s(self) -> float | None:
        """How long the present state may last [s]; None for ever."""

    def check_time(self) -> None:
        """Raises where it has lasted too long."""


class Job(Protocol):
    """A plan for a task of some world, and the cell that executes it."""

    @property
    def steps(self) -> Sequence[ConcurrentStep]:
        """The steps of the plan."""

    @property
    def cell(self) -> Stoppable:
        """What moves."""

    @property
    def monitor(self) -> Monitor:
        """Judges the observation."""

    def verify(self) -> Verdict:
        """The verdict on the plan, found here and now."""

    def prepare(self) -> None:
        """Brings the cell into the initial state, or raises."""

    def take(self, step: ConcurrentStep) -> None:
        """Executes one step, or raises."""

    def observe(self) -> State:
        """The facts that are observed to hold now; or raises."""

    def remaining(self) -> object | None:
        """The rest of the task, in the form of its world; None where it is not known."""


class Cell(Stoppable, Protocol):
    """A robot and its surroundings, which symbolic actions change and atoms describe."""

    def prepare(self, objects: Sequence[str], init: State) -> None:
        """Brings the cell into the initial state of a task, or raises."""

    def execute(self, action: str, arguments: Sequence[str]) -> None:
        """Executes one ground action, or raises."""

    def observe(self) -> State:
        """The atoms that are observed to be true now, or raises when nothing fits."""


@dataclass(frozen=True, slots=True)
class ExecutionProgress:
    """What the executor does: verifying, rehearsing, preparing, moving, observed or done.

    Attributes:
        seen: the observed facts; only of the phase `observed`.
    """

    phase: str
    step: int
    total: int
    current: ConcurrentStep = ()
    seen: State | None = None


@dataclass(frozen=True, slots=True)
class ExecutionOutcome:
    """How an execution ended.

    Attributes:
        verdict: the executor's own verdict on the plan.
        steps_done: steps that were executed and observed to have worked.
        observed: the last observed state; None when nothing was observed.
        remaining: after success and after a `STATE_MISMATCH` the rest of the task from that state
            on; None where it is not known.
        taken: steps that were executed and observed, with any result.
    """

    verdict: Verdict
    steps_done: int
    observed: State | None
    error_code: ErrorCode
    message: str
    seconds: float
    remaining: object | None = None
    taken: int = 0


class Watch(Protocol):
    """A second monitor beside the execution's own."""

    def begin(self) -> None:
        """Called before anything moves; raises where the execution is not watched."""

    def look(self, steps: int, observed: State) -> Callable[[], None]:
        """Takes the number of steps taken, and the observation then.

        What it returns waits for an answer, and raises where the execution must not go on.
        """


def carry_out(
    job: Job,
    *,
    time_budget_s: float,
    cancelled: Callable[[], bool] = lambda: False,
    notify: Callable[[ExecutionProgress], None] = lambda progress: None,
    resume: bool = False,
    watch: Watch | None = None,
    rehearse: Callable[[Verdict], Verdict] | None = None,
) -> ExecutionOutcome:
    """Verifies a plan, then executes it.

    Args:
        time_budget_s: the cell is stopped after this time [s].
        cancelled: whether the caller wants to stop; asked between steps. The caller that sets it
            also calls `cell.stop()`, which ends the motion under way.
        resume: whether the cell is taken as it is, and not prepared; it must then be in the initial
            state of the task.
        watch: a second monitor.
        rehearse: what else a proved plan has to pass before anything moves; takes its verdict, and
            returns that or one that refuses the plan.

    Returns:
        The outcome. Whenever its error code is not `NONE`, the cell was stopped or never moved.
    """
    start = time.monotonic()

    def late() -> bool:
        return not time.monotonic() - start < time_budget_s

    run = _Execution(job, resume, lambda: cancelled() or late(), notify, watch, rehearse)
    code, message = ErrorCode.NONE, ''
    try:
        with time_limit(time_budget_s, job.cell):
            run.verify()
            run.carry_out()
            run.check_stop()
    except SafegenError as error:
        job.cell.stop()
        code, message = _reason(error, cancelled(), late(), time_budget_s)
    except BaseException:
        job.cell.stop()
        raise
    seconds = time.monotonic() - start
    rest = job.remaining() if code is ErrorCode.NONE else run.remaining
    return ExecutionOutcome(
        run.verdict,
        run.done,
        run.observed,
        code,
        message,
        seconds,
        rest if code in (ErrorCode.NONE, ErrorCode.STATE_MISMATCH) else None,
        max(job.monitor.looks - 1, 0),
    )


@contextmanager
def time_limit(seconds: float, cell: Stoppable) -> Iterator[None]:
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


@dataclass
class _Execution:
    """The state of one run of `carry_out`."""

    job: Job
    resume: bool
    must_stop: Callable[[], bool]
    notify: Callable[[ExecutionProgress], None]
    watch: Watch | None
    rehearse: Callable[[Verdict], Verdict] | None
    verdict: Verdict = field(default_factory=Verdict)
    done: int = 0
    observed: State | None = None
    remaining: object | None = None

    def verify(self) -> None:
        """Refuses everything but a plan that is proved here and now."""
        self._tell(ExecutionPhase.VERIFYING)
        self.verdict = self.job.verify()
        if not self.verdict.ok:
            raise SafegenError(
                f'the plan is refused: {self.verdict.category.name}: {self.verdict.reason}',
                ErrorCode.PLAN_REFUSED,
            )
        if self.rehearse is not None:
            self._tell(ExecutionPhase.REHEARSING)
            self.verdict = self.rehearse(self.verdict)
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
        self._tell(ExecutionPhase.PREPARING)
        # A new goal is what allows motion again after a stop. A stop sets the flag of `check_stop`
        # before it stops the cell, so that a stop of this goal is not lost here.
        self.job.cell.reset_stop()
        self.check_stop()
        if not self.resume:
            self.job.prepare()
        self._look()
        for index, step in enumerate(self.job.steps):
            self.check_stop()
            self._tell(ExecutionPhase.MOVING, step)
            self._take(step)
            self._look()
            self.done = index + 1
            self._tell(ExecutionPhase.OBSERVED, step)
        self.job.monitor.finish()
        self._tell(ExecutionPhase.DONE)

    def _take(self, step: ConcurrentStep) -> None:
        monitor = self.job.monitor
        due = monitor.due_s() if isinstance(monitor, Deadlines) else None
        try:
            with nullcontext() if due is None else time_limit(due, self.job.cell):
                self.job.take(step)
        except Canceled:
            if isinstance(monitor, Deadlines) and not self.must_stop():
                monitor.check_time()  # which says why the cell was stopped, if it was this
            raise
        except RobotError as error:
            if error.code is ErrorCode.STATE_MISMATCH:
                # Its effect instead may break a constraint, which is worse; and if not, a replan
                # starts from there.
                self._look()
            raise

    def _look(self) -> None:
        """Observes the world, and has it judged here and by every other monitor."""
        self.observed = observed = self.job.observe()
        looks = self.job.monitor.looks
        answered = None if self.watch is None else self.watch.look(looks, observed)
        try:
            self.job.monitor.look(observed)
        except SafegenError as error:
            if error.code is ErrorCode.STATE_MISMATCH:
                self.remaining = self.job.remaining()
            raise  # whatever the other one finds
        if answered is not None:
            answered()

    def check_stop(self) -> None:
        """Raises when the goal was cancelled or its time is over."""
        if self.must_stop():
            raise Canceled('execution was stopped', ErrorCode.EXECUTION_CANCELED)

    def _tell(self, phase: str, step: ConcurrentStep = ()) -> None:
        seen = self.observed if phase == ExecutionPhase.OBSERVED else None
        self.notify(ExecutionProgress(phase, self.done, len(self.job.steps), step, seen))
