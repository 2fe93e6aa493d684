# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The driver of the real arm, with the vendor's library, against the emulated firmware."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from gpiozero import Device
from gpiozero.pins.mock import MockFactory
from pymycobot.robot_info import RobotLimit
from support.waiting import wait_until

from safegen_ros.benchmarks.stack.fault_runs import STOP_LIMIT
from safegen_ros.errors import Canceled, ErrorCode, RobotError
from safegen_ros.robot.arm import Arm
from safegen_ros.robot.arms.mycobot_280 import MYCOBOT_280
from safegen_ros.robot.mycobot import effectors
from safegen_ros.robot.mycobot.driver import MyCobot
from safegen_ros.robot.mycobot.effectors import (
    PI_PUMP_PIN,
    PI_VALVE_PIN,
    PUMP_PIN,
    VENT_PIN,
    AdaptiveGripper,
    BasicOutputPump,
    GpioPump,
    effector_of,
)
from safegen_ros.robot.mycobot.frames import MOTION, Frame, FrameCommand, pack
from safegen_ros.robot.mycobot.link import ALLOWED, open_serial, open_tcp
from safegen_ros.robot.scene import load_scene

SCENE = load_scene()
UP = np.radians([0.0, -20.0, -60.0, 30.0, 0.0, 45.0])
AWAY = np.radians([80.0, -20.0, -60.0, 30.0, 0.0, 45.0])


def frame(angles, speed=50):
    return Frame(FrameCommand.SEND_ANGLES, pack([round(100 * a) for a in angles]) + bytes((speed,)))


def test_it_is_an_arm_that_says_how_it_is(arm):
    assert isinstance(arm, Arm)
    status = arm.status()
    assert (status.version, status.powered, status.servos, status.error) == (7.3, True, True, 0)
    assert status.trouble == ''


def test_a_move_returns_when_the_measured_joints_are_there(arm, emulator):
    arm.move_joints(UP, 1.0)
    np.testing.assert_allclose(arm.joint_positions(), UP, atol=0.02)
    np.testing.assert_allclose(emulator.firmware.twin.joint_positions(), UP, atol=0.02)


@pytest.mark.nightly
def test_an_arm_that_hardly_moves_between_two_readings_is_not_taken_for_a_stuck_one(arm, emulator):
    arm.move_joints(UP, 1.0)
    slow = UP + np.radians([4.0, 0, 0, 0, 0, 0])
    arm.move_joints(slow, 0.01)  # 1.5 deg/s, and so 0.15 deg from one reading to the next
    np.testing.assert_allclose(arm.joint_positions(), slow, atol=0.02)
    # It was told once, and not again after each second in which it seemed to stand still.
    assert time.monotonic() - emulator.last_motion > 2.0


def test_the_table_of_limits_lies_within_that_of_the_vendors_library():
    limits = RobotLimit.robot_limit['MyCobot280']
    assert np.all(np.degrees(MYCOBOT_280.bounds[:, 0]) >= np.array(limits['angles_min']) - 1e-9)
    assert np.all(np.degrees(MYCOBOT_280.bounds[:, 1]) <= np.array(limits['angles_max']) + 1e-9)


@pytest.mark.parametrize('joint', range(6))
@pytest.mark.parametrize('side', [0, 1])
def test_nothing_beyond_the_table_of_limits_leaves(arm, emulator, joint, side):
    before = emulator.last_motion
    target = np.zeros(6)
    target[joint] = MYCOBOT_280.bounds[joint, side] + (0.02 if side else -0.02)
    with pytest.raises(RobotError) as caught:
        arm.move_joints(target, 0.5)
    assert caught.value.code == ErrorCode.LIMIT_VIOLATION
    with pytest.raises(RobotError, match=f'joint{joint + 1}'):
        arm._port._wire.send(frame(np.degrees(target)).encode())
    assert emulator.last_motion == before


