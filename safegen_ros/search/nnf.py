# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Formulas over the facts of a finite-domain task, in negation normal form and simplified."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import NamedTuple


class NnfLiteral(NamedTuple):
    """A variable has a value or, if not `positive`, another one."""

    variable: int
    value: int
    positive: bool


class NnfJunction(NamedTuple):
    """A conjunction, or a disjunction, of two or more formulas, none of them of the same kind."""

    conjunctive: bool
    parts: tuple[NnfFormula, ...]


NnfFormula = NnfLiteral | NnfJunction

TRUE = NnfJunction(True, ())
FALSE = NnfJunction(False, ())

_SLACK = 4  # how many times too many conjunctions may be on the way to a normal form


class _Units:
    """The values that a conjunction of literals gives to every variable."""

    def __init__(self) -> None:
        self.equal: dict[int, int] = {}
        self.other: dict[int, dict[int, None]] = {}

    def known(self, literal: NnfLiteral) -> bool | None:
        """Whether a literal follows, or its negation does; None when neither does."""
        variable, value, positive = literal
        if variable in self.equal:
            return (self.equal[variable] == value) == positive
        if value in self.other.get(variable, ()):
            return not positive
        return None

    def literals(self) -> list[NnfLiteral]:
        found = [NnfLiteral(variable, value, True) for variable, value in self.equal.items()]
        for variable, values in self.other.items():
            found += [NnfLiteral(variable, value, False) for value in values]
        return found


