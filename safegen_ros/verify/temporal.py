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

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from operator import attrgetter
from typing import NoReturn

from safegen_ros.pddl.ground import GroundAction, goal_tests
from safegen_ros.pddl.model import Formula, Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.pddl.writer import atom_text, constraint_text, formula_text
from safegen_ros.verdict import LONGEST, BrokenConstraint, Category, Verdict, joined
from safegen_ros.verify.clocked import Clocked, clocked
from safegen_ros.verify.timed_actions import EPSILON, TimedActions, changes, decimal_of

_MOST_TOGETHER = 200  # steps that run at once, and happenings within EPSILON


@dataclass(frozen=True, slots=True)
class _Lasting:
    """What a step asks for between its start and its end."""

    end: Fraction
    index: int
    during: GroundAction


@dataclass(frozen=True, slots=True)
class _Happening:
    """The start or the end of a step, a step that takes no time, or the literals of a time.

    Attributes:
        time: when it happens [s].
        index: of its step; -1 for timed literals.
        action: what it needs and changes.
        which: of its step, `the start of ` or `the end of `; empty for a step without a duration.
        begins: what its step asks for from then on; None for another happening than a start.
    """

    time: Fraction
    index: int
    action: GroundAction
    which: str
    begins: _Lasting | None = None


class _Refused(Exception):
    """A step that cannot be done as the plan has it."""

    def __init__(self, index: int, reason: str, missing: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.index = index
        self.missing = missing


class TemporalProof:
    """Proves plans for one problem with durative actions.

    Args:
        problem: the problem.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.actions = TimedActions(problem)
        self.goals = goal_tests(problem, self.actions.table)
        self.start = self.actions.table.encode(problem.init)
        self._clocks = clocked(problem, self.actions.table)
        for each in self._clocks:
            each.see(Fraction(0), self.start)

    def clocks(self) -> list[Clocked]:
        """The constraints in the initial state, for one plan."""
        return list(map(copy, self._clocks))

    def verify(self, plan: Plan) -> Verdict:
        """The verdict on a plan whose steps are actions of the problem.

        Args:
            plan: the plan; without times its steps follow each other.
        """
        for index, (_, duration) in enumerate(plan.times):
            if not duration and plan.steps[index].action in self.problem.domain.durative:
                reason = f'{_name(plan, index)} has no duration: write it behind the step, [5.000]'
                return Verdict(Category.FORMAT_ERROR, reason, index, len(plan))
        return _Run(self, self.actions.timed(plan)).verdict()


class _Run:
    """One plan, followed from happening to happening."""

    def __init__(self, proof: TemporalProof, plan: Plan) -> None:
        self._proof = proof
        self._plan = plan
        self._state = proof.start
        self._time = Fraction(0)
        self._after: list[list[_Happening]] = []  # the happenings that made each state but s0
        self._lasting: list[_Lasting] = []
        self._recent: list[tuple[_Happening, int, int]] = []  # with what they added and deleted
        self._clocks = proof.clocks()
        self._broken: dict[int, int] = {}  # number of a constraint to that of the state
        self._values: dict[int, str] = {}  # and to the numbers that it reads there
        self._note()

    def verdict(self) -> Verdict:
        """The verdict; the earliest failure decides, as in `validator`."""
        try:
            for time, together in groupby(self._happenings(), attrgetter('time')):
                self._follow(time, list(together))
        except _Refused as refused:
            return self._unsafe() if self._broken else self._inapplicable(refused)
        last = len(self._after)
        if any(state < last for state in self._broken.values()):
            return self._unsafe(ended=True)
        unmet = [formula for formula, test in self._proof.goals if not test(self._state)]
        if unmet:
            return self._short(unmet)
        if not all(each.satisfied for each in self._clocks):
            return self._unsafe(ended=True)
        return self._proved()

    def _happenings(self) -> list[_Happening]:
        found = [_Happening(time, -1, each, '') for time, each in self._proof.actions.literals]
        pairs = zip(self._plan.steps, self._plan.times, strict=True)
        for index, (step, (start, duration)) in enumerate(pairs):
            begin = Fraction(start)
            first, *last = self._proof.actions.happenings(step, duration)
            if not last:
                found.append(_Happening(begin, index, first, ''))
                continue
            end = begin + Fraction(duration)
            lasting = _Lasting(end, index, self._proof.actions.during(step))
            found.append(_Happening(begin, index, first, 'the start of ', lasting))
            found.append(_Happening(end, index, last[0], 'the end of '))
        return sorted(found, key=attrgetter('time', 'index'))

    def _follow(self, time: Fraction, together: list[_Happening]) -> None:
        """Lets the present state last until a moment, and then the happenings of it happen.

        Raises:
            _Refused: the plan is wrong here.
        """
        if time > self._time:
            for lasting in self._lasting:
                if not lasting.during.applicable(self._state):
                    name = _name(self._plan, lasting.index)
                    until = f'{name} lasts until {_seconds(lasting.end)} s'
                    self._refuse(lasting.during, lasting.index, f'{until} and needs all the time')
        for clock in self._clocks:
            clock.wait(time)
        self._note()
        for each in together:
            self._check_duration(each)
            if not each.action.applicable(self._state):
                needs = f'at {_seconds(time)} s {self._told(each)} needs'
                self._refuse(each.action, each.index, needs)
        self._lasting = [each for each in self._lasting if each.end > time]
        for each in together:
            self._check_apart(each, *changes(each.action, self._state))
        self._lasting += [each.begins for each in together if each.begins is not None]
        if len(self._lasting) > _MOST_TOGETHER:
            raise _Refused(
                together[-1].index,
                f'at {_seconds(time)} s more than {_MOST_TOGETHER} steps run at once, which is '
                'not proved: let fewer run',
            )
        before = self._state
        self._state = self._proof.actions.after((each.action for each in together), before)
        self._time = time
        self._after.append(together)
        for clock in self._clocks:
            if clock.mask & (before ^ self._state):
                clock.see(time, self._state)
        self._note()

    def _refuse(self, action: GroundAction, index: int, needs: str) -> NoReturn:
        missing, numbers = self._proof.actions.missing(action, self._state)
        what = joined(missing, ' and ') or 'other numbers'
        reason = f'{needs} {what}, which does not hold {self._moment()}'
        raise _Refused(index, f'{reason}: {numbers}' if numbers else reason, missing)

    def _check_duration(self, happening: _Happening) -> None:
        """Checks the duration of a step that starts; plans are written to `EPSILON`."""
        if happening.begins is None:
            return
        given = happening.begins.end - happening.time
        step = self._plan.steps[happening.index]
        for operator, value in self._proof.actions.duration(step, self._state):
            if value is None:
                raise _Refused(
                    happening.index,
                    f'{self._told(happening)}: its duration has no value, since a function in it '
                    'has none in :init or it divides by 0',
                )
            low = operator != '<=' and given < value - EPSILON
            if low or (operator != '>=' and given > value + EPSILON):
                bound = {'=': '', '<=': 'at most ', '>=': 'at least '}[operator]
                raise _Refused(
                    happening.index,
                    f'{self._told(happening)} takes {_seconds(given)} s, and its duration must be '
                    f'{bound}{_seconds(value)} s',
                )

    def _check_apart(self, happening: _Happening, added: int, deleted: int) -> None:
        """Checks that no happening of the last `EPSILON` interferes with this one."""
        proof = self._proof
        self._recent = [r for r in self._recent if happening.time - r[0].time < EPSILON]
        for other, more, less in self._recent:
            both = proof.actions.reads(happening.action) & (more | less)
            both |= proof.actions.reads(other.action) & (added | deleted)
            both |= (added & less) | (deleted & more)
            numbers = proof.actions.touched(happening.action).clash(
                proof.actions.touched(other.action)
            )
            if both or numbers:
                over = (*proof.actions.table.atoms(both), *sorted(numbers))
                atoms = [atom_text(each) for each in over]
                raise _Refused(
                    max(happening.index, other.index) if happening.index < 0 else happening.index,
                    f'at {_seconds(happening.time)} s {self._told(other)} and '
                    f'{self._told(happening)} interfere over {joined(atoms, " ")}: '
                    f'put them {_seconds(EPSILON)} s apart or more',
                )
        self._recent.append((happening, added, deleted))
        if len(self._recent) > _MOST_TOGETHER:
            raise _Refused(
                happening.index,
                f'at {_seconds(happening.time)} s more than {_MOST_TOGETHER} steps start or end '
                f'within {_seconds(EPSILON)} s, which is not proved: put them apart',
            )

    def _note(self) -> None:
        """Notes the constraints that are broken now, with the state in which they are."""
        for number, each in enumerate(self._clocks):
            if each.broken is not None and number not in self._broken:
                self._broken[number] = len(self._after)
                self._values[number] = self._numbers(each.constraint.arguments)

    # What is said of it.

    def _numbers(self, formulas: Iterable[Formula]) -> str:
        """The numbers that formulas read in the present state, to be put behind a reason."""
        told = self._proof.actions.table.told(formulas, self._state)
        return f' ({told})' if told else ''

    def _told(self, happening: _Happening) -> str:
        """A happening in words, `the start of step 1 (move a b)`."""
        if happening.index < 0:
            return f'the timed literals of {_seconds(happening.time)} s'
        return happening.which + _name(self._plan, happening.index)

    def _moment(self, state: int | None = None) -> str:
        """Names a state by its number; by default the present one."""
        state = len(self._after) if state is None else state
        if not state:
            return 'in the initial state'
        together = self._after[state - 1]
        names = joined(list(map(self._told, together)), ' and ')
        return f'from {_seconds(together[0].time)} s on, after {names}'

    def _maker(self, state: int) -> int:
        """The first step that made a state; -1 for the initial one, or where none did."""
        made = self._after[state - 1] if state else ()
        return min((each.index for each in made if each.index >= 0), default=-1)

    def _fraction(self) -> float:
        held = [test(self._state) for _, test in self._proof.goals]
        return sum(held) / len(held) if held else 1.0

    def _report(self, number: int) -> BrokenConstraint:
        each = self._clocks[number]
        state = self._broken.get(number, len(self._after))
        step = self._maker(state) if number in self._broken else -1
        constraint = each.constraint
        moment = '' if each.broken is None else f', at {_seconds(each.broken)} s'
        if each.late is not None:
            moment += f', but only at {_seconds(each.late)} s'
        moment += self._values.get(number, self._numbers(constraint.arguments))
        return BrokenConstraint(
            constraint_text(constraint), constraint.binding, state, step,
            f'{each.explain()}{moment}', constraint.place,
        )  # fmt: skip

    def _unsafe(self, ended: bool = False) -> Verdict:
        """The verdict on constraints that are broken, or at the end on those still open, too."""
        last = len(self._after)
        numbers = sorted(self._broken, key=lambda number: self._broken[number])
        if ended:
            numbers += self._open()
        first = self._broken.get(numbers[0], last)
        found = tuple(map(self._report, numbers))
        now = [str(each) for each in found if each.state == first]
        broken = bool(self._broken) and len(self._plan) > 0
        return Verdict(
            Category.SAFETY_VIOLATION, f'{self._moment(first)}: {joined(now, "; ")}',
            (self._maker(first) if first else 0) if broken else -1, len(self._plan),
            self._fraction(),
            found, (), first,
        )  # fmt: skip

    def _open(self) -> list[int]:
        """The constraints that are not broken and not satisfied either."""
        return [
            number
            for number, each in enumerate(self._clocks)
            if number not in self._broken and not each.satisfied
        ]

    def _inapplicable(self, refused: _Refused) -> Verdict:
        return Verdict(
            Category.PRECONDITION_VIOLATION, str(refused), refused.index, len(self._plan),
            self._fraction(), (), refused.missing, len(self._after),
        )  # fmt: skip

    def _short(self, unmet: list[Formula]) -> Verdict:
        numbers = [*self._broken, *self._open()]
        found = tuple(map(self._report, numbers))
        texts = [each.text for each in found]
        extra = f'; not satisfied either: {joined(texts, " ")}' if texts else ''
        goals = tuple(map(formula_text, unmet))
        return Verdict(
            Category.GOAL_NOT_SATISFIED,
            f'the plan ends {self._moment()} without {joined(goals, " and ")}'
            f'{self._numbers(unmet)}{extra}',
            -1, len(self._plan), self._fraction(), found, goals, len(self._after),
        )  # fmt: skip

    def _proved(self) -> Verdict:
        asked = 'every constraint is satisfied' if self._clocks else 'no constraint is set'
        ends = (Fraction(start) + Fraction(duration) for start, duration in self._plan.times)
        end = _seconds(max(ends, default=Fraction(0)))
        reason = f'all {len(self._plan)} steps can be done in {end} s, the goal holds, {asked}'
        if self._proof.problem.notes:
            reason += f'; a constraint asks for nothing: {joined(self._proof.problem.notes, "; ")}'
        return Verdict(Category.SUCCESS, reason, -1, len(self._plan), 1.0)


def _seconds(value: Fraction) -> str:
    return f'{decimal_of(value).normalize():f}'


def _name(plan: Plan, index: int) -> str:
    text = str(plan.steps[index])
    return f'step {index + 1} {text if len(text) <= LONGEST else text[:LONGEST] + "..."}'
