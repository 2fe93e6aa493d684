# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Figures, their targets and intervals, and the files and pictures they become."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from safegen_ros.benchmarks.comparison import Tally, wilson
from safegen_ros.benchmarks.measurement import Measurement, Report, number_text
from safegen_ros.benchmarks.plots import Chart
from safegen_ros.verdict import Category

FAST = Measurement('speed', 180.0, 'x', 150.0)
SLOW = Measurement('time', 60.0, 'us', 50.0, at_least=False, note='a [note]')
MISSING = Measurement('other', None, 'x', 200.0, note='not installed')
PLAIN = Measurement('count', 3.0, 'plans')
REPORT = Report('sample', {'seed': 7}, (FAST, SLOW, MISSING, PLAIN), {'plans': 3})


@pytest.mark.parametrize(
    ('measurement', 'reached'), [(FAST, True), (SLOW, False), (MISSING, None), (PLAIN, None)]
)
def test_a_target_is_reached_or_not_or_unknown(
    measurement: Measurement, reached: bool | None
) -> None:
    assert measurement.reached is reached


def test_the_files_hold_every_figure(tmp_path: Path) -> None:
    REPORT.write(tmp_path)
    whole = json.loads((tmp_path / 'sample.json').read_text())
    assert (whole['settings'], whole['details']) == ({'seed': 7}, {'plans': 3})
    assert [m['reached'] for m in whole['measurements']] == [True, False, None, None]
    rows = list(csv.DictReader((tmp_path / 'sample.csv').open()))
    assert [row['value'] for row in rows] == ['180.0', '60.0', '', '3.0']
    assert [row['target'] for row in rows] == ['>= 150 x', '<= 50 us', '>= 200 x', '']
    assert [row['reached'] for row in rows] == ['yes', 'no', '', '']


def test_the_table_shows_targets_and_notes_as_they_are() -> None:
    console = Console(record=True, width=100)
    REPORT.print(console)
    text = console.export_text()
    assert 'seed 7' in text
    assert 'a [note]' in text
    assert '>= 150 x' in text
    assert 'not installed' in text


@pytest.mark.parametrize(
    ('value', 'text'), [(0, '0'), (12345.6, '12,346'), (41.26, '41.3'), (0.012345, '0.0123')]
)
def test_numbers_have_the_digits_that_matter(value: float, text: str) -> None:
    assert number_text(value) == text


def test_a_chart_draws_every_share_and_names_every_line() -> None:
    chart = Chart(
        'a < b', 'blocks', 'solved [%]', (5, 10, 15),
        {'ours & others': (100.0, 50.0, None), 'second': (100.0, 100.0, 0.0)}, {'OPTIC': 45.8},
    )  # fmt: skip
    figure = chart.figure()
    (axes,) = figure.axes
    ours, second, optic = axes.lines
    assert list(zip(*ours.get_data(), strict=True)) == [(5, 100.0), (10, 50.0)]
    assert list(second.get_ydata()) == [100.0, 100.0, 0.0]
    assert set(optic.get_ydata()) == {45.8}
    (legend,) = figure.legends
    assert [t.get_text() for t in legend.get_texts()] == ['ours & others', 'second', 'OPTIC']
    assert (axes.get_title(), axes.get_xlabel()) == ('a < b', 'blocks')


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
