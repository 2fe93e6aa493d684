# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The vendor's library, as it comes, drives the emulated arm."""

from __future__ import annotations

import contextlib
import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymycobot import MyCobot280
from support.waiting import wait_until

from safegen_ros.robot.arms.mycobot_280 import MYCOBOT_280
from safegen_ros.robot.emulator.emulator import Emulator, EmulatorError
from safegen_ros.robot.emulator.faults import KNOBS, ArmFault, FaultError, FaultyLine, parse_fault
from safegen_ros.robot.emulator.firmware import NO_GRIPPER, Firmware
from safegen_ros.robot.emulator.motion import coords_of, joints_for
from safegen_ros.robot.mycobot.effectors import PUMP_PIN
from safegen_ros.robot.mycobot.frames import Frame, FrameCommand, FrameReader, pack
from safegen_ros.robot.scene import load_scene
from safegen_ros.robot.twin.twin import MujocoTwin

SCENE = load_scene()
UP = [0.0, -20.0, -60.0, 30.0, 0.0, 45.0]
ANGLES = st.tuples(*(st.floats(low, high) for low, high in MYCOBOT_280.bounds))


def at_rest(robot):
    wait_until(lambda: robot.is_moving() == 0, 'the arm at rest')


@pytest.fixture(scope='module')
def robot(emulator):
    vendors = MyCobot280(emulator.serial_port)
    yield vendors
    vendors.close()


def test_it_answers_every_question_of_the_vendors_library(robot):
    at_rest(robot)
    assert robot.get_system_version() == 7.3
    assert robot.is_power_on() == robot.is_all_servo_enable() == 1
    assert robot.is_controller_connected() == 1
    assert robot.get_error_information() == robot.is_moving() == robot.is_paused() == 0
    assert robot.read_next_error() == [0] * 7
    assert robot.get_servo_voltages() == [7.4] * 6
    assert robot.get_servo_temps() == [35] * 6
    assert robot.get_servo_status() == [0] * 6
    assert robot.is_servo_enable(2) == 1
    assert robot.get_basic_input(35) == 1
    assert robot.get_angles_coords() == robot.get_angles() + robot.get_coords()
    for joint, (low, high) in enumerate(np.degrees(MYCOBOT_280.bounds), start=1):
        assert robot.get_joint_min_angle(joint) == pytest.approx(low)
        assert robot.get_joint_max_angle(joint) == pytest.approx(high)


def test_a_motion_is_acknowledged_at_once_and_takes_its_time(robot, emulator):
    # So slowly that it goes less than that also between two readings seconds apart.
    began = robot.get_angles()
    assert robot.send_angles([90.0, *UP[1:]], 3) == 1
    assert abs(robot.get_angles()[0] - began[0]) < 20
    assert robot.is_moving() == 1
    assert robot.stop() == 1
    robot.send_angles(UP, 100)
    at_rest(robot)
    np.testing.assert_allclose(robot.get_angles(), UP, atol=1.0)
    assert robot.is_in_position(UP, 0) == 1
    encoders = [2048 + 4096 * angle / 360 for angle in robot.get_angles()]
    np.testing.assert_allclose(robot.get_encoders(), encoders, atol=3)


def test_coordinates_are_those_of_the_firmware(robot, emulator):
    robot.send_angles(UP, 100)
    at_rest(robot)
    goal = robot.get_coords()
    goal[2] += 20
    assert robot.send_coords(goal, 80, 1) == 1
    at_rest(robot)
    np.testing.assert_allclose(robot.get_coords(), goal, atol=2)
    assert robot.is_in_position(goal, 1) == 1
    assert robot.send_coords([281, 281, 412, 0, 0, 0], 80) == 1
    # The library gives -1 where an answer comes late.
    wait_until(lambda: robot.get_error_information() == 32, 'the error')
    robot.clear_error_information()
    wait_until(lambda: robot.get_error_information() == 0, 'the end of the error')


def test_stop_holds_where_the_arm_is(robot, emulator):
    robot.send_angles([120.0, *UP[1:]], 30)
    wait_until(lambda: robot.get_angles()[0] > 10, 'the arm')
    assert robot.stop() == 1
    at_rest(robot)
    assert 5 < robot.get_angles()[0] < 80


@pytest.mark.nightly
def test_in_fresh_mode_the_newest_target_wins_else_the_next_one_waits(robot):
    for mode, last in ((1, 10.0), (0, 20.0)):
        assert robot.set_fresh_mode(mode) == 1
        assert robot.get_fresh_mode() == mode
        robot.send_angles([60.0, *UP[1:]], 100)
        robot.send_angles([last, *UP[1:]], 100)
        at_rest(robot)
        assert robot.get_angles()[0] == pytest.approx(last, abs=1)
    # It went to 60 deg and back with the queue alone; without power it goes nowhere.
    assert robot.power_off() == 1
    robot.send_angles(UP, 100)
    assert robot.is_moving() == robot.is_power_on() == 0
    assert robot.power_on() == 1


def test_pins_of_the_base_switch_the_pump_and_there_is_no_gripper(robot, emulator):
    assert robot.set_basic_output(PUMP_PIN, 0) == 1
    assert emulator.firmware.twin.tool_on()
    assert robot.set_basic_output(PUMP_PIN, 1) == 1
    assert not emulator.firmware.twin.tool_on()
    assert robot.set_gripper_value(20, 100) == 1
    assert robot.get_gripper_value() == NO_GRIPPER


