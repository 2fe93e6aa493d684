# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""PDDL3 trajectory constraints as small automata that progress state by state.

One automaton serves the validator (states of a plan), the search (its states carry the automata's),
the decoder's shield and the run-time monitor (observed states). An automaton is fixed; where it
stands is a small number, and the numbers of all of them are the fields of one integer, which is
cheap to copy and to hash.

Semantics of Gerevini and Long, "Plan Constraints and Preferences in PDDL3" (2005), read as VAL
reads them where VAL is right: s0 is the initial state and s_k the state after k steps, at time k;
`sometime-before f h` wants h in a state strictly earlier than the first state with f; a deadline is
missed in the first state past it. The world keeps the last state of a plan. A constraint on a time
or a window after the end of the plan must hold in its last state.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import reduce
from operator import or_

from safegen_ros.pddl.bits import AtomTable, Test, compile_test, condition, is_total, single_bits
from safegen_ros.pddl.flatten import sequential
from safegen_ros.pddl.model import Constraint, Formula, Problem
from safegen_ros.pddl.writer import constraint_text, formula_text

Standing = int
"""Where all automata of a problem stand: one bit that says whether one is violated, then a field
for each."""

ALL = -1
"""Every atom, as a mask of what has changed."""

_Progress = Callable[[int, int, int], int]
"""The next value of a field, from its value, the bits of the state and the time of the state."""

_Lost = Callable[[int, int], bool]
"""Whether any next state violates it, from the value of a field and the time."""

_TRIGGERED = ('sometime-before', 'sometime-after', 'always-within')
"""What asks for more where its first formula holds, so that one without a truth value counts."""

_BROKEN = 1  # the bit of a standing that says that some field has its last value
_MOST_SCANNED = 16  # monitors that are looked through one by one; more are found by their atoms


class Status(Enum):
    """The state of a constraint after the trajectory so far."""

    SATISFIED = 'satisfied'  # it would hold if the trajectory ended here
    PENDING = 'pending'  # it would not, and no state has broken it yet; it may be `lost`
    VIOLATED = 'violated'  # no continuation can satisfy it


@dataclass(frozen=True, slots=True)
class ConstraintMonitor:
    """The automaton of one constraint.

    Attributes:
        mask: the atoms of its formulas; while they keep their truth, it stands still unless
            `timed`.
        timed: whether it also moves with time alone.
        progress: the next value of its field.
        lost: whether its last chance has passed, from field and time; None without a deadline.
        pending: the values with which the constraint would not hold if the trajectory ended.
        violated: the value from which no continuation helps; -1 when there is none.
        shift: where its field begins in a standing.
        limit: the largest value of its field, all bits set.
    """

    constraint: Constraint
    mask: int
    timed: bool
    progress: _Progress
    lost: _Lost | None
    pending: range
    violated: int
    shift: int
    limit: int

    def status(self, standing: Standing) -> Status:
        """What the constraint says if the trajectory ends here."""
        value = (standing >> self.shift) & self.limit
        if value == self.violated:
            return Status.VIOLATED
        return Status.PENDING if value in self.pending else Status.SATISFIED

    def explain(self) -> str:
        """Why the constraint is not satisfied, for a model or a person."""
        arguments = [formula_text(a) for a in self.constraint.arguments]
        times = self.constraint.exact or self.constraint.times
        return REASON[self.constraint.operator].format(*arguments, *times)


@dataclass(frozen=True, slots=True)
class Automaton:
    """What is particular to an operator: see `ConstraintMonitor`."""

    progress: _Progress
    violated: int = -1
    pending: range = range(0)
    largest: int = 1
    horizon: int = 0  # from this time on the clock says no more
    timed: bool = False
    lost: _Lost | None = None


def _always(f: Test) -> Automaton:
    return Automaton(lambda value, state, time: 0 if f(state) else 1, violated=1)


def _sometime(f: Test) -> Automaton:
    # 0: not yet, 1: it has held
    return Automaton(lambda value, state, time: value or int(f(state)), pending=range(1))


def _at_most_once(f: Test) -> Automaton:
    # 0: not yet, 1: in its one interval, 2: the interval is over, 3: violated
    def progress(value: int, state: int, time: int) -> int:
        if f(state):
            return 3 if value == 2 else 1
        return 2 if value else 0

    return Automaton(progress, violated=3, largest=3)


def _without_doubt(f: Test, possible: Test) -> Automaton:
    """At most once, for a formula whose numbers may be missing, which violates it."""
    sure = _at_most_once(f)

    def progress(value: int, state: int, time: int) -> int:
        return sure.progress(value, state, time) if f(state) or not possible(state) else 3

    return replace(sure, progress=progress)


def _sometime_before(f: Test, h: Test) -> Automaton:
    # 0: still waiting for the second formula, 1: it has held, nothing more is asked, 2: violated
    def progress(value: int, state: int, time: int) -> int:
        if value:
            return value
        return 2 if f(state) else int(h(state))

    return Automaton(progress, violated=2, largest=3)


def _sometime_after(f: Test, h: Test) -> Automaton:
    # 0: nothing is owed, 1: the first formula has held and the second not since
    def progress(value: int, state: int, time: int) -> int:
        return 0 if h(state) else value or int(f(state))

    return Automaton(progress, pending=range(1, 2))


def _at_end(f: Test) -> Automaton:
    return Automaton(lambda value, state, time: int(f(state)), pending=range(1))


def _within(f: Test, deadline: int) -> Automaton:
    # 0: not yet, 1: it has held in time, 2: violated
    def progress(value: int, state: int, time: int) -> int:
        if value:
            return value
        if time > deadline:
            return 2
        return int(f(state))

    return Automaton(
        progress,
        violated=2,
        pending=range(1),
        largest=3,
        horizon=deadline + 1,
        timed=True,
        lost=lambda value, time: value == 0 and time >= deadline,
    )


def _always_within(f: Test, h: Test, delay: int) -> Automaton:
    # 0: nothing is owed, 1 + n: owed since n steps, delay + 2: violated
    def progress(value: int, state: int, time: int) -> int:
        if value == delay + 2:
            return value
        if value == delay + 1:  # the state in time was the last one
            return value + 1
        if h(state):
            return 0
        if value:
            return value + 1
        return int(f(state))

    return Automaton(
        progress,
        violated=delay + 2,
        pending=range(1, delay + 2),
        largest=delay + 2,
        timed=True,
        lost=lambda value, time: value == delay + 1,
    )


def _hold_during(f: Test, begin: int, end: int) -> Automaton:
    # 0: it holds, or the window is over, 1: it does not hold before the window, 2: violated
    def progress(value: int, state: int, time: int) -> int:
        if time >= end or f(state):
            return 0
        return 1 if time < begin else 2

    return Automaton(progress, violated=2, pending=range(1, 2), largest=3, horizon=end, timed=True)


def _hold_after(f: Test, begin: int) -> Automaton:
    # 0: it holds, 1: it does not hold before its time, 2: violated
    def progress(value: int, state: int, time: int) -> int:
        if f(state):
            return 0
        return 1 if time < begin else 2

    return Automaton(
        progress, violated=2, pending=range(1, 2), largest=3, horizon=begin, timed=True
    )


_AUTOMATA: dict[str, Callable[..., Automaton]] = {
    'always': _always,
    'sometime': _sometime,
    'at-most-once': _at_most_once,
    'sometime-before': _sometime_before,
    'sometime-after': _sometime_after,
    'at end': _at_end,
    'within': _within,
    'always-within': _always_within,
    'hold-during': _hold_during,
    'hold-after': _hold_after,
}

REASON = {
    'always': '{0} must hold in every state and does not',
    'sometime': '{0} must hold in some state and never does',
    'at-most-once': '{0} may become true only once and does again',
    'sometime-before': '{0} holds, but {1} did not hold in any earlier state',
    'sometime-after': '{0} held, and {1} must hold then or later and does not',
    'at end': '{0} must hold in the last state and does not',
    'within': '{0} must hold within {1} steps and does not',
    'always-within': '{0} held, and {1} must hold then or within {2} steps and does not',
    'hold-during': '{0} must hold from step {1} until before step {2}, in the last state of a '
    'shorter plan too, and does not',
    'hold-after': '{0} must hold from step {1} on, in the last state of a shorter plan too, and '
    'does not',
}


def constraint_tests(constraint: Constraint, table: AtomTable) -> list[Test]:
    """The tests of a constraint's formulas; one that asks for more counts unless it is false."""
    formulas = [condition(formula, table) for formula in constraint.arguments]
    first, *others = map(compile_test, formulas)
    doubtful = constraint.operator in _TRIGGERED and not is_total(formulas[0])
    return [_possible(constraint.arguments[0], table) if doubtful else first, *others]


def automaton_of(constraint: Constraint, tests: Sequence[Test], table: AtomTable) -> Automaton:
    """The automaton of a constraint, of its `constraint_tests`."""
    if constraint.operator == 'at-most-once':
        (formula,) = constraint.arguments
        if not is_total(condition(formula, table)):
            return _without_doubt(tests[0], _possible(formula, table))
    return _AUTOMATA[constraint.operator](*tests, *constraint.times)


def _possible(formula: Formula, table: AtomTable) -> Test:
    """Whether a formula is not false, as far as its numbers have values."""
    false = compile_test(condition(formula, table, positive=False))
    return lambda state: not false(state)


class MonitorSet:
    """The automata of all constraints of a problem.

    Where actions are durative they know no seconds: they watch `flatten.sequential` constraints.
    """

    def __init__(self, problem: Problem, table: AtomTable) -> None:
        self.table = table
        self._place = 1  # behind the bit that says that one is violated
        if problem.domain.durative or problem.timed:
            problem = sequential(problem)
        built = [self._monitor(constraint) for constraint in problem.constraints]
        self.monitors = tuple(monitor for monitor, _ in built)
        self.horizon = max((horizon for _, horizon in built), default=0)
        self._clock = self._place
        self._tick = 1 << self._clock
        self._timed = tuple(monitor for monitor in self.monitors if monitor.timed)
        self._with_deadline = tuple((m, m.lost) for m in self._timed if m.lost is not None)
        self._untimed = tuple(monitor for monitor in self.monitors if not monitor.timed)
        self._watching: dict[int, list[ConstraintMonitor]] = {}
        if len(self._untimed) > _MOST_SCANNED:
            for monitor in self._untimed:
                for bit in single_bits(monitor.mask):
                    self._watching.setdefault(bit, []).append(monitor)

    def _monitor(self, constraint: Constraint) -> tuple[ConstraintMonitor, int]:
        self.table.tick()
        automaton = automaton_of(constraint, constraint_tests(constraint, self.table), self.table)
        mask = reduce(or_, (condition(f, self.table).mask for f in constraint.arguments))
        width, shift = automaton.largest.bit_length(), self._place
        self._place += width
        monitor = ConstraintMonitor(
            constraint, mask, automaton.timed, automaton.progress, automaton.lost,
            automaton.pending, automaton.violated, shift, (1 << width) - 1,
        )  # fmt: skip
        return monitor, automaton.horizon

    def start(self, state: int) -> Standing:
        """The standing after the initial state."""
        return self._moved(0, self.monitors, state, 0)

    def progress(self, standing: Standing, state: int, changed: int = ALL) -> Standing:
        """The standing after one more state.

        Args:
            changed: the bits in which the two differ; `ALL` when that is not known.
        """
        time = 0
        if self.horizon:
            time = standing >> self._clock
            if time < self.horizon:
                standing += self._tick
                time += 1
        if self._timed:
            standing = self._moved(standing, self._timed, state, time)
        if touched := self._touched(changed):
            standing = self._moved(standing, touched, state, time)
        return standing

    def _touched(self, changed: int) -> Collection[ConstraintMonitor]:
        if changed == ALL:
            return self._untimed
        if not self._watching:
            return [monitor for monitor in self._untimed if monitor.mask & changed]
        touched: dict[int, ConstraintMonitor] = {}
        for bit in single_bits(changed):
            for monitor in self._watching.get(bit, ()):
                touched[monitor.shift] = monitor
        return touched.values()

    @staticmethod
    def _moved(
        standing: Standing, monitors: Iterable[ConstraintMonitor], state: int, time: int
    ) -> Standing:
        for monitor in monitors:
            value = (standing >> monitor.shift) & monitor.limit
            if value == monitor.violated:
                continue
            after = monitor.progress(value, state, time)
            if after != value:
                standing ^= (value ^ after) << monitor.shift
                if after == monitor.violated:
                    standing |= _BROKEN
        return standing

    @staticmethod
    def broken(standing: Standing) -> bool:
        """Whether some constraint is violated."""
        return bool(standing & _BROKEN)

    def lost(self, standing: Standing) -> bool:
        """Whether the trajectory shows that some constraint can no longer be satisfied.

        It is violated, or it is not satisfied and this is the last state in time: then it does not
        hold if the trajectory ends here, and the next state violates it.
        """
        if standing & _BROKEN:
            return True
        time = standing >> self._clock
        for monitor, late in self._with_deadline:
            if late((standing >> monitor.shift) & monitor.limit, time):
                return True
        return False

    def violated(self, standing: Standing) -> tuple[ConstraintMonitor, ...]:
        """The monitors that no continuation can satisfy."""
        if not standing & _BROKEN:
            return ()
        return tuple(m for m in self.monitors if m.status(standing) is Status.VIOLATED)

    def unsatisfied(self, standing: Standing) -> tuple[ConstraintMonitor, ...]:
        """The monitors that are not satisfied if the trajectory ends here."""
        return tuple(m for m in self.monitors if m.status(standing) is not Status.SATISFIED)

    @staticmethod
    def texts(monitors: Iterable[ConstraintMonitor]) -> tuple[str, ...]:
        """The constraints of some monitors as PDDL text."""
        return tuple(constraint_text(monitor.constraint) for monitor in monitors)
