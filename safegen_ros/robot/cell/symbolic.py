# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A cell without a robot: a set of ground atoms, which actions change as their domain says.

It takes the place of the arm where the table cannot show a task, in any domain. All that surrounds
the motion is as it is there: the proof, the monitors, the comparison after each step, stopping.
What it cannot show is whether a robot would have done what the domain says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.deciding import refuse_timed
from safegen_ros.pddl.ground import GroundAction, Grounder
from safegen_ros.pddl.model import Problem, State
from safegen_ros.pddl.moments import END, LITERALS, START, PlanMoment
from safegen_ros.pddl.plan import Step
from safegen_ros.sync import LatchedStop
from safegen_ros.verify.timed_actions import TimedActions


@dataclass(frozen=True, slots=True)
class SymbolicSample:
    """The world at one moment.

    Attributes:
        time: simulated time since the preparation [s].
    """

    time: float
    state: State


class SymbolicCell(LatchedStop):
    """The atoms of one task, which actions change by the semantics of its domain.

    Args:
        problem: the task; its domain may be any.
        step_seconds: simulated time that an action takes [s], but for one with a duration.
        real_time_factor: simulated seconds per second of the wall clock [1]; 0 for at once.
        sample: called with the world when it is prepared and after each action.
        disturb: what becomes of the world after an action, and after the start of one with a
            duration, from the action and its expected state; for rehearsing faults.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        step_seconds: float = 0.0,
        real_time_factor: float = 0.0,
        sample: Callable[[SymbolicSample], None] = lambda sample: None,
        disturb: Callable[[Step, State], State] = lambda step, state: state,
    ) -> None:
        super().__init__('the symbolic cell')
        self._problem = problem
        self._step_s = step_seconds
        self._factor = real_time_factor
        self._sample = sample
        self._disturb = disturb
        # Nothing is folded in: what no action changes may still be disturbed.
        timed = TimedActions(problem, fold_static=False) if problem.domain.durative else None
        self._timed = timed
        self._table = AtomTable(problem, fold_static=False)
        self._grounder = Grounder(problem, self._table)
        self._time = self._origin = 0.0
        self._running: list[Step] = []
        self._state = problem.init

    @property
    def time(self) -> float:
        """Simulated time since the preparation [s]."""
        return self._time

    def prepare(self, objects: Sequence[str], init: State) -> None:
        """Makes the atoms of the initial state true and all others false."""
        self._check_ready()
        self._time = self._origin = 0.0
        self._running = []
        self._become(init)

    def execute(self, action: str, arguments: Sequence[str]) -> None:
        """Executes one ground action; it takes its time, and its effects come at the end of it.

        What an action with a duration does at its start comes at once.

        Raises:
            RobotError: the domain has no such action (`UNSUPPORTED_SCENE`), its precondition does
                not hold (`STATE_MISMATCH`), or a condition over its whole duration fails
                (`MONITOR_VIOLATION`).
            Canceled: the cell was stopped; the action has then had no effect.
        """
        self._check_ready()
        refuse_timed(self._problem, 'a single step of the symbolic cell')
        step = Step(action, tuple(arguments))
        ground = self._ground(step)
        bits = self._table.encode(self._state)
        if not ground.applicable(bits):
            needed = ' and '.join(self._grounder.lacking(ground, bits)[0])
            raise RobotError(
                f'{step} is not applicable in the world as it is, where {needed} does not hold: '
                'look at the cell before the next goal',
                ErrorCode.STATE_MISMATCH,
            )
        if self._timed is not None and action in self._timed.problem.domain.durative:
            self._last(self._timed, step)
        else:
            self._wait(self._step_s)
            self._become(self._disturb(step, self._table.decode(ground.apply(bits))))
        self._origin = self._time

    def _last(self, timed: TimedActions, step: Step) -> None:
        """Executes an action with a duration."""
        bits = timed.table.encode(self._state)
        duration = timed.least_duration(step, bits)
        start, end = timed.happenings(step, duration)
        self._become(self._disturb(step, timed.table.decode(start.apply(bits))))
        self._wait(float(duration))
        bits = timed.table.encode(self._state)
        for needed in (timed.during(step), end):
            self._require(timed, needed, f'while {step} runs')
        self._become(self._disturb(step, timed.table.decode(end.apply(bits))))

    def happen(self, moment: PlanMoment) -> None:
        """Lets time pass until a moment of a plan whose actions overlap, and does what it says.

        The plan begins with the preparation, or where the action before it ended.

        Raises:
            RobotError: a part of it is not an action (`UNSUPPORTED_SCENE`), or a condition of it or
                of a running action does not hold (`MONITOR_VIOLATION`).
            Canceled: the cell was stopped; nothing has happened then.
        """
        self._check_ready()
        timed = self._timed
        if timed is None:
            raise RobotError(
                'no action of this task takes time: send its steps one after the other',
                ErrorCode.UNSUPPORTED_SCENE,
            )
        self._wait(max(0.0, self._origin + float(moment.time) - self._time))
        for step in self._running:
            self._require(timed, timed.during(step), f'while {step} runs')
        for kind, step, duration in moment.happenings:
            if kind in LITERALS:
                continue
            self._ground(step)
            action = timed.happenings(step, duration)[-1 if kind == END else 0]
            self._require(timed, action, f'at the {kind} of {step}')
        for kind, step, _ in moment.happenings:
            if kind == START:
                self._running.append(step)
            elif kind == END:
                self._running.remove(step)
        after = timed.after(timed.of_moment(moment), timed.table.encode(self._state))
        state = timed.table.decode(after)
        for _, step, _ in moment.happenings:
            state = self._disturb(step, state)
        self._become(state)

    def _require(self, timed: TimedActions, needed: GroundAction, moment: str) -> None:
        bits = timed.table.encode(self._state)
        if not needed.applicable(bits):
            missing = ' and '.join(timed.missing(needed, bits)[0])
            raise RobotError(
                f'{moment}, {missing} does not hold, which it needs: '
                'look at the cell before the next goal',
                ErrorCode.MONITOR_VIOLATION,
            )

    def _wait(self, seconds: float) -> None:
        """Lets simulated time pass, unless the cell is stopped."""
        self._stopped.wait(seconds / self._factor if self._factor else 0.0)
        self._check_ready()
        self._time += seconds

    def observe(self) -> State:
        """The atoms that are true."""
        return self._state

    def _become(self, state: State) -> None:
        self._state = state
        self._sample(SymbolicSample(self._time, state))

    def _ground(self, step: Step) -> GroundAction:
        try:
            return self._grounder.action(step)
        except KeyError:
            reason = 'its domain has none of that name'
        except ValueError as error:
            reason = str(error)
        raise RobotError(
            f'{step} is not an action of this task: {reason}', ErrorCode.UNSUPPORTED_SCENE
        )
