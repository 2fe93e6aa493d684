# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Divide and conquer: sub-goals planned in order, put together, and the whole proved.

The hierarchy of SafePilot (arXiv 2603.21523) for any PDDL3 domain. Each part is a separate problem:
from the state reached, to the sub-goals reached plus the next, over the objects that matter. Its
constraints are those of the whole after the past states, which PDDL3 can state (see
`verify.remaining`); only those that no state can break, `sometime` and its like, are left to the
end. So a planner that knows nothing of the whole, a small model for instance, can plan a part.

The plan of a part is data, from any planner. The shield of the whole problem follows it step by
step, with the current constraints of the whole. It is dropped at the first step that is not
admissible. The joined plan is proved once more by the validator, and nothing else is ever returned.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from safegen_ros.errors import BackendError, Canceled, ErrorCode, SafegenError
from safegen_ros.pddl.bits import compile_test
from safegen_ros.pddl.deciding import refuse_numbers
from safegen_ros.pddl.model import And, Constraint, Problem, State
from safegen_ros.pddl.plan import Plan
from safegen_ros.pddl.writer import formula_text
from safegen_ros.search.budget import Budget, Unsolvable
from safegen_ros.search.solve import MEMORY_LIMIT_MB
from safegen_ros.tasks.pddl3.planning.hierarchy.goal_ordering import (
    LASTING,
    PASSING,
    OrderedGoal,
    atoms_of,
    goal_orders,
)
from safegen_ros.tasks.pddl3.planning.hierarchy.relaxed_analysis import RelaxedAnalysis
from safegen_ros.tasks.pddl3.planning.hierarchy.scope import (
    ScopeTooSmall,
    named,
    restricted,
    scopes,
)
from safegen_ros.verdict import Verdict
from safegen_ros.verify.admissible import Shield, Situation
from safegen_ros.verify.monitors import Standing
from safegen_ros.verify.run_monitor import OBLIGATIONS, remaining_problem
from safegen_ros.verify.validator import Validator

PlanPart = Callable[[Problem, float, Callable[[], bool]], Plan]
"""Plans a part: the problem, its time [s] and the cancel question; returns a plan or raises a
`SafegenError`. A `BackendError` ends it all: who cannot answer is not asked again."""

_SHARE = 0.25  # of the time left that one try of a part may take
_PUT_OFF = 8  # sub-goals that are tried before one that shuts out the rest
_LONGEST = 500  # characters of a failure in a message


@dataclass(frozen=True, slots=True)
class Part:
    """A part that was planned and followed.

    Attributes:
        goals: the sub-goals that it added, as PDDL; empty where only constraints required some.
        objects: number of objects of the problem that was put.
        tries: how often a planner was asked until it was done.
        seconds: wall-clock time of all tries [s].
    """

    goals: tuple[str, ...]
    objects: int
    plan: Plan
    tries: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Division:
    """A plan put together from parts, and proved.

    Attributes:
        verdict: the validator's verdict on it, `SUCCESS`.
        failures: what went wrong on the way, in order; not part of the plan.
        seconds: wall-clock time [s].
    """

    plan: Plan
    verdict: Verdict
    parts: tuple[Part, ...]
    failures: tuple[str, ...]
    seconds: float


class _Failed(Exception):
    """Sub-goals in some order have led to no plan."""


class _Moment(NamedTuple):
    """How far the whole has been planned."""

    situation: Situation
    steps: int


def divide_and_conquer(
    problem: Problem,
    plan_part: PlanPart,
    *,
    time_limit_s: float,
    cancelled: Callable[[], bool] = lambda: False,
    max_tries: int = 200,
) -> Division:
    """Plans the sub-goals of a problem in order.

    A part that fails is tried with more objects, then together with the sub-goals that follow it,
    twice as many each time. One whose plan shuts out the rest is put off behind another one first.
    When all that is left fails as one part, another order is tried, and at last the whole as one
    part.

    Args:
        plan_part: plans a part; it has a quarter of the time that is left, and is expected to
            stop when told.
        time_limit_s: wall-clock limit of everything [s].
        max_tries: how often `plan_part` may be asked.

    Raises:
        Unsolvable: there is no plan, as the relaxed problem shows.
        Canceled: `cancelled` said so.
        BackendError: the planner of parts cannot answer.
        SafegenError: time or memory was used up (`PLANNING_TIMEOUT`), or the tries, or the orders
            (`ATTEMPTS_EXHAUSTED`); the validator refuses what the shield let through
            (`PLAN_REFUSED`); plans depend on numbers (`UNSUPPORTED_FEATURE`).
    """
    refuse_numbers(problem, 'the division into parts', 'use another planner')
    return _Conquest(
        problem, plan_part, Budget(time_limit_s, MEMORY_LIMIT_MB, cancelled), cancelled, max_tries
    ).run()


