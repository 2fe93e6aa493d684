# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What must be observed while a plan is executed, and what the constraints still ask after that.

Each state must be the proved one, and no constraint broken. The executor checks every observation
with it before it continues, and so does the validator node in its own process.

The ten operators are closed under progression: what a constraint still asks of the states to come
can be said with the same operators, since none of them can stand inside another. `(within 5 f)` is
`(within 2 f)` three steps later, an `at-most-once f` whose interval is over is `(always (not f))`,
a debt is a separate `sometime` or `within`. So the rest of a task is a task. A plan solves it if
and only if it solves the whole after the executed steps, and any planner can plan it, a model that
reads PDDL included.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from safegen_ros.errors import ErrorCode, RobotError, SafegenError
from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.deciding import without_wishes
from safegen_ros.pddl.facts import is_value, told_value
from safegen_ros.pddl.flatten import remembered_predicates
from safegen_ros.pddl.ground import Grounder, goal_tests
from safegen_ros.pddl.model import Constraint, Not, Problem, State
from safegen_ros.pddl.moments import END, START, moment_of, steps_of_plan
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.pddl.writer import atom_text, constraint_text, formula_text, timed_text
from safegen_ros.verify.clocked import clocked
from safegen_ros.verify.monitors import ConstraintMonitor, MonitorSet, Standing, Status
from safegen_ros.verify.timed_actions import EXACT, TimedActions

_LOOK = 'look at the cell before the next goal'


