# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Limits and kinematics of an arm; every described arm does Blocksworld under the same checks."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.paths import data_path
from safegen_ros.robot.arm import Sample
from safegen_ros.robot.arms import ARMS, FAMILIES
from safegen_ros.robot.arms.family import ArmFamily, closest, places, swing, turns
from safegen_ros.robot.arms.model import check_speed
from safegen_ros.robot.arms.mycobot_280 import MYCOBOT_280
from safegen_ros.robot.arms.ur5e import CELL as UR5E
from safegen_ros.robot.cell.blocks import simulated_cell
from safegen_ros.robot.pose import KeepOut
from safegen_ros.robot.scene import load_scene
from safegen_ros.robot.twin.contacts import CollisionError
from safegen_ros.tasks.boxnet.spatial.kinematic import samples

ANGLES = st.tuples(*(st.floats(low, high) for low, high in MYCOBOT_280.bounds))
POINTS = st.tuples(
    st.floats(0.05, 0.32),
    st.floats(-math.pi, math.pi),
    st.floats(0.0, 0.25),
    st.floats(-math.pi, math.pi),
)
TOOL = 0.06


def test_the_zero_pose_is_the_documented_one():
    pose = MYCOBOT_280.forward(np.zeros(6))
    np.testing.assert_allclose(pose[:3, 3], [0.0456, -0.0634, 0.41267], atol=1e-12)
    # Euler angles (-90, 0, -90) deg as the firmware reports them: Rz(-90) Rx(-90).
    np.testing.assert_allclose(pose[:3, :3], [[0, 0, 1], [-1, 0, 0], [0, -1, 0]], atol=1e-12)


@given(st.sampled_from(list(ARMS.values())), POINTS)
def test_every_solution_points_down_at_the_target(arm, point):
    radius, azimuth, z, yaw = point
    radius *= arm.table / MYCOBOT_280.table
    x, y = radius * math.cos(azimuth), radius * math.sin(azimuth)
    for joints in arm.top_down_solutions(x, y, z, yaw, TOOL):
        tip = arm.forward(joints, TOOL)
        np.testing.assert_allclose(tip[:3, 3], [x, y, z], atol=1e-9)
        np.testing.assert_allclose(tip[:3, 2], [0, 0, -1], atol=1e-9)
        turns = (arm.tool_yaw(joints) - yaw) / (math.pi / 2)
        assert turns == pytest.approx(round(turns), abs=1e-9)


@given(ANGLES)
def test_inverse_finds_the_configuration_that_a_reachable_target_came_from(joints):
    q1, q2, q3, _, _, q6 = joints
    q4 = -math.pi / 2 - q2 - q3
    down = np.array([q1, q2, q3, q4, 0.0, q6])
    assume(MYCOBOT_280.within_limits(down))
    assume(abs(q6) < 3.14)  # half a turn either way is one angle, but two ends of the range
    tip = MYCOBOT_280.forward(down, TOOL)
    # Two branches meet where the wrist folds over the shoulder's axis, or the arm is straight.
    rho = math.sqrt(max(0.0, tip[0, 3] ** 2 + tip[1, 3] ** 2 - 0.0634**2))
    assume(rho > 1e-3 and abs(q3) > 1e-3)
    x, y, z = tip[:3, 3]
    found = MYCOBOT_280.inverse_top_down(
        x, y, z, MYCOBOT_280.tool_yaw(down), tool_length=TOOL, seed=down
    )
    np.testing.assert_allclose(np.mod(found - down + 1, 2 * np.pi), 1, atol=1e-6)


@given(POINTS, ANGLES)
def test_inverse_never_returns_a_joint_outside_the_limits(point, seed):
    radius, azimuth, z, yaw = point
    x, y = radius * math.cos(azimuth), radius * math.sin(azimuth)
    allowed = [
        q
        for q in MYCOBOT_280.top_down_solutions(x, y, z, yaw, TOOL)
        if MYCOBOT_280.within_limits(q)
    ]
    if not allowed:
        with pytest.raises(RobotError, match='cannot be reached') as caught:
            MYCOBOT_280.inverse_top_down(x, y, z, yaw, tool_length=TOOL, seed=seed)
        assert caught.value.code == ErrorCode.OUT_OF_REACH
        return
    joints = MYCOBOT_280.inverse_top_down(x, y, z, yaw, tool_length=TOOL, seed=seed)
    assert MYCOBOT_280.within_limits(joints)
    nearest = min(np.linalg.norm(q - seed) for q in allowed)
    assert np.linalg.norm(joints - seed) == pytest.approx(nearest)


@pytest.mark.parametrize(
    ('x', 'y', 'cure'),
    [(0.03, 0.0, 'outwards'), (0.40, 0.0, 'nearer'), (float('nan'), 0.0, 'not a finite point')],
)
def test_out_of_reach_names_point_radius_and_cure(x, y, cure):
    with pytest.raises(RobotError, match=cure) as caught:
        MYCOBOT_280.inverse_top_down(x, y, 0.03, 0.0, tool_length=TOOL, seed=np.zeros(6))
    assert caught.value.code == ErrorCode.OUT_OF_REACH
    assert f'({x:.4f}, {y:.4f}, 0.0300) m at radius {math.hypot(x, y):.4f} m' in str(caught.value)


