# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from safegen_ros.robot.arms.model import Joints
from safegen_ros.robot.arms.mycobot_280 import MYCOBOT_280
from safegen_ros.robot.mycobot.frames import (
    MAX_PAYLOAD,
    Frame,
    FrameCommand,
    FrameReader,
    pack,
    unpack,
)
from safegen_ros.robot.mycobot.readings import (
    RESENDS,
    MotionProgress,
    MotionTracker,
    joints_of,
    jump,
    off_way,
)

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


#: Joint 1 of the emulated arm, recorded on its way from 0 to 40 deg at 50 %: [deg] every 0.1 s.
GOES = [0.38, 2.12, 5.61, 9.91, 14.92, 20.28, 25.62, 30.58, 34.79, 37.89, 39.51, 39.91, 39.98]
#: The same motion, with the joint stopped as at a limit, and with the servos' power cut.
BLOCKED = [0.49, 2.37, 5.61, 9.91, 14.92, 20.22, 22.35, 22.77, 22.83, *[22.85] * 50]
UNPOWERED = [0.38, 2.12, 5.61, 9.91, 14.92, *[19.21] * 50]
#: From 0 to 4 deg at 1 %: it moves 0.02 to 0.15 deg between two readings.
CREEPS = [
    *(-0.01, 0.01, 0.04, 0.08, 0.14, 0.2, 0.28, 0.37, 0.46, 0.57, 0.68, 0.8, 0.92, 1.07, 1.21),
    *(1.35, 1.49, 1.64, 1.79, 1.94, 2.09, 2.25, 2.4, 2.54, 2.69, 2.83, 2.98, 3.11, 3.24, 3.36),
    *(3.47, 3.57),
]
#: The first motion again, where every answer comes 0.2 s late: [deg] every 0.3 s.
LATE = [2.37, 5.61, 20.28, 34.79, 39.9, 40.0]


def turned(degrees: float) -> Joints:
    return np.radians([degrees, -20.0, -60.0, 30.0, 0.0, 45.0])


class Trace:
    """Readings with their times, given to a tracker; ends at the first that is not `MOVING`."""

    def __init__(self, goal: float, percent: int) -> None:
        self.now = 0.0
        self._tracker = MotionTracker(turned(0.0), turned(goal), percent, 0.0)

    def play(self, readings: list[float], every_s: float = 0.1) -> MotionProgress:
        for degrees in readings:
            self.now += every_s
            progress = self._tracker.look(turned(degrees), self.now)
            if progress is not MotionProgress.MOVING:
                return progress
        return MotionProgress.MOVING

    def resend(self) -> None:
        self._tracker.resent(self.now)


@pytest.mark.parametrize(
    ('goal', 'percent', 'readings', 'every_s', 'progress', 'from_s', 'to_s'),
    [
        (40.0, 50, GOES, 0.1, MotionProgress.ARRIVED, 1.2, 1.3),
        (40.0, 50, LATE, 0.3, MotionProgress.ARRIVED, 1.8, 1.8),
        (4.0, 1, CREEPS, 0.1, MotionProgress.ARRIVED, 3.0, 3.2),
        # A target reached at once: it rests there already.
        (0.0, 50, [0.0, 0.0], 0.1, MotionProgress.ARRIVED, 0.0, 0.1),
        (40.0, 50, BLOCKED, 0.1, MotionProgress.STALLED, 1.7, 2.0),
        (40.0, 50, UNPOWERED, 0.1, MotionProgress.STALLED, 1.6, 1.9),
        # Seldom read at a bad line: two readings that show rest are needed.
        (40.0, 50, [22.8, 22.85, 22.85], 1.2, MotionProgress.STALLED, 3.6, 3.6),
        # It goes the other way, or another joint's way.
        (40.0, 50, [-1.0, -3.0, -6.0], 0.1, MotionProgress.ASTRAY, 0.3, 0.3),
        (40.0, 50, [38.0, 46.0], 0.1, MotionProgress.ASTRAY, 0.2, 0.2),
        # It moves for ever and never arrives.
        (40.0, 50, [30.0, 35.0] * 60, 0.1, MotionProgress.STUCK, 5.0, 7.0),
    ],
)
def test_a_trace_is_judged(
    goal: float,
    percent: int,
    readings: list[float],
    every_s: float,
    progress: MotionProgress,
    from_s: float,
    to_s: float,
) -> None:
    trace = Trace(goal, percent)
    assert trace.play(readings, every_s) is progress
    assert from_s - 1e-9 <= trace.now <= to_s + 1e-9


def test_a_target_is_sent_again_so_often_and_then_the_arm_is_stuck() -> None:
    trace = Trace(40.0, 50)
    for _ in range(RESENDS):
        assert trace.play([0.0] * 60) is MotionProgress.STALLED
        trace.resend()
    assert trace.play([0.0] * 60) is MotionProgress.STUCK
    assert trace.now < 3 * 2.0


def test_a_target_that_was_lost_once_is_reached_after_all() -> None:
    trace = Trace(40.0, 50)
    assert trace.play([0.0] * 60) is MotionProgress.STALLED
    trace.resend()
    assert trace.play(GOES) is MotionProgress.ARRIVED


def test_after_a_stall_of_the_computer_a_fresh_reading_is_awaited() -> None:
    """An emulated arm stood still meanwhile; a frozen arm does not get a second stall."""
    trace = Trace(40.0, 50)
    assert trace.play(GOES[:6]) is MotionProgress.MOVING
    trace.now += 2.0
    assert trace.play([20.28]) is MotionProgress.MOVING
    assert trace.play(GOES[6:]) is MotionProgress.ARRIVED
    trace = Trace(40.0, 50)
    assert trace.play(GOES[:6]) is MotionProgress.MOVING
    trace.now += 2.0
    assert trace.play([20.28, 20.28]) is MotionProgress.STALLED
