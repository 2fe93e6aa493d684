# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Divide and conquer: sub-goals planned in order, put together, and the whole proved.

The hierarchy of SafePilot (arXiv 2603.21523) for any PDDL3 domain. Each part is a problem of its
own: from the state reached, to the sub-goals reached plus the next, over the objects that matter.
Its constraints are those of the whole with what has happened counted in, which PDDL3 can say (see
`planning.remaining`); only what no state can break, `sometime` and its like, is left to the end.
So a planner that knows nothing of the whole, a small model for instance, can plan a part.

What comes back is data, whoever made it. It is followed step by step by the shield of the whole
problem, with the whole's constraints where they stand at that moment, and dropped with the first
step that is not admissible. What is put together is proved once more by the validator, and nothing
else is ever returned.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from safegen_ros.errors import BackendError, Canceled, ErrorCode, SafegenError
from safegen_ros.pddl.bits import compile_test
from safegen_ros.pddl.model import And, Problem, State
from safegen_ros.pddl.plan import Plan
from safegen_ros.pddl.writer import formula_text
from safegen_ros.planning.hierarchy.agenda import PASSING, SubGoal, agendas
from safegen_ros.planning.hierarchy.scope import ScopeTooSmall, named, restricted, scopes
from safegen_ros.planning.hierarchy.survey import Survey
from safegen_ros.planning.remaining import OBLIGATIONS, remaining_problem
from safegen_ros.search.budget import Budget
from safegen_ros.search.solve import MEMORY_LIMIT_MB
from safegen_ros.search.task import no_plan
from safegen_ros.verdict import Verdict
from safegen_ros.verify.admissible import Shield, Situation
from safegen_ros.verify.monitors import Standing
from safegen_ros.verify.validator import Validator

PlanPart = Callable[[Problem, float, Callable[[], bool]], Plan]
"""Plans a part: the problem, its time [s] and the cancel question; returns a plan or raises a
`SafegenError`. A `BackendError` ends it all: who cannot answer is not asked again."""

_SHARE = 0.25  # of the time left that one try of a part may take
_LONGEST = 500  # characters of a failure in a message


