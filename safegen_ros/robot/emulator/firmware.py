# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The emulated firmware: the effect of each command, and its answer.

Every set command is acknowledged at once with 1, long before a motion ends, as logs of real arms
show. A command that the firmware does not know is not answered.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from safegen_ros.robot.arms.model import Joints
from safegen_ros.robot.arms.mycobot_280 import MYCOBOT_280, opening_of, percent_of
from safegen_ros.robot.emulator.motion import MOVING_ANGLE, Trajectory, coords_of, joints_for
from safegen_ros.robot.mycobot.effectors import PUMP_PIN
from safegen_ros.robot.mycobot.frames import Frame, FrameCommand, pack, unpack
from safegen_ros.robot.twin.twin import TICK, MujocoTwin

VERSION = 73  # 7.3
#: Encoder counts of a turn, and the count of the zero position.
_COUNTS, _ZERO = 4096, 2048
#: In position within this [deg] and [mm]; the vendor does not say.
_IN_POSITION_DEG, _IN_POSITION_MM = 1.0, 3.0
_JOG_DEG, _JOG_MM = 5.0, 5.0
NO_SOLUTION = 32
#: Speed of the gripper at 100 % [% of its opening per second], and when it counts as moving [%/s].
_GRIPPER_SPEED = 100.0
_GRIPPER_MOVING = 5.0
#: The reading of a missing gripper, and the value that lets its servo go instead of moving it.
NO_GRIPPER = 255
_LET_GO = 254

ACK = b'\x01'
_Answer = Callable[[bytes], bytes | None]


