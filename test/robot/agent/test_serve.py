# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The process of the agent that moves the arm: what it tells its guard of a port."""

from __future__ import annotations

import fcntl
import os

import pytest

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.robot.agent import serve
from safegen_ros.robot.agent.messages import Open, SerialPort
from safegen_ros.robot.arms.known import ARMS


def test_the_guard_is_told_nothing_of_a_port_that_another_program_keeps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It would stop the arm of that program, should this process die."""
    monkeypatch.setattr(serve, 'PORT_PATIENCE_S', 0.1)
    told: list[bytes] = []
    master, slave = os.openpty()
    fcntl.flock(slave, fcntl.LOCK_EX)
    request = Open(1, 'mycobot', SerialPort(os.ttyname(slave), 115200), 'basic-pump')
    with pytest.raises(RobotError, match='another program uses it') as caught:
        serve.DRIVERS[request.arm].open(request, lambda sample: None, told.append)
    assert caught.value.code is ErrorCode.ARM_UNREACHABLE
    assert told == []
    for descriptor in (master, slave):
        os.close(descriptor)


def test_every_driver_that_an_arm_names_opens_that_arm() -> None:
    named = {arm.driver: arm for arm in ARMS.values() if arm.driver}
    assert {name: serve.DRIVERS[name].model for name in named} == named
