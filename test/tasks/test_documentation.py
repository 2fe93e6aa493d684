# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the pages of the worlds show is what comes out."""

from __future__ import annotations

import doctest
import json
from dataclasses import replace
from pathlib import Path

import pytest

from safegen_ros.benchmarks.comparison import Line
from safegen_ros.benchmarks.household.episodes import measure, scripted
from safegen_ros.tasks.household.tasks import DEFECTS, clean_tasks

DOCS = Path(__file__).parents[2] / 'docs'
DOCUMENT = DOCS / 'household.md'


@pytest.mark.parametrize(
    'page', ['boxnet', 'boxnet3d', 'household', 'planetarium', 'planetarium-data']
)
def test_the_examples_of_a_page_are_right(page: str) -> None:
    failed, attempted = doctest.testfile(str(DOCS / f'{page}.md'), module_relative=False)
    assert (failed, attempted > 8) == (0, True)


def test_every_known_defect_is_in_the_document() -> None:
    text = DOCUMENT.read_text()
    for name in DEFECTS:
        assert f'`{name}`' in text, name


@pytest.mark.nightly
def test_the_figures_that_are_kept_are_those_of_the_command() -> None:
    kept = json.loads((DOCS / 'results' / 'household.json').read_text())
    tasks = list(clean_tasks().values())
    text = DOCUMENT.read_text()
    for contestant in scripted(['oracle', 'careless'], 0):
        options = replace(contestant.options, explicit=True)
        figures = measure(contestant, options, tasks, 1).figures
        line = Line('table 3', 'explicit', contestant.name, figures)
        assert line.as_dict(('table', 'setting', 'whose')) in kept['lines']
        gsr = figures.more['GSR']
        assert f'| {contestant.name} | {figures.success:.1f} | {gsr:.1f} |' in text
