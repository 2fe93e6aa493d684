# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Values of a file become dataclasses, or an error with file, place and cure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.schema import SchemaReader, between

READER = SchemaReader('a.json', SafegenError)


@dataclass(frozen=True)
class Part:
    size: tuple[int, int]
    code: ErrorCode = ErrorCode.NONE
    share: Annotated[int | float, between(0, 1)] = 0.5


@dataclass(frozen=True)
class Whole:
    parts: Mapping[str, Part]
    kind: Literal['big', 'small'] = 'big'
    more: tuple[float, ...] | None = None


def test_values_are_read_with_their_types() -> None:
    part = {'size': [1, 2], 'code': 'BAD_PDDL', 'share': 1}
    found = READER.read(Whole, {'parts': {'a': part}, 'more': [1]})
    assert found == Whole({'a': Part((1, 2), ErrorCode.BAD_PDDL, 1)}, more=(1.0,))
    assert type(found.parts['a'].share) is int  # a digest of the values must not change


@pytest.mark.parametrize(
    ('values', 'message'),
    [
        ({}, "a.json: field 'parts' is missing: add it"),
        ({'parts': {}, 'kind': 'odd'}, "a.json: kind: is 'odd': use big small"),
        ({'parts': {'b': {'size': [1]}}}, 'a.json: parts.b.size: is [1]: write a list of 2'),
        ({'parts': {'b': {'size': [1, True]}}}, 'parts.b.size[1]: is True: write a whole number'),
        ({'parts': {'b': {'size': [1, 2], 'share': 2}}}, 'parts.b.share: is 2: take 0 to 1'),
        ({'parts': {'b': {'size': [1, 2], 'code': [1]}}}, 'parts.b.code: is [1]: use NONE'),
        ({'parts': {'b': {'sise': 1}}}, "parts.b: unknown field 'sise': use size code share"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(values: Any, message: str) -> None:
    with pytest.raises(SafegenError) as caught:
        READER.read(Whole, values)
    assert message in caught.value.message
