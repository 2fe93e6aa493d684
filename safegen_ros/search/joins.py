# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The instances of an action, found as a database finds them.

The atoms of a predicate are rows, and a precondition joins them on its variables. What it says
about atoms that never change is asked as soon as the variables in it are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from operator import itemgetter
from typing import NamedTuple

from safegen_ros.pddl.bits import TRUE, AtomTable, condition
from safegen_ros.pddl.model import (
    Action,
    And,
    AtomFormula,
    Comparison,
    Equals,
    Exists,
    Forall,
    Formula,
    Not,
    Or,
    conjuncts,
    functions_of,
    subformulas,
    terms_of,
    walk,
)
from safegen_ros.search.budget import Budget

Row = tuple[str, ...]
_Pick = Callable[[Row], Row]
_Test = Callable[[Row], bool]


def _picker(places: Sequence[int]) -> _Pick:
    """What takes the given places of a row."""
    if not places:
        return lambda row: ()
    if len(places) == 1:
        place = places[0]
        return lambda row: (row[place],)
    return itemgetter(*places)


def _anything(row: Row) -> bool:
    return True


class RowPattern(NamedTuple):
    """How an atom of a precondition reads rows, by its places.

    Attributes:
        constants: places that must hold a certain object.
        same: pairs of places that must hold the same object.
        kinds: places that must hold an object of a type, where the predicate allows for more.
        key: places of the variables that are known already, each once.
        new: places of the others, each once.
    """

    constants: tuple[tuple[int, str], ...]
    same: tuple[tuple[int, int], ...]
    kinds: tuple[tuple[int, str], ...]
    key: tuple[int, ...]
    new: tuple[int, ...]

    def test(self, table: AtomTable) -> _Test:
        """Whether a row fits, the key apart."""
        kinds = [(place, frozenset(table.objects[kind])) for place, kind in self.kinds]

        def fits(row: Row) -> bool:
            return (
                all(row[place] == name for place, name in self.constants)
                and all(row[first] == row[second] for first, second in self.same)
                and all(row[place] in names for place, names in kinds)
            )

        return fits


class Index:
    """The rows of a predicate that fit a pattern, by their key: what is new in them."""

    def __init__(self, pattern: RowPattern, table: AtomTable) -> None:
        self.rows: dict[Row, list[Row]] = {}
        self._fits = pattern.test(table)
        self._key = _picker(pattern.key)
        self._new = _picker(pattern.new)

    def insert(self, row: Row) -> None:
        """Adds a row that is not there yet."""
        if self._fits(row):
            self.rows.setdefault(self._key(row), []).append(self._new(row))


class _Filter(NamedTuple):
    """What else must hold of the values of some variables, which are given in that order."""

    names: tuple[str, ...]
    accepts: _Test


class _Join(NamedTuple):
    """One step of a join: look up what fits to a partial row, drop what a test refuses."""

    rows: dict[Row, list[Row]]
    key: _Pick
    tests: tuple[_Test, ...]

    def extend(self, partial: Iterable[Row], budget: Budget) -> Iterator[Row]:
        """The rows that are longer by one atom."""
        rows, key, tests = self
        for row in partial:
            budget.tick()
            for more in rows.get(key(row), ()):
                full = row + more
                if not tests or all(test(full) for test in tests):
                    yield full


@dataclass(frozen=True, slots=True)
class JoinRule:
    """How one atom leads to instances of an action.

    Attributes:
        fits: whether the atom matches.
        start: the partial row that it gives.
        joins: what else must be found.
        arguments: the action's arguments out of a complete row.
    """

    action: str
    fits: _Test
    start: _Pick
    joins: tuple[_Join, ...]
    arguments: _Pick

    def bindings(self, row: Row, budget: Budget) -> Iterator[Row]:
        """The arguments of every instance in which the atom takes part."""
        if not self.fits(row):
            return iter(())
        found: Iterable[Row] = (self.start(row),)
        for join in self.joins:
            found = join.extend(found, budget)
        return map(self.arguments, found)


class Body:
    """The precondition of an action, sorted by the use of its parts in a join."""

    def __init__(self, schema: Action, table: AtomTable) -> None:
        self.name = schema.name
        self.parameters = dict(schema.parameters)
        self.static: list[AtomFormula] = []
        self.fluent: list[AtomFormula] = []
        self.filters: list[_Filter] = []
        self._table = table
        for part in conjuncts(schema.precondition):
            self._sort(part)

    def _sort(self, part: Formula) -> None:
        if isinstance(part, AtomFormula):
            fluent = part.predicate in self._table.fluents
            (self.fluent if fluent else self.static).append(part)
            return
        names = _names(part)
        if not names.isdisjoint(self.parameters) and self._is_static(part):
            known = tuple(name for name in self.parameters if name in names)
            self.filters.append(_Filter(known, _static_test(part, known, self._table)))

    def _is_static(self, formula: Formula) -> bool:
        """Whether no action changes its truth; other formulas are looked at in ground actions."""
        if isinstance(formula, AtomFormula):
            return formula.predicate not in self._table.fluents
        if isinstance(formula, Comparison):
            numbers = self._table.numbers
            read = {each.predicate for each in functions_of(formula)}
            return numbers is None or read.isdisjoint(numbers.changing)
        return all(map(self._is_static, subformulas(formula)))

    def pattern(self, atom: AtomFormula, bound: list[str]) -> RowPattern:
        """How an atom is read when some variables are known."""
        declared = self._table.problem.domain.predicates[atom.predicate]
        constants, same, kinds = [], [], []
        first: dict[str, int] = {}
        for place, term in enumerate(atom.terms):
            kind = self.parameters.get(term)
            if kind is None:
                constants.append((place, term))
            elif term in first:
                same.append((first[term], place))
            else:
                first[term] = place
                if term not in bound and not self._table.problem.domain.is_subtype(
                    declared[place], kind
                ):
                    kinds.append((place, kind))
        key = tuple(place for term, place in first.items() if term in bound)
        new = tuple(place for term, place in first.items() if term not in bound)
        return RowPattern(tuple(constants), tuple(same), tuple(kinds), key, new)


