# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A world that nobody knows costs a module and a line of the table; and what a node imports."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.house import house
from support.kept_runs import assert_same_again
from support.one_process import Stack, one_process_stack

from safegen_ros.client import Options
from safegen_ros.errors import ErrorCode
from safegen_ros.record.replay import reexecute, why_not_executed
from safegen_ros.robot.scene import load_scene
from safegen_ros.ros import conversions
from safegen_ros.tasks import table
from safegen_ros.verdict import Category

BY_MODEL = Options(strategy='model', max_attempts=4)

MOST_MODULES = house.LIMITS['modules imported by the planner node'].most
COUNT = """
import sys
import safegen_ros.nodes.planner
print('\\n'.join(name for name in sys.modules if name.split('.')[0] == 'safegen_ros'))
"""


@pytest.fixture(scope='module')
def stack(ros_domain: int, folder: Path) -> Iterator[Stack]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(table.WORLDS, 'lamps', table.WorldEntry('support.lamp_world'))
        with one_process_stack(folder) as made:
            yield made


def test_its_plan_is_proved_carried_out_recorded_and_replayed(stack: Stack, folder: Path) -> None:
    left = ['the moon', 'hall hall', 'hall', 'hall porch']
    stack.server.script = lambda messages: left.pop(0)
    goal = stack.client.start_run('hall porch', options=BY_MODEL, format='lamps')
    result = goal.result()
    assert ErrorCode(result.error_code) is ErrorCode.NONE, result.error_msg
    assert [Category(attempt.verdict.category) for attempt in result.attempts] == [
        Category.FORMAT_ERROR,
        Category.PRECONDITION_VIOLATION,
        Category.GOAL_NOT_SATISFIED,
        Category.SUCCESS,
    ]
    assert result.steps_done == 2
    ended = conversions.state_from_facts(result.final_state.facts)
    assert ended == {('lit', 'hall'), ('lit', 'porch')}

    record = stack.kept(goal).record
    assert_same_again(record, 5)
    assert not why_not_executed(record)
    assert not reexecute(record, load_scene()).differences


def test_what_it_has_not_is_refused(stack: Stack) -> None:
    step_by_step = Options(step_by_step=True)
    result = stack.client.run('hall', options=step_by_step, format='lamps')
    assert ErrorCode(result.error_code) is ErrorCode.UNSUPPORTED_FEATURE
    assert 'planned as a whole' in result.error_msg


def test_the_planner_imports_no_world_that_no_goal_has_named() -> None:
    done = subprocess.run(
        [sys.executable, '-c', COUNT], capture_output=True, text=True, check=True, timeout=60
    )
    names = done.stdout.split()
    assert len(names) <= MOST_MODULES
    others = ('boxnet', 'household', 'planetarium', 'benchmarks', 'evaluation', 'search')
    assert not [name for name in names if set(name.split('.')) & set(others)]


@pytest.mark.nightly
def test_a_run_enters_no_more_files_than_before(ros_domain: int) -> None:
    figure = 'files entered by one run'
    report = house.measure(planner=False, run=True)
    assert report.figures[figure] <= house.LIMITS[figure].most, '\n'.join(report.details[figure])
