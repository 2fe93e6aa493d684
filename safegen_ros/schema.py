# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Dataclasses from what a JSON or YAML text holds, checked with the place, and back to JSON.

Ours, since Ubuntu 24.04 has pydantic 1 only and msgspec does not name the key of a mapping.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import IntEnum
from functools import cache
from math import inf
from pathlib import Path
from sys import float_info
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from safegen_ros.untrusted import unhidden

_T = TypeVar('_T')


def yaml_document(path: Path, refuse: Callable[[str], Exception], *, nodes: bool = False) -> Any:
    """The value in a YAML file, or its nodes with their places.

    Raises:
        Exception: `refuse` of a message with the line and the problem; there is no YAML.
    """
    import yaml  # which the agent of an arm does without

    parse = yaml.compose if nodes else yaml.load
    try:
        return parse(path.read_text(encoding='utf-8'), Loader=yaml.SafeLoader)
    except OSError as error:
        raise refuse(f'{path}: cannot be read: {error.strerror}: check the path') from error
    except RecursionError as error:
        raise refuse(f'{path}: is nested too deeply: flatten it') from error
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, 'problem_mark', None)
        line = f':{mark.line + 1}' if mark else ''
        problem = getattr(error, 'problem', None) or str(error).split('\n')[0]
        raise refuse(f'{path}{line}: is not YAML: {problem}') from error


class NotJsonError(ValueError):
    """Bytes that are not one JSON object."""


def json_object(data: bytes | str) -> dict[str, Any]:
    """One JSON object; fields given twice, NaN and infinities are refused.

    Raises:
        NotJsonError: the data are anything else.
    """
    try:
        text = data if isinstance(data, str) else data.decode('utf-8')
        value = json.loads(text, parse_constant=no_constant, object_pairs_hook=_unique)
    except RecursionError:
        raise NotJsonError('it is nested too deeply') from None
    except ValueError as error:  # of UTF-8, of JSON, and of the two hooks
        raise NotJsonError(f'it is not JSON: {error}') from None
    if not isinstance(value, dict):
        raise NotJsonError(f'it must be a JSON object, got {type(value).__name__}')
    return value


def no_constant(name: str) -> float:
    """Refuses NaN and infinities, for `json.loads`."""
    raise ValueError(f'{name} is not a number')


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError('a field is given twice')
    return found


class Rule(NamedTuple):
    """What must hold of a field that is annotated with it, and the cure where it does not."""

    holds: Callable[[Any], bool]
    cure: str


def between(least: float, most: float = inf) -> Rule:
    """The rule of a number with these bounds."""
    end = 'or more' if most == inf else f'to {most:,}'
    return Rule(lambda value: bool(least <= value <= most), f'take {least:,} {end}')


def printable(longest: int) -> Rule:
    """The rule of a text without control characters, of at most so many."""
    return Rule(
        lambda text: len(text) <= longest and text.isprintable(),
        f'write at most {longest:,} printable characters',
    )


def at_most(longest: int) -> Rule:
    """The rule of a list of at most so many."""
    return Rule(lambda found: len(found) <= longest, f'give at most {longest:,}')


def one_of(*known: str) -> Rule:
    """The rule of a word from a list."""
    return Rule(known.__contains__, f'use {" ".join(filter(None, known))}')


