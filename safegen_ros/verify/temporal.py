# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Proves plans of durative actions over time, as PDDL2.1 (Fox and Long 2003) has it.

The start and the end of each action are happenings. A happening at t needs its conditions in the
state just before t, what happens at the same moment is done together, and the state after it lasts
until the next one. What an action asks for over all of its time holds in every state that lasts
between its start and its end. Two happenings of which one changes what the other needs, or undoes
what the other does, must be `EPSILON` apart: no clock can tell which of them is first. Numbers are
exact, and so are times.

Timed initial literals are happenings, too, also those behind the last step: the world goes on
without the plan, and the goal must hold in the last state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from operator import itemgetter
from typing import NoReturn

from safegen_ros.pddl.bits import no_tick
from safegen_ros.pddl.facts import exact
from safegen_ros.pddl.ground import GroundAction
from safegen_ros.pddl.model import Formula, Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.pddl.writer import atom_text, formula_text
from safegen_ros.verdict import LONGEST, BrokenConstraint, Category, Verdict, joined
from safegen_ros.verify.timed_actions import EPSILON, EXACT, TimedActions, changes, seconds_text
from safegen_ros.verify.timed_places import PlanEntry, TimedPlace, TimedPlaces

_EPSILON = Fraction(EPSILON)
_MOST_TOGETHER = 200  # steps that run at once, and happenings within EPSILON


