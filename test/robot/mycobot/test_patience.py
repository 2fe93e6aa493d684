# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""When the driver gives an arm up at a line that loses answers, by a clock of the test alone."""

from __future__ import annotations

import itertools
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from safegen_ros import watched_time
from safegen_ros.errors import RobotError
from safegen_ros.robot.mycobot import driver, effectors
from safegen_ros.robot.mycobot.driver import REST_TIMEOUT, MyCobot
from safegen_ros.robot.mycobot.effectors import GRIPPER_TIMEOUT, AdaptiveGripper
from safegen_ros.robot.mycobot.link import QUIET, WINDOW

UP = [0.0, -20.0, -60.0, 30.0, 0.0, 45.0]
#: Which answers are lost, again and again: half of them, and nearly all.
HALF = (True, True, False, False)
NEARLY_ALL = (True,) * 9 + (False,)
ANSWERS = {
    'is_power_on': 1,
    'is_all_servo_enable': 1,
    'get_error_information': 0,
    'get_system_version': 7.3,
}


class Port:
    """The port of an arm that never was, which takes time of the clock only."""

    name = 'port'

    def __init__(self):
        self.now = 0.0
        self.lost = itertools.repeat(False)
        self.joint1 = lambda: 0.0
        self.asked = []

    def pass_time(self, seconds):
        self.now += seconds

    def ask(self, name, *args):
        self.asked.append(name)
        return ANSWERS.get(name)

    ask_again = ask

    def ask_counted(self, name):
        began = self.now
        for sent in range(1, 4):
            if not next(self.lost):
                self.now += 0.02
                return [self.joint1(), *UP[1:]], sent, began
            self.now += WINDOW
        return -1, 3, began

    def wait_quiet(self):
        self.now += QUIET

    def halt(self):
        pass

    def halted(self):
        return True

    def close(self):
        pass


@pytest.fixture
def port(monkeypatch):
    port = Port()
    clock = SimpleNamespace(monotonic=lambda: port.now, sleep=port.pass_time, time=time.time)
    for module in (driver, effectors, watched_time):
        monkeypatch.setattr(module, 'time', clock)
    monkeypatch.setattr(driver, 'PortOwner', lambda robot: port)
    return port


@pytest.fixture
def arm(port):
    class Stopped(threading.Event):
        def wait(self, timeout=None):
            port.pass_time(timeout)
            return self.is_set()

    arm = MyCobot(None, lambda ask: None)
    arm._stopped = Stopped()
    return arm


def longest_reading(port, arm, lost):
    """How long a reading takes at most at a line that loses these answers [s]."""
    port.lost = itertools.cycle(lost)
    longest = 0.0
    for _ in lost:
        began = port.now
        arm.joint_positions()
        longest = max(longest, port.now - began)
    return longest


def given_up_after(port, arm):
    began = port.now
    with pytest.raises(RobotError, match=r'joint1 stays 40\.0 deg from its target'):
        arm._move(np.radians([40.0, *UP[1:]]), 50)
    return port.now - began


@pytest.mark.parametrize('lost', [HALF, NEARLY_ALL])
def test_a_blocked_arm_at_a_bad_line_is_given_up_as_soon_as_at_a_good_one(port, arm, lost):
    good = given_up_after(port, arm)
    arm._stopped.clear()
    reading = longest_reading(port, arm, lost)
    # It is told three times, and each time seen to stand still a reading later at most; one more
    # comes before that, and one with the questions behind it.
    assert given_up_after(port, arm) < good + 5 * reading
    assert port.asked.count('send_angles') == 6


def test_an_arm_that_is_held_up_once_is_not_told_again(port, arm):
    """Not where it had no time yet to move, either."""
    told = []

    def joint1():
        if not told and 'send_angles' in port.asked:
            port.now += 30.0
            told.append(port.now)
        return min(40.0, 75.0 * (port.now - told[0])) if told else 0.0

    port.joint1 = joint1
    arm._move(np.radians([40.0, *UP[1:]]), 50)
    assert port.asked.count('send_angles') == 1


@pytest.mark.parametrize('lost', [HALF, NEARLY_ALL])
def test_an_arm_that_still_moves_behind_a_stop_is_told_about_in_time(port, arm, lost):
    reading = longest_reading(port, arm, lost)
    began = port.now
    port.joint1 = lambda: 2.0 * (port.now - began)
    assert arm._confirm_halt() == 'it still moves'
    assert port.now - began <= 2 * REST_TIMEOUT + 2 * reading


def test_a_dead_port_is_asked_one_question(port, arm, monkeypatch):
    monkeypatch.setitem(ANSWERS, 'is_power_on', -1)
    port.asked.clear()
    status = arm.status()
    assert port.asked == ['is_power_on']
    assert (status.version, status.powered, status.servos) == (None, False, False)
    assert (status.error, status.joints) == (None, None)


@pytest.mark.parametrize('rests', [True, False])
def test_a_gripper_that_answers_slowly_rests_or_is_told_about_in_time(port, rests):
    values = itertools.cycle([100] if rests else [20, 90])

    def ask(name, *args):
        port.now += 0.9
        return 1 if name == 'set_gripper_value' else next(values)

    began = port.now
    if rests:
        AdaptiveGripper(ask).switch(False)
    else:
        with pytest.raises(RobotError, match='does not come to rest'):
            AdaptiveGripper(ask).switch(False)
    assert port.now - began <= 2 * GRIPPER_TIMEOUT + 3 * 1.0
