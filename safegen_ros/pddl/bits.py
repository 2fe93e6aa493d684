# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""States as integers, one bit per atom, and formulas compiled to tests on them.

An atom gets its bit when something first speaks of it, so that the cost of checking a plan goes
with the plan and never with the task. Atoms that no action changes get none: they are as the
initial state has them, and formulas are simplified by that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from safegen_ros.pddl.limits import Objects
from safegen_ros.pddl.model import (
    And,
    Atom,
    AtomFormula,
    Comparison,
    Equals,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Problem,
    State,
)
from safegen_ros.pddl.pruning import changed_predicates, fitting

Test = Callable[[int], bool]
"""A formula without free variables as a function of a state's bits."""

_NOTHING: Mapping[str, str] = MappingProxyType({})


class AtomTable:
    """The bits of one problem's atoms.

    Args:
        problem: the problem.
        fold_static: whether atoms that no action changes are taken from the initial state. It must
            be false where states come from anywhere but the problem's own actions.
    """

    def __init__(self, problem: Problem, *, fold_static: bool = True) -> None:
        self.problem = problem
        self.objects: Objects = problem.objects_by_type()
        self.fluents = (
            changed_predicates(problem) if fold_static else frozenset(problem.domain.predicates)
        )
        self._init = problem.init
        self._bits: dict[Atom, int] = {}
        self._atoms: list[Atom] = []

    def __len__(self) -> int:
        """Number of atoms that have a bit so far."""
        return len(self._atoms)

    def bit(self, atom: Atom) -> int:
        """The bit of an atom whose predicate is in `fluents`, as a mask."""
        found = self._bits.get(atom)
        if found is None:
            found = self._bits[atom] = 1 << len(self._atoms)
            self._atoms.append(atom)
        return found

    def initially(self, atom: Atom) -> bool:
        """Whether the initial state has an atom; for a folded one this is its truth for good."""
        return atom in self._init

    def encode(self, state: Iterable[Atom]) -> int:
        """The bits of a state; folded atoms are left out."""
        bits = 0
        for atom in state:
            if atom[0] in self.fluents:
                bits |= self.bit(atom)
        return bits

    def decode(self, bits: int) -> State:
        """The atoms of a state, folded ones included."""
        folded = (atom for atom in self._init if atom[0] not in self.fluents)
        return frozenset((*self.atoms(bits), *folded))

    def atoms(self, bits: int) -> list[Atom]:
        """The atoms of a mask, in the order in which they got their bits."""
        return [self._atoms[bit.bit_length() - 1] for bit in single_bits(bits)]


