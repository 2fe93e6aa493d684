# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Conditions on attributes of objects: `x.weight > 2 and 'cold' in y.zones`.

Python's grammar reads them, out of tokens that are checked before, and only its tree is used: no
text is ever executed.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence

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
_KEYWORDS = ('and', 'or', 'not', 'in')
_TRUTHS = {'true': True, 'false': False}
_MARKS: Mapping[type[ast.AST], str] = {
    ast.Eq: '==', ast.NotEq: '!=', ast.Lt: '<', ast.LtE: '<=', ast.Gt: '>', ast.GtE: '>=',
    ast.In: 'in', ast.NotIn: 'not in',
    ast.Add: '+', ast.Sub: '-', ast.Mult: '*', ast.Div: '/',
}  # fmt: skip
_NUMERIC: Mapping[str, Callable[[float, float], float]] = {
    '<': operator.lt, '<=': operator.le, '>': operator.gt, '>=': operator.ge,
    '+': operator.add, '-': operator.sub, '*': operator.mul, '/': operator.truediv,
}  # fmt: skip

Lookup = Callable[[str, str], Value]
"""The value of an attribute, from the name of an object and of the attribute."""

_Evaluate = Callable[[Mapping[str, str], Lookup], Value]


class ExpressionError(SafegenError):
    """A condition that is not understood, or that has no truth for some objects."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ErrorCode.BAD_PDDL)


class Expression:
    """A condition.

    Args:
        text: comparisons of attributes (`x.weight`), variables, numbers, texts, `true` and `false`
            with `== != < <= > >= in`, `not in`, joined by `and`, `or`, `not`, with arithmetic.
        variables: the names that may stand for objects.

    Raises:
        ExpressionError: the text is anything else.
    """

    def __init__(self, text: str, variables: Sequence[str]) -> None:
        if len(text) > MAX_EXPRESSION:
            raise ExpressionError(f'a condition of {len(text)} characters: write two rules')
        self.text = text
        self._variables = variables
        self._places: list[tuple[int, int]] = []  # of tokens: in the source, and in the text
        source = self._source()
        try:
            tree = ast.parse(source, mode='eval')
        except SyntaxError as error:
            offset = error.offset - 1 if error.offset else len(source)  # 0 at the end
            what = error.msg if "'" in error.msg else 'this is not a condition'
            what = 'it ends too early' if offset >= len(source.rstrip()) else what
            raise self._error(offset, what) from error
        self._evaluate = self._read(tree.body)

    def holds(self, binding: Mapping[str, str], lookup: Lookup) -> bool:
        """Whether it is true of the objects that a binding gives to its variables.

        Raises:
            ExpressionError: it is not a truth value, or works with values of the wrong type.
        """
        found = self._evaluate(binding, lookup)
        if not isinstance(found, bool):
            raise ExpressionError(
                f'{self.text!a} is {_kind(found)}, not true or false: compare it with something'
            )
        return found

    def _source(self) -> str:
        """The condition in Python, where no name is a keyword and every number a float."""
        source, position, before = '', 0, ''
        while self.text[position:].strip():
            match = _TOKEN.match(self.text, position)
            kind = str(match.lastgroup) if match else ''
            start = match.start(kind) if match else position
            self._places.append((len(source), start))
            if match is None or kind == before == 'text':
                raise self._error(len(source), f'found {self.text[start:].strip()[:1]!a}')
            token, position, before = match[kind], match.end(), kind
            if kind == 'text':
                token = ascii(token[1:-1])
            elif kind == 'number':
                token = repr(float(token))
            elif kind == 'name' and token not in _KEYWORDS:
                token = f'_{token}'
            source += f'{token} '
        self._places.append((len(source), len(self.text)))
        return source

    def _error(self, offset: int, what: str) -> ExpressionError:
        place = max(there for here, there in self._places if here <= max(offset, 0))
        return ExpressionError(
            f'{self.text[:80]!a}, character {place + 1}: {what}: write a condition such as '
            'x.weight > 2 and not y.fragile'
        )

    def _read(self, node: ast.expr, depth: int = 0) -> _Evaluate:
        """What works out a part of the condition."""
        if depth > _MAX_NESTING:
            raise self._error(node.col_offset, 'too deeply nested')
        match node:
            case ast.BoolOp(op=op, values=parts):
                decides = isinstance(op, ast.Or)
                word = 'or' if decides else 'and'
                read = [self._read(part, depth) for part in parts]
                return lambda *of: (
                    decides if any(_truth(p(*of), word) == decides for p in read) else not decides
                )
            case ast.UnaryOp(op=ast.Not(), operand=part):
                denied = self._read(part, depth + 1)
                return lambda *of: not _truth(denied(*of), 'not')
            case ast.UnaryOp(op=ast.USub(), operand=part):
                negated = self._read(part, depth + 1)
                return lambda *of: _combined('-', 0.0, negated(*of))
            case ast.Compare(comparators=[_, second, *_]):
                raise self._error(second.col_offset, "join comparisons with 'and'")
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _MARKS:
                return self._pair(_MARKS[type(op)], left, right, depth)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _MARKS:
                return self._pair(_MARKS[type(op)], left, right, depth)
            case ast.Constant(value=float() | str() as constant):
                return lambda *_: constant
            case ast.Name(id=name) if name[1:] in _TRUTHS:
                truth = _TRUTHS[name[1:]]
                return lambda *_: truth
            case ast.Name(id=name):
                variable = self._variable(name, node)
                return lambda binding, _: binding[variable]
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                variable = self._variable(name, node)
                return lambda binding, lookup: lookup(binding[variable], attribute[1:])
        raise self._error(node.col_offset, 'this is not a condition')

    def _pair(self, mark: str, left: ast.expr, right: ast.expr, depth: int) -> _Evaluate:
        one, other = self._read(left, depth), self._read(right, depth)
        return lambda *of: _combined(mark, one(*of), other(*of))

    def _variable(self, name: str, node: ast.expr) -> str:
        if name[1:] not in self._variables:
            known = ' '.join(self._variables)
            what = f'{name[1:41]!a} is not a variable; they are {known}'
            raise self._error(node.col_offset, what)
        return name[1:]


def _combined(mark: str, left: Value, right: Value) -> Value:
    if mark in ('in', 'not in'):
        if not isinstance(right, tuple):
            raise ExpressionError(f'{mark!r} wants a list behind it, found {_kind(right)}')
        if isinstance(left, tuple):
            raise ExpressionError(f'{mark!r} wants one value before it, found a list')
        found = any(type(left) is type(each) and left == each for each in right)
        return found == (mark == 'in')
    if mark in ('==', '!='):
        if type(left) is not type(right):
            raise ExpressionError(f'{_kind(left)} is compared with {_kind(right)}')
        return (left == right) == (mark == '==')
    return _worked_out(mark, _number(mark, left), _number(mark, right))


def _worked_out(mark: str, left: float, right: float) -> float:
    if mark == '/' and not right:
        raise ExpressionError('division by zero')
    found = _NUMERIC[mark](left, right)
    if not math.isfinite(found) or abs(found) > _LARGEST:
        raise ExpressionError(f'a number beyond {_LARGEST:g}')
    return found


def _number(mark: str, value: Value) -> float:
    if isinstance(value, bool) or not isinstance(value, float):
        raise ExpressionError(f'{mark!r} wants numbers, found {_kind(value)}')
    return value


def _truth(value: Value, word: str) -> bool:
    if not isinstance(value, bool):
        raise ExpressionError(f'{word!r} wants true or false, found {_kind(value)}')
    return value


def _kind(value: Value) -> str:
    """A value's type for a message."""
    if isinstance(value, bool):
        return 'a truth value'
    if isinstance(value, float):
        return 'a number'
    return 'a text' if isinstance(value, str) else 'a list'
