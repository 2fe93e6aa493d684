# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""PDDL3 trajectory constraints as small automata that progress state by state.

One automaton serves the validator (states of a plan), the search (its states carry the automata's)
and the run-time monitor (observed states). An automaton is fixed; where it stands is a small
integer, so that the standing of all constraints is a tuple that is cheap to copy and to hash.

Semantics as VAL has them, by experiment: s0 is the first state of the trajectory, and
`sometime-before f h` wants h in a state strictly earlier than the first state with f.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum

from safegen_ros.pddl.ground import Test, compile_formula
from safegen_ros.pddl.model import Atom, Constraint, Problem
from safegen_ros.pddl.writer import constraint_text, formula_text

VIOLATED = -1
"""The standing from which no continuation helps."""

Standing = tuple[int, ...]
"""Where each automaton stands, in the order of the problem's constraints."""


class Status(Enum):
    """What a constraint says of the trajectory so far."""

    SATISFIED = 'satisfied'  # it would hold if the trajectory ended here
    PENDING = 'pending'  # it would not, but a continuation can still satisfy it
    VIOLATED = 'violated'  # no continuation can


@dataclass(frozen=True, slots=True)
class Monitor:
    """The automaton of one constraint.

    Attributes:
        constraint: what it watches.
        tests: the constraint's formulas as tests on a state.
    """

    constraint: Constraint
    tests: tuple[Test, ...]

    def progress(self, standing: int, state: AbstractSet[Atom]) -> int:
        """Where the automaton stands after one more state of the trajectory."""
        if standing == VIOLATED:
            return VIOLATED
        return _PROGRESS[self.constraint.operator](self.tests, standing, state)

    def status(self, standing: int) -> Status:
        """What the constraint says if the trajectory ends here."""
        if standing == VIOLATED:
            return Status.VIOLATED
        if self.constraint.operator == 'sometime' and standing == 0:
            return Status.PENDING
        return Status.SATISFIED

    def explain(self) -> str:
        """Why the constraint is not satisfied, for a model or a person."""
        arguments = [formula_text(a) for a in self.constraint.arguments]
        return _REASON[self.constraint.operator].format(*arguments)


def _always(tests: tuple[Test, ...], standing: int, state: AbstractSet[Atom]) -> int:
    return 0 if tests[0](state) else VIOLATED


def _sometime(tests: tuple[Test, ...], standing: int, state: AbstractSet[Atom]) -> int:
    return 1 if standing == 1 or tests[0](state) else 0


def _at_most_once(tests: tuple[Test, ...], standing: int, state: AbstractSet[Atom]) -> int:
    # 0: not yet, 1: in its one interval, 2: the interval is over
    if tests[0](state):
        return VIOLATED if standing == 2 else 1
    return 2 if standing else 0


def _sometime_before(tests: tuple[Test, ...], standing: int, state: AbstractSet[Atom]) -> int:
    # 0: still waiting for the second formula, 1: it has held, nothing more is asked
    if standing == 1:
        return 1
    if tests[0](state):
        return VIOLATED
    return 1 if tests[1](state) else 0


_PROGRESS = {
    'always': _always,
    'sometime': _sometime,
    'at-most-once': _at_most_once,
    'sometime-before': _sometime_before,
}

_REASON = {
    'always': '{0} must hold in every state and does not',
    'sometime': '{0} must hold in some state and never does',
    'at-most-once': '{0} may become true only once and does again',
    'sometime-before': '{0} holds, but {1} did not hold in any earlier state',
}


class MonitorSet:
    """The automata of all constraints of a problem."""

    def __init__(self, problem: Problem) -> None:
        objects = problem.objects_by_type()
        self.monitors = tuple(
            Monitor(c, tuple(compile_formula(f, objects) for f in c.arguments))
            for c in problem.constraints
        )

    def start(self, state: AbstractSet[Atom]) -> Standing:
        """The standing after the initial state."""
        return self.progress((0,) * len(self.monitors), state)

    def progress(self, standing: Standing, state: AbstractSet[Atom]) -> Standing:
        """The standing after one more state."""
        return tuple(
            monitor.progress(q, state) for monitor, q in zip(self.monitors, standing, strict=True)
        )

    def violated(self, standing: Standing) -> tuple[Monitor, ...]:
        """The monitors that no continuation can satisfy."""
        pairs = zip(self.monitors, standing, strict=True)
        return tuple(monitor for monitor, q in pairs if q == VIOLATED)

    def unsatisfied(self, standing: Standing) -> tuple[Monitor, ...]:
        """The monitors that are not satisfied if the trajectory ends here."""
        pairs = zip(self.monitors, standing, strict=True)
        return tuple(m for m, q in pairs if m.status(q) is not Status.SATISFIED)

    def texts(self, monitors: tuple[Monitor, ...]) -> tuple[str, ...]:
        """The constraints of some monitors as PDDL text."""
        return tuple(constraint_text(monitor.constraint) for monitor in monitors)
