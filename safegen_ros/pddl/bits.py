# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""States as integers, one bit per atom, and formulas compiled to tests on them.

Where numbers decide, the lowest bits hold the values of all functions (see `numbers`).

An atom gets its bit at its first use, so that the cost of checking a plan grows with the plan and
never with the task. Atoms that no action changes get none: they are as the initial state has them,
and formulas are simplified by that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from types import MappingProxyType

from safegen_ros.pddl.deciding import changed_predicates, state_functions
from safegen_ros.pddl.derived import levels
from safegen_ros.pddl.expressions import bound
from safegen_ros.pddl.facts import is_value
from safegen_ros.pddl.formulas import bindings
from safegen_ros.pddl.limits import Objects
from safegen_ros.pddl.model import (
    And,
    Atom,
    AtomFormula,
    Comparison,
    Effect,
    Equals,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Problem,
    State,
)
from safegen_ros.pddl.numbers import NUMBERS, WIDTH, NumberTable
from safegen_ros.pddl.pruning import fitting
from safegen_ros.pddl.writer import formula_text

Test = Callable[[int], bool]
"""A formula without free variables as a function of a state's bits."""

_NOTHING: Mapping[str, str] = MappingProxyType({})
_MOST_CLOSURES = 50_000  # states of which the derived atoms are remembered


def no_tick() -> None:
    """The `tick` of a table that takes the time that it takes."""