_CURES: Mapping[type, str] = {
    int: 'write a whole number', float: 'write a number', bool: 'write true or false',
    str: 'write a text', list: 'write a list', dict: 'write an object with fields',
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SchemaReader:
    """A text whose values are read; every complaint names it, the place and the cure."""

    name: str
    error: Callable[[str], Exception]

    def fault(self, place: str, what: str, cure: str) -> Exception:
        """The error that says what is wrong at a place, and what to do."""
        return self.error(': '.join(filter(None, (self.name, place, what, cure))))

    def need(self, holds: bool, place: str, value: Any, cure: str) -> None:
        """Raises unless a rule holds for a value."""
        if not holds:
            raise self.fault(place, 'is ' + ('empty' if value is None else _short(value)), cure)

    def keys(self, found: Iterable[str], place: str, known: Iterable[str]) -> None:
        """Raises unless these are all of the names that are known, and no others."""
        found, known = list(found), list(known)
        self.choices(found, place, known)
        for name in known:
            if name not in found:
                raise self.fault(place, f'field {name!r} is missing', 'add it')

    def choices(self, found: Iterable[Any], place: str, known: Collection[Any]) -> None:
        """Raises unless all keys are known."""
        for each in found:
            if each not in known:
                raise self.fault(place, f'there is no {each!r:.80}', f'use {" ".join(known)}')

    def read(self, kind: type[_T], value: Any, place: str = '') -> _T:
        """A value of JSON as a dataclass, whose annotations are checked; raises `error`."""
        found: _T = self._value(kind, value, place)
        return found

    def _value(self, kind: Any, value: Any, place: str) -> Any:
        origin, inner = get_origin(kind), get_args(kind)
        if origin is Annotated:
            found = self._value(inner[0], value, place)
            for rule in inner[1:]:
                self.need(rule.holds(found), place, found, rule.cure)
            return found
        if origin in (Union, UnionType):
            return self._union(inner, value, place)
        if origin is Literal:
            self.need(value in inner, place, value, f'use {" ".join(map(str, inner))}')
            return value
        if kind is Any:
            return value
        if is_dataclass(kind):
            return self._record(kind, value, place)
        if origin is tuple:
            return self._tuple(inner, value, place)
        if origin in (dict, Mapping):
            self.need(isinstance(value, dict), place, value, _CURES[dict])
            return {
                self._value(inner[0], key, place): self._value(inner[1], each, _at(place, key))
                for key, each in value.items()
            }
        if kind is float and type(value) is int:
            self.need(abs(value) <= float_info.max, place, value, _CURES[float])
            return float(value)
        if issubclass(kind, IntEnum):  # which goes by name, as its numbers say nothing to a reader
            named = isinstance(value, str) and value in kind.__members__
            self.need(named, place, value, f'use {" ".join(kind.__members__)}')
            return kind[value]
        self.need(type(value) is kind, place, value, _CURES[kind])
        return value

    def _union(self, kinds: tuple[Any, ...], value: Any, place: str) -> Any:
        if (value is None and NoneType in kinds) or type(value) in kinds:
            return value
        return self._value(next(kind for kind in kinds if kind is not NoneType), value, place)

    def _tuple(self, kinds: tuple[Any, ...], value: Any, place: str) -> Any:
        self.need(isinstance(value, (list, tuple)), place, value, _CURES[list])
        if kinds[-1] is Ellipsis:
            kinds = kinds[:1] * len(value)
        self.need(len(kinds) == len(value), place, value, f'write a list of {len(kinds)}')
        pairs = enumerate(zip(kinds, value, strict=True))
        return tuple(self._value(kind, each, f'{place}[{at}]') for at, (kind, each) in pairs)

    def _record(self, kind: Any, value: Any, place: str) -> Any:
        hints, needed = _fields(kind)
        self.need(isinstance(value, dict), place, value, _CURES[dict])
        for name in value:
            if name not in hints:
                raise self.fault(place, f'unknown field {name!r:.80}', f'use {" ".join(hints)}')
        for name in needed:
            if name not in value:
                raise self.fault(place, f'field {name!r} is missing', 'add it')
        return kind(**{n: self._value(hints[n], v, _at(place, n)) for n, v in value.items()})


def plain(value: Any) -> Any:
    """A value as JSON has it. Enumerations go by name, as their numbers say nothing to a reader.

    In a text, only characters that no message may hold are written otherwise: see `unhidden`.
    """
    if isinstance(value, str):
        return unhidden(value)
    if isinstance(value, IntEnum):
        return value.name
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return value


@cache
def _fields(kind: type[Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The types of a record's fields, and the names of those that must be there."""
    needed = (f.name for f in fields(kind) if f.default is f.default_factory is MISSING)
    return get_type_hints(kind, include_extras=True), tuple(needed)


def _at(place: str, name: Any) -> str:
    return f'{place}.{name}' if place else str(name)


def _short(value: Any) -> str:
    return reprlib.repr(value)[:60]