def test_a_stop_during_the_reset_is_not_lost(arm, emulator, monkeypatch):
    arm.stop()
    fit = arm._require_fit

    def stopped_meanwhile():
        fit()
        arm.stop()

    monkeypatch.setattr(arm, '_require_fit', stopped_meanwhile)
    with pytest.raises(Canceled, match='stopped again'):
        arm.reset_stop()
    last = emulator.last_motion
    with pytest.raises(Canceled):
        arm.move_joints(UP, 1.0)
    assert emulator.last_motion == last


def test_no_tool_is_switched_behind_a_stop(arm, emulator):
    """A block that is held must not fall, nor a finger move, after `stop` has returned."""
    arm.set_tool(True)
    arm.stop()
    for command in (
        lambda: arm._port.ask('set_basic_output', PUMP_PIN, 1),
        lambda: arm._port.ask('set_gripper_value', 100, 50),
        lambda: BasicOutputPump(arm._port.ask).switch(False),
    ):
        with pytest.raises(Canceled):
            command()
    assert emulator.firmware.twin.tool_on()
    assert arm._port.ask('set_basic_output', VENT_PIN, 1) == 1
    arm.reset_stop()
    arm.set_tool(False)


def test_whoever_fails_over_a_reading_does_not_leave_the_arm_moving(arm, emulator):
    arm.move_joints(UP, 1.0)

    def fails(sample):
        if np.degrees(sample.joints[0]) > 5:
            raise ValueError('the middleware is gone')

    arm.sample = fails
    try:
        with pytest.raises(ValueError, match='middleware'):
            arm.move_joints(AWAY, 0.2)
    finally:
        arm.sample = None
    with pytest.raises(Canceled):
        arm.wait(0.0)
    assert emulator.firmware.trajectory.done
    assert np.degrees(arm.joint_positions()[0]) < 60


@pytest.mark.nightly
def test_an_arm_that_creeps_on_behind_a_lost_stop_is_not_taken_for_one_at_rest(
    arm, emulator, monkeypatch
):
    arm.move_joints(UP, 1.0)
    monkeypatch.setattr(arm._port._robot, 'stop', lambda: -1)
    raised = []

    def creep():
        try:
            arm.move_joints(AWAY, 0.01)
        except (Canceled, RobotError) as error:
            raised.append(error)

    before = emulator.last_motion
    mover = threading.Thread(target=creep)
    mover.start()
    wait_until(lambda: emulator.last_motion > before, 'the arm')
    wait_until(lambda: np.degrees(arm.joint_positions()[0]) > 2, 'the arm')
    arm.stop()
    mover.join()
    monkeypatch.undo()
    assert 'may not hold: it still moves' in raised[0].message
    arm.stop()
    wait_until(lambda: emulator.firmware.trajectory.done, 'the stop')


@pytest.mark.parametrize(('limit', 'percent'), [(0.016, 1), (0.29, 29), (0.999, 99), (1.0, 100)])
def test_the_speed_limit_is_never_rounded_up(arm, emulator, monkeypatch, limit, percent):
    sent = []
    monkeypatch.setattr(arm, '_speed_limit', limit)
    monkeypatch.setattr(
        emulator.firmware.trajectory, 'send', lambda target, speed: sent.append(speed)
    )
    arm.move_joints(arm.joint_positions(), 1.0)
    assert sent == [pytest.approx(percent / 100)]


def test_no_other_command_leaves(arm):
    for command in sorted(set(range(256)) - ALLOWED):
        with pytest.raises(RobotError, match='may not leave'):
            arm._port._wire.send(Frame(command).encode())


def test_only_whole_frames_leave_and_one_motion_command_is_among_them(arm):
    assert sorted(ALLOWED & MOTION) == [FrameCommand.SEND_ANGLES]
    good = frame([0.0] * 6).encode()
    for data in (b'', good[:-1], good + good, b'\xfe' + good):
        with pytest.raises(RobotError, match='not one frame'):
            arm._port._wire.send(data)


