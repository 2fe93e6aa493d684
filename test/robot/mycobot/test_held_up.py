# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a driver, or an arm, that a busy machine has held up does not take for a fault."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from safegen_ros import watched_time
from safegen_ros.errors import Canceled, RobotError
from safegen_ros.robot.mycobot import driver
from safegen_ros.robot.mycobot.effectors import PUMP_PIN
from safegen_ros.robot.mycobot.link import open_serial
from safegen_ros.robot.mycobot.owner import READ_TRIES

UP = np.radians([0.0, -20.0, -60.0, 30.0, 0.0, 45.0])


@pytest.fixture
def held_up(monkeypatch):
    """How long the driver seems to have been held up so far [s], for its clock alone."""
    seconds = [0.0]
    clock = SimpleNamespace(
        monotonic=lambda: time.monotonic() + seconds[0], time=time.time, sleep=time.sleep
    )
    for module in (driver, watched_time):
        monkeypatch.setattr(module, 'time', clock)
    return seconds


def test_an_arm_that_was_held_up_together_with_its_driver_gets_that_time_back(
    arm, held_up, monkeypatch
):
    arm.move_joints(UP, 1.0)
    sent = lose_answers(arm, monkeypatch, 'send_angles', 0)

    def sample(reading):
        if reading.joints[0] > UP[0] + 0.05:
            held_up[0] = 100.0

    monkeypatch.setattr(arm, 'sample', sample)
    arm.move_joints(UP + np.radians([10.0, 0, 0, 0, 0, 0]), 0.1)
    assert held_up == [100.0]
    assert len(sent) == 1


def test_an_arm_that_rests_is_seen_to_rest_however_late_the_driver_looks(arm, held_up, monkeypatch):
    arm.stop()
    read = arm._read

    def late(*look):
        held_up[0] += 100.0
        return read(*look)

    monkeypatch.setattr(arm, '_read', late)
    with pytest.raises(Canceled, match='holds its position'):
        arm.wait(0.0)


def test_a_reading_that_was_taken_up_late_makes_no_jump_of_the_next(arm, monkeypatch):
    """And a jump is one still, where no motion had the time for it."""
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0], time=time.time)
    answers = iter([(0.0, 1.0), (50.0, 0.0)])

    def ask_counted(name):
        degrees, held_up_s = next(answers, (0.0, 0.0))
        began = now[0]
        now[0] += held_up_s
        return [degrees, -20.0, -60.0, 30.0, 0.0, 45.0], 1, began

    with monkeypatch.context() as patched:
        patched.setattr(driver, 'time', clock)
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
