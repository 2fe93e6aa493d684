# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""JSON from the other side of a link, taken strictly: each field once, of its type and range."""

from __future__ import annotations

import json
import math
from typing import Any


class FieldError(ValueError):
    """A text that is not the object that was asked for; the message says where and how."""


class NotJsonError(FieldError):
    """Bytes that are not a JSON object at all."""


def read_object(data: bytes) -> Fields:
    """Reads one JSON object; fields given twice, NaN and infinities are refused.

    Raises:
        NotJsonError: anything else, whatever the bytes.
    """
    try:
        value = json.loads(
            data.decode('utf-8'), parse_constant=_no_constant, object_pairs_hook=_unique
        )
    except RecursionError:
        raise NotJsonError('it is nested too deeply') from None
    except ValueError as error:  # of UTF-8, of JSON, and of the two hooks
        raise NotJsonError(f'it is not JSON: {error}') from None
    if not isinstance(value, dict):
        raise NotJsonError(f'it must be a JSON object, got {type(value).__name__}')
    return Fields(value)


class Fields:
    """The fields of an object; each is taken once, and `end` complains about the rest."""

    def __init__(self, value: dict[str, Any], path: str = '') -> None:
        self._rest = dict(value)
        self._path = path

    def __contains__(self, name: str) -> bool:
        return name in self._rest

    def fail(self, name: str, what: str) -> FieldError:
        """The error for a field."""
        return FieldError(f'{self._path}{name}: {what}')

    def take(self, name: str) -> Any:
        """Any value."""
        if name not in self._rest:
            raise self.fail(name, 'is missing')
        return self._rest.pop(name)

    def text(self, name: str, longest: int = 200) -> str:
        """A text of printable characters."""
        value = self.take(name)
        if not isinstance(value, str) or len(value) > longest or not value.isprintable():
            raise self.fail(name, f'must be a printable text of at most {longest} characters')
        return value

    def integer(self, name: str, low: int, high: int) -> int:
        """A whole number in a range."""
        value = self.take(name)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.fail(name, f'must be a whole number from {low} to {high}')
        return value

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self.take(name)
        if not isinstance(value, bool):
            raise self.fail(name, 'must be true or false')
        return value

    def number(self, name: str, low: float, high: float) -> float:
        """A finite number in a range."""
        return self._number(name, self.take(name), low, high)

    def optional_number(self, name: str, low: float, high: float) -> float | None:
        """A finite number in a range, or None for null."""
        value = self.take(name)
        return None if value is None else self._number(name, value, low, high)

    def numbers(self, name: str, count: int, low: float, high: float) -> tuple[float, ...]:
        """A list of so many finite numbers, each in the range."""
        value = self.take(name)
        if not isinstance(value, list) or len(value) != count:
            raise self.fail(name, f'must be a list of {count} numbers')
        return tuple(self._number(name, each, low, high) for each in value)

    def objects(self, name: str, most: int) -> list[Fields]:
        """A list of at most so many objects."""
        value = self.take(name)
        if not isinstance(value, list) or len(value) > most:
            raise self.fail(name, f'must be a list of at most {most} objects')
        found = []
        for index, each in enumerate(value):
            if not isinstance(each, dict):
                raise self.fail(f'{name}[{index}]', 'must be an object')
            found.append(Fields(each, f'{self._path}{name}[{index}].'))
        return found

    def end(self) -> None:
        """Refuses what was not taken."""
        for name in self._rest:
            raise self.fail(ascii(name)[:80], 'is not a field of this object')

    def _number(self, name: str, value: Any, low: float, high: float) -> float:
        # A comparison, not a conversion first: an int may be too large for a float.
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.fail(name, 'must be a number')
        if not low <= value <= high or not math.isfinite(value):
            raise self.fail(name, f'must be from {low:g} to {high:g}')
        return float(value)


def _no_constant(name: str) -> float:
    raise ValueError(f'{name} is not a number')


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError('a field is given twice')
    return found
