# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The figures of scripts/house.py stay below their limits, and see what they are to count.

test/nodes/test_new_world.py counts the imports of the planner node and the files of a run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.house import house

WITH_ROS = ('modules imported by the planner node', 'files entered by one run')


@pytest.fixture(scope='module')
def report() -> Any:
    return house.measure(planner=False)


@pytest.mark.parametrize('figure', [name for name in house.LIMITS if name not in WITH_ROS])
def test_no_figure_is_above_its_limit(report: Any, figure: str) -> None:
    value, most = report.figures[figure], house.LIMITS[figure].most
    if value is None:
        pytest.skip('no checkout of git')
    assert value <= most, '\n'.join(
        [
            f'{figure}: {value}, limit {most}: simplify, do not raise it',
            *report.details.get(figure, []),
        ]
    )


FILES = {
    'tasks/lamps.py': 'class LampGoal: ...\nclass Dimmed(LampGoal): ...\n',
    'a.py': 'def f():\n    from safegen_ros import b\n',
    'b.py': 'from safegen_ros.c import C\nfrom safegen_ros.a import f\n',
    'c.py': 'if TYPE_CHECKING:\n    from safegen_ros import b\nclass C: ...\n',
    'd/e.py': 'import safegen_ros.f\nclass C: ...\n',
    'd/g.py': 'from safegen_ros.tasks import lamps as l\nx = isinstance(1, int | l.Dimmed)\n',
    'f.py': 'from safegen_ros.d.g import x\n',
    'h.py': (lines := ''.join(f'y = {number}\n' for number in range(9))),
    'd/h.py': f'import json\n\n{lines}',
}


def test_what_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(house, 'ROOT', tmp_path)
    for name, text in (FILES | {'__init__.py': '', 'd/__init__.py': ''}).items():
        path = tmp_path / 'safegen_ros' / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    report = house.measure(planner=False)
    assert report.figures['source files'] == 11
    assert report.figures['source lines'] == 34
    assert report.details['files in import cycles'][1:] == [
        '  safegen_ros.a -> safegen_ros.b',
        '  safegen_ros.b -> safegen_ros.a safegen_ros.c',
        '  safegen_ros.c -> safegen_ros.b',
    ]
    assert report.details['packages in import cycles'][1:] == [
        '  safegen_ros.d -> safegen_ros.f',
        '  safegen_ros.f -> safegen_ros.d',
    ]
    assert report.details['isinstance on a world outside tasks'] == [
        'safegen_ros/d/g.py:2: lamps.Dimmed'
    ]
    assert report.details['class names used twice'] == ['C: c d.e']
    assert report.details['repeated blocks of code'] == ['safegen_ros/d/h.py:3 safegen_ros/h.py:1']
    assert report.figures['MB of tracked models'] is None
