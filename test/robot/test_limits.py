# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.robot.limits import (
    JOINT_LIMITS,
    MAX_ACCELERATION,
    MAX_SPEED,
    check_joints,
    check_speed,
    move_duration,
    within_limits,
)

ANY_ANGLES = st.lists(st.floats(width=64), min_size=6, max_size=6)


@given(ANY_ANGLES)
def test_a_target_passes_exactly_when_every_joint_is_inside(angles):
    inside = all(low <= a <= high for a, (low, high) in zip(angles, JOINT_LIMITS, strict=True))
    assert within_limits(np.array(angles)) == inside
    if inside:
        np.testing.assert_array_equal(check_joints(angles), angles)
        return
    with pytest.raises(RobotError) as caught:
        check_joints(angles)
    assert caught.value.code == ErrorCode.LIMIT_VIOLATION


@pytest.mark.parametrize('joint', range(6))
@pytest.mark.parametrize('side', [0, 1])
def test_the_message_names_joint_value_and_limit(joint, side):
    target = np.zeros(6)
    target[joint] = JOINT_LIMITS[joint, side] * 1.01
    with pytest.raises(RobotError) as caught:
        check_joints(target)
    assert f'joint{joint + 1}: {target[joint]:.4f} rad' in caught.value.message
    assert f'{np.degrees(JOINT_LIMITS[joint, side]):.0f}' in caught.value.message


@pytest.mark.parametrize('target', [[0.0] * 5, [0.0] * 7, [[0.0] * 6], [np.nan] + [0.0] * 5])
def test_what_is_not_six_numbers_is_refused(target):
    with pytest.raises(RobotError) as caught:
        check_joints(target)
    assert caught.value.code == ErrorCode.LIMIT_VIOLATION


@pytest.mark.parametrize('speed', [0.0, -0.1, 1.01, np.nan, np.inf])
def test_a_speed_outside_its_range_is_refused(speed):
    with pytest.raises(RobotError, match='fraction'):
        check_speed(speed)


def test_the_table_cannot_be_changed():
    with pytest.raises(ValueError, match='read-only'):
        JOINT_LIMITS[0, 0] = -10


@given(
    st.lists(st.floats(-3, 3), min_size=6, max_size=6),
    st.floats(0.01, 1.0),
)
def test_a_move_keeps_the_speed_and_acceleration_caps(distance, speed):
    distance = np.array(distance)
    duration = move_duration(distance, speed)
    longest = float(np.abs(distance).max())
    if longest < 1e-6:
        return
    s = np.linspace(0, 1, 2001)
    position = longest * s * s * (3 - 2 * s)
    step = duration / 2000
    assert np.abs(np.diff(position)).max() / step <= speed * MAX_SPEED * 1.001
    assert np.abs(np.diff(position, 2)).max() / step**2 <= MAX_ACCELERATION * 1.001