@dataclass
class _Conquest:
    """The state of one run of `divide_and_conquer`."""

    _problem: Problem
    _plan_part: PlanPart
    _budget: Budget
    _cancelled: Callable[[], bool]
    _max_tries: int

    def __post_init__(self) -> None:
        self._tries = 0
        self._failures: list[str] = []
        self._survey = RelaxedAnalysis(self._problem, self._budget)
        self._shield = Shield(self._problem)

    def run(self) -> Division:
        task = self._survey.task
        if self._survey.steps(self._problem.init, task.start) is None:
            raise Unsolvable(task.problem.name, 'that is proved before any search')
        resource_goals = self._survey.resource_goals(atoms_of(task))
        for agenda in goal_orders(task, self._budget, resource_goals):
            try:
                return self._proved(self._conquer(agenda))
            except _Failed:
                continue
        raise self._given_up('no order of its sub-goals led to a plan, nor the whole at once')

    def _proved(self, parts: Sequence[Part]) -> Division:
        plan = Plan(tuple(step for part in parts for step in part.plan.steps))
        verdict = Validator(self._problem).verify(plan)  # which knows nothing of the parts
        if not verdict.ok:
            raise SafegenError(
                f'the shield followed the parts to the goal, and the verdict on the whole plan is '
                f'{verdict.category.name}: {verdict.reason}',
                ErrorCode.PLAN_REFUSED,
            )
        return Division(plan, verdict, tuple(parts), tuple(self._failures), self._budget.seconds)

    def _conquer(self, agenda: Sequence[OrderedGoal]) -> list[Part]:
        """The parts of a plan that takes up sub-goals in order."""
        moment = _Moment(self._shield.start, 0)
        parts: list[Part] = []
        done = 0
        while done < len(agenda) or not self._shield.finished(moment.situation):
            if done < len(agenda) and self._are_done(agenda[: done + 1], moment):
                done += 1
            else:
                part, moment, agenda = self._next_part(agenda, done, moment)
                done += len(part.goals)
                parts.append(part)
        return parts

    def _are_done(self, goals: Sequence[OrderedGoal], moment: _Moment) -> bool:
        """Whether goals hold, and what must hold at some time has held; see `_due`."""
        state = self._survey.task.table.encode(self._shield.state(moment.situation))
        rest = self._rest(moment).constraints
        owed = [c.arguments[0] for c in rest if c.operator in PASSING]
        return all(
            compile_test(goal.condition)(state) if goal.kept else goal.formula not in owed
            for goal in _due(goals)
        )

    def _next_part(
        self, agenda: Sequence[OrderedGoal], done: int, moment: _Moment
    ) -> tuple[Part, _Moment, Sequence[OrderedGoal]]:
        """The part with the next sub-goals, as few as will do; where it leads, and their order.

        One that shuts out the rest is put off, where another may come first.

        Raises:
            _Failed: there is no plan even for all of them at once.
        """
        started, tries = time.monotonic(), self._tries
        size = 1
        while True:
            end = min(done + size, len(agenda))
            for order in self._orders(agenda, done, moment) if size == 1 else (agenda,):
                found, shut = self._part(order, done, end, moment)
                if found is not None:
                    objects, plan, after = found
                    goals = tuple(formula_text(goal.formula) for goal in order[done:end])
                    seconds = time.monotonic() - started
                    return Part(goals, objects, plan, self._tries - tries, seconds), after, order
                if not shut:
                    break
            if end == len(agenda):
                raise _Failed
            size *= 2

    def _orders(
        self, agenda: Sequence[OrderedGoal], done: int, moment: _Moment
    ) -> Iterator[Sequence[OrderedGoal]]:
        """An agenda, then with each of some others of its open sub-goals as the next one."""
        yield agenda
        if agenda[done : done + 1] and agenda[done].ready:
            return  # what is ready has to be so before all else
        open_ones = [
            place
            for place in range(done, len(agenda))
            if not self._are_done([agenda[place]], moment)
        ]
        formulas = {agenda[place].formula for place in open_ones}
        others = [place for place in open_ones[1:] if not agenda[place].waits & formulas]
        for place in others[:_PUT_OFF]:
            yield [*agenda[:done], agenda[place], *agenda[done:place], *agenda[place + 1 :]]

    def _part(
        self, agenda: Sequence[OrderedGoal], done: int, end: int, moment: _Moment
    ) -> tuple[tuple[int, Plan, _Moment] | None, bool]:
        """A plan for some sub-goals, over how many objects, and where it leads.

        Returns:
            None for them without a plan, and whether the rest has no plan.
        """
        for problem in self._problems(agenda, done, end, moment):
            plan = self._ask(problem)
            after = None if plan is None else self._followed(plan, moment)
            if plan is None or after is None:
                continue
            if not self._is_reached(agenda, end, after):
                self._failures.append('the plan of a part ends short of its goal')
                continue
            if self._survey.steps(*self._seen(after)) is not None:
                return (len(problem.objects), plan, after), False
            # What the rest lacks is not asked of this part: more objects would not help.
            self._failures.append('behind the plan of a part there is none for the rest')
            return None, True
        return None, False

    def _is_reached(self, agenda: Sequence[OrderedGoal], end: int, moment: _Moment) -> bool:
        if end == len(agenda):
            return self._shield.finished(moment.situation)
        return self._are_done(agenda[:end], moment)

    def _problems(
        self, agenda: Sequence[OrderedGoal], done: int, end: int, moment: _Moment
    ) -> Iterator[Problem]:
        """The problem of a part over more and more objects."""
        group, last = agenda[done:end], end == len(agenda)
        rest = self._rest(moment)
        if not last:
            rest = _part_problem(rest, agenda, done, end)
        wanted = None if last else [goal.condition for goal in group]
        objects = self._survey.objects(*self._seen(moment), wanted)
        if objects is None:
            return
        for goal in group:
            objects |= named(goal.formula, rest.objects)
        for scope in scopes(rest, objects):
            try:
                yield restricted(rest, scope)
            except ScopeTooSmall as error:
                self._failures.append(error.message)

    def _rest(self, moment: _Moment) -> Problem:
        state, standing = self._seen(moment)
        return remaining_problem(
            self._problem, self._shield.monitors, standing, state, moment.steps
        )

    def _seen(self, moment: _Moment) -> tuple[State, Standing]:
        return self._shield.state(moment.situation), moment.situation.standing

    def _ask(self, problem: Problem) -> Plan | None:
        """What the planner of parts says; None when it finds no plan."""
        self._check()
        if self._tries == self._max_tries:
            raise self._given_up(f'parts were tried {self._tries} times')
        self._tries += 1
        limit_s = _SHARE * self._budget.left_s
        end = time.monotonic() + limit_s
        try:
            return self._plan_part(
                problem, limit_s, lambda: self._cancelled() or time.monotonic() >= end
            )
        except BackendError:
            raise
        except SafegenError as error:
            self._check()
            self._failures.append(error.message)
            return None

    def _followed(self, plan: Plan, moment: _Moment) -> _Moment | None:
        """Where a plan leads to; None when one of its steps is not admissible in the whole."""
        situation = moment.situation
        for step in plan.steps:
            after = self._shield.after(situation, step)
            if after is None:
                self._failures.append(f'{step} is not admissible where the plan of a part takes it')
                return None
            situation = after
        return _Moment(situation, moment.steps + len(plan))

    def _check(self) -> None:
        """Raises when the caller wants to stop or the time is up; unlike `Budget`, at once."""
        if self._cancelled():
            raise Canceled('planning was cancelled', ErrorCode.PLANNING_CANCELED)
        if self._budget.left_s <= 0:
            raise SafegenError(
                f'problem {self._problem.name}: its parts were not all planned within '
                f'{self._budget.time_limit_s:g} s: allow more time',
                ErrorCode.PLANNING_TIMEOUT,
            )

    def _given_up(self, why: str) -> SafegenError:
        last = self._failures[-1] if self._failures else 'none'
        return SafegenError(
            f'problem {self._problem.name}: {why}; the last failure: {last[:_LONGEST]}: '
            'let another planner plan its parts, or change the goal or the constraints',
            ErrorCode.ATTEMPTS_EXHAUSTED,
        )