@dataclass(frozen=True, slots=True)
class Part:
    """A part that was planned and followed.

    Attributes:
        goals: the sub-goals that it added, as PDDL; empty for what only constraints asked for.
        objects: number of objects of the problem that was put.
        plan: its steps.
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
        plan: the whole.
        verdict: the validator's verdict on it, `SUCCESS`.
        parts: its parts in order.
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
    memory_limit_mb: float = MEMORY_LIMIT_MB,
) -> Division:
    """Plans the sub-goals of a problem in order.

    A part that fails is tried with more objects, then together with the sub-goals that follow it,
    twice as many each time. When all that is left fails as one part, another order is tried, and at
    last the whole as one part.

    Args:
        problem: what to plan.
        plan_part: plans a part; it has a quarter of the time that is left, and is expected to
            stop when told.
        time_limit_s: wall-clock limit of everything [s].
        cancelled: whether the caller wants to stop.
        max_tries: how often `plan_part` may be asked.
        memory_limit_mb: most memory for looking at the problem [MiB].

    Raises:
        Unsolvable: there is no plan, as the relaxed problem shows.
        Canceled: `cancelled` said so.
        BackendError: the planner of parts cannot answer.
        SafegenError: time or memory was used up (`PLANNING_TIMEOUT`), or the tries, or the orders
            (`ATTEMPTS_EXHAUSTED`); the validator refuses what the shield let through
            (`PLAN_REFUSED`).
    """
    return _Conquest(
        problem, plan_part, Budget(time_limit_s, memory_limit_mb, cancelled), cancelled, max_tries
    ).run()


class _Conquest:
    """The state of one run of `divide_and_conquer`."""

    def __init__(
        self,
        problem: Problem,
        plan_part: PlanPart,
        budget: Budget,
        cancelled: Callable[[], bool],
        max_tries: int,
    ) -> None:
        self._problem = problem
        self._plan_part = plan_part
        self._budget = budget
        self._cancelled = cancelled
        self._max_tries = max_tries
        self._tries = 0
        self._failures: list[str] = []
        self._survey = Survey(problem, budget)
        self._shield = Shield(problem)

    def run(self) -> Division:
        task = self._survey.task
        if self._survey.steps(self._problem.init, task.start) is None:
            raise no_plan(task, 'which shows before any search')
        for agenda in agendas(task, self._budget):
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
                f'the shield followed the parts to the goal, and the validator says of the whole '
                f'{verdict.category.name}: {verdict.reason}',
                ErrorCode.PLAN_REFUSED,
            )
        return Division(plan, verdict, tuple(parts), tuple(self._failures), self._budget.seconds)

    def _conquer(self, agenda: Sequence[SubGoal]) -> list[Part]:
        """The parts of a plan that takes up sub-goals in order."""
        moment = _Moment(self._shield.start, 0)
        parts: list[Part] = []
        done = 0
        while done < len(agenda) or not self._shield.finished(moment.situation):
            if done < len(agenda) and self._are_done(agenda[: done + 1], moment):
                done += 1
            else:
                part, moment, done = self._next_part(agenda, done, moment)
                parts.append(part)
        return parts

    def _are_done(self, goals: Sequence[SubGoal], moment: _Moment) -> bool:
        """Whether goals hold, and what must hold at some time has held."""
        state = self._survey.task.table.encode(self._shield.state(moment.situation))
        rest = self._rest(moment).constraints
        owed = [c.arguments[0] for c in rest if c.operator in PASSING]
        return all(
            compile_test(goal.condition)(state) if goal.kept else goal.formula not in owed
            for goal in goals
        )

    def _next_part(
        self, agenda: Sequence[SubGoal], done: int, moment: _Moment
    ) -> tuple[Part, _Moment, int]:
        """The part with the next sub-goals, as few as will do; where it leads, what is done then.

        Raises:
            _Failed: there is no plan even for all of them at once.
        """
        started, tries = time.monotonic(), self._tries
        size = 1
        while True:
            end = min(done + size, len(agenda))
            for problem in self._problems(agenda, done, end, moment):
                plan = self._ask(problem)
                after = None if plan is None else self._followed(plan, moment)
                if plan is None or after is None:
                    continue
                if not self._is_reached(agenda, end, after):
                    self._failures.append('the plan of a part ends short of its goal')
                    continue
                if self._survey.steps(*self._seen(after)) is None:
                    # What the rest lacks is not asked of this part: more objects would not help.
                    self._failures.append('behind the plan of a part there is none for the rest')
                    break
                goals = tuple(formula_text(goal.formula) for goal in agenda[done:end])
                seconds = time.monotonic() - started
                tries = self._tries - tries
                return Part(goals, len(problem.objects), plan, tries, seconds), after, end
            if end == len(agenda):
                raise _Failed
            size *= 2

    def _is_reached(self, agenda: Sequence[SubGoal], end: int, moment: _Moment) -> bool:
        if end == len(agenda):
            return self._shield.finished(moment.situation)
        return self._are_done(agenda[:end], moment)

    def _problems(
        self, agenda: Sequence[SubGoal], done: int, end: int, moment: _Moment
    ) -> Iterator[Problem]:
        """The problem of a part over more and more objects."""
        group, last = agenda[done:end], end == len(agenda)
        rest = self._rest(moment)
        if not last:
            rest = _part_problem(rest, agenda[:end], group)
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


def _part_problem(rest: Problem, agenda: Sequence[SubGoal], group: Sequence[SubGoal]) -> Problem:
    """What remains, to be solved as far as a part goes.

    Args:
        rest: what remains of the whole.
        agenda: the sub-goals that have to be done behind the part.
        group: those of them that are its own.
    """
    goals = [goal.formula for goal in agenda if goal.kept]
    passing = [goal.formula for goal in group if not goal.kept]
    if len(group) == len(passing) == 1:
        goals += passing  # a goal is what any planner can be asked for
    constraints = tuple(
        c
        for c in rest.constraints
        if c.operator not in OBLIGATIONS or (c.operator in PASSING and c.arguments[0] in passing)
    )
    return replace(rest, goal=And(tuple(goals)), constraints=constraints)
