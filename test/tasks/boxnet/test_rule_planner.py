# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The planner whose plans the small model learns: right, and the same wherever it begins."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import pytest

from safegen_ros.datasets.boxnet.draw import (
    GRID,
    MOVED_POINTS,
    RANDOM_ROBOTS,
    UNSOLVABLE,
    tasks,
)
from safegen_ros.tasks.boxnet.model import State, Task
from safegen_ros.tasks.boxnet.prompts import EXAMPLE
from safegen_ros.tasks.boxnet.rule_planner import steady_plan
from safegen_ros.tasks.boxnet.verifier import judge

SOME = [
    task
    for variant in (GRID, RANDOM_ROBOTS, MOVED_POINTS)
    for size, objects in (((2, 2), 3), ((3, 3), 5), ((5, 4), 4))
    for task in islice(tasks(size, objects, 'steady', variant=variant), 6)
]


@pytest.mark.parametrize('task', SOME, ids=lambda task: task.id)
def test_its_plans_are_proved_and_go_on_from_any_state_of_theirs(task: Task) -> None:
    plan = steady_plan(task, task.start)
    assert plan is not None
    judged = judge(task, plan)
    assert judged.verdict.ok, judged.verdict.reason
    for at, state in enumerate(judged.states):
        assert steady_plan(task, state) == plan[at:]


def test_objects_that_wait_for_each_other_in_a_ring_make_room() -> None:
    places = EXAMPLE.start.objects
    task = replace(EXAMPLE, targets=places[::-1])
    plan = steady_plan(task, task.start)
    assert plan is not None
    assert judge(task, plan).verdict.ok
    tips = EXAMPLE.start.tips
    assert steady_plan(task, State(tips, places[::-1])) == ()


def test_there_is_no_plan_where_there_is_none() -> None:
    alone = next(tasks((3, 3), 2, 'steady', variant=UNSOLVABLE))
    assert steady_plan(alone, alone.start) is None
