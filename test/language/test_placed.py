# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""JSON with places means what it means to the standard library; YAML has no traps."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safegen_ros.errors import PddlError
from safegen_ros.language.placed import Placed, read_json, read_yaml

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.sampled_from(['yes', 'no', '1e3', '~', '0x10', '1:30', '2020-01-01', '\x7f\x85'])
)  # fmt: skip
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


def plain(value: Placed) -> Any:
    if isinstance(value.value, dict):
        return {name: plain(inner) for name, inner in value.value.items()}
    if isinstance(value.value, tuple):
        return [plain(inner) for inner in value.value]
    return value.value


def same(one: Any, other: Any) -> bool:
    return json.dumps(one) == json.dumps(other)  # tells 1, 1.0 and True apart


@given(VALUES, st.sampled_from([None, 1, '\t']), st.booleans())
def test_json_means_what_json_loads_reads(value: Any, indent: Any, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert same(plain(read_json(text, 'x')), json.loads(text))


@given(st.text(alphabet='[]{},:"\\ \n\t01.eE+-anultrfsi\u00e9', max_size=12))
def test_json_is_refused_where_json_loads_refuses(text: str) -> None:
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(PddlError):
            read_json(text, 'x')
        return
    if not ('NaN' in text or 'Infinity' in text or _twice(text)):
        assert same(plain(read_json(text, 'x')), expected)


def _twice(text: str) -> bool:
    found: list[bool] = []

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found.append(len(dict(pairs)) < len(pairs))
        return dict(pairs)

    json.loads(text, object_pairs_hook=members)
    return any(found)


def test_a_value_of_json_knows_its_place_and_that_of_its_name() -> None:
    top = read_json('{\n  "a": [1,\n 2]}', 'x.json')
    assert isinstance(top.value, dict)
    inner = top.value['a']
    assert (inner.place, inner.key) == ((2, 8), (2, 3))
    assert [each.place for each in inner.items('a')] == [(2, 9), (3, 2)]


@pytest.mark.parametrize(
    ('text', 'place', 'message'),
    [
        ('a: 1\na: 2', (2, 1), "'a' stands here twice"),
        ('a: &x 1\nb: *x', (2, 4), 'an alias'),
        ('1: 2', (1, 1), 'a key that is not a text'),
        ('yes: 2', (1, 1), 'a key that is not a text'),
        ('a: 2020-13-45', (1, 4), 'a value that cannot be read'),
        ('a: .inf', (1, 4), 'a number that is too large'),
        ('a: !!python/name:os.system', (1, 4), 'could not determine'),
        ('a: [1', (1, 6), 'expected'),
        ('', (1, 1), 'the file is empty'),
        ('[' * 20, (1, 13), 'too deeply nested'),
    ],
)
def test_yaml_without_its_traps(text: str, place: tuple[int, int], message: str) -> None:
    with pytest.raises(PddlError, match=message) as caught:
        read_yaml(text, 'x.yaml')
    assert (caught.value.line, caught.value.column) == place


@pytest.mark.parametrize('text', ['a: "b\\e[2J"', '"a\\u202e": b', 'a: ["b\\0"]', 'a: "\\ud800"'])
def test_yaml_hides_no_character_behind_an_escape(text: str) -> None:
    with pytest.raises(PddlError, match=r'x\.yaml:1:\d+: the character U\+'):
        read_yaml(text, 'x.yaml')
