# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Step by step: choose one action, take it, look at the world, choose the next.

Nothing is taken from a plan but the next step, so that a world which does not do what was foreseen
costs a step and no goal. The chooser is offered the admissible steps of the shield and can have no
other taken. The constraints are progressed on the observed state; when that differs from the
foreseen one, the rest of the task is grounded again from there (see `verify.remaining`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from enum import Enum
from typing import Protocol

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.formulas import constraint_objects, goal_objects
from safegen_ros.pddl.model import Problem, State
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.pddl.writer import constraint_text
from safegen_ros.verdict import BrokenConstraint, Category, Verdict
from safegen_ros.verify.admissible import Shield, Situation
from safegen_ros.verify.monitors import MonitorSet, Standing
from safegen_ros.verify.run_monitor import check_atoms, remaining_problem
from safegen_ros.verify.validator import Validator

Observe = Callable[[], State]
"""The atoms that are true now, as `Cell.observe`; raises a `SafegenError` when nothing fits."""

Act = Callable[[Step], None]
"""Takes one step, and returns when it is over; raises a `SafegenError` when it cannot, and
`NotTaken` where the world has changed before."""


class NotTaken(SafegenError):
    """A step was not taken, since the world was another one than that in which it was chosen."""


class StepPerception(Protocol):
    """Looks at what is out of view, where not all is seen at once."""

    def unseen(self) -> frozenset[str]:
        """The objects that are out of view; their observed places are a guess."""
        ...

    def look(self, name: str) -> None:
        """Looks where one of them is believed to be; raises a `SafegenError` when it cannot."""
        ...


@dataclass(frozen=True, slots=True)
class StepContext:
    """What the next step is chosen from.

    Attributes:
        problem: the rest of the task: its initial state is the observed one, its constraints are
            the remaining ones. A plan for it is a plan from here.
        choices: the admissible steps, those only that lead where the run has not been before, as
            long as there are any.
        refused: the choice at this moment that is not among `choices`.
    """

    problem: Problem
    steps: tuple[Step, ...]
    choices: tuple[Step, ...]
    refused: tuple[Step, ...] = ()


Choose = Callable[[StepContext, Callable[[], bool]], Step | None]
"""Chooses a step, or None to give up; asked with the cancel question, which it should heed."""


class TerminationReason(Enum):
    """Why a run ended."""

    FINISHED = 'the goal is reached and every constraint is satisfied'
    STUCK = 'no step is admissible'
    GAVE_UP = 'the chooser chose no admissible step'
    STEPS = 'the steps are used up'
    BROKEN = 'the observed world breaks a constraint'
    TIME = 'the time is up'
    CANCELED = 'the run was cancelled'
    FAILED = 'the world could not be acted on or observed'


_CODES = {
    TerminationReason.FINISHED: ErrorCode.NONE,
    TerminationReason.STUCK: ErrorCode.ATTEMPTS_EXHAUSTED,
    TerminationReason.GAVE_UP: ErrorCode.ATTEMPTS_EXHAUSTED,
    TerminationReason.STEPS: ErrorCode.ATTEMPTS_EXHAUSTED,
    TerminationReason.BROKEN: ErrorCode.MONITOR_VIOLATION,
    TerminationReason.TIME: ErrorCode.EXECUTION_TIMEOUT,
    TerminationReason.CANCELED: ErrorCode.EXECUTION_CANCELED,
}


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a run may go on.

    Attributes:
        time_budget_s: wall-clock limit, looked at before every choice and every step [s].
        max_refusals: choices at one moment that are not among those that were offered.
    """

    max_steps: int = 200
    time_budget_s: float = 60.0
    max_refusals: int = 3


@dataclass(frozen=True, slots=True)
class StepwiseOutcome:
    """How a run ended.

    Attributes:
        steps: the steps that were taken, all admissible when they were.
        verdict: on what happened, by the observed states. Without a difference it is the
            validator's verdict on `steps`. After one it is the verdict on the steps since, for the
            rest of the task.
        differences: how often the world was not as foreseen.
        refused: how many choices were not admissible.
        observed: the last observed state; None when nothing was observed.
        error_code: `NONE` only with the ending `FINISHED`.
        seconds: wall-clock time [s].
    """

    ending: TerminationReason
    steps: tuple[Step, ...]
    verdict: Verdict
    differences: int
    refused: int
    observed: State | None
    error_code: ErrorCode
    message: str
    seconds: float


def run_stepwise(
    problem: Problem,
    observe: Observe,
    act: Act,
    choose: Choose,
    limits: Limits | None = None,
    *,
    cancelled: Callable[[], bool] = lambda: False,
    notify: Callable[[StepContext], None] = lambda moment: None,
    sight: StepPerception | None = None,
) -> StepwiseOutcome:
    """Works on a task one step at a time.

    With partial view, objects are looked at in time: those of constraints before the first step,
    those of a step before it, those of the goal before the end. Each look may change the known
    state, and the next step is chosen again.

    Args:
        problem: the task. Where the world is at first is observed, not taken from here.
        observe: looks at the world: before the first step, and after each.
        act: takes a step; with a robot cell, `lambda step: cell.execute(*step)`. A caller that
            makes `cancelled` true also stops the cell, and does so with every outcome that is not
            `FINISHED`.
        notify: called with each moment before a step is chosen.
        sight: looks at what is out of view; None where all is seen.

    Returns:
        The outcome; failures are in its ending, error code and message.
    """
    return _Run(problem, observe, act, choose, limits or Limits(), cancelled, notify, sight).run()


class _Ended(Exception):
    def __init__(self, ending: TerminationReason) -> None:
        super().__init__(ending.value)
        self.ending = ending


@dataclass
class _Run:
    """The state of one call of `run_stepwise`."""

    _problem: Problem
    _observe: Observe
    _act: Act
    _choose: Choose
    _limits: Limits
    _cancelled: Callable[[], bool]
    _notify: Callable[[StepContext], None]
    _sight: StepPerception | None

    def __post_init__(self) -> None:
        self._start = time.monotonic()
        # The world is observed, so that nothing about it can be taken from the problem.
        self._table = AtomTable(self._problem, fold_static=False)
        self._monitors = MonitorSet(self._problem, self._table)
        self._standing: Standing = 0
        self._observed: State | None = None
        self._rest = self._problem
        self._steps: list[Step] = []
        self._refused = 0
        self._differences = 0
        # Where the world last differed: the rest of the task there, and the steps before.
        self._shield = Shield(self._problem)
        self._since = 0
        self._situation = self._shield.start
        self._visited: set[Situation] = set()

    def run(self) -> StepwiseOutcome:
        message = ''
        try:
            self._look(self._problem.init)
            while not self._finished():
                self._next()
            ending, code = TerminationReason.FINISHED, ErrorCode.NONE
        except _Ended as ended:
            ending, code = ended.ending, _CODES[ended.ending]
        except SafegenError as error:
            ending = self._must_stop() or TerminationReason.FAILED
            code, message = _CODES.get(ending, error.code), error.message
        verdict = self._verdict(ending)
        if ending is TerminationReason.FINISHED and not verdict.ok:
            ending, code = TerminationReason.FAILED, ErrorCode.PLAN_REFUSED
            message = f'the shield and the validator disagree: {verdict.reason}'
        return StepwiseOutcome(
            ending,
            tuple(self._steps),
            verdict,
            self._differences,
            self._refused,
            self._observed,
            code,
            message or f'{ending.value}, after {len(self._steps)} steps',
            time.monotonic() - self._start,
        )

    def _finished(self) -> bool:
        """Whether the goal is reached and seen to be; what constraints are about comes first."""
        while self._uncover(constraint_objects(self._problem)) or (
            self._shield.finished(self._situation) and self._uncover(goal_objects(self._problem))
        ):
            self._check()
        return self._shield.finished(self._situation)

    def _uncover(self, names: Collection[str]) -> bool:
        """Looks at one of some objects that is out of view; false where none is."""
        if self._sight is None:
            return False
        before = self._sight.unseen()
        hidden = sorted(before & set(names))
        if not hidden:
            return False
        self._sight.look(hidden[0])
        if self._sight.unseen() == before:
            raise SafegenError(
                f'{hidden[0]} stays out of view however it is looked at: uncover it by hand',
                ErrorCode.STATE_MISMATCH,
            )
        self._look_again()
        return True

    def _next(self) -> None:
        """Chooses a step, takes it and looks what it did."""
        self._check()
        if len(self._steps) >= self._limits.max_steps:
            raise _Ended(TerminationReason.STEPS)
        step, after = self._chosen()
        self._check()
        if self._uncover(step.arguments):
            return
        try:
            self._act(step)
        except NotTaken:
            return self._look_again(moved=True)
        self._steps.append(step)
        self._situation = after
        self._look(self._shield.state(after))

    def _chosen(self) -> tuple[Step, Situation]:
        """The step that the chooser takes among those that it may, and where it should lead."""
        self._visited.add(self._situation)
        steps = self._shield.steps(self._situation)
        new = {step: after for step, after in steps.items() if after not in self._visited}
        offered = new or steps
        if not offered:
            raise _Ended(TerminationReason.STUCK)
        refused: tuple[Step, ...] = ()
        while len(refused) < self._limits.max_refusals:
            moment = StepContext(self._rest, tuple(self._steps), tuple(offered), refused)
            self._notify(moment)
            step = self._choose(moment, lambda: self._must_stop() is not None)
            self._check()
            if step is None:
                break
            if step in offered:
                return step, offered[step]
            self._refused += 1
            refused = (*refused, step)
        raise _Ended(TerminationReason.GAVE_UP)

    def _look(self, foreseen: State) -> None:
        """Observes the world, progresses the constraints on it, and compares.

        In this order, since a world that breaks a constraint is worse than one that differs.
        """
        observed = self._observe()
        check_atoms(self._problem, observed)
        bits = self._table.encode(observed)
        if self._observed is None:
            self._standing = self._monitors.start(bits)
        else:
            self._standing = self._monitors.progress(self._standing, bits)
        self._observed = observed
        self._judge()
        if observed != foreseen:
            self._differences += 1
            self._begin_anew()

    def _look_again(self, moved: bool = False) -> None:
        """Observes the world where no step was taken since the last look.

        Before the first step the constraints begin with the known state. Later nothing that they
        are about was out of view, so that they stand where they stood, unless something has moved.
        """
        observed = self._observe()
        check_atoms(self._problem, observed)
        bits = self._table.encode(observed)
        if not self._steps:
            self._standing = self._monitors.start(bits)
        elif moved:
            self._standing = self._monitors.progress(self._standing, bits)
        self._differences += observed != self._observed
        self._observed = observed
        self._judge()
        self._begin_anew()

    def _judge(self) -> None:
        """Ends the run where a constraint is broken; else gives the rest of the task."""
        observed = self._observed or frozenset()
        guessed = self._sight is not None and bool(
            self._sight.unseen() & constraint_objects(self._problem)
        )
        if guessed:  # an assumed fact breaks nothing, and satisfies nothing
            domain = replace(self._problem.domain, constraint_tree=None)
            self._rest = replace(self._problem, domain=domain, init=observed)
            return
        if self._monitors.broken(self._standing):
            raise _Ended(TerminationReason.BROKEN)
        self._rest = remaining_problem(
            self._problem, self._monitors, self._standing, observed, len(self._steps)
        )

    def _begin_anew(self) -> None:
        """Grounds the rest of the task from where the world is."""
        self._shield = Shield(self._rest)
        self._since = len(self._steps)
        self._situation = self._shield.start
        self._visited.clear()  # situations of another shield

    def _must_stop(self) -> TerminationReason | None:
        if self._cancelled():
            return TerminationReason.CANCELED
        if time.monotonic() - self._start >= self._limits.time_budget_s:
            return TerminationReason.TIME
        return None

    def _check(self) -> None:
        ending = self._must_stop()
        if ending is not None:
            raise _Ended(ending)

    def _verdict(self, ending: TerminationReason) -> Verdict:
        if self._observed is None:
            return Verdict()
        if ending is not TerminationReason.BROKEN:
            taken = Plan(tuple(self._steps[self._since :]))
            return Validator(self._shield.problem).verify(taken)
        last = len(self._steps)
        broken = tuple(
            BrokenConstraint(
                constraint_text(monitor.constraint),
                monitor.constraint.binding,
                last,
                last - 1,
                monitor.explain(),
                monitor.constraint.place,
            )
            for monitor in self._monitors.violated(self._standing)
        )
        return Verdict(
            Category.SAFETY_VIOLATION,
            f'in the observed state after {last} steps: {"; ".join(map(str, broken))}',
            max(last - 1, 0),
            last,
            broken=broken,
            failing_state=last,
        )
