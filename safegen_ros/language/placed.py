# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""YAML and JSON with the place of every value, for messages.

PyYAML could read JSON, too. But its YAML 1.1 takes `1e3` for a text and a surrogate pair for two
characters, and it takes four times as long, so JSON has a small reader here.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import yaml

from safegen_ros.errors import ErrorCode, PddlError, PddlErrors
from safegen_ros.pddl.diagnostics import suggestion
from safegen_ros.pddl.model import Domain, Problem
from safegen_ros.pddl.reader import read_problem
from safegen_ros.pddl.sexpr import MAX_DEPTH, MAX_TEXT
from safegen_ros.untrusted import hidden

Place = tuple[int, int]
"""Line and column, both from 1."""

MAX_YAML = 200_000
"""Longest YAML text [characters]."""

MAX_JSON_DEPTH = 2 * MAX_DEPTH + 10
"""Deepest nesting of JSON; a formula of PDDL is at most twice as deep in it."""

_MAX_DEPTH = 12
_MAX_TEXT = 2000  # characters of one value
_LARGEST = 1e12  # of a number in YAML
_MOST_DIGITS = 300  # of a number in JSON; more would take long to convert

_DECIMAL = re.compile(r'[-+]?(?:0|[1-9][\d_]*)?(?:\.\d*)?(?:[eE][-+]?\d+)?', re.ASCII)

_JSON_SPACE = re.compile(r'[ \t\r\n]*')
_JSON_TOKEN = re.compile(
    r"""[\[\]{},:] | "(?:[^"\\\x00-\x1f]|\\.)*" | (?:true|false|null)\b
    | -?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])""",
    re.VERBOSE | re.ASCII,
)
_JSON_CURE = 'write JSON, with names and strings in double quotes'


def error_at(
    source: str, place: Place, what: str, cure: str, code: ErrorCode = ErrorCode.BAD_PDDL
) -> PddlError:
    """An error at a place of a text, to be raised by the caller."""
    line, column = place
    return PddlError(what, source=source, line=line, column=column, cure=cure, code=code)


