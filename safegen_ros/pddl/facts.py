# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Facts of a state: atoms that are true, and values of functions."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

from safegen_ros.pddl.model import Atom, Number
from safegen_ros.pddl.writer import atom_text, value_text

_VALUE = re.compile(r'-?\d{1,2800}(\.\d{1,2800}|/\d{1,2800})?')


def value_of(text: str) -> Number:
    """The number that `value_text` wrote.

    Raises:
        ValueError: the text is not such a number.
    """
    if not _VALUE.fullmatch(text):
        raise ValueError(f'{text[:40]!r} is not a number')
    try:
        return whole(Fraction(text))
    except ZeroDivisionError:
        raise ValueError(f'{text[:40]!r} divides by zero') from None


def value_fact(function: Atom, value: Number) -> Atom:
    """A fact of a state for the value of a function, `(= (battery r) 90)`."""
    return '=', atom_text(function), value_text(value)


def is_value(atom: Atom) -> bool:
    """Whether a fact of a state has the value of a function."""
    return atom[0] == '='


def told_value(fact: Atom) -> tuple[Atom, Number]:
    """The function and the value in a fact.

    Raises:
        ValueError: it is not such a fact.
    """
    if len(fact) != 3 or not re.fullmatch(r'\([^\s()]+( [^\s()]+)*\)', fact[1]):
        raise ValueError(f'{atom_text(fact)[:80]!a} does not state the value of a function')
    return tuple(fact[1][1:-1].split(' ')), value_of(fact[2])


def fact_of(text: str) -> Atom:
    """The fact of a state in a text, such as `(on a b)` or `(= (battery r) 90)`.

    Raises:
        ValueError: it has no such fact.
    """
    text = text.lower()
    told = re.fullmatch(r'\(\s*=\s*(\([^()]+\))\s*([^\s()]+)\s*\)', text)
    if told is not None:
        function = f'({" ".join(told[1][1:-1].split())})'
        return value_fact(*told_value(('=', function, told[2])))
    if not re.fullmatch(r'\([^()]*[^()\s][^()]*\)', text):
        raise ValueError(f'{text[:80]!a} is not a ground atom')
    return tuple(text[1:-1].split())


def recorded_fact(text: str) -> Atom:
    """The fact of a record, which may hold any text; other text has no meaning."""
    try:
        return fact_of(text)
    except ValueError:
        return tuple(text.strip('()').split())


def objects_of(fact: Atom) -> tuple[str, ...]:
    """The objects that a fact of a state is about."""
    return told_value(fact)[0][1:] if is_value(fact) else fact[1:]


def exact(value: Decimal) -> Number:
    """A number of a text, exactly."""
    return whole(Fraction(value))


def whole(value: Fraction) -> Number:
    """The value, as a whole number where it is one."""
    return value.numerator if value.denominator == 1 else value
