# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Numbers that decide which plans are valid: exact, and part of every state.

Values are whole numbers or fractions, never floats. Where one is missing, a division has no result
or a number gets too long, a comparison fails and an action does not apply, and the reason says so.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import islice

from safegen_ros.pddl.deciding import changed_functions
from safegen_ros.pddl.facts import exact, is_value, told_value, value_fact, whole
from safegen_ros.pddl.formulas import instances, leaves
from safegen_ros.pddl.limits import Objects
from safegen_ros.pddl.model import (
    Arithmetic,
    Atom,
    AtomFormula,
    Comparison,
    Expression,
    Formula,
    Number,
    NumericEffect,
    Problem,
    functions_of,
)
from safegen_ros.pddl.writer import atom_text, expression_text, value_text

WIDTH = 32
NUMBERS = (1 << WIDTH) - 1
"""The bits of a state with the values of its functions, by the number of a tuple of them."""

_MOST_BITS = 2048  # of a numerator or a denominator; products of products grow fast
_MOST_TOLD = 5  # values in a message
_MOST_KEPT = 256  # formulas whose functions, and values whose changes are known

Values = tuple[Number | None, ...]
"""The values of the functions of a state, each at the place of its function."""

Evaluate = Callable[[Values], Number]
"""An expression as a function of values.

Raises:
    NoNumber: it has no result there.
"""


class NoNumber(ArithmeticError):
    """An expression has no result, or an action cannot change a number; says why."""