@dataclass(frozen=True, slots=True)
class Placed:
    """A value with its place.

    Attributes:
        value: a number, a truth value, a text, a list or a mapping of placed values, or None.
        source: file name, or a label.
        line: from 1; that of its key, for a value in a mapping of YAML.
        column: likewise.
        key: where its key stands, for a value in an object of JSON.
    """

    value: float | bool | str | tuple[Placed, ...] | Mapping[str, Placed] | None
    source: str
    line: int
    column: int
    key: Place = (0, 0)

    @property
    def place(self) -> Place:
        """Line and column."""
        return self.line, self.column

    def error(self, what: str, cure: str, code: ErrorCode = ErrorCode.BAD_PDDL) -> PddlError:
        """An error at this value."""
        return error_at(self.source, self.place, what, cure, code)

    def mapping(self, what: str, known: Collection[str] = ()) -> Mapping[str, Placed]:
        """The value as a mapping.

        Args:
            what: what it holds, for messages.
            known: the keys that it may have; any if there are none.

        Raises:
            PddlError: it is not a mapping, or has another key.
        """
        if not isinstance(self.value, Mapping):
            raise self.error(f'{what} must be a mapping', "write 'name: value' below it")
        for key, value in self.value.items():
            if known and key not in known:
                cure = f'{suggestion(key, known)}its keys are {" ".join(known)}'
                raise value.error(f'{key[:40]!a} is not a key of {what}', cure)
        return self.value

    def items(self, what: str) -> tuple[Placed, ...]:
        """The value as a list; raises as `mapping`."""
        if not isinstance(self.value, tuple):
            raise self.error(f'{what} must be a list', "write '- ' before each item")
        return self.value

    def whole(self, what: str) -> int:
        """The value as a whole number from 0; raises as `mapping`."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0 or value % 1:
            raise self.error(f'{what} must be a whole number', 'write 0, 1, 2 ...')
        return int(value)

    def text(self, what: str) -> str:
        """The value as a text that is not empty; raises as `mapping`."""
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.error(f'{what} must be a text', 'put it in quotes')
        return self.value


def read_yaml(text: str, source: str) -> Placed:
    """Reads one YAML document as `yaml.safe_load` does, with places and without its traps.

    Raises:
        PddlError: it is not YAML, is too long or too deep, or uses anchors, tags, a key twice,
            values of other types than JSON has, or invisible characters.
    """

    def refuse(what: str, cure: str, mark: Any = None) -> PddlError:
        place = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
        return error_at(source, place, what, cure)

    if len(text) > MAX_YAML:
        raise refuse(f'{len(text):,} characters, more than {MAX_YAML:,}', 'write several files')
    try:
        depth = 0
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _MAX_DEPTH:
                raise refuse('too deeply nested', 'flatten it', event.start_mark)
            if isinstance(event, yaml.AliasEvent):
                raise refuse('an alias', 'write the value out', event.start_mark)
        loader = yaml.SafeLoader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                raise refuse('the file is empty', 'write attributes and rules')
            return _placed(loader, node, source)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        what = ' '.join(str(error.problem or error.context or 'no YAML').split())[:200]
        raise refuse(ascii(what)[1:-1], 'fix the YAML', error.problem_mark) from error
    except yaml.YAMLError as error:
        raise refuse('characters that YAML does not allow', 'save it as plain text') from error


def _placed(loader: yaml.SafeLoader, node: yaml.Node, source: str) -> Placed:
    line, column = node.start_mark.line + 1, node.start_mark.column + 1
    if isinstance(node, yaml.MappingNode):
        found: dict[str, Placed] = {}
        for key_node, value_node in node.value:
            key = _placed(loader, key_node, source)
            if not isinstance(key.value, str):
                raise key.error('a key that is not a text', 'put it in quotes')
            if key.value in found:
                raise key.error(f'{key.value[:40]!a} stands here twice', 'remove one')
            inner = _placed(loader, value_node, source)
            found[key.value] = Placed(inner.value, source, key.line, key.column)
        return Placed(found, source, line, column)
    if isinstance(node, yaml.SequenceNode):
        items = tuple(_placed(loader, item, source) for item in node.value)
        return Placed(items, source, line, column)
    empty = Placed(None, source, line, column)
    try:
        value = loader.construct_object(node)
    except ValueError as error:  # a date that does not exist, a number of too many digits
        raise empty.error('a value that cannot be read', 'put texts in quotes') from error
    if isinstance(value, bool) or value is None:
        return Placed(value, source, line, column)
    if isinstance(value, (int, float)):
        if abs(value) > _LARGEST or not math.isfinite(value):
            raise empty.error('a number that is too large', f'use numbers up to {_LARGEST:g}')
        if not _DECIMAL.fullmatch(node.value):
            what = f'{node.value[:40]!a}, which YAML reads as {value:g}'
            raise empty.error(what, 'write the number in decimal digits, without zeros before it')
        return Placed(float(value), source, line, column)
    if isinstance(value, str) and (character := hidden(value)):
        raise empty.error(f'the character {character}, which is not seen', 'remove it')
    if isinstance(value, str) and len(value) <= _MAX_TEXT:
        return Placed(value, source, line, column)
    raise empty.error(f'a {type(value).__name__} that is not supported', 'put texts in quotes')


def read_json(text: str, source: str) -> Placed:
    """Reads a JSON text as `json.loads` does, with places; whole numbers stay `int`.

    Raises:
        PddlError: the text is not JSON, has a name twice in one object, is longer than `MAX_TEXT`
            or nested deeper than `MAX_JSON_DEPTH`.
    """
    if len(text) > MAX_TEXT:
        raise too_long(text, source)
    return _JsonReader(text, source).whole()


def too_long(text: str, source: str) -> PddlError:
    """The error for a text of more than `MAX_TEXT`, to be raised by the caller."""
    what = f'the text has {len(text):,} characters, more than the limit of {MAX_TEXT:,}'
    cure = 'send one problem, not a collection'
    return error_at(source, (1, 1), what, cure, ErrorCode.TASK_TOO_LARGE)


class _JsonReader:
    """Reads one value; the token that comes next is known, empty at the end."""

    def __init__(self, text: str, source: str) -> None:
        self._text = text
        self._source = source
        self._lines = [0, *(match.end() for match in re.finditer('\n', text))]
        self._end = 0
        self._depth = 0
        self._advance()

    def whole(self) -> Placed:
        found = self._value()
        if self._next:
            raise self._error(f'found {self._shown()} after the end', 'remove it')
        return found

    def _advance(self) -> None:
        space = _JSON_SPACE.match(self._text, self._end)
        self._start = space.end() if space else self._end
        match = _JSON_TOKEN.match(self._text, self._start)
        if match is None and self._start < len(self._text):
            shown = self._text[self._start : self._start + 20].split('\n')[0]
            raise self._error(f'found {shown!a}, which is not JSON')
        self._next = match[0] if match else ''
        self._end = self._start + len(self._next)

    def _place(self) -> Place:
        line = bisect(self._lines, self._start)
        return line, self._start - self._lines[line - 1] + 1

    def _value(self, key: Place = (0, 0)) -> Placed:
        place, mark = self._place(), self._next
        value: float | str | tuple[Placed, ...] | Mapping[str, Placed] | None
        if mark == '[':
            items: list[Placed] = []
            self._between(']', lambda: items.append(self._value()))
            value = tuple(items)
        elif mark == '{':
            value = members = dict[str, Placed]()
            self._between('}', lambda: self._member(members))
        elif mark in ('', ']', '}', ',', ':'):
            raise self._error(f'found {self._shown()} where a value must stand')
        else:
            value = self._scalar()
        return Placed(value, self._source, *place, key)

    def _scalar(self) -> Any:
        if self._next[0] in '-0123456789' and len(self._next) > _MOST_DIGITS:
            raise self._error(f'a number of {len(self._next)} digits', 'use a smaller number')
        try:
            value = json.loads(self._next)
        except ValueError as error:
            raise self._error(f'{self._next[:40]!a}: {error}', 'fix the string') from error
        self._advance()
        return value

    def _between(self, closing: str, read: Callable[[], None]) -> None:
        """Reads what stands between brackets, with a comma between any two."""
        if self._depth >= MAX_JSON_DEPTH:
            raise self._error(f'nested deeper than {MAX_JSON_DEPTH} values', 'flatten it')
        self._depth += 1
        self._advance()
        while self._next != closing:
            read()
            if self._next == ',':
                self._advance()
                if self._next == closing:
                    raise self._error(f"{closing!r} behind a ','", "remove the ','")
            elif self._next != closing:
                raise self._error(f"found {self._shown()} where ',' or {closing!r} must stand")
        self._depth -= 1
        self._advance()

    def _member(self, members: dict[str, Placed]) -> None:
        place, mark = self._place(), self._next
        if mark[:1] != '"':
            raise self._error(f'found {self._shown()} where a name in quotes must stand')
        name = self._scalar()
        if name in members:
            raise self._error(f'{mark[:40]!a} stands here twice', 'remove one', place)
        if self._next != ':':
            raise self._error(f"no ':' after the name {mark[:40]!a}", 'add it')
        self._advance()
        members[name] = self._value(place)

    def _shown(self) -> str:
        return ascii(self._next[:40]) if self._next else 'the end of the text'

    def _error(self, what: str, cure: str = _JSON_CURE, place: Place | None = None) -> PddlError:
        return error_at(self._source, place or self._place(), what, cure)


_WORDS = '<words>'  # what the reader calls the text that it is given


class PlacedWords:
    """A PDDL text in the making.

    Args:
        source: file name, or a label, for messages.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self._words: list[str] = []
        self._places: list[Place] = []

    def add(self, place: Place, *words: str) -> None:
        """Writes words, parentheses among them, that all come from one place."""
        for word in words:
            self._words.append(word)
            self._places.append(place)

    def problem(self, domain: Domain) -> Problem:
        """The written text, as a problem of a domain.

        Raises:
            PddlError: as `read_problem`, with places in the user's text.
        """
        try:
            problem = read_problem('\n'.join(self._words), domain, _WORDS)
        except PddlError as error:
            raise self._moved(error.errors) from error
        constraints = tuple(replace(c, place=self._place(c.place)) for c in problem.constraints)
        return replace(problem, constraints=constraints)

    def error(
        self, place: Place, what: str, cure: str, code: ErrorCode = ErrorCode.BAD_PDDL
    ) -> PddlError:
        """An error at a place, to be raised by the caller."""
        return error_at(self.source, place, what, cure, code)

    def _moved(self, errors: Iterable[PddlError]) -> PddlError:
        found = []
        for error in errors:
            place = self._places[error.line - 1]
            found.append(self.error(place, error.what, error.cure, error.code))
        return found[0] if len(found) == 1 else PddlErrors(found)

    def _place(self, place: str) -> str:
        """Where a constraint was written; those of the domain stay where they are."""
        if not place.startswith(f'{_WORDS}:'):
            return place
        number = int(place.split(':')[1])
        return ':'.join(map(str, (self.source, *self._places[number - 1])))
