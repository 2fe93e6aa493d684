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
from typing import Any

from safegen_ros.pddl.bits import no_tick
from safegen_ros.pddl.ground import GroundAction, goal_tests
from safegen_ros.pddl.model import Moment, Problem
from safegen_ros.pddl.plan import Step
from safegen_ros.pddl.writer import constraint_text, formula_text
from safegen_ros.verify.clocked import TIMED, Clocked, clocked
from safegen_ros.verify.monitors import ConstraintMonitor, MonitorSet, Standing
from safegen_ros.verify.timed_actions import TimedActions

_MOST_KEPT = 8192  # places, moves between them, and steps with durations
_MOST_VALUES = 50_000  # tuples of numbers; some tens of megabytes


@dataclass(slots=True, eq=False)  # see `GroundAction`
class TimedHappening:
    """The start or the end of a step, a step that takes no time, or the literals of a time.

    The same steps with the same durations have the same happenings, in all plans of a problem.

    Attributes:
        which: of its step, `the start of ` or `the end of `; empty for a step without a duration.
        duration: of its step [s], of a start.
        during: what its step asks for until it ends, of a start.
        fits: whether its step may have this duration in every state.
        begin: the start of its step, of an end.
        end: the end of its step, of a start; None until asked for.
    """

    action: GroundAction
    which: str = ''
    duration: Decimal = Decimal(0)
    during: GroundAction | None = None
    fits: bool = True
    begin: TimedHappening | None = None
    end: TimedHappening | None = None


PlanEntry = tuple[Decimal, int, TimedHappening]
"""A happening of a plan: its time [s], the number of its step (-1 for literals), what happens."""


Move = TimedHappening | tuple[TimedHappening, ...]
"""What happens at one moment."""


_NOTHING: dict[Any, Any] = {}  # most places lead nowhere, and what is made counts for collections


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
        self.after: dict[Move, TimedPlace] = _NOTHING
        # What a whole step of some duration leads to, if nothing happens beside it.
        self.through: dict[tuple[Step, Decimal], Through] = _NOTHING


Through = tuple[TimedPlace, TimedPlace]
"""The places after the start and the end of a step."""


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
        lasting: whether every action takes time.
        crowded: whether so much is kept that it is time to start over.
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
        self._moves, self.crowded = 0, False
        self._starts: dict[tuple[Step, Decimal], TimedHappening] = {}
        self.sequential = not (timed or self.literals)
        self.lasting = len(problem.domain.durative) == len(problem.domain.actions)

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
            self.crowded |= len(self._starts) >= _MOST_KEPT
        return found

    def end(self, step: Step, begin: TimedHappening) -> TimedHappening:
        """The end of a step."""
        if begin.end is None:
            action = self.actions.ground(step, Moment.AT_END, begin.duration)
            begin.end = TimedHappening(action, 'the end of ', begin=begin)
        return begin.end

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
            found = self._add(TimedPlace(*key, held))
        return found

    def _add(self, place: TimedPlace) -> TimedPlace:
        numbers = self.actions.table.numbers
        self._places[place.state, place.standing, place.lasting] = place
        self.crowded |= len(self._places) >= _MOST_KEPT
        self.crowded |= numbers is not None and len(numbers) > _MOST_VALUES
        return place

    def through(self, before: TimedPlace, move: tuple[Step, Decimal]) -> Through | None:
        """What a step that takes some time leads to, beside which nothing happens.

        Returns:
            None if it is not a step of the problem or cannot be done, or that depends on more than
            its happenings.
        """
        begin = self._starts.get(move)
        if begin is None:
            try:
                self.actions.check(move[0])
            except (KeyError, ValueError):
                return None
            begin = self.begin(*move)
        state, during = before.state, begin.during
        if not begin.fits or during is None or not begin.action.applicable(state):
            return None
        between = begin.action.apply(state)
        end = self.end(move[0], begin).action
        if not end.applicable(between) or not during.applicable(between):
            return None
        standing = self.monitors.progress(before.standing, between, state ^ between)
        middle = TimedPlace(between, standing, (begin,), True)
        state = end.apply(between)
        standing = self.monitors.progress(standing, state, state ^ between)
        place = self._places.get((state, standing, ()))
        if place is None:
            place = self._add(TimedPlace(state, standing, (), True))
        found = middle, place
        before.through = before.through or {}
        before.through[move] = found
        self.count_move()
        return found

    def count_move(self) -> None:
        """Counts a move that is kept for other plans."""
        self._moves += 1
        self.crowded |= self._moves >= _MOST_KEPT
