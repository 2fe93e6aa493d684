# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Dataclasses of plain values as JSON, and back with every field checked."""

from __future__ import annotations

import types
import typing
from dataclasses import MISSING, fields, is_dataclass
from enum import IntEnum
from functools import cache
from typing import Any

from safegen_ros.errors import SafegenError
from safegen_ros.untrusted import unhidden


class RecordError(SafegenError):
    """A record that cannot be written or read back."""


def plain(value: Any) -> Any:
    """A value as JSON has it. Enumerations go by name, as their numbers say nothing to a reader.

    Of a text, only what no message may hold is written otherwise: see `unhidden`.
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


def typed(kind: Any, data: Any, place: str) -> Any:
    """The value of a type from its JSON form, checked.

    Args:
        kind: one of the records here, or what one of their fields is annotated with.
        data: what `plain` made of it.
        place: what to call it in messages.

    Raises:
        RecordError: a field is missing, unknown or of another type.
    """
    if isinstance(kind, type) and is_dataclass(kind):
        return _typed_record(kind, data, place)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple and isinstance(data, list):
        kinds = [inner[0]] * len(data) if inner[-1] is Ellipsis else list(inner)
        if len(kinds) == len(data):
            pairs = zip(kinds, data, strict=True)
            return tuple(typed(k, item, f'{place}[{i}]') for i, (k, item) in enumerate(pairs))
    if origin is dict and isinstance(data, dict):
        return {name: typed(inner[1], item, f'{place}.{name}') for name, item in data.items()}
    if origin in (typing.Union, types.UnionType):
        return None if data is None else typed(inner[0], data, place)
    named = isinstance(kind, type) and issubclass(kind, IntEnum) and isinstance(data, str)
    if named and data in kind.__members__:
        return kind[data]
    if kind is float and isinstance(data, int | float) and not isinstance(data, bool):
        return float(data)
    if kind in (int, str, bool) and type(data) is kind:
        return data
    raise RecordError(f'{place}: {data!r} is not {getattr(kind, "__name__", kind)}')


@cache
def _fields_of(kind: type) -> tuple[dict[str, Any], frozenset[str]]:
    """The types of a record's fields, and the names of those that must be there."""
    # A field that came with a later version is at its default in what an earlier one wrote.
    needed = (f.name for f in fields(kind) if f.default is f.default_factory is MISSING)
    return typing.get_type_hints(kind), frozenset(needed)


def _typed_record(kind: type, data: Any, place: str) -> Any:
    hints, needed = _fields_of(kind)
    if not isinstance(data, dict):
        raise RecordError(f'{place}: {data!r} is not {kind.__name__}')
    if wrong := (needed - data.keys()) | (data.keys() - hints.keys()):
        raise RecordError(f'{place}: fields missing or unknown: {", ".join(sorted(wrong))}')
    return kind(**{name: typed(hints[name], data[name], f'{place}.{name}') for name in data})