class AtomTable:
    """The bits of one problem's atoms.

    Args:
        problem: the problem.
        fold_static: whether atoms that no action changes are taken from the initial state. It must
            be false where states come from anywhere but the problem's own actions.
        ranking: functions that are part of a state besides those that decide.
        tick: called often while derived atoms and constraints are prepared; it may raise.

    Attributes:
        tick: as above.
        numbers: the functions that are part of a state; None when there are none.
        first: the bit of the first atom; those below it hold numbers.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        fold_static: bool = True,
        ranking: frozenset[str] = frozenset(),
        tick: Callable[[], None] = no_tick,
    ) -> None:
        self.problem = problem
        self.tick = tick
        self.objects: Objects = problem.objects_by_type()
        derived = problem.domain.derived_predicates()
        self.fluents = (
            changed_predicates(problem) if fold_static else frozenset(problem.domain.predicates)
        )
        self._stated = self.fluents - derived
        self._init = problem.init
        self._bits: dict[Atom, int] = {}
        self._atoms: list[Atom] = []
        functions = state_functions(problem) | ranking
        self.numbers = NumberTable(problem, functions, fold_static) if functions else None
        self.first = WIDTH if self.numbers and self.numbers.changing else 0
        self.closure = Closure(self) if derived else None

    def __len__(self) -> int:
        """Number of atoms that have a bit so far."""
        return len(self._atoms)

    def bit(self, atom: Atom) -> int:
        """The bit of an atom whose predicate is in `fluents`, as a mask."""
        found = self._bits.get(atom)
        if found is None:
            found = self._bits[atom] = 1 << self.first + len(self._atoms)
            self._atoms.append(atom)
        return found

    def initially(self, atom: Atom) -> bool:
        """Whether the initial state has an atom; for a folded one this is its truth for good."""
        return atom in self._init

    def mask(self, atoms: Iterable[Atom]) -> int:
        """The bits of some atoms; folded and derived ones are left out."""
        bits = 0
        for atom in atoms:
            if atom[0] in self._stated:
                bits |= self.bit(atom)
        return bits

    def encode(self, state: Iterable[Atom]) -> int:
        """The bits of a state, derived atoms included; folded atoms are left out."""
        if self.numbers is None:
            return self.closed(self.mask(state))
        facts = tuple(state)
        return self.closed(self.mask(facts) | self.numbers.encode(facts))

    def closed(self, state: int) -> int:
        """A state with the derived atoms that hold in it, its own ones ignored."""
        return state if self.closure is None else self.closure(state)

    def decode(self, bits: int) -> State:
        """The atoms of a state, folded ones included and derived ones left out."""
        folded = [atom for atom in self._init if atom[0] not in self.fluents]
        if self.numbers is not None:
            folded = [atom for atom in folded if not is_value(atom)] + self.numbers.facts(bits)
        if self.closure is not None:
            bits &= ~self.closure.heads
        return frozenset((*self.atoms(bits), *folded))

    def atoms(self, bits: int) -> list[Atom]:
        """The atoms of a mask, in the order in which they got their bits."""
        return [self._atoms[bit.bit_length() - 1] for bit in single_bits(bits >> self.first)]

    def told(self, formulas: Iterable[Formula], state: int) -> str:
        """The values that formulas read in a state, in words; empty where there are none."""
        return self.numbers.told(formulas, self.objects, state) if self.numbers else ''


class Closure:
    """The derived atoms of a state, as the least set that the rules allow, layer by layer.

    Attributes:
        heads: every atom that some rule may derive, as a mask.
        support: the other atoms of the rules, as a mask; while they keep their truth, the derived
            ones keep theirs.
        rules: each derived atom with a condition under which it holds.
    """

    def __init__(self, table: AtomTable) -> None:
        self.rules: list[tuple[int, Condition]] = []
        self._layers: list[_Layer] = []
        self._known: dict[int, int] = {}
        domain = table.problem.domain
        level = levels(domain.derived)
        ordered = sorted(domain.derived, key=lambda rule: level[rule.predicate])
        for _, together in groupby(ordered, key=lambda rule: level[rule.predicate]):
            first = len(self.rules)
            for rule in together:
                for binding in bindings(rule.variables, table.objects):
                    table.tick()
                    body = of_atoms(condition(rule.body, table, binding))
                    if body != FALSE:
                        head = table.bit((rule.predicate, *binding.values()))
                        parts = body.parts if isinstance(body, Junction) else ()
                        spread = parts if parts and not body.conjunctive else (body,)
                        self.rules += [(head, part) for part in spread]
            self._layers.append(_Layer(self.rules[first:], table.tick))
        self.heads = mask = 0
        for head, when in self.rules:
            self.heads |= head
            mask |= when.mask
        self.support = mask & ~self.heads

    def __call__(self, state: int) -> int:
        """The state with the derived atoms that hold in it, its own ones ignored."""
        base = state & ~self.heads
        asked = base & self.support
        found = self._known.get(asked)
        if found is None:
            found = base
            for layer in self._layers:
                found = layer.close(found)
            found &= self.heads
            if len(self._known) >= _MOST_CLOSURES:
                self._known.clear()
            self._known[asked] = found
        return base | found


class WatchingClosure(Closure):
    """The derived atoms of a state, without the atoms whose conditions over all it breaks.

    Args:
        table: the bits.
        remembered: those conditions, see `DurativeAction`.
    """

    def __init__(self, table: AtomTable, remembered: Iterable[Effect]) -> None:
        self._table, self._derive = table, table.closure
        self._conditions = {each.add[0].predicate: each for each in remembered}
        self._tests: dict[int, Test] = {}
        self._watched = self._seen = 0
        self.heads, self.rules = 0, []
        if self._derive is not None:
            self.heads, self.rules = self._derive.heads, self._derive.rules
        self.support = -1  # any change counts

    def __call__(self, state: int) -> int:
        """The state with its derived atoms, and without what is over."""
        if self._derive is not None:
            state = self._derive(state)
        if self._seen < len(self._table):
            self._learn()
        for bit in single_bits(state & self._watched):
            if not self._tests[bit](state):
                state ^= bit
        return state

    def _learn(self) -> None:
        """Finds those of the new atoms that are watched."""
        table, first, self._seen = self._table, self._seen, len(self._table)
        for atom in table.atoms((1 << self._seen) - (1 << first) << table.first):
            each = self._conditions.get(atom[0])
            if each is not None:
                binding = dict(zip(each.add[0].terms, atom[1:], strict=True))
                bit = table.bit(atom)
                self._tests[bit] = compile_test(condition(each.condition, table, binding))
                self._watched |= bit


class _Layer:
    """Ground rules that may need each other's heads, but never the absence of one."""

    def __init__(self, rules: list[tuple[int, Condition]], tick: Callable[[], None]) -> None:
        heads = 0
        for head, _ in rules:
            heads |= head
        self._rules: list[tuple[int, Test]] = []
        for head, body in rules:
            tick()
            self._rules.append((head, compile_test(body)))
        self._waiting: dict[int, list[tuple[int, Test]]] = {}
        for rule, (_, body) in zip(self._rules, rules, strict=True):
            tick()
            for bit in single_bits(body.mask & heads):
                self._waiting.setdefault(bit, []).append(rule)

    def close(self, state: int) -> int:
        """The state with the heads that follow."""
        new = []
        for head, test in self._rules:
            if not state & head and test(state):
                state |= head
                new.append(head)
        while new:
            for head, test in self._waiting.get(new.pop(), ()):
                if not state & head and test(state):
                    state |= head
                    new.append(head)
        return state


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
        """Every atom in it."""
        return self.true | self.false


