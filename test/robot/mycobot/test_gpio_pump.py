# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The pump at the pins of a Pi, on the mock pins of gpiozero."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from gpiozero import Device
from gpiozero.pins.mock import MockFactory

from safegen_ros.errors import RobotError
from safegen_ros.robot.mycobot import effectors
from safegen_ros.robot.mycobot.effectors import PI_PUMP_PIN, PI_VALVE_PIN, GpioPump, effector_of


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
