# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What takes hold of a block at a real arm: the suction pump, or the adaptive gripper."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from safegen_ros.deadline import Deadline
from safegen_ros.errors import RobotError
from safegen_ros.robot.gripper import opening_of

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
            raise RobotError(f'the gripper opened to {value} % only: look what it is caught in')
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
