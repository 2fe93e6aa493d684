# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Proves plans of durative actions over time, as PDDL2.1 (Fox and Long 2003) has it.

The start and the end of each action are happenings. A happening at t needs its conditions in the
state just before t, what happens at the same moment is done together, and the state after it lasts
until the next one. What an action asks for over all of its time holds in every state that lasts
between its start and its end. Two happenings must be `EPSILON` apart when one changes what the
other needs, or undoes its effect: no clock shows
their order. Numbers are exact, and so are
times.

Timed initial literals are happenings, too, also those behind the last step: the world goes on
without the plan, and the goal must hold in the last state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal

from safegen_ros.pddl.bits import no_tick
from safegen_ros.pddl.model import Formula, Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.verdict import BrokenConstraint, Category, Verdict, joined
from safegen_ros.verify.timed_actions import EXACT, TimedActions, seconds_text
from safegen_ros.verify.timed_places import TimedPlaces
from safegen_ros.verify.timed_walk import CannotFollow, TimedWalk


class TemporalProof:
    """Proves plans for one problem with durative actions; its results are kept.

    Args:
        tick: as of `AtomTable`.
    """

    def __init__(self, problem: Problem, tick: Callable[[], None] = no_tick) -> None:
        self._places = TimedPlaces(problem, tick)

    @property
    def actions(self) -> TimedActions:
        """The actions of the problem over time."""
        return self._places.actions

    def verify(
        self, plan: Plan, not_a_step: Callable[[Plan, int], Verdict | None] = lambda plan, at: None
    ) -> Verdict:
        """The verdict on a plan.

        Args:
            plan: the plan; without times its steps follow each other.
            not_a_step: the verdict where a step, from one on, is not an action of the problem.
        """
        if self._places.crowded:
            self._places = TimedPlaces(self._places.problem)
        run = _Run(self._places, plan)
        done = len(run.trail) // 2  # steps, if they follow each other
        if done < len(plan.steps) and (unreadable := not_a_step(plan, done)):
            return unreadable
        try:
            run.prepare()
        except CannotFollow as refused:
            return Verdict(Category.FORMAT_ERROR, str(refused), refused.index, len(plan))
        return run.verdict()


