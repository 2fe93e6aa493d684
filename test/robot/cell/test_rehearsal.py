# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whole plans on the physics of the twin, before anything else moves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from safegen_ros.errors import Canceled, ErrorCode, RobotError
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.robot.cell.rehearsal import rehearse
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import load_scene
from safegen_ros.tasks.pddl3.task import Pddl3Task, load_task
from safegen_ros.verdict import Category

ROOT = Path(__file__).parents[3]
SHIPPED = load_scene(ROOT / 'config' / 'figure6_scene.yaml')
QUICK = replace(SHIPPED.motion, travel_speed_fraction=1.0, vertical_speed_fraction=1.0)
NARROW = replace(SHIPPED, motion=QUICK)
TOWER_FIRST = parse_plan(
    '(pickup b2) (stack b2 b1) (pickup b3) (stack b3 b2) (pickup b4) (stack b4 b3) '
    '(pickup b5) (stack b5 b4)'
)
BEHIND_FIRST = parse_plan(
    '(pickup b5) (stack b5 b4) (pickup b2) (stack b2 b1) (pickup b3) (stack b3 b2) '
    '(unstack b5 b4) (putdown b5) (pickup b4) (stack b4 b3) (pickup b5) (stack b5 b4)'
)


@pytest.fixture(scope='module')
def behind() -> Pddl3Task:
    """The task of figure 6."""
    return load_task((ROOT / 'examples' / 'reach_behind.pddl').read_text(encoding='utf-8'))


def test_the_constraint_of_figure_6_is_what_keeps_the_arm_from_the_tower(
    behind: Pddl3Task,
) -> None:
    assert behind.verify(TOWER_FIRST).category is Category.SAFETY_VIOLATION
    went = rehearse(behind.problem, TOWER_FIRST, NARROW)
    assert went.verdict.category is Category.SAFETY_VIOLATION
    assert went.verdict.failing_step == 6
    assert 'step 7 (pickup b5): collision at' in went.verdict.reason
    assert 'link4 hits b4' in went.verdict.reason
    (hit,) = [each for each in went.contacts if not each.contact.expected]
    assert (hit.step, hit.contact.pair) == (6, ('<link4>', 'b4'))
    assert hit.contact.force > 1.0

    proved = behind.verify(BEHIND_FIRST)
    assert proved.ok
    went = rehearse(behind.problem, BEHIND_FIRST, NARROW, proved=proved)
    assert went.verdict == proved
    assert all(each.contact.expected for each in went.contacts)
    assert {each.step for each in went.contacts} == set(range(12))
    assert went.simulated_s > 30.0


def test_a_block_out_of_reach_fails_the_step_and_not_the_program(behind: Pddl3Task) -> None:
    poses = poses_of(NARROW, behind)
    poses['b5'] = Pose.upright(0.33, 0.0, NARROW.level_height(0), 0.0)
    went = rehearse(behind.problem, BEHIND_FIRST, NARROW, poses=poses)
    assert went.verdict.category is Category.PRECONDITION_VIOLATION
    assert went.verdict.failing_step == 0
    assert 'put the block where the arm can reach' in went.verdict.reason


def poses_of(scene, task):
    slots = zip(task.problem.objects, scene.slots, strict=False)
    return {block: scene.slot_pose(slot) for block, slot in slots}


def test_it_starts_from_where_the_blocks_were_measured(behind: Pddl3Task) -> None:
    poses = poses_of(NARROW, behind)
    x, y, z = poses['b5'].position
    poses['b5'] = Pose.upright(x + 0.02, y, z, 0.3)
    seen: list[tuple[int, Pose]] = []
    went = rehearse(
        behind.problem,
        Plan(BEHIND_FIRST.steps[:1]),
        NARROW,
        poses=poses,
        sample=lambda step, look: seen.append((step, look.poses['b5'])) if look.poses else None,
    )
    assert went.verdict.ok
    start = next(pose for step, pose in seen if step == -1)
    assert start.position == pytest.approx((x + 0.02, y, z), abs=1e-3)
    assert {step for step, _ in seen} == {-1, 0}


def test_what_cannot_be_set_up_has_no_verdict(behind: Pddl3Task) -> None:
    crowded = replace(NARROW, max_tower=4)
    with pytest.raises(RobotError) as caught:
        rehearse(behind.problem, BEHIND_FIRST, crowded)
    assert caught.value.code is ErrorCode.UNSUPPORTED_SCENE


def test_time_and_cancelling_end_it_without_a_verdict(behind: Pddl3Task) -> None:
    poses = poses_of(NARROW, behind)
    with pytest.raises(RobotError, match='nothing moves') as caught:
        rehearse(behind.problem, BEHIND_FIRST, NARROW, poses=poses, time_limit_s=0.0)
    assert caught.value.code is ErrorCode.REHEARSAL_FAILED
    with pytest.raises(Canceled):
        rehearse(behind.problem, BEHIND_FIRST, NARROW, poses=poses, cancelled=lambda: True)