class NumberTable:
    """The functions that are part of the states of a problem, and the values of states met so far.

    Args:
        problem: the problem.
        functions: the functions.
        fold_static: as of `AtomTable`.

    Attributes:
        functions: the functions.
        static: those whose values are folded, since no action changes them.
        changing: the others.
    """

    def __init__(self, problem: Problem, functions: frozenset[str], fold_static: bool) -> None:
        self.functions = functions
        initial = (*map(told_value, filter(is_value, problem.init)), *problem.values.items())
        self._initial = {f: value for f, value in initial if f[0] in functions}
        self._trusted = fold_static
        self.static = functions - changed_functions(problem.domain) if fold_static else frozenset()
        self.changing = functions - self.static
        self._slots: dict[Atom, int] = {}
        self._atoms: list[Atom] = []
        self._tuples: list[Values] = [()]
        self._numbers: dict[Values, int] = {(): 0}
        self._read: dict[Formula, tuple[Atom, ...]] = {}

    def __len__(self) -> int:
        """Number of tuples of values met so far."""
        return len(self._tuples)

    def slot(self, function: Atom) -> int:
        """The place of a function that is not static among the values of a state."""
        found = self._slots.get(function)
        if found is None:
            found = self._slots[function] = len(self._atoms)
            self._atoms.append(function)
        return found

    def function(self, place: int) -> Atom:
        """The function of a place."""
        return self._atoms[place]

    def number(self, values: Sequence[Number | None]) -> int:
        """The number of a tuple of values."""
        last = len(values)
        while last and values[last - 1] is None:
            last -= 1
        key = tuple(values[:last])
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self._tuples)
            if found > NUMBERS:
                raise MemoryError('more values than a state can hold')
            self._tuples.append(key)
        return found

    def values(self, state: int) -> Values:
        """The values in a state, None where a function has none."""
        if not self._atoms:
            return ()
        found = self._tuples[state & NUMBERS]
        short = len(self._atoms) - len(found)
        return found + (None,) * short if short else found

    def encode(self, facts: Iterable[Atom]) -> int:
        """The number of the values in facts; those of other functions are left out."""
        values: dict[int, Number] = {}
        for fact in facts:
            if is_value(fact):
                function, value = told_value(fact)
                if function[0] in self.changing:
                    values[self.slot(function)] = value
        return self.number([values.get(place) for place in range(len(self._atoms))])

    def facts(self, state: int) -> list[Atom]:
        """The facts for the values in a state, static ones included."""
        pairs = zip(self._atoms, self.values(state), strict=True)
        fixed = ((f, v) for f, v in self._initial.items() if f[0] in self.static)
        return [value_fact(f, v) for f, v in (*pairs, *fixed) if v is not None]

    def value(self, function: Atom, state: int) -> Number | None:
        """The value of a function in a state."""
        if function[0] not in self.changing:
            return self._initial.get(function)
        place = self.slot(function)
        return self.values(state)[place]

    def evaluation(self, expression: Expression) -> Evaluate:
        """A ground expression as a function of the values of a state."""
        if isinstance(expression, AtomFormula):
            return self._reading((expression.predicate, *expression.terms))
        if isinstance(expression, Arithmetic):
            parts = [self.evaluation(part) for part in expression.parts]
            return _OPERATIONS[expression.operator](parts, expression)
        constant = exact(expression)
        return lambda values: constant

    def _reading(self, function: Atom) -> Evaluate:
        text = f'{atom_text(function)} has no value'
        if function[0] not in self.changing:
            fixed = self._initial.get(function)

            def read_fixed(values: Values) -> Number:
                if fixed is None:
                    raise NoNumber(text)
                return fixed

            return read_fixed
        place = self.slot(function)

        def read(values: Values) -> Number:
            value = values[place] if place < len(values) else None
            if value is None:
                raise NoNumber(text)
            return value

        return read

    def always_has(self, *parts: Comparison | Expression) -> bool:
        """Whether ground expressions have a result in every state that actions lead to."""
        if not self._trusted:  # a state that was observed may lack anything
            return False
        for part in parts:
            if isinstance(part, Comparison):
                found = self.always_has(part.left, part.right)
            elif isinstance(part, Arithmetic):
                found = self.always_has(*part.parts)
                divisors = part.parts[1:] if part.operator == '/' else ()
                found = found and all(isinstance(each, Decimal) and each for each in divisors)
            elif isinstance(part, AtomFormula):
                found = (part.predicate, *part.terms) in self._initial
            else:
                found = True
            if not found:
                return False
        return True

    def comparison(self, formula: Comparison, positive: bool) -> Callable[[int], bool] | bool:
        """A ground comparison, or its negation, as a test of states; false without a result."""
        compare = COMPARE[formula.operator if positive else _OPPOSITE[formula.operator]]
        left, right = self.evaluation(formula.left), self.evaluation(formula.right)
        if not any(each.predicate in self.changing for each in functions_of(formula)):
            try:
                return compare(left(()), right(()))
            except NoNumber:
                return False

        tuples, function, bound = self._tuples, formula.left, formula.right
        if isinstance(function, AtomFormula) and isinstance(bound, Decimal):
            place, limit = self.slot((function.predicate, *function.terms)), exact(bound)

            def beside(state: int) -> bool:
                values = tuples[state & NUMBERS]
                value = values[place] if place < len(values) else None
                return value is not None and compare(value, limit)

            return beside  # most comparisons, in half the time

        def test(state: int) -> bool:
            values = tuples[state & NUMBERS]
            try:
                return compare(left(values), right(values))
            except NoNumber:
                return False

        return test

    def has_result(self, comparison: Comparison, state: int) -> bool:
        """Whether both sides of a ground comparison have a value in a state."""
        sides = [self.evaluation(side) for side in (comparison.left, comparison.right)]
        values = self.values(state)
        try:
            for side in sides:
                side(values)
        except NoNumber:
            return False
        return True

    def told(self, formulas: Iterable[Formula], objects: Objects, state: int) -> str:
        """The values that formulas read in a state, for messages: `(battery r) is 15`."""
        read = [function for formula in formulas for function in self._functions(formula, objects)]
        found = list(dict.fromkeys(read))[:_MOST_TOLD]
        return ', '.join([self._told(function, self.value(function, state)) for function in found])

    def _functions(self, formula: Formula, objects: Objects) -> tuple[Atom, ...]:
        """The first functions that a formula reads."""
        found = self._read.get(formula)
        if found is None:
            read = (
                function
                for leaf, kinds in leaves(formula, objects, {})
                if isinstance(leaf, Comparison)
                for each in functions_of(leaf)
                for function in instances(each, kinds, {}, objects)
            )
            found = tuple(islice(dict.fromkeys(read), _MOST_TOLD))
            if len(self._read) >= _MOST_KEPT:
                self._read.clear()
            self._read[formula] = found
        return found

    @staticmethod
    def _told(function: Atom, value: Number | None) -> str:
        text = atom_text(function)
        return f'{text} has no value' if value is None else f'{text} is {value_text(value)}'