def test_a_link_is_made_and_goes_and_nothing_is_overwritten(tmp_path):
    link = tmp_path / 'arm'
    with MujocoTwin(SCENE) as twin:
        with Emulator(twin, link=link) as emulator:
            assert str(link.resolve()) == emulator.serial_port
            with pytest.raises(EmulatorError, match='use another --port'):
                Emulator(twin, link=link)
        assert not link.is_symlink()
        link.write_text('mine')
        with pytest.raises(EmulatorError, match='File exists'):
            Emulator(twin, link=link)
        assert link.read_text() == 'mine'


def test_a_tcp_port_that_is_taken_is_refused(emulator):
    with pytest.raises(EmulatorError, match='Address already in use'):
        Emulator(emulator.firmware.twin, tcp_port=emulator.tcp_port)


FIRMWARE = Firmware(MujocoTwin(SCENE))


@given(st.integers(0, 255) | st.sampled_from(FrameCommand), st.binary(max_size=28))
def test_no_frame_ends_the_firmware(command, payload):
    answer = FIRMWARE.handle(Frame(command, payload))
    assert answer is None or answer.command == command
    FIRMWARE.tick()


@pytest.mark.nightly
@given(ANGLES)
def test_coordinates_lead_back_to_a_configuration_with_the_same_ones(angles):
    here = np.array(angles)
    found = joints_for(coords_of(here), here + 0.05)
    if found is not None:  # near a limit or a singular pose there may be none
        np.testing.assert_allclose(coords_of(found)[:3], coords_of(here)[:3], atol=1)
    assert joints_for(coords_of(np.radians(UP)), np.radians(UP) + 0.1) is not None


def test_a_target_beyond_a_limit_moves_nothing_and_is_an_error():
    firmware = Firmware(MujocoTwin(SCENE))
    before = firmware.trajectory.goal.copy()
    target = pack([0, round(100 * (math.degrees(MYCOBOT_280.bounds[1, 1]) + 1)), 0, 0, 0, 0])
    assert firmware.handle(Frame(FrameCommand.SEND_ANGLES, target + bytes((50,)))) is not None
    np.testing.assert_array_equal(firmware.trajectory.goal, before)
    assert firmware.error == 2


READING = Frame(FrameCommand.GET_ANGLES, pack([1000, -2000, -6000, 3000, 0, 4500]))


def line_with(*faults, seed=1):
    line = FaultyLine([parse_fault(text) for text in faults], random.Random(seed))
    line.began(0.0)
    return line


@pytest.mark.parametrize('name', KNOBS)
def test_every_fault_can_be_named_with_value_and_time(name):
    knob = KNOBS[name]
    assert parse_fault(name) == ArmFault(name, knob.default, 0.0)
    assert parse_fault(f'{name}={knob.high:g}@2.5') == ArmFault(name, knob.high, 2.5)
    assert knob.low <= knob.default <= knob.high


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('warp', 'does not exist'),
        ('', 'does not exist'),
        ('late_ack=x', 'with numbers'),
        ('late_ack=', 'with numbers'),
        ('late_ack@', 'with numbers'),
        ('late_ack=11', 'outside 0 to 10'),
        ('late_ack=nan', 'outside'),
        ('servo_error=7', 'outside 1 to 6'),
        ('silent@-1', 'cannot begin'),
        ('silent@nan', 'cannot begin'),
    ],
)
def test_another_fault_is_refused_by_name(text, words):
    with pytest.raises(FaultError, match=words):
        parse_fault(text)


@given(st.text())
def test_any_text_is_a_fault_or_refused(text):
    with contextlib.suppress(FaultError):
        assert parse_fault(text).name in KNOBS


def test_a_fault_begins_after_the_first_motion():
    line = FaultyLine([parse_fault('silent@2')], random.Random(1))
    assert line.takes(100.0)
    line.began(100.0)
    line.began(101.5)
    assert line.takes(101.9)
    assert not line.takes(102.1)


def test_acknowledgements_alone_come_late():
    line = line_with('late_ack=0.7')
    assert line.answer(READING, 1.0) == (0.0, READING.encode())
    ack = Frame(FrameCommand.SEND_ANGLES, b'\x01')
    assert line.answer(ack, 1.0) == (0.7, ack.encode())


def test_a_flood_silences_the_arm_for_two_seconds():
    line = line_with('flood_stall=10')
    assert all(line.takes(i / 100) for i in range(10))
    assert not line.takes(0.1)
    assert not line.takes(2.0)
    assert line.takes(2.2)


def test_lost_and_wrong_answers_are_as_frequent_as_asked():
    line = line_with('lost_answer=0.5')
    lost = sum(line.answer(READING, 1.0) is None for _ in range(1000))
    assert 450 < lost < 550
    _, data = line_with('wrong_command').answer(READING, 1.0)
    (frame,) = FrameReader().feed(data)
    assert frame.command != READING.command
    assert frame.payload == READING.payload


def test_readings_are_distorted_and_stay_frames():
    def angles(*faults):
        _, data = line_with(*faults).answer(READING, 1.0)
        (frame,) = FrameReader().feed(data)
        return frame.payload

    assert angles('constant=180.08') == pack([18008] * 6)
    assert angles('short_answer=1') == READING.payload[:6]
    assert sum(a != b for a, b in zip(angles('jump=1'), READING.payload, strict=True)) in (1, 2)
    frozen = line_with('frozen')
    frozen.answer(READING, 1.0)
    other = Frame(FrameCommand.GET_ANGLES, pack([1] * 6))
    assert frozen.answer(other, 2.0) == (0.0, READING.encode())


def test_noise_stands_before_an_answer():
    _, data = line_with('noise=1').answer(READING, 1.0)
    assert data.endswith(READING.encode())
    assert len(data) > len(READING.encode())