class NnfFormulas:
    """Builds and simplifies formulas.

    Args:
        sizes: number of values of each variable; it may grow while this is in use.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = sizes

    def literal(self, variable: int, value: int, positive: bool = True) -> NnfLiteral:
        """A literal; of a variable with two values it is always written as a positive one."""
        if not positive and self._sizes[variable] == 2:
            return NnfLiteral(variable, 1 - value, True)
        return NnfLiteral(variable, value, positive)

    def opposite(self, literal: NnfLiteral) -> NnfLiteral:
        """The negation of a literal."""
        return self.literal(literal.variable, literal.value, not literal.positive)

    def negate(self, formula: NnfFormula) -> NnfFormula:
        """The negation."""
        if isinstance(formula, NnfLiteral):
            return self.opposite(formula)
        return NnfJunction(not formula.conjunctive, tuple(map(self.negate, formula.parts)))

    def both(self, *parts: NnfFormula) -> NnfFormula:
        """The conjunction."""
        return self.join(parts, True)

    def either(self, *parts: NnfFormula) -> NnfFormula:
        """The disjunction."""
        return self.join(parts, False)

    def join(self, parts: Iterable[NnfFormula], conjunctive: bool) -> NnfFormula:
        """The conjunction, or the disjunction, simplified by the literals in it."""
        neutral, absorbing = (TRUE, FALSE) if conjunctive else (FALSE, TRUE)
        parts = [part for part in parts if part != neutral]
        if len(parts) < 2:
            return parts[0] if parts else neutral
        units = _Units()  # of a disjunction, what holds where its literals do not
        others: dict[NnfFormula, None] = {}
        waiting = parts[::-1]
        while waiting:
            learned = False
            while waiting:
                part = waiting.pop()
                if isinstance(part, NnfLiteral):
                    own = part if conjunctive else self.opposite(part)
                    known = units.known(own)
                    if known is False:
                        return absorbing
                    if known is None:
                        self._learn(units, own)
                        learned = True
                elif part.conjunctive == conjunctive:
                    waiting.extend(reversed(part.parts))
                elif part == absorbing:
                    return absorbing
                else:
                    simpler = self._restrict(part, units.known)
                    if simpler is part:
                        others[part] = None
                    else:
                        waiting.append(simpler)
            if learned:  # earlier parts may be simpler now
                waiting, others = list(others)[::-1], {}
        own_literals = units.literals()
        if not conjunctive:
            own_literals = [self.opposite(literal) for literal in own_literals]
        found = (*own_literals, *others)
        if len(found) == 1:
            return found[0]
        return NnfJunction(conjunctive, found) if found else neutral

    def _learn(self, units: _Units, literal: NnfLiteral) -> None:
        variable, value, positive = literal
        if positive:
            units.equal[variable] = value
            units.other.pop(variable, None)
            return
        values = units.other.setdefault(variable, {})
        values[value] = None
        if len(values) == self._sizes[variable] - 1:  # only one is left
            last = next(v for v in range(self._sizes[variable]) if v not in values)
            self._learn(units, NnfLiteral(variable, last, True))

    def restrict(self, formula: NnfFormula, facts: Mapping[int, int]) -> NnfFormula:
        """The formula simplified by facts that are known to hold."""

        def known(literal: NnfLiteral) -> bool | None:
            value = facts.get(literal.variable)
            return None if value is None else (value == literal.value) == literal.positive

        return self._restrict(formula, known)

    def _restrict(
        self, formula: NnfFormula, known: Callable[[NnfLiteral], bool | None]
    ) -> NnfFormula:
        if isinstance(formula, NnfLiteral):
            truth = known(formula)
            return formula if truth is None else TRUE if truth else FALSE
        parts = [self._restrict(part, known) for part in formula.parts]
        if all(new is old for new, old in zip(parts, formula.parts, strict=True)):
            return formula
        return self.join(parts, formula.conjunctive)

    def cubes(self, formula: NnfFormula, limit: int) -> list[tuple[NnfLiteral, ...]] | None:
        """Disjunctive normal form: conjunctions of literals of which one must hold.

        Returns:
            The conjunctions, none implied by another; None when it takes more than `limit`.
        """
        if isinstance(formula, NnfLiteral):
            return [(formula,)]
        if not formula.conjunctive:
            parts = [self.cubes(part, limit) for part in formula.parts]
            merged = [cube for part in parts for cube in part or ()]
            return None if None in parts else _shortest_cubes(merged, limit)
        found = [literals(formula)]
        for part in formula.parts:
            if isinstance(part, NnfLiteral):
                continue
            choices = self.cubes(part, limit)
            if choices is None or len(found) * len(choices) > _SLACK * limit:
                return None
            joined = [self.join(first + second, True) for first, second in product(found, choices)]
            kept = _shortest_cubes([literals(cube) for cube in joined if cube != FALSE], limit)
            if kept is None:
                return None
            found = kept
        return found


def _shortest_cubes(
    found: list[tuple[NnfLiteral, ...]], limit: int
) -> list[tuple[NnfLiteral, ...]] | None:
    """Those that no other one follows from, unless there are too many of them."""
    if len(found) > _SLACK * limit:
        return None
    kept: dict[frozenset[NnfLiteral], tuple[NnfLiteral, ...]] = {}
    for cube in sorted(found, key=len):
        own = frozenset(cube)
        if not any(other <= own for other in kept):
            kept[own] = cube
    return None if len(kept) > limit else list(kept.values())


def literals(formula: NnfFormula) -> tuple[NnfLiteral, ...]:
    """The literals of a conjunction of literals; of another formula, those among its conjuncts."""
    if isinstance(formula, NnfLiteral):
        return (formula,)
    if not formula.conjunctive:
        return ()
    return tuple(part for part in formula.parts if isinstance(part, NnfLiteral))


def conjuncts(formula: NnfFormula) -> tuple[NnfFormula, ...]:
    """What must all hold."""
    if isinstance(formula, NnfJunction) and formula.conjunctive:
        return formula.parts
    return (formula,)


def variables(formula: NnfFormula) -> set[int]:
    """The variables of a formula."""
    if isinstance(formula, NnfLiteral):
        return {formula.variable}
    return {variable for part in formula.parts for variable in variables(part)}


def holds(formula: NnfFormula, values: Sequence[int]) -> bool:
    """Whether the formula is true where every variable has the given value."""
    if isinstance(formula, NnfLiteral):
        return (values[formula.variable] == formula.value) == formula.positive
    if formula.conjunctive:
        return all(holds(part, values) for part in formula.parts)
    return any(holds(part, values) for part in formula.parts)