class RunMonitor:
    """Follows the observed states of one execution.

    Where actions take time, the constraints are watched over the seconds since the first look,
    by `clocked`.

    Args:
        now: a clock that never goes back [s].

    Attributes:
        observed: the state that was observed last; None where none was, or it is not a state of the
            task.
        looks: how many were observed; the first one is the initial state.
    """

    def __init__(
        self, problem: Problem, plan: Plan, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.observed: State | None = None
        self.looks = 0
        self.problem = problem
        self.plan = plan
        # The world is observed, so that nothing about it can be taken from the problem.
        self._table = AtomTable(problem, fold_static=False)
        self._grounder = Grounder(problem, self._table)
        self._monitors = MonitorSet(self._rules(), self._table)
        self._standing: Standing = 0
        self._now = now
        self._begun = Decimal(0)
        self._clocks = clocked(problem, self._table) if problem.domain.durative else []
        self._predicted = problem.init

    def look(self, observed: State) -> None:
        """Takes in the initial state, and then the state after each step.

        A broken constraint comes first: it is worse than a world that differs.

        Raises:
            SafegenError: `MONITOR_VIOLATION` or `STATE_MISMATCH`.
        """
        self.observed = None
        moment = f'after {self._advance()}' if self.looks else 'before step 1'
        check_atoms(self.problem, observed)
        bits = self._table.encode(observed)
        if self.looks:
            self._standing = self._monitors.progress(self._standing, bits)
        else:
            self._standing = self._monitors.start(bits)
        if not self.looks:
            self._begun = Decimal(self._now())
        self.observed = observed
        self.looks += 1
        for clock in self._clocks:
            clock.see(self._elapsed(), bits)
        violated = self._monitors.violated(self._standing)
        broken = self._broken() if self._clocks else self._monitors.texts(violated)
        if broken:
            read = [formula for each in violated for formula in each.constraint.arguments]
            numbers = self._table.told(read, bits)
            told = ' '.join(broken) + (f' ({numbers})' if numbers else '')
            raise RobotError(
                f'{moment} the observed world breaks {told}: {_LOOK}',
                ErrorCode.MONITOR_VIOLATION,
            )
        self._check_lasting(observed, moment)
        if observed != self._predicted:
            missing = ' '.join(map(atom_text, sorted(self._predicted - observed)))
            extra = ' '.join(map(atom_text, sorted(observed - self._predicted)))
            clocked = tied_to_clock(self.problem)
            raise RobotError(
                f'{moment} the world is not as proved: missing {missing or "nothing"}, '
                f'unexpected {extra or "nothing"}{clocked and f"; {clocked}"}: {_LOOK}',
                ErrorCode.STATE_MISMATCH,
            )

    def _rules(self) -> Problem:
        """The problem whose constraints are watched step by step."""
        return self.problem

    def _advance(self) -> str:
        """Predicts the state after the step under way, and names that step."""
        after = self._grounder.action(self.plan.steps[self.looks - 1]).apply(
            self._table.encode(self._predicted)
        )
        self._predicted = self._table.decode(after)
        return self._under_way()

    def _under_way(self) -> str:
        return f'step {self.looks} {self.plan.steps[self.looks - 1]}'

    def _check_lasting(self, observed: State, moment: str) -> None:
        """Checks what the actions that run need all the time; here none runs at a look."""

    def _elapsed(self) -> Decimal:
        """Time since the first look [s]."""
        return EXACT.subtract(Decimal(self._now()), self._begun)

    def _broken(self) -> tuple[str, ...]:
        """The constraints that are broken over time, each with the moment."""
        return tuple(
            f'{constraint_text(each.constraint)} (at {float(each.broken):.3f} s)'
            for each in self._clocks
            if each.broken is not None
        )

    def due_s(self) -> float | None:
        """How long the present state may last until it breaks a constraint [s]; None for ever."""
        due = [each.due for each in self._clocks if each.due is not None]
        return float(EXACT.subtract(min(due), self._elapsed())) if due else None

    def check_time(self) -> None:
        """Checks, while a step runs, whether the present state has lasted too long.

        Raises:
            RobotError: `MONITOR_VIOLATION`, with the step and the constraint.
        """
        for each in self._clocks:
            each.wait(self._elapsed())
        broken = self._broken()
        if broken:
            raise RobotError(
                f'{self._under_way()} is not done in time: {" ".join(broken)} is broken: {_LOOK}',
                ErrorCode.MONITOR_VIOLATION,
            )

    def finish(self) -> None:
        """Checks the state after the last step.

        Raises:
            RobotError: the goal does not hold in it (`GOAL_MISMATCH`), or a constraint is not
                satisfied there (`MONITOR_VIOLATION`).
        """
        observed = self._table.encode(self.observed or frozenset())
        goals = goal_tests(self.problem, self._table)
        unmet = [formula_text(f) for f, test in goals if not test(observed)]
        if unmet:
            raise RobotError(
                f'every step is done, but the observed world lacks {" and ".join(unmet)}',
                ErrorCode.GOAL_MISMATCH,
            )
        left = self._monitors.texts(self._monitors.unsatisfied(self._standing))
        if self._clocks:
            open_ = (each for each in self._clocks if not each.satisfied)
            left = tuple(constraint_text(each.constraint) for each in open_)
        if left:
            raise RobotError(
                f'every step is done, but the observed world never satisfied {" ".join(left)}',
                ErrorCode.MONITOR_VIOLATION,
            )

    def standings(self) -> tuple[tuple[str, Status], ...]:
        """Each constraint as PDDL text, and where it stands in the last observed state."""
        if self._clocks:
            return tuple((constraint_text(each.constraint), each.status) for each in self._clocks)
        return tuple(
            (constraint_text(monitor.constraint), monitor.status(self._standing))
            for monitor in self._monitors.monitors
        )

    def remaining(self) -> Problem | None:
        """The rest of the task from the last observed state on.

        None where that is not known, or a constraint is broken, so that nothing is left to ask, or
        something counts seconds (`tied_to_clock`).
        """
        if self.observed is None or self._monitors.broken(self._standing):
            return None
        if tied_to_clock(self.problem):
            return None
        return remaining_problem(
            self.problem, self._monitors, self._standing, self.observed, self.looks - 1
        )


class TimedRunMonitor(RunMonitor):
    """The same for a plan that needs its times: a step is a moment of it, see `pddl.moments`.

    What an action needs over all of its time has to be observed at each look while it runs.
    """

    def __init__(
        self, problem: Problem, plan: Plan, now: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(problem, plan, now)
        self._timed = TimedActions(problem, fold_static=False)
        self._steps = steps_of_plan(plan, problem.timed)
        self._moments = [moment for step in self._steps if (moment := moment_of(step))]
        self._running: list[Step] = []

    def _rules(self) -> Problem:
        return replace(self.problem, timed=())  # literals are seen as they come

    def _advance(self) -> str:
        table, moment = self._timed.table, self._moments[self.looks - 1]
        for kind, step, _ in moment.happenings:
            if kind == START:
                self._running.append(step)
            elif kind == END:
                self._running.remove(step)
        actions = self._timed.of_moment(moment)
        self._predicted = table.decode(self._timed.after(actions, table.encode(self._predicted)))
        return self._under_way()

    def _under_way(self) -> str:
        return f'step {self.looks} {" ".join(map(str, self._steps[self.looks - 1]))}'

    def _check_lasting(self, observed: State, moment: str) -> None:
        state = self._timed.table.encode(observed)
        for step in self._running:
            during = self._timed.during(step)
            if not during.applicable(state):
                lacks = ' and '.join(self._timed.missing(during, state)[0])
                raise RobotError(
                    f'{moment} {step} runs and needs {lacks} all the time, which is not observed: '
                    f'{_LOOK}',
                    ErrorCode.MONITOR_VIOLATION,
                )

    def remaining(self) -> None:
        """Nothing: no task begins amid actions."""


def may_replan(error: ErrorCode, replan: bool) -> bool:
    """Whether a goal that ends so may be planned again: a broken constraint never may."""
    return replan and error is ErrorCode.STATE_MISMATCH


def check_atoms(problem: Problem, observed: State) -> None:
    """Refuses what is not a state of the task: nothing could be said about it.

    Raises:
        SafegenError: `STATE_MISMATCH`, with the atom.
    """
    objects, domain = problem.objects, problem.domain
    predicates = domain.predicates
    if domain.durative:
        predicates = {**predicates, **remembered_predicates(domain)}
    for fact in observed:
        atom, kinds = fact, predicates.get(fact[0])
        if is_value(fact):
            atom = told_value(fact)[0]
            kinds = domain.functions.get(atom[0])
        known = kinds is not None and len(kinds) == len(atom) - 1
        if not known or any(name not in objects for name in atom[1:]):
            raise SafegenError(
                f'{atom_text(fact)} is observed, and is not an atom of problem '
                f'{problem.name}: observe the predicates of its domain',
                ErrorCode.STATE_MISMATCH,
            )


OBLIGATIONS = frozenset(('sometime', 'sometime-after', 'at end'))
"""What no state can break: a plan that is not at its end yet need not have done it."""


def tied_to_clock(problem: Problem) -> str:
    """Why no other plan may go on in the middle of a run; empty where one may.

    A plan is proved on a clock that starts with it. How long planning takes is not known before.
    """
    timed = [constraint_text(each) for each in problem.constraints if each.exact and not each.times]
    timed += map(timed_text, problem.timed)
    if not timed:
        return ''
    return f'no other plan may go on, since {timed[0]} counts seconds from the start of the run'


def refuse_clocked(problem: Problem) -> None:
    """Raises `SafegenError` where no other plan may go on in the middle of a run."""
    if clocked := tied_to_clock(problem):
        raise SafegenError(f'{clocked}: run the whole plan', ErrorCode.UNSUPPORTED_FEATURE)


def remaining_problem(
    problem: Problem, monitors: MonitorSet, standing: Standing, state: State, time: int
) -> Problem:
    """The rest of a problem: from a state on, with its remaining constraints.

    Preferences are about the whole plan, and are left out.

    Args:
        time: the number of steps that led there.

    Raises:
        ValueError: a constraint is violated, so that nothing can be asked any more.
        SafegenError: something in it counts seconds.
    """
    domain = problem.domain
    refuse_clocked(problem)
    if domain.constraint_tree is not None:  # its constraints are among those that are progressed
        domain = replace(domain, constraint_tree=None)
    constraints = remaining_constraints(monitors, standing, time)
    whole = without_wishes(replace(problem, domain=domain, constraints=constraints))
    return replace(whole, init=state)


def remaining_constraints(
    monitors: MonitorSet, standing: Standing, time: int
) -> tuple[Constraint, ...]:
    """What constraints still ask of the states from the present one on, which is s0 for them.

    Args:
        time: the number of steps that led there.

    Raises:
        ValueError: a constraint is violated.
    """
    found: list[Constraint] = []
    for monitor in monitors.monitors:
        if monitor.status(standing) is Status.VIOLATED:
            raise ValueError(f'nothing remains of a broken constraint: {monitor.explain()}')
        value = (standing >> monitor.shift) & monitor.limit
        found += _remaining(monitor, value, time)
    return tuple(dict.fromkeys(found))


def _remaining(monitor: ConstraintMonitor, value: int, time: int) -> list[Constraint]:
    """See `monitors` for the meaning of the values of each automaton."""
    own = monitor.constraint
    operator, first, last = own.operator, own.arguments[0], own.arguments[-1]
    if operator in ('sometime', 'within', 'sometime-before') and value == 1:
        return []
    if operator == 'within':
        return [replace(own, times=(own.times[0] - time,))]
    if operator == 'at-most-once' and value == 2:
        return [replace(own, operator='always', arguments=(Not(first),))]
    if operator == 'sometime-after' and value == 1:
        return [own, replace(own, operator='sometime', arguments=(last,))]
    if operator == 'always-within' and value:
        left = own.times[0] - (value - 1)
        return [own, replace(own, operator='within', arguments=(last,), times=(left,))]
    if operator in ('hold-during', 'hold-after'):
        times = tuple(max(0, each - time) for each in own.times)
        over = operator == 'hold-during' and not times[1]
        return [] if over else [replace(own, times=times)]
    return [own]
