# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.robot.kinematics import (
    forward,
    inverse_top_down,
    tool_yaw,
    top_down_solutions,
)
from safegen_ros.robot.limits import JOINT_LIMITS, within_limits

ANGLES = st.tuples(*(st.floats(low, high) for low, high in JOINT_LIMITS))
POINTS = st.tuples(
    st.floats(0.05, 0.32),
    st.floats(-math.pi, math.pi),
    st.floats(0.0, 0.25),
    st.floats(-math.pi, math.pi),
)
TOOL = 0.06


def test_the_zero_pose_is_the_documented_one():
    pose = forward(np.zeros(6))
    np.testing.assert_allclose(pose[:3, 3], [0.0456, -0.0634, 0.41267], atol=1e-12)
    # Euler angles (-90, 0, -90) deg as the firmware reports them: Rz(-90) Rx(-90).
    np.testing.assert_allclose(pose[:3, :3], [[0, 0, 1], [-1, 0, 0], [0, -1, 0]], atol=1e-12)


def test_the_flange_offset_is_along_the_tool():
    joints = np.radians([10, -20, -80, 30, 5, 45])
    flange, tip = forward(joints), forward(joints, TOOL)
    np.testing.assert_allclose(flange[:3, 3] + TOOL * flange[:3, 2], tip[:3, 3], atol=1e-12)


@given(ANGLES)
def test_forward_gives_a_rigid_transform(joints):
    pose = forward(joints)
    np.testing.assert_allclose(pose[:3, :3] @ pose[:3, :3].T, np.eye(3), atol=1e-12)
    assert np.linalg.det(pose[:3, :3]) == pytest.approx(1.0)


@given(POINTS)
def test_every_solution_points_down_at_the_target(point):
    radius, azimuth, z, yaw = point
    x, y = radius * math.cos(azimuth), radius * math.sin(azimuth)
    for joints in top_down_solutions(x, y, z, yaw, TOOL):
        tip = forward(joints, TOOL)
        np.testing.assert_allclose(tip[:3, 3], [x, y, z], atol=1e-9)
        np.testing.assert_allclose(tip[:3, 2], [0, 0, -1], atol=1e-9)
        turns = (tool_yaw(joints) - yaw) / (math.pi / 2)
        assert turns == pytest.approx(round(turns), abs=1e-9)


@given(ANGLES)
def test_inverse_finds_the_configuration_that_a_reachable_target_came_from(joints):
    q1, q2, q3, _, _, q6 = joints
    q4 = -math.pi / 2 - q2 - q3
    down = np.array([q1, q2, q3, q4, 0.0, q6])
    assume(within_limits(down))
    assume(abs(q6) < 3.14)  # half a turn either way is one angle, but two ends of the range
    tip = forward(down, TOOL)
    # Two branches meet where the wrist folds over the shoulder's axis, or the arm is straight.
    rho = math.sqrt(max(0.0, tip[0, 3] ** 2 + tip[1, 3] ** 2 - 0.0634**2))
    assume(rho > 1e-3 and abs(q3) > 1e-3)
    x, y, z = tip[:3, 3]
    found = inverse_top_down(x, y, z, tool_yaw(down), tool_length=TOOL, seed=down)
    np.testing.assert_allclose(np.mod(found - down + 1, 2 * np.pi), 1, atol=1e-6)


@given(POINTS, ANGLES)
def test_inverse_never_returns_a_joint_outside_the_limits(point, seed):
    radius, azimuth, z, yaw = point
    x, y = radius * math.cos(azimuth), radius * math.sin(azimuth)
    allowed = [q for q in top_down_solutions(x, y, z, yaw, TOOL) if within_limits(q)]
    if not allowed:
        with pytest.raises(RobotError, match='cannot be reached') as caught:
            inverse_top_down(x, y, z, yaw, tool_length=TOOL, seed=seed)
        assert caught.value.code == ErrorCode.OUT_OF_REACH
        return
    joints = inverse_top_down(x, y, z, yaw, tool_length=TOOL, seed=seed)
    assert within_limits(joints)
    nearest = min(np.linalg.norm(q - seed) for q in allowed)
    assert np.linalg.norm(joints - seed) == pytest.approx(nearest)


@pytest.mark.parametrize(
    ('x', 'y', 'cure'),
    [(0.03, 0.0, 'outwards'), (0.40, 0.0, 'nearer'), (float('nan'), 0.0, 'not a finite point')],
)
def test_out_of_reach_names_point_radius_and_cure(x, y, cure):
    with pytest.raises(RobotError, match=cure) as caught:
        inverse_top_down(x, y, 0.03, 0.0, tool_length=TOOL, seed=np.zeros(6))
    assert caught.value.code == ErrorCode.OUT_OF_REACH
    assert f'({x:.4f}, {y:.4f}, 0.0300) m at radius {math.hypot(x, y):.4f} m' in str(caught.value)
