# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""JSON with places: what the standard library reads, but every value knows where it stands."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from safegen_ros.errors import ErrorCode, PddlError
from safegen_ros.pddl.sexpr import MAX_DEPTH, MAX_TEXT

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\n]+) | (?P<mark>[\[\]{},:])
    | (?P<string>"(?:[^"\\\x00-\x1f]|\\.)*")
    | (?P<number>-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.])
    | (?P<word>true|false|null)\b
    """,
    re.VERBOSE | re.ASCII,
)

MAX_JSON_DEPTH = 2 * MAX_DEPTH + 10
"""Deepest nesting; a formula of PDDL is at most twice as deep in JSON."""

_CURE = 'write JSON, with names and strings in double quotes'

_MOST_DIGITS = 300  # of a number; more would take long to convert


@dataclass(frozen=True, slots=True)
class Value:
    """A value with its place.

    Attributes:
        value: a string, a number, true, false, None, a list of values, or a dictionary from
            names to pairs of the name as a value and what stands behind it.
        line: from 1.
        column: from 1, in characters.
    """

    value: str | int | float | bool | list[Value] | dict[str, tuple[Value, Value]] | None
    line: int
    column: int

    @property
    def place(self) -> tuple[int, int]:
        """Line and column."""
        return self.line, self.column


def read_json(text: str, source: str) -> Value:
    """Reads a JSON text.

    Args:
        text: the whole text.
        source: file name, or a label, for messages.

    Raises:
        PddlError: the text is not JSON, has a name twice in one object, is longer than
            `MAX_TEXT` or nested deeper than `MAX_JSON_DEPTH`.
    """
    if len(text) > MAX_TEXT:
        raise PddlError(
            f'the text has {len(text):,} characters, more than the limit of {MAX_TEXT:,}',
            source=source,
            line=1,
            column=1,
            cure='send one problem, not a collection',
            code=ErrorCode.TASK_TOO_LARGE,
        )
    return _Parser(text, source).whole()


class _Parser:
    """Reads one value; containers that are open wait on a stack, never on Python's own."""

    def __init__(self, text: str, source: str) -> None:
        self._text = text
        self._source = source
        self._position = 0
        self._line = 1
        self._line_start = 0
        self._open: list[Value] = []
        self._names: list[Value] = []  # of the members that wait for their value

    def whole(self) -> Value:
        token = self._next()
        while True:
            value = self._begun(*token)
            if value is None:  # a container was opened
                token = self._next()
                continue
            while self._open:
                self._put(value)
                following = self._following(self._open[-1])
                if following is not None:
                    token = following
                    break
                value = self._open.pop()
            else:
                kind, text, at = self._next()
                if kind != 'end':
                    raise self._error(at, f'found {text[:40]!a} after the end', 'remove it')
                return value

    def _begun(self, kind: str, text: str, at: Value) -> Value | None:
        """The value that a token is or that it closes; None where it opens one."""
        if self._open and text == _closing(self._open[-1]) and not self._open[-1].value:
            return self._open.pop()
        if self._open and isinstance(self._open[-1].value, dict):
            kind, text, at = self._named(kind, text, at)
        if text in ('{', '['):
            if len(self._open) >= MAX_JSON_DEPTH:
                raise self._error(at, f'nested deeper than {MAX_JSON_DEPTH} values', 'flatten it')
            empty: list[Value] | dict[str, tuple[Value, Value]] = {} if text == '{' else []
            self._open.append(Value(empty, at.line, at.column))
            return None
        if kind == 'number' and len(text) > _MOST_DIGITS:
            raise self._error(at, f'a number of {len(text)} digits', 'use a smaller number')
        if kind not in ('string', 'number', 'word'):
            raise self._error(at, f'found {_shown(text)} where a value must stand', _CURE)
        return self._scalar(text, at)

    def _scalar(self, text: str, at: Value) -> Value:
        try:
            return Value(json.loads(text), at.line, at.column)
        except ValueError as error:
            raise self._error(at, f'{text[:40]!a}: {error}', 'mend the string') from error

    def _named(self, kind: str, text: str, at: Value) -> tuple[str, str, Value]:
        """Reads the name of a member and the colon; returns the token behind them."""
        if kind != 'string':
            raise self._error(at, f'found {_shown(text)} where a name in quotes must stand', _CURE)
        name = self._scalar(text, at)
        members = self._open[-1].value
        if isinstance(members, dict) and name.value in members:
            raise self._error(at, f'{text[:40]!a} stands here twice', 'remove one')
        _, colon, place = self._next()
        if colon != ':':
            raise self._error(place, f"no ':' after the name {text[:40]!a}", 'add it')
        self._names.append(name)
        return self._next()

    def _put(self, value: Value) -> None:
        """Puts a whole value into the innermost container."""
        container = self._open[-1].value
        if isinstance(container, list):
            container.append(value)
        elif isinstance(container, dict):
            name = self._names.pop()
            container[str(name.value)] = (name, value)

    def _following(self, container: Value) -> tuple[str, str, Value] | None:
        """The token behind the comma that follows a value; None when the container ends."""
        closing = _closing(container)
        _, text, at = self._next()
        if text == closing:
            return None
        if text != ',':
            found = _shown(text)
            raise self._error(at, f"found {found} where ',' or {closing!r} must stand", _CURE)
        token = self._next()
        if token[1] == closing:
            raise self._error(token[2], f"{closing!r} behind a ','", "remove the ','")
        return token

    def _next(self) -> tuple[str, str, Value]:
        """Kind, text and place of the next token; the place is a value without meaning."""
        while True:
            at = Value(None, self._line, self._position - self._line_start + 1)
            if self._position == len(self._text):
                return 'end', '', at
            match = _TOKEN.match(self._text, self._position)
            if match is None or match.lastgroup is None:
                shown = self._text[self._position : self._position + 20].split('\n')[0]
                raise self._error(at, f'found {shown!a}, which is no JSON', _CURE)
            self._position = match.end()
            if match.lastgroup != 'space':
                return match.lastgroup, match[0], at
            breaks = match[0].count('\n')
            if breaks:
                self._line += breaks
                self._line_start = self._text.rindex('\n', 0, self._position) + 1

    def _error(self, at: Value, what: str, cure: str) -> PddlError:
        return PddlError(what, source=self._source, line=at.line, column=at.column, cure=cure)


def _closing(container: Value) -> str:
    return '}' if isinstance(container.value, dict) else ']'


def _shown(text: str) -> str:
    return ascii(text[:40]) if text else 'the end of the text'