def single_bits(mask: int) -> list[int]:
    """The bits of a mask, each as a mask, from the lowest on."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low)
        mask ^= low
    return found


def bit_numbers(mask: int) -> list[int]:
    """The numbers of the bits of a mask, from the lowest on, which is bit 0."""
    found = []
    if mask.bit_count() < mask.bit_length() >> 7:  # sparse
        while mask:
            low = mask & -mask
            found.append(low.bit_length() - 1)
            mask ^= low
        return found
    first = 0
    for byte in mask.to_bytes((mask.bit_length() + 7) // 8, 'little'):
        if byte:
            for number in _BITS_OF_BYTE[byte]:
                found.append(first + number)
        first += 8
    return found


_BITS_OF_BYTE = tuple(tuple(n for n in range(8) if byte >> n & 1) for byte in range(256))


@dataclass(frozen=True, slots=True)
class Literals:
    """A conjunction, or a disjunction, of literals.

    Attributes:
        conjunctive: whether all of them must hold, or one of them.
        true: the atoms that must be true.
        false: the atoms that must be false.
    """

    conjunctive: bool
    true: int
    false: int

    @property
    def mask(self) -> int:
        """Every atom that it speaks of."""
        return self.true | self.false


@dataclass(frozen=True, slots=True)
class Junction:
    """A conjunction, or a disjunction, of conditions of the other kind."""

    conjunctive: bool
    parts: tuple[Condition, ...]

    @property
    def mask(self) -> int:
        """Every atom that it speaks of."""
        mask = 0
        for part in self.parts:
            mask |= part.mask
        return mask


Condition = Literals | Junction
"""A ground formula in negation normal form, simplified as far as it goes without search."""

TRUE = Literals(True, 0, 0)
FALSE = Literals(False, 0, 0)


def condition(
    formula: Formula,
    table: AtomTable,
    binding: Mapping[str, str] = _NOTHING,
    positive: bool = True,
) -> Condition:
    """Writes a formula, or its negation, as a condition on bits.

    Args:
        formula: any formula.
        table: the bits; atoms that have none get one.
        binding: objects for the variables that are free in the formula.
        positive: whether the formula is meant, or its negation.
    """
    if isinstance(formula, AtomFormula):
        atom = (formula.predicate, *(binding.get(term, term) for term in formula.terms))
        if atom[0] in table.fluents:
            bit = table.bit(atom)
            return Literals(True, bit, 0) if positive else Literals(True, 0, bit)
        return TRUE if table.initially(atom) == positive else FALSE
    if isinstance(formula, Equals):
        same = binding.get(formula.left, formula.left) == binding.get(formula.right, formula.right)
        return TRUE if same == positive else FALSE
    if isinstance(formula, Not):
        return condition(formula.body, table, binding, not positive)
    if isinstance(formula, Imply):
        premise = condition(formula.premise, table, binding, not positive)
        return join(
            (premise, condition(formula.conclusion, table, binding, positive)), not positive
        )
    if isinstance(formula, (Forall, Exists)):
        parts = [
            condition(formula.body, table, {**binding, **inner}, positive)
            for inner in fitting(
                formula.variables,
                formula.body,
                isinstance(formula, Exists),
                table.objects,
                table,
                binding,
            )
        ]
        return join(parts, isinstance(formula, Forall) == positive)
    if isinstance(formula, Comparison):
        raise NotImplementedError('numbers are refused by the reader')
    parts = [condition(part, table, binding, positive) for part in formula.parts]
    return join(parts, isinstance(formula, And) == positive)


def join(parts: Iterable[Condition], conjunctive: bool) -> Condition:
    """The conjunction, or the disjunction, of conditions."""
    neutral, absorbing = (TRUE, FALSE) if conjunctive else (FALSE, TRUE)
    true = false = 0
    others: list[Condition] = []
    waiting = list(reversed(list(parts)))
    while waiting:
        part = waiting.pop()
        if part == absorbing:
            return absorbing
        if isinstance(part, Literals):
            if part == neutral:
                continue
            mask = part.mask
            if part.conjunctive == conjunctive or not mask & (mask - 1):
                true |= part.true
                false |= part.false
                continue
        elif part.conjunctive == conjunctive:
            waiting.extend(reversed(part.parts))
            continue
        others.append(part)
    if true & false:
        return absorbing
    if true | false:
        mask = true | false
        single = not mask & (mask - 1)  # always written as a conjunction, so that equal is equal
        others.insert(0, Literals(conjunctive or single, true, false))
    if len(others) == 1:
        return others[0]
    return Junction(conjunctive, tuple(others)) if others else neutral


def compile_test(formula: Condition) -> Test:
    """The condition as a function of a state's bits."""
    if isinstance(formula, Literals):
        mask, true, false = formula.mask, formula.true, formula.false
        if formula.conjunctive:
            return lambda state: state & mask == true
        return lambda state: state & mask != false
    parts = [compile_test(part) for part in formula.parts]
    if len(parts) == 2:
        first, second = parts
        if formula.conjunctive:
            return lambda state: first(state) and second(state)
        return lambda state: first(state) or second(state)
    if formula.conjunctive:
        return lambda state: all(part(state) for part in parts)
    return lambda state: any(part(state) for part in parts)
