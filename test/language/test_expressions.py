# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Conditions on attributes have the value that they look like, or none."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from hypothesis import given, settings
from support import strategies

from safegen_ros.language.expressions import Expression, ExpressionError, Value

VALUES: dict[tuple[str, str], Value] = {
    ('b1', 'w'): 3.0,
    ('b2', 'w'): 0.5,
    ('b1', 'ok'): True,
    ('b2', 'ok'): False,
    ('b1', 'z'): ('cold', 2.0),
    ('b2', 'z'): (),
    ('b1', 'm'): 'acme',
    ('b2', 'm'): 'other',
}


def holds(text: str) -> bool:
    expression = Expression(text, ('x', 'y'))
    return expression.holds({'x': 'b1', 'y': 'b2'}, lambda name, own: VALUES[name, own])


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        ('x.w > 2', True),
        ('x.w + y.w * 2 == 4', True),
        ('(x.w + y.w) * 2 == 7', True),
        ('x.w - 1 - 1 == 1', True),
        ('x.w / 2 / 3 == y.w', True),
        ('-x.w < -y.w', True),
        ('not x.ok or y.ok', False),
        ('not (x.ok and y.ok)', True),
        ('not x.ok == true', False),
        ("'cold' in x.z and 'cold' not in y.z", True),
        ('2 in x.z', True),
        ('x.m == \'acme\' and y.m != "acme"', True),
        ('x != y', True),
        ("x == 'b1'", True),
        ('y.ok or x.ok and false', False),
        ('x.ok or y.w / 0 > 1', True),  # what is decided is not looked at further
    ],
)
def test_values(text: str, value: bool) -> None:
    assert holds(text) is value


@pytest.mark.parametrize(
    'text',
    [
        '', 'x.w', 'x', 'x.', 'x.w >', '> 2', 'x.w > 2 3', '(x.ok', 'x.ok)', 'z.w > 2', 'x.w = 2',
        'x.w > y.m', 'x.ok > 1', 'x.ok == 1', "'a' in 'abc'", 'x.z in x.z', 'not x.w',
        'x.m and x.ok',
        'x.w / 0 > 1', '1 < x.w < 2', 'x.w ** 2 > 1', 'x[0]',
        'lambda: 1', 'f()',
        '9' * 400, '(' * 240 + 'x.ok' + ')' * 240, 'not ' * 40 + 'x.ok', '1.2.3 > 1', "'open",
        'x.ok;x.ok', 'x.ok # and y.ok', "'a' 'b' == x.m", 'x.ok if y.ok else y.ok', '1e3 > x.w',
        'x.ok and ' * 100 + 'x.ok',
        '*'.join(['999999999999999'] * 9) + ' > 1',
    ],
)  # fmt: skip
def test_what_has_no_value(text: str) -> None:
    with pytest.raises(ExpressionError):
        holds(text)


PIECES = (
    'x.w', 'y.ok', 'x.z', 'x', 'y', 'and', 'or', 'not', 'in', '(', ')', '+', '-', '*', '/', '==',
    '<', '>=', '2', '0.5', 'true', '"a"', '.', 'x.', '$', '\u00e9',
)  # fmt: skip


@settings(strategies.SUITE, max_examples=150)
@given(strategies.SEEDS)
def test_junk_never_crashes(seed: int) -> None:
    rng = random.Random(seed)
    text = ' '.join(rng.choices(PIECES, k=rng.randint(1, 12)))
    with suppress(ExpressionError):
        assert holds(text) in (True, False)
