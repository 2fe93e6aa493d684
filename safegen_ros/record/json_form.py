# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Dataclasses of plain values as JSON, and back with every field checked."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import IntEnum
from typing import Any

from safegen_ros.errors import SafegenError
from safegen_ros.schema import SchemaReader
from safegen_ros.untrusted import unhidden


class RecordError(SafegenError):
    """A record that cannot be written or read back."""


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


def typed(kind: Any, data: Any, place: str) -> Any:
    """The value of a type from its JSON form, checked.

    Args:
        kind: one of the records here, or what one of their fields is annotated with.
        data: what `plain` made of it.
        place: what to call it in messages.

    Raises:
        RecordError: a field is missing, unknown or of another type.
    """
    return SchemaReader('', RecordError).read(kind, data, place)
