# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a driver, or an arm, that a busy machine has held up does not take for a fault."""

from __future__ import annotations

import fcntl
import itertools
import os
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from safegen_ros.errors import Canceled, RobotError
from safegen_ros.robot.mycobot import driver, effectors
from safegen_ros.robot.mycobot.driver import REST_TIMEOUT
from safegen_ros.robot.mycobot.effectors import GRIPPER_TIMEOUT, PUMP_PIN, AdaptiveGripper
from safegen_ros.robot.mycobot.link import open_serial
from safegen_ros.robot.mycobot.owner import READ_TRIES
from safegen_ros.robot.mycobot.readings import POLL
from safegen_ros.sync import Deadline

UP = np.radians([0.0, -20.0, -60.0, 30.0, 0.0, 45.0])


def test_an_arm_that_rests_is_seen_to_rest_however_late_the_driver_looks(arm, monkeypatch):
    now = [0.0]
    arm.stop()
    read = arm._read

    def late():
        now[0] += 100.0
        return read()

    monkeypatch.setattr(arm, '_read', late)
    monkeypatch.setattr(driver, 'Deadline', lambda seconds: Deadline(seconds, lambda: now[0]))
    with pytest.raises(Canceled, match='holds its position'):
        arm.wait(0.0)


@pytest.mark.parametrize('reading_s', [0.02, 1.5])
def test_an_arm_that_still_moves_behind_a_stop_is_told_about_in_time(arm, monkeypatch, reading_s):
    now = [0.0]

    def moving():
        now[0] += reading_s
        return UP + np.radians([10.0 * now[0], 0, 0, 0, 0, 0])

    clock = SimpleNamespace(sleep=lambda seconds: now.append(now.pop() + seconds))
    monkeypatch.setattr(driver, 'time', clock)
    monkeypatch.setattr(arm, '_read', moving)
    monkeypatch.setattr(arm._port, 'halted', lambda: True)
    monkeypatch.setattr(driver, 'Deadline', lambda seconds: Deadline(seconds, lambda: now[0]))
    assert arm._confirm_halt() == 'it still moves'
    assert now[0] <= REST_TIMEOUT + 3 * (reading_s + POLL)


@pytest.mark.parametrize('rests', [True, False])
def test_a_gripper_that_answers_slowly_rests_or_is_told_about_in_time(monkeypatch, rests):
    now = [0.0]
    values = itertools.cycle([100] if rests else [20, 90])

    def ask(name, *args):
        now[0] += 0.9
        return 1 if name == 'set_gripper_value' else next(values)

    monkeypatch.setattr(effectors, 'Deadline', lambda seconds: Deadline(seconds, lambda: now[0]))
    if rests:
        AdaptiveGripper(ask).switch(False)
    else:
        with pytest.raises(RobotError, match='does not come to rest'):
            AdaptiveGripper(ask).switch(False)
    assert now[0] <= GRIPPER_TIMEOUT + 3 * 0.9


def test_a_dead_port_is_asked_one_question(arm, monkeypatch):
    asked = []

    def dead(name, *args):
        asked.append(name)
        return -1

    monkeypatch.setattr(arm._port, 'ask_again', dead)
    status = arm.status()
    assert asked == ['is_power_on']
    assert (status.version, status.powered, status.servos) == (None, False, False)
    assert (status.error, status.joints) == (None, None)


def test_a_reading_that_was_taken_up_late_makes_no_jump_of_the_next(arm, monkeypatch):
    """And a jump is one still, where no motion had the time for it."""
    now = [0.0]
    answers = iter([(0.0, 1.0), (50.0, 0.0)])

    def ask_counted(name):
        degrees, held_up_s = next(answers, (0.0, 0.0))
        began = now[0]
        now[0] += held_up_s
        return [degrees, -20.0, -60.0, 30.0, 0.0, 45.0], 1, began

    with monkeypatch.context() as patched:
        patched.setattr(driver, 'boottime', lambda: now[0])
        patched.setattr(arm, '_last', None)
        patched.setattr(arm._port, 'ask_counted', ask_counted)
        assert arm.joint_positions()[0] == 0.0
        assert np.degrees(arm.joint_positions()[0]) == pytest.approx(50.0)
        with pytest.raises(RobotError, match='joint1 jumps by 50 deg'):
            arm.joint_positions()


@pytest.mark.parametrize('name', ['is_power_on', 'get_system_version', 'get_error_information'])
def test_a_question_is_asked_again_when_no_answer_comes(arm, monkeypatch, name):
    asked = lose_answers(arm, monkeypatch, name, READ_TRIES - 1)
    assert arm.status().trouble == ''
    assert arm.status().version == 7.3
    assert len(asked) == READ_TRIES + 1


def test_a_pin_is_set_again_when_the_base_does_not_confirm_it(arm, emulator, monkeypatch):
    lose_answers(arm, monkeypatch, 'set_basic_output', READ_TRIES - 1)
    arm.set_tool(True)
    assert emulator.firmware.twin.tool_on()
    lose_answers(arm, monkeypatch, 'set_basic_output', READ_TRIES)
    with pytest.raises(RobotError, match=f'does not confirm pin {PUMP_PIN}'):
        arm.set_tool(False)
    monkeypatch.undo()
    arm.rearm()
    arm.reset_stop()
    arm.set_tool(False)


def lose_answers(arm, monkeypatch, name, count):
    """Lets the first answers to a request get lost; returns the list of all requests."""
    ask, asked = getattr(arm._port._robot, name), []

    def lossy(*args):
        asked.append(args)
        return -1 if len(asked) <= count else ask(*args)

    monkeypatch.setattr(arm._port._robot, name, lossy)
    monkeypatch.setattr(arm._port, 'wait_quiet', lambda: None)
    return asked


def test_a_program_that_is_ending_gets_time_to_let_go_of_the_port():
    master, slave = os.openpty()
    name = os.ttyname(slave)
    fcntl.flock(slave, fcntl.LOCK_EX)
    # The library waits 1.5 s after it has opened the port.
    ending = threading.Timer(2.0, fcntl.flock, (slave, fcntl.LOCK_UN))
    ending.start()
    open_serial(name, 115200, 60.0).close()
    ending.join()
    for descriptor in (master, slave):
        os.close(descriptor)