# Limits

ANY_ANGLES = st.lists(st.floats(width=64), min_size=6, max_size=6)


@given(ANY_ANGLES)
def test_a_target_passes_exactly_when_every_joint_is_inside(angles):
    inside = all(
        low <= a <= high for a, (low, high) in zip(angles, MYCOBOT_280.bounds, strict=True)
    )
    assert MYCOBOT_280.within_limits(np.array(angles)) == inside
    if inside:
        np.testing.assert_array_equal(MYCOBOT_280.check_joints(angles), angles)
        return
    with pytest.raises(RobotError) as caught:
        MYCOBOT_280.check_joints(angles)
    assert caught.value.code == ErrorCode.LIMIT_VIOLATION


@pytest.mark.parametrize('joint', range(6))
@pytest.mark.parametrize('side', [0, 1])
def test_the_message_names_joint_value_and_limit(joint, side):
    target = np.zeros(6)
    target[joint] = MYCOBOT_280.bounds[joint, side] * 1.01
    with pytest.raises(RobotError) as caught:
        MYCOBOT_280.check_joints(target)
    assert f'joint{joint + 1}: {target[joint]:.4f} rad' in caught.value.message
    assert f'{np.degrees(MYCOBOT_280.bounds[joint, side]):.0f}' in caught.value.message


@pytest.mark.parametrize('target', [[0.0] * 5, [0.0] * 7, [[0.0] * 6], [np.nan] + [0.0] * 5])
def test_what_is_not_six_numbers_is_refused(target):
    with pytest.raises(RobotError) as caught:
        MYCOBOT_280.check_joints(target)
    assert caught.value.code == ErrorCode.LIMIT_VIOLATION


@pytest.mark.parametrize('speed', [0.0, -0.1, 1.01, np.nan, np.inf])
def test_a_speed_outside_its_range_is_refused(speed):
    with pytest.raises(RobotError, match='fraction'):
        check_speed(speed)


def test_the_table_cannot_be_changed():
    with pytest.raises(ValueError, match='read-only'):
        MYCOBOT_280.bounds[0, 0] = -10


@given(st.lists(st.floats(-3, 3), min_size=6, max_size=6), st.floats(0.01, 1.0))
def test_a_move_keeps_the_speed_and_acceleration_caps(distance, speed):
    distance = np.array(distance)
    duration = MYCOBOT_280.move_duration(distance, speed)
    longest = float(np.abs(distance).max())
    if longest < 1e-6:
        return
    s = np.linspace(0, 1, 2001)
    position = longest * s * s * (3 - 2 * s)
    step = duration / 2000
    assert np.abs(np.diff(position)).max() / step <= speed * MYCOBOT_280.max_speed * 1.001
    assert np.abs(np.diff(position, 2)).max() / step**2 <= MYCOBOT_280.max_acceleration * 1.001


# Every arm

SCENES = {'mycobot_280': load_scene(), 'ur5e': load_scene(data_path('config/ur5e_scene.yaml'))}
ON_TABLE = frozenset(
    {('arm-empty',)} | {(word, name) for word in ('on-table', 'clear') for name in 'abc'}
)
TOWER = [('pickup', ('b',)), ('stack', ('b', 'a')), ('pickup', ('c',)), ('stack', ('c', 'b'))]


@pytest.fixture(params=ARMS)
def scene(request):
    return SCENES[request.param]


def test_a_tower_is_built_within_the_limits_of_the_arm(scene):
    samples: list[Sample] = []
    with simulated_cell(scene, sample=samples.append) as cell:
        cell.prepare('abc', ON_TABLE)
        for action, names in TOWER:
            cell.execute(action, names)
        assert {('on', 'b', 'a'), ('on', 'c', 'b'), ('arm-empty',)} <= cell.observe()
        cell.home()
    joints = np.array([sample.joints for sample in samples])
    assert all(map(scene.arm.within_limits, joints))
    times = np.array([sample.time for sample in samples])
    later = np.diff(times) > 0  # the twin begins again at 0
    speeds = np.abs(np.diff(joints, axis=0)[later]) / np.diff(times)[later][:, None]
    assert speeds.max() <= 1.05 * scene.arm.max_speed


def test_a_move_into_a_keep_out_box_is_a_collision(scene):
    slot = scene.slots[3]
    low, high = (slot.x - 0.02, slot.y - 0.02, 0.0), (slot.x + 0.02, slot.y + 0.02, 0.3)
    boxed = replace(scene, keep_out=(KeepOut('shelf', low, high),))
    with simulated_cell(boxed) as cell:
        over = boxed.joints_above(slot.x, slot.y, 0.1, slot.azimuth)
        with pytest.raises(CollisionError, match='keep-out box shelf'):
            cell.arm.move_joints(over, 0.5)
        with pytest.raises(RobotError, match='holds after a fault'):
            cell.arm.move_joints(boxed.home_joints, 0.5)