class _Run(TimedWalk):
    """One plan, and the facts for its verdict."""

    _broken: Mapping[int, int] = {}

    def verdict(self) -> Verdict:
        """The verdict; the earliest failure decides, as in `validator`."""
        try:
            self.follow()
        except CannotFollow as refused:
            self._broken = self._find_broken()
            return self._unsafe() if self._broken else self._inapplicable(refused)
        last, end = len(self.trail) - 1, self.trail[-1]
        if not end.good:
            self._broken = self._find_broken()
            if any(state < last for state in self._broken.values()):
                return self._unsafe(ended=True)
            unmet = [(each, told) for each, told, test in self.places.goals if not test(end.state)]
            if unmet:
                return self._short(unmet)
            if self.places.monitors.unsatisfied(end.standing):
                return self._unsafe(ended=True)
            end.good = True
        if self.clocks and not all(each.satisfied for each in self.clocks):
            self._broken = self._find_broken()
            return self._unsafe(ended=True)
        return self._proved()

    def _find_broken(self) -> dict[int, int]:
        """The broken constraints in the order in which they broke, each with the state."""
        monitors, seen = self.places.monitors, 0
        if not self.late and not monitors.broken(self.trail[-1].standing):
            return {}
        found = self.late.copy()
        if monitors.broken(self.trail[-1].standing):
            for state, place in enumerate(self.trail):
                if place.standing != seen:
                    for each in monitors.violated(place.standing):
                        found.setdefault(self.places.untimed[each.shift], (state, False))
                    seen = place.standing
        order = sorted(found, key=lambda number: (found[number], number))
        return {number: found[number][0] for number in order}

    def _numbers(self, formulas: Iterable[Formula], state: int) -> str:
        """The numbers that formulas read in a state, to be put behind a reason."""
        told = self.places.actions.table.told(formulas, self.trail[state].state)
        return f' ({told})' if told else ''

    def _maker(self, state: int) -> int:
        """The first step that made a state; -1 for the initial one, or where none did."""
        made = self.moment_of(state) if state else ()
        return min((index for _, index, _ in made if index >= 0), default=-1)

    def _fraction(self, state: int = -1) -> float:
        place = self.trail[state]
        if place.fraction < 0:
            held = [test(place.state) for _, _, test in self.places.goals]
            place.fraction = sum(held) / len(held) if held else 1.0
        return place.fraction

    def _report(self, number: int, state: int | None = None) -> BrokenConstraint:
        """The verdict on a constraint that is broken in a state, or open at the end."""
        places, at, step = self.places, '', -1
        constraint, (text, reason) = places.problem.constraints[number], places.told(number)
        if state is not None:
            clock = self.clocks[places.timed.index(number)] if number in places.timed else None
            since = self.moment_of(state)[0][0] if state else Decimal(0)
            if clock is not None and clock.broken is not None:
                since = clock.broken
            at, step = f', at {seconds_text(since)} s', self._maker(state)
            if clock is not None and clock.late is not None:
                at += f', but only at {seconds_text(clock.late)} s'
        state = len(self.trail) - 1 if state is None else state
        reason += at + self._numbers(constraint.arguments, state)
        return BrokenConstraint(text, constraint.binding, state, step, reason, constraint.place)

    def _unsafe(self, ended: bool = False) -> Verdict:
        """The verdict on constraints that are broken, or at the end on those still open, too."""
        found = [self._report(number, state) for number, state in self._broken.items()]
        if ended:
            found += map(self._report, self._open())
        first = found[0].state
        now = [str(each) for each in found if each.state == first]
        index = -1
        if self._broken and len(self.plan.steps):
            index = self._maker(first) if first else 0
        return Verdict(
            Category.SAFETY_VIOLATION, f'{self.moment(first)}: {joined(now, "; ")}',
            index, len(self.plan.steps), self._fraction(first), tuple(found), (), first,
        )  # fmt: skip

    def _open(self) -> list[int]:
        """The constraints that are not broken and not satisfied either."""
        standing = self.trail[-1].standing
        unsatisfied = self.places.monitors.unsatisfied(standing)
        found = [self.places.untimed[each.shift] for each in unsatisfied]
        clocks = zip(self.places.timed, self.clocks, strict=True)
        found += [number for number, each in clocks if not each.satisfied]
        return sorted(set(found) - self._broken.keys())

    def _inapplicable(self, refused: CannotFollow) -> Verdict:
        return Verdict(
            Category.PRECONDITION_VIOLATION, str(refused), refused.index, len(self.plan.steps),
            self._fraction(), (), refused.missing, len(self.trail) - 1,
        )  # fmt: skip

    def _short(self, unmet: list[tuple[Formula, str]]) -> Verdict:
        found = [self._report(number, state) for number, state in self._broken.items()]
        found += map(self._report, self._open())
        texts = [each.text for each in found]
        extra = f'; not satisfied either: {joined(texts, " ")}' if texts else ''
        goals, last = tuple(text for _, text in unmet), len(self.trail) - 1
        return Verdict(
            Category.GOAL_NOT_SATISFIED,
            f'the plan ends without {joined(goals, " and ")}'
            f'{self._numbers([formula for formula, _ in unmet], last)}, {self.moment()}{extra}',
            -1, len(self.plan.steps), self._fraction(), tuple(found), goals, last,
        )  # fmt: skip

    def _proved(self) -> Verdict:
        problem = self.places.problem
        asked = 'every constraint is satisfied' if problem.constraints else 'no constraint is set'
        ends = [EXACT.add(*times) for times in self.plan.times[-1 if self.single else 0 :]]
        end = seconds_text(max(ends, default=Decimal(0)))
        reason = f'all {len(self.plan.steps)} steps can be done in {end} s, the goal holds, {asked}'
        if problem.notes:
            reason += f'; note: {joined(problem.notes, "; ")}'
        return Verdict(Category.SUCCESS, reason, -1, len(self.plan.steps), 1.0)