class Firmware:
    """The controller of one emulated arm. Not for several threads at once."""

    def __init__(self, twin: MujocoTwin) -> None:
        self.twin = twin
        self.trajectory = Trajectory(twin.joint_positions())
        self.powered = True
        self.error = 0
        self.free = np.ones(6)  # 1 where a joint follows, 0 where its servo is broken or stopped
        self.enabled = [True] * 6
        self.pins = {PUMP_PIN: 1}
        self._gripper_goal = self._gripper_target = self._gripper_seen = 100.0
        self._gripper_speed = self._gripper_rate = 0.0
        self._table = self._commands()

    def handle(self, frame: Frame) -> Frame | None:
        """Executes a frame; returns the answer, or None for an unknown frame."""
        answer = self._table.get(frame.command)
        if answer is None:
            return None
        try:
            payload = answer(frame.payload)
        except (IndexError, ValueError):  # too short, or names no joint
            return None
        return None if payload is None else Frame(frame.command, payload)

    def tick(self) -> None:
        """Lets 10 ms pass."""
        measured = self.twin.joint_positions()
        if self.powered and all(self.enabled):
            self.twin.track(self.trajectory.advance(TICK, self.free))
        else:
            self.trajectory.hold(measured)
            self.twin.track(measured)
        if self.powered:
            self._move_fingers()

    @property
    def gripper(self) -> int:
        """Measured opening [%]; `NO_GRIPPER` where the scene of the twin has none."""
        opening = self.twin.opening()
        return NO_GRIPPER if opening is None else min(100, max(0, round(percent_of(opening))))

    def _move_fingers(self) -> None:
        """One step of 10 ms on the way to the goal; what is between the fingers stops them."""
        step = self._gripper_speed * TICK
        self._gripper_target += max(-step, min(step, self._gripper_goal - self._gripper_target))
        self.twin.open_to(opening_of(self._gripper_target))
        before, self._gripper_seen = self._gripper_seen, percent_of(self.twin.opening() or 0.0)
        self._gripper_rate = abs(self._gripper_seen - before) / TICK

    def power_off(self) -> None:
        """Takes the power from the servos, which then hold nothing and move nothing."""
        self.powered = False

    def stop_joint(self, joint: int, error: int, *, broken: bool) -> None:
        """One joint (1 to 6) follows no more: at its limit, or with a broken servo."""
        self.free[joint - 1] = 0
        self.enabled[joint - 1] = not broken
        self.error = error

    def repair(self) -> None:
        """Servos can follow again; power, enabled servos and error codes stay as they are."""
        self.free = np.ones(6)

    # What the commands do

    def _commands(self) -> dict[int, _Answer]:
        c, joints = FrameCommand, self.twin.joint_positions
        table: dict[int, _Answer] = {
            c.GET_SYSTEM_VERSION: lambda _: bytes((VERSION,)),
            c.CLEAR_QUEUE: lambda _: self._hold(),
            c.CHECK_ASYNC_OR_SYNC: lambda _: ACK,
            c.GET_ERROR: lambda _: bytes((self.error,)),
            c.CLEAR_ERROR: lambda _: self._clear_error(),
            c.POWER_ON: lambda _: self._power(True),
            c.POWER_OFF: lambda _: self._power(False),
            c.IS_POWER_ON: lambda _: bytes((self.powered,)),
            c.RELEASE_ALL_SERVOS: lambda _: self._enable(range(6), False),
            c.IS_CONTROLLER_CONNECTED: lambda _: ACK,
            # Seven bytes: the library misreads six.
            c.READ_NEXT_ERROR: lambda _: bytes([0 if on else 3 for on in self.enabled] + [0]),
            c.SET_FRESH_MODE: self._set_fresh_mode,
            c.GET_FRESH_MODE: lambda _: bytes((self.trajectory.newest_wins,)),
            c.SET_FREE_MODE: lambda p: self._enable(range(6), not p[0]),
            c.IS_FREE_MODE: lambda _: bytes((not any(self.enabled),)),
            c.GET_ANGLES: lambda _: _angles(joints()),
            c.SEND_ANGLE: self._send_angle,
            c.SEND_ANGLES: self._send_angles,
            c.GET_COORDS: lambda _: _coords(joints()),
            c.SEND_COORD: self._send_coord,
            c.SEND_COORDS: self._send_coords,
            c.PAUSE: lambda _: self._pause(True),
            c.IS_PAUSED: lambda _: bytes((self.trajectory.paused,)),
            c.RESUME: lambda _: self._pause(False),
            c.STOP: lambda _: self._hold(),
            c.IS_IN_POSITION: self._is_in_position,
            c.IS_MOVING: lambda _: bytes((self._moving(),)),
            c.JOG_ANGLE: lambda p: self._jog(p[0], _JOG_DEG if p[1] else -_JOG_DEG, p[2]),
            c.JOG_COORD: self._jog_coord,
            c.JOG_INCREMENT: lambda p: self._jog(p[0], unpack(p[1:3])[0] / 100, p[3]),
            c.GET_ENCODER: lambda p: pack([self._encoders()[_joint(p)]]),
            c.GET_ENCODERS: lambda _: pack(self._encoders()),
            c.GET_JOINT_MIN: lambda p: self._limit(p, 0),
            c.GET_JOINT_MAX: lambda p: self._limit(p, 1),
            c.IS_SERVO_ENABLED: lambda p: bytes((p[0], self.enabled[_joint(p)])),
            c.ARE_SERVOS_ENABLED: lambda _: bytes((all(self.enabled),)),
            c.JOINT_BRAKE: lambda _: self._hold(),
            c.RELEASE_SERVO: lambda p: self._enable([_joint(p)], False),
            c.FOCUS_SERVO: lambda p: self._enable([_joint(p)] if p[0] else range(6), True),
            c.SET_PIN_MODE: lambda _: ACK,
            c.SET_DIGITAL_OUTPUT: lambda _: ACK,
            c.GET_DIGITAL_INPUT: lambda p: bytes((p[0], 0)),
            c.GET_GRIPPER_VALUE: lambda _: bytes((self.gripper,)),
            c.SET_GRIPPER_STATE: self._set_gripper_state,
            c.SET_GRIPPER_VALUE: lambda p: self._grip(min(p[0], 100), p[1]),
            c.SET_GRIPPER_CALIBRATION: lambda _: ACK,
            c.IS_GRIPPER_MOVING: lambda _: bytes((self._gripper_moves(),)),
            c.SET_COLOR: lambda _: ACK,
            c.SET_BASIC_OUTPUT: self._set_basic_output,
            c.GET_BASIC_INPUT: lambda p: bytes((p[0], self.pins.get(p[0], 1))),
            c.GET_ANGLES_COORDS: lambda _: _angles(joints()) + _coords(joints()),
            c.GET_SERVO_SPEEDS: lambda _: pack([0] * 6),
            c.GET_SERVO_VOLTAGES: lambda _: bytes([74 if self.powered else 0] * 6),
            c.GET_SERVO_STATUS: lambda _: bytes(6),
            c.GET_SERVO_TEMPS: lambda _: bytes([35] * 6),
        }
        return table

    def _send_angles(self, payload: bytes) -> bytes:
        target = [value / 100 for value in unpack(payload[:12])]
        return self._go(np.radians(target), payload[12])

    def _send_angle(self, payload: bytes) -> bytes:
        target = np.degrees(self.trajectory.goal)
        target[_joint(payload)] = unpack(payload[1:3])[0] / 100
        return self._go(np.radians(target), payload[3])

    def _send_coords(self, payload: bytes) -> bytes:
        return self._go_to_coords(_uncoords(payload[:12]), payload[12])

    def _send_coord(self, payload: bytes) -> bytes:
        coords = coords_of(self.trajectory.goal)
        axis = _joint(payload)
        coords[axis] = unpack(payload[1:3])[0] / (10 if axis < 3 else 100)
        return self._go_to_coords(coords, payload[3])

    def _jog_coord(self, payload: bytes) -> bytes:
        coords = coords_of(self.trajectory.goal)
        coords[_joint(payload)] += _JOG_MM if payload[1] else -_JOG_MM
        return self._go_to_coords(coords, payload[2])

    def _jog(self, joint: int, degrees: float, speed: int) -> bytes:
        target = self.trajectory.goal.copy()
        target[_joint(bytes((joint,)))] += math.radians(degrees)
        return self._go(target, speed)

    def _go_to_coords(self, coords: list[float], speed: int) -> bytes:
        joints = joints_for(coords, self.trajectory.goal)
        if joints is None:
            self.error = NO_SOLUTION
            return ACK
        return self._go(joints, speed)

    def _go(self, target: Joints, speed: int) -> bytes:
        """Goes to a target [rad]; beyond a limit it goes nowhere and sets the joint's error."""
        outside = np.flatnonzero(
            (target < MYCOBOT_280.bounds[:, 0] - 1e-6) | (target > MYCOBOT_280.bounds[:, 1] + 1e-6)
        )
        if outside.size:
            self.error = int(outside[0]) + 1
        elif self.powered and all(self.enabled):
            self.trajectory.send(target, min(max(speed, 1), 100) / 100)
        return ACK

    def _hold(self) -> bytes:
        self.trajectory.hold(self.twin.joint_positions())
        return ACK

    def _pause(self, paused: bool) -> bytes:
        self.trajectory.paused = paused
        return ACK

    def _set_fresh_mode(self, payload: bytes) -> bytes:
        self.trajectory.newest_wins = bool(payload[0])
        return ACK

    def _power(self, on: bool) -> bytes:
        self.powered = on
        return ACK

    def _clear_error(self) -> bytes:
        if self.free.all():
            self.error = 0
        return ACK

    def _enable(self, joints: range | list[int], on: bool) -> bytes:
        for joint in joints:
            # A broken servo stays so, after any command.
            self.enabled[joint] = on and bool(self.free[joint])
        return ACK

    def _set_gripper_state(self, payload: bytes) -> bytes:
        value = self._gripper_seen if payload[0] == _LET_GO else 0 if payload[0] else 100
        return self._grip(value, payload[1])

    def _gripper_moves(self) -> bool:
        on_the_way = self._gripper_target != self._gripper_goal
        return on_the_way or self._gripper_rate > _GRIPPER_MOVING

    def _grip(self, value: float, speed: int) -> bytes:
        self._gripper_goal = float(value)
        self._gripper_target = self._gripper_seen  # from where it is, as a servo does
        self._gripper_speed = _GRIPPER_SPEED * min(speed, 100) / 100
        return ACK

    def _set_basic_output(self, payload: bytes) -> bytes:
        pin, value = payload[0], payload[1]
        self.pins[pin] = value
        if pin == PUMP_PIN and self.twin.opening() is None:
            self.twin.set_tool(value == 0)
        return bytes((pin, value))

    def _is_in_position(self, payload: bytes) -> bytes:
        here = self.twin.joint_positions()
        if payload[12]:
            off = np.abs(np.subtract(_uncoords(payload[:12]), coords_of(here)))
            near = bool((off[:3] < _IN_POSITION_MM).all() and (off[3:] < _IN_POSITION_DEG).all())
        else:
            off = np.abs(np.array(unpack(payload[:12])) / 100 - np.degrees(here))
            near = bool((off < _IN_POSITION_DEG).all())
        return bytes((near,))

    def _moving(self) -> bool:
        off = np.abs(self.trajectory.setpoint - self.twin.joint_positions())
        return not self.trajectory.done or bool((off > MOVING_ANGLE).any())

    def _encoders(self) -> list[int]:
        turns = self.twin.joint_positions() / (2 * math.pi)
        return [int(value) for value in np.round(turns * _COUNTS) + _ZERO]

    def _limit(self, payload: bytes, side: int) -> bytes:
        return payload[:1] + pack(
            [round(math.degrees(MYCOBOT_280.bounds[_joint(payload), side]) * 10)]
        )


def _joint(payload: bytes) -> int:
    """The index of the joint, or axis, that a payload begins with."""
    if not 1 <= payload[0] <= 6:
        raise ValueError(f'{payload[0]} is not a joint')
    return payload[0] - 1


def _angles(joints: Joints) -> bytes:
    return pack([round(float(value)) for value in np.degrees(joints) * 100])


def _coords(joints: Joints) -> bytes:
    values = coords_of(joints)
    return pack([round(v * 10) for v in values[:3]] + [round(v * 100) for v in values[3:]])


def _uncoords(payload: bytes) -> list[float]:
    values = unpack(payload)
    return [value / 10 for value in values[:3]] + [value / 100 for value in values[3:]]
