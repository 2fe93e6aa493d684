# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Follows a plan over time from moment to moment, and says why it cannot go on."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, getcontext, setcontext
from fractions import Fraction
from itertools import islice, repeat
from operator import add, itemgetter, le
from typing import NoReturn

from safegen_ros.pddl.facts import exact
from safegen_ros.pddl.ground import GroundAction
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.pddl.writer import atom_text
from safegen_ros.verdict import joined, step_name
from safegen_ros.verify.clocked import Clocked
from safegen_ros.verify.timed_actions import EPSILON, EXACT, changes, seconds_text
from safegen_ros.verify.timed_places import PlanEntry, TimedPlace, TimedPlaces

_EPSILON = Fraction(EPSILON)
_MOST_TOGETHER = 200  # steps that run at once, and happenings within EPSILON


class CannotFollow(Exception):
    """A step that cannot be done as the plan has it."""

    def __init__(self, index: int, reason: str, missing: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.index = index
        self.missing = missing


class TimedWalk:
    """One plan, followed from moment to moment.

    Attributes:
        trail: the places so far, one for each state.
        clocks: the constraints with times.
        late: those of them that are broken, by their numbers; see `_note`.
        single: whether only steps happen, and they follow each other.
    """

    def __init__(self, places: TimedPlaces, plan: Plan) -> None:
        self.places = places
        self.plan = plan
        self.trail = [places.start]
        self._made: list[list[PlanEntry]] = []  # see `moment_of`
        self.clocks: list[Clocked] = []
        self.late: dict[int, tuple[int, bool]] = {}  # see `_note`
        self.single = places.sequential and self._follow_each_other()
        if self.single:
            self.follow_steps()

    def _follow_each_other(self) -> bool:
        """Whether each step takes some time and ends `EPSILON` before the next one starts."""
        plan, problem = self.plan, self.places.problem
        if not plan.times:
            return False
        starts, self._durations = zip(*plan.times, strict=True)
        context = getcontext()
        setcontext(EXACT)  # for `add`, which takes a third of the time of `EXACT.add`
        try:
            due = map(add, map(add, starts, self._durations), repeat(EPSILON))
            if starts[0] < 0 or not all(self._durations) or not all(map(le, due, starts[1:])):
                return False
        finally:
            setcontext(context)
        return self.places.lasting or all(s.action in problem.domain.durative for s in plan.steps)

    def follow_steps(self) -> None:
        """Follows whole steps, each alone, as far as they are actions and can be done."""
        trail, places, done = self.trail, self.places, len(self.trail) // 2
        place = trail[-1]
        for move in islice(zip(self.plan.steps, self._durations, strict=True), done, None):
            after = place.through.get(move) or places.through(place, move)
            if after is None:
                break
            trail += after
            _, place = after

    def prepare(self) -> None:
        """Gives the rest of the plan its times.

        Raises:
            CannotFollow: a step has no duration, or starts while it runs.
        """
        if self.single:
            return
        plan, places, written = self.plan, self.places, bool(self.plan.times)
        self.plan = plan = places.actions.timed(plan)
        self.single = places.sequential and not written and self._follow_each_other()
        if self.single:
            self.follow_steps()
            return
        durative = places.problem.domain.durative
        self._check_repeated()
        self.clocks = places.clocks()
        self._entries = places.literals.copy()
        for index, (_, duration) in enumerate(plan.times):
            if written and not duration and plan.steps[index].action in durative:
                reason = 'has no duration above 0: write it behind the step, [5.000]'
                raise CannotFollow(index, f'{step_name(plan.steps, index)} {reason}')
            self._entries += self._happenings(index)
        self._entries.sort(key=itemgetter(0))  # those of one moment stay in the order of the steps
        if self.clocks:
            self._note(waited=False)

    def _check_repeated(self) -> None:
        """Refuses a step that starts while it runs, where its end depends on how its start was."""
        durative, last = self.places.problem.domain.durative, dict[Step, Decimal]()
        if not any(action.remembered for action in durative.values()):
            return
        for index in sorted(range(len(self.plan)), key=lambda index: self.plan.times[index]):
            step, (start, duration) = self.plan.steps[index], self.plan.times[index]
            if step.action not in durative or not durative[step.action].remembered:
                continue
            if start < last.get(step, start):
                name = step_name(self.plan.steps, index)
                raise CannotFollow(
                    index,
                    f'{name} starts before the same step has ended, and an effect at its end '
                    'depends on its start: let one end before the other starts',
                )
            last[step] = EXACT.add(start, EXACT.add(duration, EPSILON))

    def _happenings(self, index: int) -> Iterator[PlanEntry]:
        """What a step is made of."""
        step, (start, duration) = self.plan.steps[index], self.plan.times[index]
        begin = self.places.begin(step, duration)
        yield start, index, begin
        if begin.during is not None and duration > 0:  # `_check_duration` refuses the start
            yield EXACT.add(start, duration), index, self.places.end(step, begin)

    def moment_of(self, state: int) -> list[PlanEntry]:
        """What made a state, s1 or a later one."""
        if not self.single:
            return self._made[state - 1]
        index, ended = divmod(state - 1, 2)
        step, (start, duration) = self.plan.steps[index], self.plan.times[index]
        begin = self.places.begin(step, duration)
        if not ended:
            return [(start, index, begin)]
        return [(EXACT.add(start, duration), index, self.places.end(step, begin))]

    def follow(self) -> None:
        """Lets each state last until the next moment, and then applies its happenings.

        Raises:
            CannotFollow: the plan is wrong somewhere.
        """
        if not self.single:
            self._follow_moments()
            return
        while (index := len(self.trail) // 2) < len(self.plan.steps):
            place = self.trail[-1]
            for entry in self._happenings(index):
                if not place.held:
                    self._refuse_lasting()
                place = self._move([entry], place, apart=True)
                self.trail.append(place)
            self.follow_steps()

    def _follow_moments(self) -> None:
        """As `follow`, whatever happens at which moment."""
        entries, clocks, place = self._entries, self.clocks, self.trail[-1]
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
                    place.after = place.after or {}
                    place.after[move] = known
                    self.places.count_move()
            before, place, previous = place, known, time
            self.trail.append(place)
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
            CannotFollow: something of it cannot happen.
        """
        time = together[0][0]
        for each in together:
            if not each[2].fits:
                self._check_duration(each, place.state)
            action = each[2].action
            if not action.applicable(place.state):
                needs = f'at {seconds_text(time)} s {self._told(each)} needs'
                self._refuse(action, each[1], needs)
        if not apart:
            self._check_apart(together)
        after = self.places.place(place, [each[2] for each in together])
        if len(after.lasting) > _MOST_TOGETHER:
            raise CannotFollow(
                together[-1][1],
                f'at {seconds_text(time)} s more than {_MOST_TOGETHER} steps run at once, which is '
                'not proved: let fewer run',
            )
        return after

    def _refuse_lasting(self) -> NoReturn:
        """Refuses the first step that runs and lacks what it asks for all the time."""
        state, last = self.trail[-1].state, self.moment_of(len(self.trail) - 1)[0][0]
        made = map(self.moment_of, range(1, len(self.trail)))
        for start, index, happening in (each for together in made for each in together):
            during, end = happening.during, EXACT.add(start, happening.duration)
            if during is not None and end > last and not during.applicable(state):
                until = f'{step_name(self.plan.steps, index)} lasts until {seconds_text(end)} s'
                self._refuse(during, index, f'{until} and needs all the time')
        raise AssertionError('a place that does not hold has a step to blame')

    def _refuse(self, action: GroundAction, index: int, needs: str) -> NoReturn:
        place = self.trail[-1]
        if self.late or self.places.monitors.broken(place.standing):
            raise CannotFollow(index, 'a constraint is broken')  # which is what the verdict says
        missing, numbers = self.places.actions.missing(action, place.state)
        what = joined(missing, ' and ') or 'other numbers'
        reason = f'{needs} {what}, which does not hold {self.moment()}'
        raise CannotFollow(index, f'{reason}: {numbers}' if numbers else reason, missing)

    def _check_duration(self, entry: PlanEntry, state: int) -> None:
        """Checks the duration of a step that starts; plans are written to `EPSILON`."""
        _, index, happening = entry
        given = exact(happening.duration)
        limit = '' if given > 0 else 'more than 0'
        for operator, value in self.places.actions.duration(self.plan.steps[index], state):
            if value is None:
                reason = 'its duration has no value, since a function in it has none in :init'
                raise CannotFollow(
                    index, f'{step_name(self.plan.steps, index)}: {reason} or it divides by 0'
                )
            low = operator != '<=' and given < value - _EPSILON
            if low or (operator != '>=' and given > value + _EPSILON):
                most = {'=': '', '<=': 'at most ', '>=': 'at least '}[operator]
                limit = f'{most}{seconds_text(value)}'
                break
        if limit:
            name, took = step_name(self.plan.steps, index), seconds_text(given)
            raise CannotFollow(index, f'{name} takes {took} s, and its duration must be {limit} s')

    def _check_apart(self, together: list[PlanEntry]) -> None:
        """Checks that no happening of the last `EPSILON` interferes with one of this moment."""
        time, recent = together[0][0], list[tuple[PlanEntry, int, int]]()
        count = len(self._made)
        while count and EXACT.subtract(time, self._made[count - 1][0][0]) < EPSILON:
            count -= 1
        for number in range(count, len(self._made) + 1):
            now = self._made[number] if number < len(self._made) else together
            for entry in now:
                added, deleted = changes(entry[2].action, self.trail[number].state)
                if now is together:
                    self._check_pairs(recent, entry, added, deleted)
                recent.append((entry, added, deleted))
                if now is together and len(recent) > _MOST_TOGETHER:
                    raise CannotFollow(
                        entry[1],
                        f'at {seconds_text(time)} s more than {_MOST_TOGETHER} steps start or end '
                        f'within {seconds_text(EPSILON)} s, which is not proved: put them apart',
                    )

    def _check_pairs(
        self, recent: list[tuple[PlanEntry, int, int]], entry: PlanEntry, added: int, deleted: int
    ) -> None:
        actions, action = self.places.actions, entry[2].action
        for other, more, less in recent:
            both = actions.reads(action) & (more | less)
            both |= actions.reads(other[2].action) & (added | deleted)
            both |= (added & less) | (deleted & more)
            numbers = actions.touched(action).clash(actions.touched(other[2].action))
            if both or numbers:
                over = (*actions.table.atoms(both), *sorted(numbers))
                atoms = [atom_text(each) for each in over]
                raise CannotFollow(
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
        for number, clock in zip(self.places.timed, self.clocks, strict=True):
            if clock.broken is not None:
                self.late.setdefault(number, (len(self.trail) - 1, waited))

    def _told(self, entry: PlanEntry) -> str:
        """A happening in words, `the start of step 1 (move a b)`."""
        if entry[1] < 0:
            return f'the timed literals of {seconds_text(entry[0])} s'
        return entry[2].which + step_name(self.plan.steps, entry[1])

    def moment(self, state: int | None = None) -> str:
        """Names a state by its number; by default the present one."""
        state = len(self.trail) - 1 if state is None else state
        if not state:
            return 'in the initial state'
        together = self.moment_of(state)
        names = self._told(together[0])
        if len(together) > 1:
            names = joined(list(map(self._told, together)), ' and ')
        return f'from {seconds_text(together[0][0])} s on, after {names}'
