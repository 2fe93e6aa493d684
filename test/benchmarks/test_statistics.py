# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Intervals and counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safegen_ros.benchmarks.comparison import Tally, wilson
from safegen_ros.verdict import Category


@pytest.mark.parametrize(
    ('successes', 'trials', 'low', 'high'),
    # Published values: the interval for 0 of 10 ends at z^2 / (n + z^2).
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (0, 0, 0.0, 1.0)],
)
def test_known_intervals(successes: int, trials: int, low: float, high: float) -> None:
    assert wilson(successes, trials) == pytest.approx((low, high), abs=1e-4)


@given(trials=st.integers(1, 500), data=st.data())
def test_the_interval_holds_the_rate_and_mirrors(trials: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, trials))
    low, high = wilson(successes, trials)
    assert 0 <= low <= successes / trials + 1e-12
    assert successes / trials - 1e-12 <= high <= 1
    mirrored = wilson(trials - successes, trials)
    assert mirrored == pytest.approx((1 - high, 1 - low))


def test_counts() -> None:
    tally = Tally.of([Category.SUCCESS, Category.SUCCESS, Category.SAFETY_VIOLATION])
    values = tally.as_dict()
    assert values['success_percent'] == 66.7
    assert (values['success'], values['safety_violation'], values['format_error']) == (2, 1, 0)
    assert Tally.of([]).rate == 0.0