def test_a_target_beyond_a_limit_does_not_reach_the_arm(scene):
    with simulated_cell(scene) as cell:
        before = cell.arm.joint_positions()
        for joint in range(6):
            target = before.copy()
            target[joint] = scene.arm.limits[joint][1] + 0.01
            with pytest.raises(RobotError, match=f'joint{joint + 1}') as caught:
                cell.arm.move_joints(target, 0.5)
            assert caught.value.code is ErrorCode.LIMIT_VIOLATION
            np.testing.assert_array_equal(cell.arm.joint_positions(), before)


families = pytest.mark.parametrize('family', FAMILIES.values(), ids=list(FAMILIES))


def ring(family: ArmFamily, random: Random) -> tuple[float, float]:
    """A place that planners may send a tip to."""
    near, far = family.reach
    while True:
        azimuth, away = random.uniform(-math.pi, math.pi), random.uniform(near, far)
        low, high = family.dead or (0.0, 0.0)
        if (azimuth - low) % (2 * math.pi) > high - low:
            return away * math.cos(azimuth), away * math.sin(azimuth)


def test_the_ur5e_stretched_out_is_where_its_maker_says() -> None:
    # All joints zero: a2 + a3, d4 + d6 sideways, d1 - d5 high; the tool goes on sideways.
    wanted = (-0.8172, -(0.1333 + 0.0996 + UR5E.tool), 0.1625 - 0.0997)
    assert UR5E.tip(np.zeros(6)) == pytest.approx(wanted, abs=1e-9)


@families
def test_wherever_planners_may_go_the_joints_hold_the_tip(family: ArmFamily) -> None:
    random = Random(1)
    wanted = [ring(family, random) for _ in range(300)]
    for place, joints in zip(wanted, family.postures(wanted), strict=True):
        x, y, z = family.tip(joints)
        assert (x, y, z) == pytest.approx((*place, family.tip_height), abs=1e-9)
        assert family.within(joints[None]).all()


@families
def test_out_of_reach_there_is_no_posture(family: ArmFamily) -> None:
    far = 2 * family.reach[1]
    assert np.isnan(family.postures([(far, 0.0), (0.0, 0.0), (math.nan, 0.0)])).all()


@families
def test_the_last_capsule_ends_at_the_tip(family: ArmFamily) -> None:
    joints = family.postures([ring(family, Random(2))])
    end = family.capsules(joints)[0, -1, 1]
    assert end[:2] == pytest.approx(family.tip(joints[0])[:2], abs=1e-9)
    assert end[2] - family.radii[-1] == pytest.approx(family.tip_height, abs=1e-9)


@families
def test_between_two_samples_no_link_moves_further_than_twice_the_clearance(
    family: ArmFamily,
) -> None:
    random = Random(3)
    for _ in range(60):
        start, end = ring(family, random), ring(family, random)
        turn = turns(family, start, end)[0]
        path = swing(family, start, end, turn, samples(family, start, end, turn))
        assert path is not None
        moved = np.linalg.norm(np.diff(family.capsules(path), axis=0), axis=-1)
        assert moved.max() <= 2 * family.clearance


def test_an_arm_goes_the_shorter_way_and_either_way_to_the_opposite_side() -> None:
    assert turns(UR5E, (0.5, 0.0), (0.0, 0.5)) == pytest.approx((math.pi / 2,))
    assert turns(UR5E, (0.5, 0.0), (-0.5, 0.0)) == pytest.approx((math.pi, -math.pi))
    # Across the back the myCobot cannot go: the long way round is the only one.
    (turn,) = turns(FAMILIES['mycobot_280'], (-0.15, 0.15), (-0.15, -0.15))
    assert turn == pytest.approx(-1.5 * math.pi)


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_the_distance_of_segments_is_that_of_their_closest_points(seed: int) -> None:
    random = np.random.default_rng(seed)
    a, b, c, d = random.uniform(-1, 1, (4, 3)).round(1)  # rounded: often parallel or crossing
    distance, middle = closest(a, b, c, d)
    share = np.linspace(0, 1, 201)[:, None]
    one, other = a + share * (b - a), c + share * (d - c)
    brute = np.linalg.norm(one[:, None] - other[None], axis=-1).min()
    assert distance <= brute + 1e-9
    assert brute - distance < 0.02
    for end, far in ((a, b), (c, d)):
        assert closest(end, far, middle, middle)[0] == pytest.approx(distance / 2, abs=1e-6)


def test_places_begin_and_end_where_they_should() -> None:
    found = places((0.5, 0.0), (0.0, 0.7), math.pi / 2, 5)
    assert found[0] == pytest.approx((0.5, 0.0))
    assert tuple(found[-1]) == (0.0, 0.7)
    assert np.hypot(*found.T) == pytest.approx([0.5, 0.55, 0.6, 0.65, 0.7])
