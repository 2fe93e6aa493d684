# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Steps counted by the operators of a task, for constraints with times."""

from __future__ import annotations

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