def _due(goals: Sequence[OrderedGoal]) -> list[OrderedGoal]:
    """Those of some sub-goals in order that have to be done behind them.

    What only has to be ready is due as long as nothing else has followed.
    """
    last = max((place for place, goal in enumerate(goals) if not goal.ready), default=-1)
    return [goal for place, goal in enumerate(goals) if not goal.ready or place > last]


def _part_problem(rest: Problem, agenda: Sequence[OrderedGoal], done: int, end: int) -> Problem:
    """What remains, to be solved as far as a part goes.

    What a later sub-goal brings about in passing is not asked of this part.
    """
    goals = [goal.formula for goal in _due(agenda[:end]) if goal.kept]
    passing = [goal.formula for goal in agenda[done:end] if not goal.kept]
    if len(passing) == end - done == 1:
        goals += passing  # a goal is what any planner can be asked for
    later = {(goal.formula, goal.kept) for goal in agenda[end:]}

    def is_asked(constraint: Constraint) -> bool:
        first = constraint.arguments[0]
        if constraint.operator in OBLIGATIONS:
            return constraint.operator in PASSING and first in passing
        if constraint.operator in PASSING or constraint.operator == LASTING:
            return (first, constraint.operator == LASTING) not in later
        return True

    constraints = tuple(filter(is_asked, rest.constraints))
    return replace(rest, goal=And(tuple(goals)), constraints=constraints)