def test_stop_from_another_thread_holds_and_latches_until_reset(arm, emulator):
    arm.move_joints(UP, 1.0)
    raised = []

    def move():
        try:
            arm.move_joints(AWAY, 0.2)
        except Canceled as error:
            raised.append(error)

    mover = threading.Thread(target=move)
    before = emulator.last_motion
    mover.start()
    wait_until(lambda: emulator.last_motion > before, 'the arm')
    wait_until(lambda: arm.joint_positions()[0] > 0.1, 'the arm')
    arm.stop()
    mover.join()
    assert raised
    assert emulator.last_motion - arm.stopped_at <= STOP_LIMIT
    held = arm.joint_positions()
    assert 0.1 < held[0] < 1.2
    before = emulator.last_motion
    for command in (
        lambda: arm.move_joints(UP, 0.5),
        lambda: arm.set_tool(True),
        lambda: arm.wait(0.0),
    ):
        with pytest.raises(Canceled, match='reset the stop'):
            command()
    assert emulator.last_motion == before
    np.testing.assert_allclose(arm.joint_positions(), held, atol=0.01)
    arm.stop()
    arm.stop()
    arm.reset_stop()
    arm.move_joints(UP, 1.0)


def test_a_stop_ends_a_wait(arm):
    timer = threading.Timer(0.1, arm.stop)
    timer.start()
    began = time.monotonic()
    with pytest.raises(Canceled):
        arm.wait(60.0)
    assert time.monotonic() - began < 30
    timer.join()


def test_an_arm_holds_from_its_construction_until_it_is_rearmed_and_reset(emulator):
    robot = open_tcp('127.0.0.1', emulator.tcp_port)
    with MyCobot(robot, BasicOutputPump) as arm:
        with pytest.raises(Canceled):
            arm.move_joints(UP, 1.0)
        arm.rearm()
        with pytest.raises(Canceled):
            arm.move_joints(UP, 1.0)
        arm.reset_stop()
        arm.move_joints(UP, 1.0)


def test_only_rearming_powers_the_servos_and_clears_errors(arm, emulator):
    firmware = emulator.firmware
    arm.move_joints(UP, 1.0)
    firmware.power_off()
    with pytest.raises(RobotError, match='its servos have no power') as caught:
        arm.move_joints(AWAY, 1.0)
    assert caught.value.code is ErrorCode.ROBOT_FAULT
    firmware.error = 3
    for command in (lambda: arm.move_joints(AWAY, 1.0), arm.reset_stop):
        with pytest.raises(RobotError, match='holds after a fault') as caught:
            command()
        assert caught.value.code is ErrorCode.ROBOT_FAULT
    assert not firmware.powered
    assert firmware.error == 3
    last = emulator.last_motion
    arm.rearm()
    assert firmware.powered
    assert firmware.error == 0
    with pytest.raises(Canceled):
        arm.move_joints(AWAY, 1.0)
    assert emulator.last_motion == last
    arm.reset_stop()
    arm.move_joints(AWAY, 1.0)


def test_a_power_loss_between_two_goals_is_no_reason_to_power_it(arm, emulator):
    arm.stop()
    emulator.firmware.power_off()
    with pytest.raises(RobotError, match='its servos have no power') as caught:
        arm.reset_stop()
    assert caught.value.code is ErrorCode.ROBOT_FAULT
    assert not emulator.firmware.powered
    with pytest.raises(Canceled):
        arm.move_joints(UP, 1.0)


def test_power_that_comes_back_in_mid_motion_does_not_end_the_fault(arm, emulator):
    """Its target must not be sent again: somebody may stand at the arm by then."""
    arm.move_joints(UP, 1.0)
    sent = emulator.last_motion
    cut = threading.Timer(1.0, emulator.firmware.power_off)
    cut.start()
    with pytest.raises(RobotError, match='no power'):
        arm.move_joints(AWAY, 0.1)
    cut.join()
    motion = emulator.last_motion
    assert motion > sent
    emulator.firmware.powered = True
    with pytest.raises(RobotError, match='holds after a fault'):
        arm.reset_stop()
    assert emulator.last_motion == motion