class Changes:
    """What a ground action does to numbers; all values are those before the action.

    Args:
        table: the functions.
        changes: for each effect the test of its condition, if any, and the effect, ground.
    """

    def __init__(
        self,
        table: NumberTable,
        changes: Sequence[tuple[Callable[[int], bool] | None, NumericEffect]],
    ) -> None:
        self._table = table
        self._changes = [
            (
                test,
                table.slot((effect.target.predicate, *effect.target.terms)),
                effect.operator,
                table.evaluation(effect.value),
            )
            for test, effect in changes
        ]
        self._mask = NUMBERS if all(test is None for test, _ in changes) else -1
        self._number = lru_cache(_MOST_KEPT)(self._number_after)

    def after(self, state: int) -> int:
        """The number of the values after the action.

        Raises:
            NoNumber: a value has no result, or two effects on one function do not add up.
        """
        return self._number(state & self._mask)

    def _number_after(self, state: int) -> int:
        table = self._table
        before = table.values(state)
        after = list(before)
        first: dict[int, str] = {}
        for test, place, operation, evaluate in self._changes:
            if test is not None and not test(state):
                continue
            amount, old = evaluate(before), after[place]
            if place in first and {operation, first[place]} - {'increase', 'decrease'}:
                text = atom_text(table.function(place))
                raise NoNumber(f'{first[place]} and {operation} of {text} contradict each other')
            first[place] = operation
            if operation == 'assign':
                after[place] = _checked(amount)
                continue
            if old is None:
                raise NoNumber(f'{atom_text(table.function(place))} has no value')
            if operation == 'scale-down' and not amount:
                raise NoNumber(f'{atom_text(table.function(place))} is divided by zero')
            after[place] = _checked(_CHANGE[operation](old, amount))
        return table.number(after)

    def trouble(self, state: int) -> str:
        """Why numbers cannot be changed in a state; empty where they can."""
        try:
            self.after(state)
        except NoNumber as error:
            return str(error)
        return ''


def _checked(value: Number) -> Number:
    """A new value of a function, which may not grow without bounds."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MOST_BITS:
        raise NoNumber('a number gets too long')
    return value


def _divided(left: Number, right: Number) -> Number:
    return whole(Fraction(left, right))


def _chain(
    step: Callable[[Number, Number], Number],
) -> Callable[[list[Evaluate], Expression], Evaluate]:
    """An operator over the results of its parts, from the left."""

    def build(parts: list[Evaluate], whole: Expression) -> Evaluate:
        first, *others = parts
        if len(others) == 1:
            (second,) = others
            return lambda values: step(first(values), second(values))

        def evaluate(values: Values) -> Number:
            result = first(values)
            for part in others:
                result = step(result, part(values))
            return result

        return evaluate

    return build


def _minus(parts: list[Evaluate], whole: Expression) -> Evaluate:
    if len(parts) == 1:
        return lambda values: -parts[0](values)
    return _chain(operator.sub)(parts, whole)


def _quotient(parts: list[Evaluate], whole: Expression) -> Evaluate:
    evaluate = _chain(_divided)(parts, whole)

    def divide(values: Values) -> Number:
        try:
            return evaluate(values)
        except ZeroDivisionError:
            raise NoNumber(f'{expression_text(whole)} divides by zero') from None

    return divide


_OPERATIONS = {
    '+': _chain(operator.add), '-': _minus, '*': _chain(operator.mul), '/': _quotient,
}  # fmt: skip
_CHANGE = {
    'increase': operator.add, 'decrease': operator.sub, 'scale-up': operator.mul,
    'scale-down': _divided,
}  # fmt: skip
COMPARE: Mapping[str, Callable[[Number, Number], bool]] = {
    '<': operator.lt, '<=': operator.le, '=': operator.eq, '>=': operator.ge, '>': operator.gt,
    '!=': operator.ne,
}  # fmt: skip
_OPPOSITE = {'<': '>=', '<=': '>', '=': '!=', '>=': '<', '>': '<='}