class _Refused(Exception):
    """A step that cannot be done as the plan has it."""

    def __init__(self, index: int, reason: str, missing: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.index = index
        self.missing = missing


class TemporalProof:
    """Proves plans for one problem with durative actions; what was found out is kept.

    Args:
        problem: the problem.
        tick: as of `AtomTable`.
    """

    def __init__(self, problem: Problem, tick: Callable[[], None] = no_tick) -> None:
        self._places = TimedPlaces(problem, tick)

    @property
    def actions(self) -> TimedActions:
        """The actions of the problem over time."""
        return self._places.actions

    def verify(self, plan: Plan) -> Verdict:
        """The verdict on a plan whose steps are actions of the problem.

        Args:
            plan: the plan; without times its steps follow each other.
        """
        if self._places.full:
            self._places = TimedPlaces(self._places.problem)
        self._places.tidy()
        try:
            run = _Run(self._places, self.actions.timed(plan), written=bool(plan.times))
        except _Refused as refused:
            return Verdict(Category.FORMAT_ERROR, str(refused), refused.index, len(plan))
        return run.verdict()


class _Run:
    """One plan, followed from moment to moment.

    Args:
        places: of its problem.
        plan: the plan, with times.
        written: whether the times are its own.

    Raises:
        _Refused: a step has no duration.
    """

    def __init__(self, places: TimedPlaces, plan: Plan, written: bool) -> None:
        self._places = places
        self._plan = plan
        self._trail = [places.start]
        self._made: list[list[PlanEntry]] = []  # see `_moment_of`
        self._clocks = places.clocks()
        self._late: dict[int, tuple[int, bool]] = {}  # see `_note`
        # Whether only steps happen, and each ends before the next one starts.
        self._single = not (self._clocks or places.literals) and _apart(plan)
        if self._single:
            return
        self._entries = places.literals.copy()
        durative = places.problem.domain.durative
        for index, (_, duration) in enumerate(plan.times):
            if written and not duration and plan.steps[index].action in durative:
                reason = 'has no duration: write it behind the step, [5.000]'
                raise _Refused(index, f'{_name(plan, index)} {reason}')
            self._entries += self._happenings(index)
        self._entries.sort(key=itemgetter(0))  # those of one moment stay in the order of the steps
        if self._clocks:
            self._note(waited=False)

    def _happenings(self, index: int) -> list[PlanEntry]:
        """What a step is made of."""
        step, (start, duration) = self._plan.steps[index], self._plan.times[index]
        found = self._places.known.get((step, duration)) or self._places.happenings(step, duration)
        if len(found) == 1:
            return [(start, index, found[0])]
        return [(start, index, found[0]), (EXACT.add(start, duration), index, found[1])]

    def _moment_of(self, state: int) -> list[PlanEntry]:
        """What made a state, s1 or a later one."""
        if not self._single:
            return self._made[state - 1]
        index, which = divmod(state - 1, 2)
        return [self._happenings(index)[which]]

    def verdict(self) -> Verdict:
        """The verdict; the earliest failure decides, as in `validator`."""
        try:
            self._follow()
        except _Refused as refused:
            return self._unsafe() if self._broken else self._inapplicable(refused)
        last, end = len(self._trail) - 1, self._trail[-1]
        if not end.good:
            if any(state < last for state in self._broken.values()):
                return self._unsafe(ended=True)
            unmet = [formula for formula, test in self._places.goals if not test(end.state)]
            if unmet:
                return self._short(unmet)
            if self._places.monitors.unsatisfied(end.standing):
                return self._unsafe(ended=True)
            end.good = True
        if not all(each.satisfied for each in self._clocks):
            return self._unsafe(ended=True)
        return self._proved()

    def _follow(self) -> None:
        """Lets each state last until the next moment, and then what is planned for it happen.

        Raises:
            _Refused: the plan is wrong somewhere.
        """
        if not self._single:
            self._follow_moments()
            return
        place, trail = self._trail[-1], self._trail
        for index, (step, (_, duration)) in enumerate(
            zip(self._plan.steps, self._plan.times, strict=True)
        ):
            known = place.through.get((step, duration))
            if known is None:
                known = self._through(index, place)
                self._places.remember_step(place, (step, duration), known)
            else:
                trail += known
            place = known[1]

    def _through(self, index: int, place: TimedPlace) -> tuple[TimedPlace, TimedPlace]:
        """The places after the start and the end of a step that nothing happens beside.

        Raises:
            _Refused: it cannot be done.
        """
        for entry in self._happenings(index):
            if not place.held:
                self._refuse_lasting()
            known = place.after.get(entry[2])
            if known is None:
                known = self._move([entry], place, apart=True)
                self._places.remember(place, entry[2], known)
            place = known
            self._trail.append(place)
        return self._trail[-2], place

    def _follow_moments(self) -> None:
        """As `_follow`, whatever happens at which moment."""
        entries, clocks, place = self._entries, self._clocks, self._trail[-1]
        at, count, previous = 0, len(entries), None
        while at < count:
            time, begin = entries[at][0], at
            at += 1
            while at < count and entries[at][0] == time:
                at += 1
            together = entries[begin:at]
            if not place.held:
                self._refuse_lasting()
            if clocks:
                for clock in clocks:
                    clock.wait(time)
                self._note(waited=True)
            near = previous is not None and EXACT.subtract(time, previous) < EPSILON
            single = at - begin == 1
            move = together[0][2] if single else tuple([each[2] for each in together])
            known = place.after.get(move)
            if known is None or near:
                known = self._move(together, place, apart=single and not near)
                if not near:
                    self._places.remember(place, move, known)
            before, place, previous = place, known, time
            self._trail.append(place)
            self._made.append(together)
            if clocks:
                changed = before.state ^ place.state
                for clock in clocks:
                    if clock.mask & changed:
                        clock.see(time, place.state)
                self._note(waited=False)

    def _move(self, together: list[PlanEntry], place: TimedPlace, *, apart: bool) -> TimedPlace:
        """The place after a moment; `apart` if nothing else happens within `EPSILON`.

        Raises:
            _Refused: something of it cannot happen.
        """
        time = together[0][0]
        for each in together:
            self._check_duration(each, place.state)
            action = each[2].action
            if not action.applicable(place.state):
                needs = f'at {seconds_text(time)} s {self._told(each)} needs'
                self._refuse(action, each[1], needs)
        if not apart:
            self._check_apart(together)
        after = self._places.place(place, [each[2] for each in together])
        if len(after.lasting) > _MOST_TOGETHER:
            raise _Refused(
                together[-1][1],
                f'at {seconds_text(time)} s more than {_MOST_TOGETHER} steps run at once, which is '
                'not proved: let fewer run',
            )
        return after

    def _refuse_lasting(self) -> NoReturn:
        """Refuses the first step that runs and lacks what it asks for all the time."""
        state, last = self._trail[-1].state, self._moment_of(len(self._trail) - 1)[0][0]
        made = map(self._moment_of, range(1, len(self._trail)))
        for start, index, happening in (each for together in made for each in together):
            during, end = happening.during, EXACT.add(start, happening.duration)
            if during is not None and end > last and not during.applicable(state):
                until = f'{_name(self._plan, index)} lasts until {seconds_text(end)} s'
                self._refuse(during, index, f'{until} and needs all the time')
        raise AssertionError('a place that does not hold has a step to blame')

    def _refuse(self, action: GroundAction, index: int, needs: str) -> NoReturn:
        missing, numbers = self._places.actions.missing(action, self._trail[-1].state)
        what = joined(missing, ' and ') or 'other numbers'
        reason = f'{needs} {what}, which does not hold {self._moment()}'
        raise _Refused(index, f'{reason}: {numbers}' if numbers else reason, missing)

    def _check_duration(self, entry: PlanEntry, state: int) -> None:
        """Checks the duration of a step that starts; plans are written to `EPSILON`."""
        _, index, happening = entry
        if happening.during is None:
            return
        for operator, value in self._places.actions.duration(self._plan.steps[index], state):
            if happening.duration == value:
                continue
            given = exact(happening.duration)
            if value is None:
                raise _Refused(
                    index,
                    f'{self._told(entry)}: its duration has no value, since a function in it '
                    'has none in :init or it divides by 0',
                )
            low = operator != '<=' and given < value - _EPSILON
            if low or (operator != '>=' and given > value + _EPSILON):
                limit = {'=': '', '<=': 'at most ', '>=': 'at least '}[operator]
                raise _Refused(
                    index,
                    f'{self._told(entry)} takes {seconds_text(given)} s, and its duration must be '
                    f'{limit}{seconds_text(value)} s',
                )

    def _check_apart(self, together: list[PlanEntry]) -> None:
        """Checks that no happening of the last `EPSILON` interferes with one of this moment."""
        time, recent = together[0][0], list[tuple[PlanEntry, int, int]]()
        count = len(self._made)
        while count and EXACT.subtract(time, self._made[count - 1][0][0]) < EPSILON:
            count -= 1
        for number in range(count, len(self._made) + 1):
            now = self._made[number] if number < len(self._made) else together
            for entry in now:
                added, deleted = changes(entry[2].action, self._trail[number].state)
                if now is together:
                    self._check_pairs(recent, entry, added, deleted)
                recent.append((entry, added, deleted))
                if now is together and len(recent) > _MOST_TOGETHER:
                    raise _Refused(
                        entry[1],
                        f'at {seconds_text(time)} s more than {_MOST_TOGETHER} steps start or end '
                        f'within {seconds_text(EPSILON)} s, which is not proved: put them apart',
                    )

    def _check_pairs(
        self, recent: list[tuple[PlanEntry, int, int]], entry: PlanEntry, added: int, deleted: int
    ) -> None:
        actions, action = self._places.actions, entry[2].action
        for other, more, less in recent:
            both = actions.reads(action) & (more | less)
            both |= actions.reads(other[2].action) & (added | deleted)
            both |= (added & less) | (deleted & more)
            numbers = actions.touched(action).clash(actions.touched(other[2].action))
            if both or numbers:
                over = (*actions.table.atoms(both), *sorted(numbers))
                atoms = [atom_text(each) for each in over]
                raise _Refused(
                    max(entry[1], other[1]) if entry[1] < 0 else entry[1],
                    f'at {seconds_text(entry[0])} s {self._told(other)} and '
                    f'{self._told(entry)} interfere over {joined(atoms, " ")}: '
                    f'put them {seconds_text(EPSILON)} s apart or more',
                )

    def _note(self, waited: bool) -> None:
        """Notes the constraints with times that are broken now.

        Args:
            waited: whether the present state has lasted, or has begun.
        """
        for number, clock in zip(self._places.timed, self._clocks, strict=True):
            if clock.broken is not None:
                self._late.setdefault(number, (len(self._trail) - 1, waited))

    @cached_property
    def _broken(self) -> dict[int, int]:
        """The broken constraints in the order in which they broke, each with the state."""
        found = dict(self._late)
        monitors, seen = self._places.monitors, 0
        if monitors.broken(self._trail[-1].standing):
            for state, place in enumerate(self._trail):
                if place.standing != seen:
                    for each in monitors.violated(place.standing):
                        found.setdefault(self._places.untimed[each.shift], (state, False))
                    seen = place.standing
        order = sorted(found, key=lambda number: (found[number], number))
        return {number: found[number][0] for number in order}

    # What is said of it.

    def _numbers(self, formulas: Iterable[Formula], state: int) -> str:
        """The numbers that formulas read in a state, to be put behind a reason."""
        told = self._places.actions.table.told(formulas, self._trail[state].state)
        return f' ({told})' if told else ''

    def _told(self, entry: PlanEntry) -> str:
        """A happening in words, `the start of step 1 (move a b)`."""
        if entry[1] < 0:
            return f'the timed literals of {seconds_text(entry[0])} s'
        return entry[2].which + _name(self._plan, entry[1])

    def _moment(self, state: int | None = None) -> str:
        """Names a state by its number; by default the present one."""
        state = len(self._trail) - 1 if state is None else state
        if not state:
            return 'in the initial state'
        together = self._moment_of(state)
        names = joined(list(map(self._told, together)), ' and ')
        return f'from {seconds_text(together[0][0])} s on, after {names}'

    def _maker(self, state: int) -> int:
        """The first step that made a state; -1 for the initial one, or where none did."""
        made = self._moment_of(state) if state else ()
        return min((index for _, index, _ in made if index >= 0), default=-1)

    def _fraction(self) -> float:
        held = [test(self._trail[-1].state) for _, test in self._places.goals]
        return sum(held) / len(held) if held else 1.0

    def _report(self, number: int, state: int | None = None) -> BrokenConstraint:
        """What to say of a constraint that is broken in a state, or open at the end."""
        places, at, step = self._places, '', -1
        constraint, (text, reason) = places.problem.constraints[number], places.told(number)
        if state is not None:
            clock = self._clocks[places.timed.index(number)] if number in places.timed else None
            since = self._moment_of(state)[0][0] if state else Decimal(0)
            if clock is not None and clock.broken is not None:
                since = clock.broken
            at, step = f', at {seconds_text(since)} s', self._maker(state)
            if clock is not None and clock.late is not None:
                at += f', but only at {seconds_text(clock.late)} s'
        state = len(self._trail) - 1 if state is None else state
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
        if self._broken and len(self._plan):
            index = self._maker(first) if first else 0
        return Verdict(
            Category.SAFETY_VIOLATION, f'{self._moment(first)}: {joined(now, "; ")}',
            index, len(self._plan), self._fraction(), tuple(found), (), first,
        )  # fmt: skip

    def _open(self) -> list[int]:
        """The constraints that are not broken and not satisfied either."""
        standing = self._trail[-1].standing
        unsatisfied = self._places.monitors.unsatisfied(standing)
        found = [self._places.untimed[each.shift] for each in unsatisfied]
        clocks = zip(self._places.timed, self._clocks, strict=True)
        found += [number for number, each in clocks if not each.satisfied]
        return sorted(set(found) - self._broken.keys())

    def _inapplicable(self, refused: _Refused) -> Verdict:
        return Verdict(
            Category.PRECONDITION_VIOLATION, str(refused), refused.index, len(self._plan),
            self._fraction(), (), refused.missing, len(self._trail) - 1,
        )  # fmt: skip

    def _short(self, unmet: list[Formula]) -> Verdict:
        found = [self._report(number, state) for number, state in self._broken.items()]
        found += map(self._report, self._open())
        texts = [each.text for each in found]
        extra = f'; not satisfied either: {joined(texts, " ")}' if texts else ''
        goals, last = tuple(map(formula_text, unmet)), len(self._trail) - 1
        return Verdict(
            Category.GOAL_NOT_SATISFIED,
            f'the plan ends {self._moment()} without {joined(goals, " and ")}'
            f'{self._numbers(unmet, last)}{extra}',
            -1, len(self._plan), self._fraction(), tuple(found), goals, last,
        )  # fmt: skip

    def _proved(self) -> Verdict:
        problem = self._places.problem
        asked = 'every constraint is satisfied' if problem.constraints else 'no constraint is set'
        ends = [EXACT.add(*times) for times in self._plan.times[-1 if self._single else 0 :]]
        end = seconds_text(max(ends, default=Decimal(0)))
        reason = f'all {len(self._plan)} steps can be done in {end} s, the goal holds, {asked}'
        if self._places.problem.notes:
            reason += f'; a constraint asks for nothing: {joined(self._places.problem.notes, "; ")}'
        return Verdict(Category.SUCCESS, reason, -1, len(self._plan), 1.0)


def _apart(plan: Plan) -> bool:
    """Whether each step of a plan takes some time and ends `EPSILON` before the next one starts."""
    add, due = EXACT.add, None
    for start, duration in plan.times:
        if not duration or (due is not None and start < due):
            return False
        due = add(start, add(duration, EPSILON))
    return True


def _name(plan: Plan, index: int) -> str:
    text = str(plan.steps[index])
    return f'step {index + 1} {text if len(text) <= LONGEST else text[:LONGEST] + "..."}'