def test_a_broken_servo_is_named_by_its_own_joint(arm, emulator):
    servo = 5
    arm.move_joints(UP, 1.0)
    emulator.firmware.stop_joint(servo, 16, broken=True)
    try:
        with pytest.raises(RobotError, match=f'the servo of joint{servo} is released') as caught:
            arm.move_joints(AWAY, 1.0)
        assert caught.value.code is ErrorCode.ROBOT_FAULT
        with pytest.raises(RobotError, match=f'the servo of joint{servo} is released'):
            arm.rearm()
    finally:
        emulator.firmware.free[servo - 1] = 1


def test_a_gripper_that_is_not_there_is_noticed(arm):
    with pytest.raises(RobotError, match='look at its cable at the flange'):
        AdaptiveGripper(arm._port.ask).switch(True)


def test_a_second_program_is_kept_from_the_port(arm, emulator):
    with pytest.raises(RobotError, match='another program uses it') as caught:
        open_serial(emulator.serial_port, 115200)
    assert caught.value.code == ErrorCode.ARM_UNREACHABLE


def test_the_same_driver_works_over_tcp(emulator):
    robot = open_tcp('127.0.0.1', emulator.tcp_port)
    with MyCobot(robot, BasicOutputPump, speed_limit=0.3) as arm:
        arm.rearm()
        arm.reset_stop()
        arm.move_joints(UP, 1.0)
        np.testing.assert_allclose(arm.joint_positions(), UP, atol=0.02)
    arm.close()
    for command in (lambda: arm.move_joints(UP, 1.0), arm.joint_positions):
        with pytest.raises(RobotError, match='is closed'):
            command()
    arm.stop()


@pytest.mark.parametrize(
    ('opening', 'words'),
    [
        (lambda: open_serial('/dev/no-such-port', 115200), 'plug the arm in'),
        (lambda: open_tcp('127.0.0.1', 1), 'start the server at the arm'),
        (lambda: open_tcp('no.such.host.invalid', 9000), 'no computer has this name'),
    ],
)
def test_a_port_that_is_not_there_is_named_with_its_cure(opening, words):
    with pytest.raises(RobotError, match=words) as caught:
        opening()
    assert caught.value.code == ErrorCode.ARM_UNREACHABLE


@pytest.fixture
def pins(monkeypatch: pytest.MonkeyPatch) -> Iterator[MockFactory]:
    monkeypatch.setattr(effectors, 'VENT_S', 0.01)
    factory = MockFactory()
    monkeypatch.setattr(Device, 'pin_factory', factory)
    yield factory
    factory.reset()


def levels(pins: MockFactory) -> tuple[bool, bool]:
    return bool(pins.pin(PI_PUMP_PIN).state), bool(pins.pin(PI_VALVE_PIN).state)


def test_low_is_on_and_everything_begins_off(pins: MockFactory) -> None:
    pump = GpioPump()
    assert levels(pins) == (True, True)
    pump.switch(True)
    assert levels(pins) == (False, True)
    pump.switch(False)
    assert levels(pins) == (True, True)
    valve = [bool(each.state) for each in pins.pin(PI_VALVE_PIN).states]
    assert valve[-3:] == [True, False, True]  # it let air in, and closed again


def test_the_table_of_tools(pins: MockFactory) -> None:
    assert isinstance(effector_of('gpio-pump')(lambda name: 1), GpioPump)
    assert levels(pins) == (True, True)
    with pytest.raises(RobotError, match="tool 'hand' does not exist"):
        effector_of('hand')


def test_a_computer_without_pins_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Device, 'pin_factory', None)
    monkeypatch.setenv('GPIOZERO_PIN_FACTORY', 'none-such')
    with pytest.raises(RobotError, match='on a Raspberry Pi install gpiozero and lgpio'):
        GpioPump()
