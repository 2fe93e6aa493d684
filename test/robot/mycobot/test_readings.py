# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from safegen_ros.robot.arms.mycobot_280 import MYCOBOT_280
from safegen_ros.robot.mycobot.readings import joints_of, jump, off_way

ANGLES = [10.0, -20.0, -60.5, 30.0, 0.0, 45.0]


def test_six_angles_are_a_reading_in_radians():
    np.testing.assert_allclose(joints_of(ANGLES), np.radians(ANGLES))
    np.testing.assert_array_equal(joints_of([0] * 6), np.zeros(6))


@pytest.mark.parametrize(
    ('answer', 'words'),
    [
        (-1, 'no angles'),
        (None, 'no angles'),
        ([], 'no angles'),
        (ANGLES[:3], 'not six angles'),
        ([*ANGLES, 1.0], 'not six angles'),
        ('angles', 'not six angles'),
        ([*ANGLES[:5], None], 'not six finite'),
        ([*ANGLES[:5], True], 'not six finite'),
        ([*ANGLES[:5], float('nan')], 'not six finite'),
        ([180.08] * 6, 'all joints read 180.08'),
        ([*ANGLES[:5], 200.0], 'joint6 reads 200.0 deg'),
        ([-1867.0, *ANGLES[1:]], 'joint1 reads -1867.0 deg'),
    ],
)
def test_what_users_have_seen_is_no_reading(answer, words):
    problem = joints_of(answer)
    assert isinstance(problem, str)
    assert words in problem


@given(st.none() | st.integers() | st.text() | st.lists(st.floats() | st.integers() | st.none()))
def test_any_answer_is_a_reading_near_the_limits_or_a_reason(answer):
    found = joints_of(answer)
    if not isinstance(found, str):
        assert found.shape == (6,)
        assert np.all(found >= MYCOBOT_280.bounds[:, 0] - 0.1)
        assert np.all(found <= MYCOBOT_280.bounds[:, 1] + 0.1)


def test_the_fastest_motion_is_no_jump_and_more_is():
    before = np.radians(ANGLES)
    assert jump(before, before + 0.1 * MYCOBOT_280.max_speed, 0.1) == ''
    assert 'joint3 jumps by 90 deg' in jump(before, before + np.eye(6)[2] * np.pi / 2, 0.1)
    assert jump(before, before + np.eye(6)[2] * np.pi / 2, 1.0) == ''


def test_a_joint_that_turns_the_wrong_way_is_noticed():
    start, goal = np.radians(ANGLES), np.radians([40.0, *ANGLES[1:]])
    assert off_way(start, goal, (start + goal) / 2) == ''
    wrong = off_way(start, goal, np.radians([2.0, *ANGLES[1:]]))
    assert wrong == 'joint1 is at 2.0 deg on its way from 10.0 to 40.0 deg'
