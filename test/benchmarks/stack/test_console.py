# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the benchmark of the console makes of the memory that it has watched."""

from __future__ import annotations

import math

import pytest

from safegen_ros.benchmarks.stack.console import slope


def test_a_line_is_told_from_noise_by_its_error() -> None:
    hours = [minute / 60 for minute in range(10)]
    grown, sure = slope([(at, 200 + 12 * at) for at in hours])
    assert grown == pytest.approx(12)
    assert sure == pytest.approx(0, abs=1e-6)
    found, give = slope([(at, 200 + (-1) ** index) for index, at in enumerate(hours)])
    assert found is not None
    assert abs(found) < give


def test_few_points_are_no_line() -> None:
    assert slope([(0.0, 200.0), (0.01, 201.0)]) == (None, math.inf)
