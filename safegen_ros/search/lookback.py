# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Constraints over derived atoms, as parts of a finite-domain task.

What an operator does to a derived atom cannot be regressed. So the operator that leaves a state
notes the status of the constraint in that state, and the goal does so for the last one.
"""

from __future__ import annotations

from collections.abc import Callable

from safegen_ros.search.nnf import TRUE, NnfFormula, NnfLiteral
from safegen_ros.search.sas_builder import Mark, SasBuilder


class Counter:
    """A number in binary, so that counting to n takes about log n effects.

    Args:
        draft: the task that it becomes part of.
        largest: the largest value that is asked for; it may wrap around behind that.
    """

    def __init__(self, draft: SasBuilder, largest: int) -> None:
        self._logic = draft.logic
        self._bits = [draft.flag('count', False) for _ in range(largest.bit_length())]

    def reads(self, value: int) -> NnfFormula:
        """Whether it has a value."""
        return self._logic.both(
            *(
                bit if value >> place & 1 else self._logic.opposite(bit)
                for place, bit in enumerate(self._bits)
            )
        )

    def advancing(self, when: NnfFormula) -> list[Mark]:
        """What makes an operator add one."""
        found: list[Mark] = []
        for bit in self._bits:
            unset = self._logic.opposite(bit)
            found.append((self._logic.both(when, unset), bit))
            when = self._logic.both(when, bit)
            found.append((when, unset))
        return found

    def resetting(self, when: NnfFormula) -> list[Mark]:
        """What makes an operator set it to 0."""
        return [(when, self._logic.opposite(bit)) for bit in self._bits]


class StepClock:
    """Counts the steps that have been taken, as far as the task needs."""

    def __init__(self, draft: SasBuilder) -> None:
        self._draft = draft
        self._flags: dict[int, NnfLiteral] = {}

    def reached(self, steps: int) -> NnfFormula:
        """Whether that many steps have been taken before an operator, or more."""
        if steps <= 0:
            return TRUE
        if steps not in self._flags:
            self._flags[steps] = self._draft.flag('reached', False)
        return self._flags[steps]

    def start(self) -> None:
        """Makes the operators count, once all have asked."""
        if not self._flags:
            return
        last = max(self._flags)
        counter = Counter(self._draft, last - 1)
        marks: list[Mark] = [
            (counter.reads(steps - 1), flag) for steps, flag in self._flags.items()
        ]
        marks += counter.advancing(self._draft.logic.opposite(self._flags[last]))
        for operator in self._draft.every():
            operator.marks += marks


class Lookback:
    """Adds such constraints to a draft of a task; there is a method for each operator of PDDL3.

    Args:
        draft: the task that they become part of.
        clock: gives the time of the state that an operator leaves, and of the last one.
    """

    def __init__(self, draft: SasBuilder, clock: StepClock) -> None:
        self._draft = draft
        self._clock = clock
        self._logic = draft.logic

    def add(self, operator: str, formulas: list[NnfFormula], times: tuple[int, ...]) -> None:
        """Adds one constraint."""
        _ADD[operator](self, *formulas, *times)

    def _ask(self, formula: NnfFormula) -> None:
        """Demands a formula of every state."""
        for operator in self._draft.every():
            operator.demands.append(formula)
        self._draft.goals.append(formula)

    def _mark(self, when: NnfFormula, flag: NnfLiteral) -> None:
        for operator in self._draft.every():
            operator.marks.append((when, flag))

    def _has_held(self, formula: NnfFormula) -> NnfLiteral:
        """Whether a formula held in a state before this one."""
        seen = self._draft.flag('seen', False)
        self._mark(formula, seen)
        return seen

    def _before(self, time: int) -> NnfFormula:
        return self._logic.negate(self._clock.reached(time))

    def _always(self, formula: NnfFormula) -> None:
        self._ask(formula)

    def _sometime(self, formula: NnfFormula) -> None:
        self._draft.goals.append(self._logic.either(self._has_held(formula), formula))

    def _at_end(self, formula: NnfFormula) -> None:
        self._draft.goals.append(formula)

    def _at_most_once(self, formula: NnfFormula) -> None:
        logic = self._logic
        held = self._has_held(formula)
        over = self._has_held(logic.both(held, logic.negate(formula)))
        self._ask(logic.either(logic.opposite(over), logic.negate(formula)))

    def _sometime_before(self, formula: NnfFormula, first: NnfFormula) -> None:
        self._ask(self._logic.either(self._logic.negate(formula), self._has_held(first)))

    def _sometime_after(self, formula: NnfFormula, then: NnfFormula) -> None:
        self._owed(formula, then)

    def _owed(self, formula: NnfFormula, then: NnfFormula) -> tuple[NnfLiteral, NnfFormula]:
        """Whether something is owed of the states before this one, and whether this one adds it."""
        logic = self._logic
        owed = self._draft.flag('owed', False)
        starts = logic.both(formula, logic.negate(then))
        self._mark(then, logic.opposite(owed))
        self._mark(starts, owed)
        free = logic.both(logic.opposite(owed), logic.negate(formula))
        self._draft.goals.append(logic.either(then, free))
        return owed, starts

    def _within(self, formula: NnfFormula, deadline: int) -> None:
        self._sometime(self._logic.both(formula, self._before(deadline + 1)))

    def _always_within(self, formula: NnfFormula, then: NnfFormula, delay: int) -> None:
        logic = self._logic
        if delay == 0:
            self._ask(logic.either(logic.negate(formula), then))
            return
        counter = Counter(self._draft, delay - 1)
        owed, starts = self._owed(formula, then)
        open_ = logic.both(owed, logic.negate(then))
        marks = counter.advancing(open_)
        marks += counter.resetting(logic.both(starts, logic.opposite(owed)))
        for when, flag in marks:
            self._mark(when, flag)
        self._ask(logic.negate(logic.both(open_, counter.reads(delay - 1))))

    def _hold_during(self, formula: NnfFormula, begin: int, end: int) -> None:
        over = self._clock.reached(end)
        self._ask(self._logic.either(self._before(begin), over, formula))
        self._draft.goals.append(self._logic.either(self._clock.reached(begin), formula))

    def _hold_after(self, formula: NnfFormula, begin: int) -> None:
        self._ask(self._logic.either(self._before(begin), formula))
        self._draft.goals.append(formula)


_ADD: dict[str, Callable[..., None]] = {
    'always': Lookback._always,
    'sometime': Lookback._sometime,
    'at-most-once': Lookback._at_most_once,
    'sometime-before': Lookback._sometime_before,
    'sometime-after': Lookback._sometime_after,
    'at end': Lookback._at_end,
    'within': Lookback._within,
    'always-within': Lookback._always_within,
    'hold-during': Lookback._hold_during,
    'hold-after': Lookback._hold_after,
}
