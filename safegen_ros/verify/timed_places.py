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
from typing import TypeVar

from safegen_ros.pddl.bits import no_tick
from safegen_ros.pddl.ground import GroundAction, goal_tests
from safegen_ros.pddl.model import Moment, Problem
from safegen_ros.pddl.plan import Step
from safegen_ros.pddl.writer import constraint_text, formula_text
from safegen_ros.verify.clocked import TIMED, Clocked, clocked
from safegen_ros.verify.monitors import ConstraintMonitor, MonitorSet, Standing
from safegen_ros.verify.timed_actions import EPSILON, EXACT, TimedActions

_MOST_KEPT = 8192  # places, moves between them, and steps with durations
_MOST_VALUES = 50_000  # tuples of numbers; some tens of megabytes


@dataclass(slots=True, eq=False)  # never changed; see `GroundAction`
class TimedHappening:
    """The start or the end of a step, a step that takes no time, or the literals of a time.

    The same steps with the same durations have the same happenings, in all plans of a problem.

    Attributes:
        which: of its step, `the start of ` or `the end of `; empty for a step without a duration.
        duration: of its step [s], of a start.
        during: what its step asks for until it ends, of a start.
        fits: whether its step may have this duration in every state.
        begin: the start of its step, of an end.
    """

    action: GroundAction
    which: str = ''
    duration: Decimal = Decimal(0)
    during: GroundAction | None = None
    fits: bool = True
    begin: TimedHappening | None = None


PlanEntry = tuple[Decimal, int, TimedHappening]
"""A happening of a plan: its time [s], the number of its step (-1 for literals), what happens."""


_Move = TypeVar('_Move')
_After = TypeVar('_After')

Move = TimedHappening | tuple[TimedHappening, ...]
"""What happens at one moment."""


class TimedPlace:
    """A state with where the automata stand and which steps run, and the places that follow it."""

    __slots__ = ('after', 'fraction', 'good', 'held', 'lasting', 'standing', 'state', 'through')

    def __init__(
        self, state: int, standing: Standing, lasting: tuple[TimedHappening, ...], held: bool
    ) -> None:
        self.state = state
        self.standing = standing  # of the constraints without times
        self.lasting = lasting  # the starts of the steps that run
        self.good = False  # whether goal and constraints without times are known to hold here
        self.fraction = -1.0  # of the goal's conjuncts that hold; -1 until asked for
        self.held = held  # whether what they ask for all the time holds here
        self.after: dict[Move, TimedPlace] = {}
        # What a whole step of some duration leads to, if nothing happens beside it.
        self.through: dict[tuple[Step, Decimal], Through] = {}


Through = tuple[TimedPlace, TimedPlace, Decimal]
"""The places after the start and the end of a step, and the time to the next one's start [s]."""


class TimedPlaces:
    """The places of one problem, as far as plans have led to them.

    Attributes:
        problem: the problem.
        actions: its actions over time.
        goals: what must hold in the end, with its text and its test.
        monitors: the constraints without times.
        timed: the numbers of the constraints with times, in order.
        untimed: those of the others, by the shifts of their monitors.
        start: the place of the initial state.
        literals: the timed literals.
        sequential: whether time changes nothing but the order of happenings.
    """

    def __init__(self, problem: Problem, tick: Callable[[], None] = no_tick) -> None:
        self.problem = problem
        self.actions = TimedActions(problem, tick=tick)
        table = self.actions.table
        self.goals = [(each, formula_text(each), test) for each, test in goal_tests(problem, table)]
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
        self._starts: dict[tuple[Step, Decimal], TimedHappening] = {}
        self._ends: dict[TimedHappening, TimedHappening] = {}
        self.sequential = not (timed or self.literals)

    def told(self, number: int) -> tuple[str, str]:
        """A constraint as PDDL, and why it is not satisfied."""
        found = self._told.get(number)
        if found is None:
            constraint = self.problem.constraints[number]
            watching: list[Clocked | ConstraintMonitor] = [*self._clocks, *self.monitors.monitors]
            reason = next(each.explain() for each in watching if each.constraint is constraint)
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
        if max(self._moves, len(self._places), len(self._starts)) >= _MOST_KEPT:
            for place in self._places.values():  # they lead to each other in circles
                place.after.clear()
                place.through.clear()
            self.start.after.clear()
            self.start.through.clear()
            self._places.clear()
            self._starts.clear()
            self._ends.clear()
            self._moves = 0
            self.actions.forget()

    def begin(self, step: Step, duration: Decimal) -> TimedHappening:
        """The start of a step that takes some time [s], or all of a step that takes none."""
        found = self._starts.get((step, duration))
        if found is None:
            actions = self.actions
            if step.action in self.problem.domain.durative:
                action = actions.ground(step, Moment.AT_START, duration)
                during, fits = actions.during(step), actions.fits(step, duration)
                found = TimedHappening(action, 'the start of ', duration, during, fits)
            else:
                (action,) = actions.happenings(step, duration)
                found = TimedHappening(action)
            self._starts[step, duration] = found
        return found

    def end(self, step: Step, begin: TimedHappening) -> TimedHappening:
        """The end of a step."""
        found = self._ends.get(begin)
        if found is None:
            action = self.actions.ground(step, Moment.AT_END, begin.duration)
            found = self._ends[begin] = TimedHappening(action, 'the end of ', begin=begin)
        return found

    def place(self, before: TimedPlace, happenings: Sequence[TimedHappening]) -> TimedPlace:
        """The place after what happens at one moment, which is possible there."""
        if len(happenings) == 1:
            state = happenings[0].action.apply(before.state)
        else:
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

    def through(self, before: TimedPlace, step: Step, duration: Decimal) -> Through | None:
        """What a step leads to, beside which nothing happens.

        Returns:
            None if the step cannot be done, or that depends on more than its happenings.
        """
        begin, state = self.begin(step, duration), before.state
        if not (begin.fits and begin.action.applicable(state)):
            return None
        between = begin.action.apply(state)
        end, during = self.end(step, begin), begin.during
        if not end.action.applicable(between) or not (during and during.applicable(between)):
            return None
        standing = self.monitors.progress(before.standing, between, state ^ between)
        middle = TimedPlace(between, standing, (begin,), True)
        state = end.action.apply(between)
        standing = self.monitors.progress(standing, state, state ^ between)
        place = self._places.get((state, standing, ()))
        if place is None:
            place = self._places[state, standing, ()] = TimedPlace(state, standing, (), True)
        found = middle, place, EXACT.add(duration, EPSILON)
        self.remember(before.through, (step, duration), found)
        return found

    def remember(self, moves: dict[_Move, _After], move: _Move, after: _After) -> None:
        """Keeps a move that another plan may make, too."""
        if self._moves < _MOST_KEPT:
            self._moves += 1
            moves[move] = after
