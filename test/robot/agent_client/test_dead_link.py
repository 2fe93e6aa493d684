# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A dead or frozen process in mid-motion, over every transport: the arm holds within its bound."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from support import waiting
from support.arm_bench import (
    SLACK_S,
    TRANSPORTS,
    Bench,
    Turning,
    alive,
    children,
    held_after,
    ready,
)

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.robot.agent.messages import HANG_TIMEOUT_S, LINK_TIMEOUT_S
from safegen_ros.robot.agent_client.agent_arm import AgentArm

CLIENT = """
import json, sys
sys.path.insert(0, 'test')
from support import arm_client
arm_client.turn(json.load(sys.stdin))
"""


@pytest.fixture(
    scope='module',
    params=[
        each if each == TRANSPORTS[0] else pytest.param(each, marks=pytest.mark.nightly)
        for each in TRANSPORTS
    ],
)
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    with Bench(request.param, tmp_path_factory.mktemp('arm')) as bench:
        yield bench


class Client:
    """A process that turns the arm slowly, as an executor does, from when it is under way."""

    def __init__(self, bench: Bench) -> None:
        address = replace(bench.address, link_timeout_s=LINK_TIMEOUT_S)
        fields: dict[str, Any] = {name: str(each) if isinstance(each, Path) else each
                                  for name, each in asdict(address).items()}  # fmt: skip
        self._bench = bench
        self.process = subprocess.Popen(
            [sys.executable, '-c', CLIENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2], text=True,
        )  # fmt: skip
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with self.process.stdin as stdin:
            json.dump({'agent': fields, 'port': asdict(bench.port)}, stdin)
        assert self.process.stdout.readline() == 'TURNING\n'
        begin = bench.joint1()
        waiting.wait_until(lambda: bench.joint1() > begin + 2.0, 'the arm turns')

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


@pytest.mark.nightly
@pytest.mark.parametrize('how', [signal.SIGSTOP, signal.SIGKILL])
def test_an_executor_that_is_frozen_or_killed_in_motion_leaves_no_moving_arm(
    bench: Bench, how: signal.Signals
) -> None:
    client = Client(bench)
    try:
        bench.emulator.first_stop = 0.0
        since = time.monotonic()
        client.process.send_signal(how)
        bound = LINK_TIMEOUT_S if how is signal.SIGSTOP else 0.0
        assert held_after(bench, since) < bound + SLACK_S
        last = bench.emulator.last_motion
        if how is signal.SIGSTOP:
            # It does not go on where it was when it runs again.
            client.process.send_signal(signal.SIGCONT)
            assert client.process.wait(waiting.WAIT_S) == 3
            assert bench.rests()
        assert bench.emulator.last_motion == last
    finally:
        client.kill()


@pytest.mark.parametrize(
    'how',
    ['killed', *(pytest.param(each, marks=pytest.mark.nightly) for each in ('hung', 'guard'))],
)
def test_an_agent_whose_process_is_killed_or_hangs_holds_the_arm(bench: Bench, how: str) -> None:
    address = replace(bench.address, hang_timeout_s=HANG_TIMEOUT_S if how == 'hung' else 10.0)
    with AgentArm(address, bench.remote) as arm:
        ready(arm)
        turning = Turning(bench, arm)
        pid = bench.agent_pid(arm, 'main' if how == 'guard' else 'serve')
        bench.emulator.first_stop = 0.0
        since = time.monotonic()
        os.kill(pid, signal.SIGSTOP if how == 'hung' else signal.SIGKILL)
        bound = HANG_TIMEOUT_S if how == 'hung' else 0.0
        assert held_after(bench, since) < bound + SLACK_S
        assert turning.end().code is ErrorCode.ARM_UNREACHABLE
        last = bench.emulator.last_motion
        # A link that died in mid-motion is a fault, also for the next goal.
        for command in (arm.joint_positions, lambda: arm.wait(0.01), arm.reset_stop):
            with pytest.raises(RobotError) as caught:
                command()
            assert caught.value.code is ErrorCode.ARM_UNREACHABLE
        assert bench.emulator.last_motion == last
        ready(arm)


@pytest.mark.nightly
def test_an_arm_that_was_gone_is_reached_again_after_a_reset(bench: Bench) -> None:
    """Switched off in mid-motion, and on again at the same port."""
    with AgentArm(bench.address, bench.remote) as arm:
        ready(arm)
        turning = Turning(bench, arm)
        bench.unplug()
        assert turning.end().code is ErrorCode.ARM_UNREACHABLE
        with pytest.raises(RobotError) as caught:
            arm.rearm()
        assert caught.value.code is ErrorCode.ARM_UNREACHABLE
        bench.plug_in()
        with pytest.raises(RobotError, match='holds after a fault'):
            arm.reset_stop()
        assert bench.emulator.last_motion == 0.0
        ready(arm)


@pytest.mark.nightly
def test_an_idle_arm_that_was_gone_is_reached_again_by_the_next_goal(bench: Bench) -> None:
    with AgentArm(bench.address, bench.remote) as arm:
        ready(arm)
        bench.unplug()
        with pytest.raises(RobotError) as caught:
            arm.reset_stop()
        assert caught.value.code is ErrorCode.ARM_UNREACHABLE
        bench.plug_in()
        bench.emulator.firmware.power_off()
        with pytest.raises(RobotError, match='no power'):
            arm.reset_stop()
        assert not bench.emulator.firmware.powered
        bench.emulator.firmware.powered = True
        arm.reset_stop()
        arm.wait(0.01)


def test_no_process_of_an_agent_outlives_its_client(bench: Bench) -> None:
    with AgentArm(bench.address, bench.remote) as arm:
        pids = [bench.agent_pid(arm, module) for module in ('main', 'serve')]
        assert all(alive(pid) for pid in pids)
        assert children(pids[0]) == [pids[1]]
    waiting.wait_until(lambda: not any(map(alive, pids)), 'the end of the agent')
