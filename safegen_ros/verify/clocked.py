# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""PDDL3 trajectory constraints over real time.

A state lasts from the moment at which something makes it until something changes it, and the last
one lasts for good. A constraint without times says the same over time as over steps and uses the
same automaton. One with times has a moment at which it breaks unless something happens before:
the proof looks at it between two happenings of a plan, the run-time monitor while a step runs.

Semantics of Gerevini and Long, "Plan Constraints and Preferences in PDDL3" (2005).
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.bits import AtomTable, Test, condition
from safegen_ros.pddl.model import Constraint, Problem
from safegen_ros.pddl.writer import constraint_text, formula_text
from safegen_ros.verify.monitors import REASON, Automaton, Status, automaton_of, constraint_tests
from safegen_ros.verify.timed_actions import EXACT


class Clocked:
    """Where one constraint stands.

    Attributes:
        constraint: what it watches.
        mask: the atoms of its formulas; while they do not change, nothing has to be seen.
        due: the last moment [s] at which the present state may still be changed; after it the
            constraint is violated. None where nothing is due.
        broken: when it was violated [s]; None while it is not.
        late: when what was due came too late [s]; None where it did not.
    """

    deadline = False  # whether its last formula must come true in time

    def __init__(self, constraint: Constraint, tests: Sequence[Test]) -> None:
        self.constraint = constraint
        self.mask = 0
        self.due: Decimal | None = None
        self.broken: Decimal | None = None
        self.late: Decimal | None = None
        self._tests = tests

    def wait(self, time: Decimal) -> None:
        """Lets the present state last until a moment, at which another one may follow."""
        if self.broken is None and self.due is not None and time > self.due:
            self.broken = self.due

    def see(self, time: Decimal, state: int) -> None:
        """Takes in the state that begins at a moment."""
        self.wait(time)
        if self.broken is None:
            self._see(time, state)
        elif self.late is None and self.deadline and self._tests[-1](state):
            self.late = time

    def _see(self, time: Decimal, state: int) -> None:
        raise NotImplementedError

    @property
    def satisfied(self) -> bool:
        """Whether it holds if nothing happens any more."""
        return self.broken is None and self.due is None

    @property
    def status(self) -> Status:
        """What it says so far."""
        if self.broken is not None:
            return Status.VIOLATED
        return Status.SATISFIED if self.satisfied else Status.PENDING

    def explain(self) -> str:
        """Why it is not satisfied, for a model or a person."""
        arguments = [formula_text(each) for each in self.constraint.arguments]
        times = [f'{time:f} s' for time in self.constraint.exact]
        return _REASON[self.constraint.operator].format(*arguments, *times)


class _Untimed(Clocked):
    """An operator without times, by its automaton."""

    def __init__(self, constraint: Constraint, automaton: Automaton) -> None:
        super().__init__(constraint, ())
        self._automaton = automaton
        self._value = 0

    def _see(self, time: Decimal, state: int) -> None:
        self._value = self._automaton.progress(self._value, state, 0)
        if self._value == self._automaton.violated:
            self.broken = time

    @property
    def satisfied(self) -> bool:
        return self.broken is None and self._value not in self._automaton.pending


class _Within(Clocked):
    """`(within t f)`: f holds in some state that begins at t or before."""

    deadline = True

    def __init__(self, constraint: Constraint, tests: Sequence[Test]) -> None:
        super().__init__(constraint, tests)
        self.due = constraint.exact[0]

    def _see(self, time: Decimal, state: int) -> None:
        if self._tests[0](state):
            self.due = None


class _AlwaysWithin(Clocked):
    """`(always-within t f g)`: g holds in every state with f, or in one that begins t later."""

    deadline = True

    def _see(self, time: Decimal, state: int) -> None:
        when, then = self._tests
        if then(state):
            self.due = None
        elif self.due is None and when(state):
            self.due = EXACT.add(time, self.constraint.exact[0])


class _Hold(Clocked):
    """`(hold-during a b f)` and `(hold-after a f)`: f holds at every moment from a on, before b."""

    def _see(self, time: Decimal, state: int) -> None:
        begin, *end = self.constraint.exact
        self.due = None
        if self._tests[0](state) or (end and time >= end[0]):
            return
        if time >= begin:
            self.broken = time
        else:
            self.due = begin


TIMED: dict[str, type[Clocked]] = {
    'within': _Within, 'always-within': _AlwaysWithin, 'hold-during': _Hold, 'hold-after': _Hold,
}  # fmt: skip

_REASON = {
    **REASON,
    'within': '{0} must hold within {1} and does not',
    'always-within': '{0} held, and {1} must hold then or within {2} and does not',
    'hold-during': '{0} must hold from {1} until before {2}, in the last state of a shorter plan '
    'too, and does not',
    'hold-after': '{0} must hold from {1} on, in the last state of a shorter plan too, and does '
    'not',
}


def clocked(problem: Problem, table: AtomTable) -> list[Clocked]:
    """The constraints of a problem with durative actions, before its initial state.

    Raises:
        SafegenError: one counts steps.
    """
    found: list[Clocked] = []
    for constraint in problem.constraints:
        tests = constraint_tests(constraint, table)
        timed = TIMED.get(constraint.operator)
        if timed is None:
            found.append(_Untimed(constraint, automaton_of(constraint, tests, table)))
            continue
        if not constraint.exact:
            raise SafegenError(
                f'{constraint_text(constraint)} counts steps, and the actions of '
                f'{problem.domain.name} take time: write the constraint in PDDL, in seconds',
                ErrorCode.UNSUPPORTED_FEATURE,
            )
        found.append(timed(constraint, tests))
    for each in found:
        for formula in each.constraint.arguments:
            each.mask |= condition(formula, table).mask
    return found
