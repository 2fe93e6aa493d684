# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Conditions on attributes of objects: `x.weight > 2 and 'cold' in y.zones`.

They are read by a grammar of their own and evaluated as a tree; no text is ever executed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from safegen_ros.errors import ErrorCode, SafegenError

Scalar = float | bool | str
Value = Scalar | tuple[Scalar, ...]

MAX_EXPRESSION = 500
"""Longest condition [characters]."""

_MAX_NESTING = 20
_LARGEST = 1e15  # of a number that is worked out

_TOKEN = re.compile(
    r'\s*(?:(?P<number>\d{1,15}(?:\.\d{1,15})?(?![\w.]))|(?P<text>\'[^\'\n]*\'|"[^"\n]*")'
    r'|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<mark>==|!=|<=|>=|[-<>+*/().]))',
    re.ASCII,
)
_COMPARISONS = ('==', '!=', '<=', '>=', '<', '>')
_KEYWORDS = ('and', 'or', 'not', 'in', 'true', 'false')

Lookup = Callable[[str, str], Value]
"""The value of an attribute, from the name of an object and of the attribute."""


class ExpressionError(SafegenError):
    """A condition that is not understood, or that has no truth for some objects."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ErrorCode.BAD_PDDL)


@dataclass(frozen=True, slots=True)
class _Literal:
    value: Value


@dataclass(frozen=True, slots=True)
class _Variable:
    name: str


@dataclass(frozen=True, slots=True)
class _Attribute:
    variable: str
    name: str


@dataclass(frozen=True, slots=True)
class _Operation:
    operator: str
    parts: tuple[_Node, ...]


_Node = _Literal | _Variable | _Attribute | _Operation


@dataclass(frozen=True, slots=True)
class Expression:
    """A condition that was read.

    Attributes:
        text: as it was written.
    """

    text: str
    _root: _Node

    def holds(self, binding: Mapping[str, str], lookup: Lookup) -> bool:
        """Whether it is true of some objects.

        Args:
            binding: the object for each variable.
            lookup: the values of attributes; it may raise.

        Raises:
            ExpressionError: it is no truth value, or works with values of the wrong type.
        """
        found = _value(self._root, binding, lookup)
        if not isinstance(found, bool):
            raise ExpressionError(
                f'{self.text!a} is {_kind(found)}, not true or false: compare it with something'
            )
        return found


def read_expression(text: str, variables: Sequence[str]) -> Expression:
    """Reads a condition.

    Args:
        text: comparisons of attributes (`x.weight`), variables, numbers, texts, `true` and `false`
            with `== != < <= > >= in`, `not in`, joined by `and`, `or`, `not`, with arithmetic.
        variables: the names that may stand for objects.

    Raises:
        ExpressionError: anything else.
    """
    if len(text) > MAX_EXPRESSION:
        raise ExpressionError(f'a condition of {len(text)} characters: write two rules')
    return Expression(text, _Parser(text, variables).whole())


class _Parser:
    def __init__(self, text: str, variables: Sequence[str]) -> None:
        self._text = text
        self._variables = variables
        self._tokens: list[tuple[str, str, int]] = []
        position = 0
        while text[position:].strip():
            match = _TOKEN.match(text, position)
            if match is None:
                raise self._error(position, f'found {text[position:].strip()[:1]!a}')
            kind = str(match.lastgroup)
            self._tokens.append((kind, match[kind], match.start(kind)))
            position = match.end()
        self._tokens.append(('end', '', len(text)))
        self._index = 0
        self._depth = 0

    def _error(self, position: int, what: str) -> ExpressionError:
        return ExpressionError(
            f'{self._text[:80]!a}, character {position + 1}: {what}: write a condition such as '
            'x.weight > 2 and not y.fragile'
        )

    def _next(self, *texts: str) -> bool:
        kind, text, _ = self._tokens[self._index]
        if kind in ('mark', 'name') and text in texts:
            self._index += 1
            return True
        return False

    def whole(self) -> _Node:
        found = self._any()
        _, text, position = self._tokens[self._index]
        if text or position != len(self._text):
            raise self._error(position, f'found {text!a} behind the condition')
        return found

    def _any(self) -> _Node:
        return self._joined('or', self._all)

    def _all(self) -> _Node:
        return self._joined('and', self._not)

    def _joined(self, word: str, read: Callable[[], _Node]) -> _Node:
        parts = [read()]
        while self._next(word):
            parts.append(read())
        return parts[0] if len(parts) == 1 else _Operation(word, tuple(parts))

    def _not(self) -> _Node:
        if self._next('not'):
            return _Operation('not', (self._deeper(self._not),))
        return self._comparison()

    def _deeper(self, read: Callable[[], _Node]) -> _Node:
        self._depth += 1
        if self._depth > _MAX_NESTING:
            raise self._error(self._tokens[self._index][2], 'too deeply nested')
        found = read()
        self._depth -= 1
        return found

    def _comparison(self) -> _Node:
        left = self._sum()
        operator = self._operator()
        if not operator:
            return left
        found = _Operation(operator, (left, self._sum()))
        if self._operator():
            raise self._error(self._tokens[self._index - 1][2], "join comparisons with 'and'")
        return found

    def _operator(self) -> str:
        _, text, _ = self._tokens[self._index]
        if self._next(*_COMPARISONS, 'in'):
            return text
        if text == 'not' and self._tokens[self._index + 1][1] == 'in':
            self._index += 2
            return 'not in'
        return ''

    def _sum(self) -> _Node:
        return self._arithmetic(('+', '-'), lambda: self._arithmetic(('*', '/'), self._factor))

    def _arithmetic(self, marks: tuple[str, str], read: Callable[[], _Node]) -> _Node:
        found = read()
        while True:
            _, text, _ = self._tokens[self._index]
            if not self._next(*marks):
                return found
            found = _Operation(text, (found, read()))

    def _factor(self) -> _Node:
        kind, text, position = self._tokens[self._index]
        if self._next('-'):
            return _Operation('-', (_Literal(0.0), self._deeper(self._factor)))
        if self._next('('):
            found = self._deeper(self._any)
            if not self._next(')'):
                raise self._error(self._tokens[self._index][2], "')' is missing")
            return found
        if kind == 'number':
            self._index += 1
            return _Literal(float(text))
        if kind == 'text':
            self._index += 1
            return _Literal(text[1:-1])
        if self._next('true', 'false'):
            return _Literal(text == 'true')
        if kind != 'name' or text in _KEYWORDS:
            raise self._error(position, f'found {text!a}' if text else 'it ends too early')
        if text not in self._variables:
            known = ' '.join(self._variables)
            raise self._error(position, f'{text[:40]!a} is no variable; they are {known}')
        self._index += 1
        if not self._next('.'):
            return _Variable(text)
        kind, name, position = self._tokens[self._index]
        if kind != 'name':
            raise self._error(position, "an attribute's name must stand behind '.'")
        self._index += 1
        return _Attribute(text, name)


def _value(node: _Node, binding: Mapping[str, str], lookup: Lookup) -> Value:
    if isinstance(node, _Literal):
        return node.value
    if isinstance(node, _Variable):
        return binding[node.name]
    if isinstance(node, _Attribute):
        return lookup(binding[node.variable], node.name)
    operator, parts = node.operator, node.parts
    if operator in ('and', 'or'):
        for part in parts:
            if _truth(_value(part, binding, lookup), operator) == (operator == 'or'):
                return operator == 'or'
        return operator == 'and'
    if operator == 'not':
        return not _truth(_value(parts[0], binding, lookup), operator)
    left, right = (_value(part, binding, lookup) for part in parts)
    if operator in ('in', 'not in'):
        if not isinstance(right, tuple):
            raise ExpressionError(f'{operator!r} wants a list behind it, found {_kind(right)}')
        if isinstance(left, tuple):
            raise ExpressionError(f'{operator!r} wants one value before it, found a list')
        return any(type(left) is type(each) and left == each for each in right) == (
            operator == 'in'
        )
    if operator in ('==', '!='):
        if type(left) is not type(right):
            raise ExpressionError(f'{_kind(left)} is compared with {_kind(right)}')
        return (left == right) == (operator == '==')
    return _numeric(operator, left, right)


def _truth(value: Value, operator: str) -> bool:
    if not isinstance(value, bool):
        raise ExpressionError(f'{operator!r} wants true or false, found {_kind(value)}')
    return value


def _numeric(operator: str, left: Value, right: Value) -> Value:
    for value in (left, right):
        if isinstance(value, bool) or not isinstance(value, float):
            raise ExpressionError(f'{operator!r} wants numbers, found {_kind(value)}')
    assert isinstance(left, float)  # noqa: S101 - for the type checker
    assert isinstance(right, float)  # noqa: S101
    if operator == '<':
        return left < right
    if operator == '>':
        return left > right
    if operator == '<=':
        return left <= right
    if operator == '>=':
        return left >= right
    if operator == '/' and not right:
        raise ExpressionError('division by zero')
    results: Mapping[str, Callable[[], float]] = {
        '+': lambda: left + right,
        '-': lambda: left - right,
        '*': lambda: left * right,
        '/': lambda: left / right,
    }
    found = results[operator]()
    if not math.isfinite(found) or abs(found) > _LARGEST:
        raise ExpressionError(f'a number beyond {_LARGEST:g}')
    return found


def _kind(value: Value) -> str:
    """A value's type for a message."""
    if isinstance(value, bool):
        return 'a truth value'
    if isinstance(value, float):
        return 'a number'
    return 'a text' if isinstance(value, str) else 'a list'