@dataclass(frozen=True, slots=True)
class Junction:
    """A conjunction, or a disjunction, of conditions of the other kind."""

    conjunctive: bool
    parts: tuple[Condition, ...]

    @property
    def mask(self) -> int:
        """Every atom in it."""
        mask = 0
        for part in self.parts:
            mask |= part.mask
        return mask


@dataclass(frozen=True, slots=True)
class Numeric:
    """A comparison of numbers.

    Attributes:
        text: as PDDL, or its negation.
        test: whether it holds in a state; false where a number has no value.
        total: whether its numbers have values in every state.
    """

    text: str
    test: Test = field(compare=False)
    total: bool = field(compare=False)

    @property
    def mask(self) -> int:
        """The bits of the values."""
        return NUMBERS


Condition = Literals | Junction | Numeric
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
        return _compared(formula, table, binding, positive)
    parts = [condition(part, table, binding, positive) for part in formula.parts]
    return join(parts, isinstance(formula, And) == positive)


def _compared(
    formula: Comparison, table: AtomTable, binding: Mapping[str, str], positive: bool
) -> Condition:
    numbers = table.numbers
    if numbers is None:  # of numbers alone, or a constraint of another problem
        numbers = NumberTable(table.problem, frozenset(), True)
    ground = Comparison(
        formula.operator, bound(formula.left, binding), bound(formula.right, binding)
    )
    test = numbers.comparison(ground, positive)
    if isinstance(test, bool):
        return TRUE if test else FALSE
    text = formula_text(ground)
    return Numeric(text if positive else f'(not {text})', test, numbers.always_has(ground))


def of_atoms(formula: Condition) -> Literals | Junction:
    """The condition, for callers without numbers that change."""
    if isinstance(formula, Numeric):
        raise TypeError(f'{formula.text} is not a condition on atoms')
    return formula


def is_total(formula: Condition) -> bool:
    """Whether a condition or its negation holds in every state: its numbers have values."""
    if isinstance(formula, Junction):
        return all(map(is_total, formula.parts))
    return not isinstance(formula, Numeric) or formula.total


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
        elif isinstance(part, Junction) and part.conjunctive == conjunctive:
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
    if isinstance(formula, Numeric):
        return formula.test
    parts = [compile_test(part) for part in formula.parts]
    if len(parts) == 2:
        first, second = parts
        if formula.conjunctive:
            return lambda state: first(state) and second(state)
        return lambda state: first(state) or second(state)
    if formula.conjunctive:
        return lambda state: all(part(state) for part in parts)
    return lambda state: any(part(state) for part in parts)
