# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Recorded readings of joint 1 on its way: where each motion is judged to be, and when."""

from __future__ import annotations

import numpy as np
import pytest

from safegen_ros.robot.arms.model import Joints
from safegen_ros.robot.mycobot.readings import RESENDS, MotionProgress, MotionTracker

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
