# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The places that plans of durative actions lead to: states and all that runs.

Plans for one problem share most of their way: following a happening that was followed before is one
look-up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from decimal import Decimal

from safegen_ros.pddl.bits import no_tick
from safegen_ros.pddl.ground import GroundAction, goal_tests
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Step
from safegen_ros.pddl.writer import constraint_text
from safegen_ros.verify.clocked import TIMED, Clocked, clocked
from safegen_ros.verify.monitors import ConstraintMonitor, MonitorSet, Standing
from safegen_ros.verify.timed_actions import TimedActions

_MOST_KEPT = 8192  # places, moves between them, and steps with durations
_MOST_VALUES = 50_000  # tuples of numbers; some tens of megabytes


@dataclass(frozen=True, slots=True, eq=False)
class TimedHappening:
    """The start or the end of a step, a step that takes no time, or the literals of a time.

    The same steps with the same durations have the same happenings, in all plans of a problem.

    Attributes:
        which: of its step, `the start of ` or `the end of `; empty for a step without a duration.
        duration: of its step [s], of a start.
        during: what its step asks for until it ends, of a start.
        begin: the start of its step, of an end.
    """

    action: GroundAction
    which: str = ''
    duration: Decimal = Decimal(0)
    during: GroundAction | None = None
    begin: TimedHappening | None = None


PlanEntry = tuple[Decimal, int, TimedHappening]
"""A happening of a plan: its time [s], the number of its step (-1 for literals), what happens."""


Move = TimedHappening | tuple[TimedHappening, ...]
"""What happens at one moment."""


class TimedPlace:
    """A state with where the automata stand and which steps run, and the places that follow it."""

    __slots__ = ('after', 'good', 'held', 'lasting', 'standing', 'state', 'through')

    def __init__(
        self, state: int, standing: Standing, lasting: tuple[TimedHappening, ...], held: bool
    ) -> None:
        self.state = state
        self.standing = standing  # of the constraints without times
        self.lasting = lasting  # the starts of the steps that run
        self.good = False  # whether goal and constraints without times are known to hold here
        self.held = held  # whether what they ask for all the time holds here
        self.after: dict[Move, TimedPlace] = {}
        # What a whole step of some duration leads to, if nothing happens beside it.
        self.through: dict[tuple[Step, Decimal], tuple[TimedPlace, TimedPlace]] = {}


class TimedPlaces:
    """The places of one problem, as far as plans have led to them.

    Attributes:
        problem: the problem.
        actions: its actions over time.
        goals: what must hold in the end, with its test.
        monitors: the constraints without times.
        timed: the numbers of the constraints with times, in order.
        untimed: those of the others, by the shifts of their monitors.
        start: the place of the initial state.
        literals: the timed literals.
        known: the happenings of steps with durations.
    """

    def __init__(self, problem: Problem, tick: Callable[[], None] = no_tick) -> None:
        self.problem = problem
        self.actions = TimedActions(problem, tick=tick)
        table = self.actions.table
        self.goals = goal_tests(problem, table)
        state = table.encode(problem.init)
        timed = {n: c for n, c in enumerate(problem.constraints) if c.operator in TIMED}
        untimed = {n: c for n, c in enumerate(problem.constraints) if n not in timed}
        self._clocks = clocked(replace(problem, constraints=tuple(timed.values())), table)
        timeless = replace(problem.domain, durative={})
        self.monitors = MonitorSet(
            replace(problem, domain=timeless, constraints=tuple(untimed.values()), timed=()), table
        )
        self.timed = tuple(timed)
        self.untimed = {
            monitor.shift: number
            for number, monitor in zip(untimed, self.monitors.monitors, strict=True)
        }
        self._told: dict[int, tuple[str, str]] = {}
        self.start = TimedPlace(state, self.monitors.start(state), (), True)
        for each in self._clocks:
            each.see(Decimal(0), state)
        self.literals: list[PlanEntry] = [
            (time, -1, TimedHappening(action)) for time, action in self.actions.literals
        ]
        self._places: dict[tuple[int, Standing, tuple[TimedHappening, ...]], TimedPlace] = {}
        self._moves = 0
        self.known: dict[tuple[Step, Decimal], tuple[TimedHappening, ...]] = {}

    def told(self, number: int) -> tuple[str, str]:
        """A constraint as PDDL, and why it is not satisfied."""
        found = self._told.get(number)
        if found is None:
            constraint = self.problem.constraints[number]
            watching: list[Clocked | ConstraintMonitor] = [*self._clocks, *self.monitors.monitors]
            reason = next(each.explain() for each in watching if each.constraint == constraint)
            found = self._told[number] = constraint_text(constraint), reason
        return found

    def clocks(self) -> list[Clocked]:
        """The constraints with times in the initial state, for one plan."""
        return list(map(copy, self._clocks))

    @property
    def full(self) -> bool:
        """Whether so many numbers were met that it is time to start over."""
        numbers = self.actions.table.numbers
        return numbers is not None and len(numbers) > _MOST_VALUES

    def tidy(self) -> None:
        """Forgets the places if there are many; a plan that is followed needs its own."""
        if max(self._moves, len(self._places), len(self.known)) >= _MOST_KEPT:
            for place in self._places.values():  # they lead to each other in circles
                place.after.clear()
                place.through.clear()
            self.start.after.clear()
            self.start.through.clear()
            self._places.clear()
            self.known.clear()
            self._moves = 0
            self.actions.forget()

    def happenings(self, step: Step, duration: Decimal) -> tuple[TimedHappening, ...]:
        """What a step that takes some time [s] is made of, in order."""
        first, *last = self.actions.happenings(step, duration)
        found: tuple[TimedHappening, ...] = (TimedHappening(first),)
        if last:
            start = TimedHappening(first, 'the start of ', duration, self.actions.during(step))
            found = start, TimedHappening(last[0], 'the end of ', begin=start)
        self.known[step, duration] = found
        return found

    def place(self, before: TimedPlace, happenings: Sequence[TimedHappening]) -> TimedPlace:
        """The place after what happens at one moment, which is possible there."""
        state = self.actions.after((each.action for each in happenings), before.state)
        lasting = list(before.lasting)
        for each in happenings:
            if each.begin is not None:
                lasting.remove(each.begin)
        lasting += [each for each in happenings if each.during is not None]
        standing = self.monitors.progress(before.standing, state, before.state ^ state)
        key = state, standing, tuple(lasting)
        found = self._places.get(key)
        if found is None:
            held = all(each.during is None or each.during.applicable(state) for each in lasting)
            found = self._places[key] = TimedPlace(*key, held)
        return found

    def remember(self, before: TimedPlace, move: Move, after: TimedPlace) -> None:
        """Keeps a move that another plan may make, too."""
        if self._moves < _MOST_KEPT:
            self._moves += 1
            before.after[move] = after

    def remember_step(
        self, before: TimedPlace, step: tuple[Step, Decimal], after: tuple[TimedPlace, TimedPlace]
    ) -> None:
        """Keeps where a step with its duration leads if nothing happens beside it."""
        if self._moves < _MOST_KEPT:
            self._moves += 1
            before.through[step] = after
