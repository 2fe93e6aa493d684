# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The emulated firmware of a module, and the driver of the myCobot at its serial port."""

from __future__ import annotations

import pytest

from safegen_ros.robot.emulator.emulator import Emulator
from safegen_ros.robot.mycobot.driver import MyCobot
from safegen_ros.robot.mycobot.effectors import BasicOutputPump
from safegen_ros.robot.mycobot.link import open_serial
from safegen_ros.robot.scene import load_scene
from safegen_ros.robot.twin.twin import MujocoTwin

SCENE = load_scene()


@pytest.fixture(scope='module')
def emulator():
    with MujocoTwin(SCENE) as twin, Emulator(twin, tcp_port=0) as running:
        yield running


@pytest.fixture(scope='module')
def connected(emulator):
    with MyCobot(open_serial(emulator.serial_port, 115200), BasicOutputPump) as made:
        yield made


@pytest.fixture
def arm(connected):
    connected.rearm()
    connected.reset_stop()
    return connected
