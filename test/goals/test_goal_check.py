# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The last check of a run: from measured poses alone, and fail closed."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest
from geometry_msgs.msg import Point, Quaternion
from geometry_msgs.msg import Pose as PoseMessage

from safegen_msgs.msg import ObjectPose, WorldState
from safegen_ros.goals.request import check_facts, check_goal
from safegen_ros.robot.cell.grounding import initial_layout
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import load_scene
from safegen_ros.tasks.pddl3.task import load_task

SCENE = load_scene()
HOME = tuple(SCENE.home_joints)
GOAL = '(and (on red blue) (on-table blue))'


def _task(goal: str = GOAL):
    text = f"""
    (define (problem p) (:domain blocksworld) (:objects red green blue)
      (:init (arm-empty) (on-table red) (on-table green) (on-table blue)
             (clear red) (clear green) (clear blue))
      (:goal {goal}))"""
    return load_task(text)


TASK = _task()
PROBLEM = TASK.problem
TOWER = initial_layout(
    SCENE,
    tuple(PROBLEM.objects),
    frozenset({
        ('arm-empty',), ('on', 'red', 'blue'), ('on-table', 'blue'), ('on-table', 'green'),
        ('clear', 'red'), ('clear', 'green'),
    }),
).poses  # fmt: skip
FLAT = initial_layout(SCENE, tuple(PROBLEM.objects), PROBLEM.init).poses


def _world(poses: Mapping[str, Pose], facts: tuple[str, ...] = ()) -> WorldState:
    world = WorldState(facts=list(facts))
    for name, pose in poses.items():
        x, y, z = pose.position
        qx, qy, qz, qw = pose.orientation
        message = PoseMessage(
            position=Point(x=x, y=y, z=z), orientation=Quaternion(x=qx, y=qy, z=qz, w=qw)
        )
        world.objects.append(ObjectPose(name=name, pose=message))
    return world


def _joints_over(pose: Pose) -> tuple[float, ...]:
    """Joints (6,) [rad] that put the lip of the cup on the top face of a block."""
    x, y, z = pose.position
    return tuple(SCENE.joints_above(x, y, z + SCENE.block_size / 2, pose.yaw))


def test_reached_needs_every_condition():
    check = check_goal(PROBLEM, _world(TOWER), HOME, SCENE)
    assert check.reached
    assert check.conjuncts == (('(on red blue)', True), ('(on-table blue)', True))
    assert check.poses == TOWER


def test_one_condition_that_does_not_hold_is_named():
    check = check_goal(PROBLEM, _world(FLAT), HOME, SCENE)
    assert not check.reached
    assert check.conjuncts == (('(on red blue)', False), ('(on-table blue)', True))


def test_what_the_executor_says_of_the_poses_counts_for_nothing():
    facts = ('(on red blue)', '(on-table blue)', '(on-table green)', '(arm-empty)')
    assert not check_goal(PROBLEM, _world(FLAT, facts), HOME, SCENE).reached


def test_a_goal_without_conditions_is_reached_by_any_state_but_not_by_none():
    problem = _task('(and)').problem
    assert check_goal(problem, _world(FLAT), HOME, SCENE).reached
    assert not check_goal(problem, _world({}), HOME, SCENE).reached


@pytest.mark.parametrize('name', ['green', 'blue'])
def test_a_block_without_a_pose_is_a_problem_even_if_the_goal_does_not_name_it(name):
    poses = {other: pose for other, pose in TOWER.items() if other != name}
    check = check_goal(PROBLEM, _world(poses), HOME, SCENE)
    assert not check.reached
    assert check.problem == f'no pose was measured for {name}'


def test_a_block_that_leans_is_a_problem():
    half = math.radians(20) / 2
    tilted = Pose(TOWER['red'].position, (math.sin(half), 0.0, 0.0, math.cos(half)))
    check = check_goal(PROBLEM, _world({**TOWER, 'red': tilted}), HOME, SCENE)
    assert not check.reached
    assert 'red at' in check.problem
    assert 'leans 20 deg' in check.problem


def test_a_block_that_the_arm_still_has_is_not_on_another():
    check = check_goal(PROBLEM, _world(TOWER), _joints_over(TOWER['red']), SCENE)
    assert not check.reached
    assert 'red' in check.problem
    assert 'at once' in check.problem


def test_a_block_in_the_air_is_held_and_meets_such_a_goal_only():
    x, y, _ = TOWER['red'].position
    lifted = {**TOWER, 'red': Pose.upright(x, y, 0.15, TOWER['red'].yaw)}
    joints = _joints_over(lifted['red'])
    assert check_goal(_task('(holding red)').problem, _world(lifted), joints, SCENE).reached
    assert not check_goal(PROBLEM, _world(lifted), joints, SCENE).reached
    # The same poses with the joints of another moment: nothing carries the block.
    astray = check_goal(_task('(holding red)').problem, _world(lifted), HOME, SCENE)
    assert not astray.reached
    assert 'rests on nothing' in astray.problem


@pytest.mark.parametrize('joints', [(), HOME[:5], (*HOME[:5], math.nan)], ids=str)
def test_joints_that_did_not_arrive_are_a_problem(joints):
    check = check_goal(PROBLEM, _world(TOWER), joints, SCENE)
    assert not check.reached
    assert check.problem == 'the joints of the last moment did not arrive'
    assert check.poses == TOWER


FACTS = ('(on red blue)', '(on-table blue)', '(on-table green)', '(arm-empty)')


def test_the_facts_of_a_symbolic_cell_are_compared_with_the_goal():
    check = check_facts(TASK, _world({}, FACTS))
    assert check.reached
    assert check.conjuncts == (('(on red blue)', True), ('(on-table blue)', True))
    less = check_facts(TASK, _world({}, FACTS[1:]))
    assert not less.reached
    assert less.conjuncts == (('(on red blue)', False), ('(on-table blue)', True))
    assert check_facts(_task('(not (holding red))'), _world({}, FACTS)).reached


def test_facts_that_no_symbolic_cell_of_this_task_has_are_a_problem():
    astray = check_facts(TASK, _world({}, (*FACTS, '(on pink red)')))
    assert not astray.reached
    assert 'pink' in astray.problem
    assert not check_facts(TASK, _world(TOWER, FACTS)).reached
