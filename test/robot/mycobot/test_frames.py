# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from safegen_ros.robot.arms.mycobot_280 import MYCOBOT_280
from safegen_ros.robot.mycobot.frames import (
    MAX_PAYLOAD,
    Frame,
    FrameCommand,
    FrameReader,
    pack,
    unpack,
)
from safegen_ros.robot.mycobot.readings import joints_of, jump, off_way

FRAMES = st.builds(Frame, st.integers(0, 255), st.binary(max_size=MAX_PAYLOAD))


def test_the_bytes_are_those_of_the_vendors_library():
    angles = pack([1000, -2000, -10050, 3000, 0, 4500]) + bytes((50,))
    wire = 'fe fe 0f 22 03 e8 f8 30 d8 be 0b b8 00 00 11 94 32 fa'
    assert Frame(FrameCommand.SEND_ANGLES, angles).encode() == bytes.fromhex(wire)
    assert Frame(FrameCommand.GET_ANGLES).encode() == bytes.fromhex('fe fe 02 20 fa')


@given(st.lists(FRAMES, max_size=5), st.integers(1, 9))
def test_frames_come_back_however_they_are_cut(frames, size):
    stream = b''.join(frame.encode() for frame in frames)
    reader = FrameReader()
    found = []
    for start in range(0, len(stream), size):
        found += reader.feed(stream[start : start + size])
    assert found == frames


@given(st.lists(st.binary(max_size=60), max_size=5))
def test_any_bytes_give_frames_that_stand_in_them(chunks):
    reader = FrameReader()
    stream = b''.join(chunks)
    for frame in [frame for chunk in chunks for frame in reader.feed(chunk)]:
        assert frame.encode() in stream


@given(st.binary(max_size=40), FRAMES)
def test_a_frame_is_found_after_any_noise(noise, frame):
    reader = FrameReader()
    reader.feed(noise)
    # The noise may have begun a frame, which swallows the first ones at most.
    assert frame in reader.feed(frame.encode() * 40)


@given(st.lists(st.integers(-(2**15), 2**15 - 1), max_size=14))
def test_numbers_come_back(values):
    assert unpack(pack(values)) == values


@pytest.mark.parametrize('frame', [Frame(256), Frame(-1), Frame(1, bytes(MAX_PAYLOAD + 1))])
def test_what_is_no_frame_is_not_encoded(frame):
    with pytest.raises(ValueError, match='no frame'):
        frame.encode()


def test_a_number_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match='16 bits'):
        pack([2**15])


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
