# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What takes hold of a block at a real arm: the suction pump, or the adaptive gripper."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.robot.arms.mycobot_280 import opening_of
from safegen_ros.robot.scene import GRIPPER, SUCTION, Scene
from safegen_ros.sync import Deadline

Ask = Callable[..., Any]

#: Pins of the M5 base, low when on (vendor's wiring of the pump box).
PUMP_PIN = 5
VENT_PIN = 2
#: The pump runs out before the vent opens, and the vent lets air in for so long [s].
RUN_OUT = 0.05
VENT = 1.0

#: Opening of the adaptive gripper [%]: closed, it is narrower than any block that it can hold.
GRIPPER_OPEN = 100
GRIPPER_CLOSED = 20
GRIPPER_SPEED = 60
#: The gripper has begun to move, and has opened or closed, within these times [s]; readings of one
#: that rests differ by no more than this [%]. A reading at a bad line takes seconds.
GRIPPER_START = 1.0
GRIPPER_TIMEOUT = 6.0
GRIPPER_SETTLED = 2
GRIPPER_POLL = 0.1


class Effector(Protocol):
    """What takes hold of a block: a pump, or a gripper."""

    def switch(self, on: bool) -> float | None:
        """Takes hold or lets go; returns the distance of fingers [m]; raises if unconfirmed."""


class BasicOutputPump:
    """A pump box at the pins of an M5 base."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def switch(self, on: bool) -> None:
        """Pump on, or off and the vent opened for a second."""
        if on:
            self._set(VENT_PIN, 1)
            self._set(PUMP_PIN, 0)
            return
        self._set(PUMP_PIN, 1)
        time.sleep(RUN_OUT)
        self._set(VENT_PIN, 0)
        time.sleep(VENT)
        self._set(VENT_PIN, 1)

    def _set(self, pin: int, value: int) -> None:
        if self._ask('set_basic_output', pin, value) != 1:
            raise RobotError(
                f'the base does not confirm pin {pin} of the pump: look at its plug and supply'
            )


class AdaptiveGripper:
    """The vendor's adaptive gripper at the flange."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def switch(self, on: bool) -> float:
        """Closes on a block, or opens, and returns the opening once it rests [m]."""
        target = GRIPPER_CLOSED if on else GRIPPER_OPEN
        if self._ask('set_gripper_value', target, GRIPPER_SPEED) != 1:
            raise RobotError('the gripper does not confirm: look at its cable at the flange')
        value = self._rest()
        if on and value <= GRIPPER_CLOSED + GRIPPER_SETTLED:
            raise RobotError(
                f'the gripper closed to {value} % and holds nothing: look where the block is'
            )
        if not on and value < GRIPPER_OPEN - 2 * GRIPPER_SETTLED:
            raise RobotError(f'the gripper opened to {value} % only: find the obstacle')
        return opening_of(value)

    def _rest(self) -> int:
        """The opening [%] once it rests; it must have been still over a few readings."""
        first = value = self._value()
        still = looks = 0
        deadline = Deadline(GRIPPER_TIMEOUT)
        while True:
            time.sleep(GRIPPER_POLL)
            before, value = value, self._value()
            looks += 1
            still = still + 1 if abs(value - before) <= GRIPPER_SETTLED else 0
            begun = abs(value - first) > GRIPPER_SETTLED or looks * GRIPPER_POLL > GRIPPER_START
            if still >= 3 and (begun or deadline.over):
                return value
            if deadline.over and not still:
                raise RobotError(f'the gripper does not come to rest (it reads {value} %)')

    def _value(self) -> int:
        value = self._ask('get_gripper_value')
        if not isinstance(value, int) or not 0 <= value <= 100:
            raise RobotError(
                f'the gripper reads {value!r}, not an opening of 0 to 100 %: look at its cable at '
                'the flange'
            )
        return value


PI_PUMP_PIN = 20
PI_VALVE_PIN = 21
#: The valve stays open this long after the pump is off, so that the block lets go [s].
VENT_S = 1.0


class GpioPump:
    """Pump and valve on the pins of this computer; both are off when it is made.

    It is an `Effector` of `MyCobot`.
    """

    def __init__(self) -> None:
        try:
            from gpiozero import OutputDevice

            self._pump: Any = OutputDevice(PI_PUMP_PIN, active_high=False)
            self._valve: Any = OutputDevice(PI_VALVE_PIN, active_high=False)
        except Exception as error:  # gpiozero raises what its pin libraries raise
            raise RobotError(
                f'the pump on the pins {PI_PUMP_PIN} and {PI_VALVE_PIN} cannot be used: {error}: '
                'on a Raspberry Pi install gpiozero and lgpio; elsewhere the tool is not gpio-pump'
            ) from error

    def switch(self, on: bool) -> None:
        """Runs the pump, or ends it and lets air in for a second."""
        if on:
            self._valve.off()
            self._pump.on()
            return
        self._pump.off()
        self._valve.on()
        time.sleep(VENT_S)
        self._valve.off()


def effector_of(tool: str) -> Callable[[Ask], Effector]:
    """What makes a tool for `MyCobot`; pins of this computer are taken here, before the port."""
    if tool == 'basic-pump':
        return BasicOutputPump
    if tool == 'gripper':
        return AdaptiveGripper
    if tool == 'gpio-pump':
        pump = GpioPump()
        return lambda ask: pump
    raise RobotError(f'tool {tool!r} does not exist: use basic-pump, gpio-pump or gripper')


def scene_for(tool: str) -> tuple[str, str]:
    """What a scene for this tool has as its `tool`, and the shipped one that has it."""
    if tool == 'gripper':
        return GRIPPER, 'config/gripper_scene.yaml'
    return SUCTION, 'config/scene.yaml'


def check_tool(tool: str, scene: Scene) -> None:
    """Raises `RobotError` (`UNSUPPORTED_SCENE`) when the scene is made for another tool."""
    wanted, file = scene_for(tool)
    if scene.tool != wanted:
        raise RobotError(
            f'the tool is {tool} and the scene is made for {scene.tool}: use a scene_file with '
            f'tool: {wanted}, such as {file}, or another tool',
            ErrorCode.UNSUPPORTED_SCENE,
        )