class RuleMaker:
    """Writes one rule: the order of its joins, with every filter as early as it can be asked."""

    def __init__(
        self, body: Body, table: AtomTable, index: Callable[[str, RowPattern], Index]
    ) -> None:
        self._body = body
        self._table = table
        self._index = index
        self._bound: list[str] = []
        self._filters = list(body.filters)
        self._joins: list[_Join] = []

    def rule(self, pinned: int | None) -> JoinRule:
        """The rule that begins with one of the fluent atoms, or with none."""
        body = self._body
        waiting = [*body.static, *body.fluent]
        fits: _Test = _anything
        start = _picker(())
        if pinned is not None:
            atom = waiting.pop(len(body.static) + pinned)
            pattern = body.pattern(atom, [])
            fits, start = pattern.test(self._table), _picker(pattern.new)
            self._bind(atom, pattern)
        self._join({(): [()]}, _picker(()))
        while waiting:
            atom = min(waiting, key=self._rank)
            waiting.remove(atom)
            pattern = body.pattern(atom, self._bound)
            key = _picker([self._bound.index(atom.terms[place]) for place in pattern.key])
            self._bind(atom, pattern)
            self._join(self._index(atom.predicate, pattern).rows, key)
        for name, kind in body.parameters.items():
            if name not in self._bound:
                self._bound.append(name)
                self._join({(): [(each,) for each in self._table.objects[kind]]}, _picker(()))
        arguments = _picker([self._bound.index(name) for name in body.parameters])
        joins = tuple(j for j in self._joins if j.tests or j.rows != {(): [()]})
        return JoinRule(body.name, fits, start, joins, arguments)

    def _rank(self, atom: AtomFormula) -> tuple[bool, int, bool]:
        """Atoms with known variables come first, then those with few new ones, then static ones."""
        variables = {term for term in atom.terms if term in self._body.parameters}
        new = variables.difference(self._bound)
        return len(new) == len(variables) > 0, len(new), atom in self._body.fluent

    def _bind(self, atom: AtomFormula, pattern: RowPattern) -> None:
        self._bound.extend(atom.terms[place] for place in pattern.new)

    def _join(self, rows: dict[Row, list[Row]], key: _Pick) -> None:
        due = [f for f in self._filters if all(name in self._bound for name in f.names)]
        self._filters = [f for f in self._filters if f not in due]
        self._joins.append(_Join(rows, key, tuple(map(self._test, due))))

    def _test(self, each: _Filter) -> _Test:
        pick = _picker([self._bound.index(name) for name in each.names])
        accepts = each.accepts
        return lambda row: accepts(pick(row))


def _names(formula: Formula) -> set[str]:
    """Every name in a formula, whether it is bound there or not."""
    return {term for part in walk(formula) for term in terms_of(part)}


def _static_test(formula: Formula, names: tuple[str, ...], table: AtomTable) -> _Test:
    """A formula over atoms that never change, as a function of the values of its variables."""
    if isinstance(formula, AtomFormula):
        pick, predicate = _terms(formula.terms, names), formula.predicate
        return lambda row: table.initially((predicate, *pick(row)))
    if isinstance(formula, Equals):
        pick = _terms(terms_of(formula), names)

        def same(row: Row) -> bool:
            left, right = pick(row)
            return left == right

        return same
    if isinstance(formula, Comparison):
        return lambda row: condition(formula, table, dict(zip(names, row, strict=False))) == TRUE
    if isinstance(formula, (Forall, Exists)):
        inner = (*names, *(name for name, _ in formula.variables))
        body = _static_test(formula.body, inner, table)
        values = list(product(*(table.objects[kind] for _, kind in formula.variables)))
        if isinstance(formula, Forall):
            return lambda row: all(body(row + more) for more in values)
        return lambda row: any(body(row + more) for more in values)
    tests = [_static_test(part, names, table) for part in subformulas(formula)]
    if isinstance(formula, And):
        return lambda row: all(test(row) for test in tests)
    if isinstance(formula, Or):
        return lambda row: any(test(row) for test in tests)
    if isinstance(formula, Not):
        return lambda row: not tests[0](row)
    return lambda row: not tests[0](row) or tests[1](row)


def _terms(terms: Sequence[str], names: tuple[str, ...]) -> _Pick:
    """What takes the values of some terms out of the values of the variables."""
    constants = tuple(term for term in terms if term not in names)
    places = {name: place for place, name in enumerate((*names, *constants))}
    pick = _picker([places[term] for term in terms])  # an inner variable hides an outer one
    return (lambda row: pick(row + constants)) if constants else pick
