# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench link`: how soon the arm holds when the SSH link to it dies in mid-motion.

The server, the agent and the vendor's library are real; server and emulated arm are on this
computer.
"""

from __future__ import annotations

import os
import signal
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from safegen_ros.benchmarks.report import Measurement, Report
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.robot.agent.messages import SerialPort
from safegen_ros.robot.agent_client.agent_arm import AgentArm, RemoteArm
from safegen_ros.robot.agent_client.loopback_ssh import LoopbackSsh
from safegen_ros.robot.emulator.emulator import Emulator
from safegen_ros.robot.scene import load_scene
from safegen_ros.robot.twin.twin import MujocoTwin

MOST_HOLD_MS = 500.0
#: Ways for the link to die: nothing comes through; the server is killed; the agent is killed, or
#: hangs.
WAYS = {
    'cable': lambda ssh: ssh.cut(),
    'server': lambda ssh: ssh.kill(),
    'agent': lambda ssh: os.kill(ssh.agent_pid('serve'), signal.SIGKILL),
    'hung agent': lambda ssh: os.kill(ssh.agent_pid('serve'), signal.SIGSTOP),
}
_TURN_DEG, _SPEED = 150.0, 0.1
#: A joint that moves less than this in one look is at rest [rad]; it turns ten times as much.
_STILL = float(np.radians(0.005))
_LOOK_S = 0.01
_WATCH_S = 2.0


def measure(runs: int, notify: Callable[[str, int, int], None]) -> Report:
    """Lets the link die so many times in each way.

    Args:
        runs: of each way.
        notify: told after each run.

    Raises:
        SafegenError: there is no SSH server here, or an arm went on to its target.
    """
    figures = []
    for way in WAYS:
        stops, holds = [], []
        for done in range(1, runs + 1):
            stop_ms, hold_ms = _run(way)
            stops.append(stop_ms)
            holds.append(hold_ms)
            notify(way, done, runs)
        figures.append(
            Measurement(
                f'{way} lost to the arm at rest, most', max(holds), 'ms', MOST_HOLD_MS,
                at_least=False,
                note=f'median {statistics.median(holds):.0f}; stop command at the arm after '
                f'{max(stops):.0f} at most',
            )
        )  # fmt: skip
    return Report('link', {'runs': runs}, tuple(figures))


def _run(way: str) -> tuple[float, float]:
    """Time from the loss to the stop command at the arm, and to its rest [ms]."""
    with (
        tempfile.TemporaryDirectory(prefix='safegen-link-') as folder,
        MujocoTwin(load_scene()) as twin,
        Emulator(twin) as emulator,
        LoopbackSsh(Path(folder)) as ssh,
        AgentArm(ssh.address, RemoteArm(SerialPort(emulator.serial_port, 115200))) as arm,
        ThreadPoolExecutor(1) as turning,
    ):
        arm.rearm()
        arm.reset_stop()
        emulator.first_stop = 0.0
        begin = twin.joint_positions()
        goal = begin + np.radians([_TURN_DEG, 0, 0, 0, 0, 0])
        turn = turning.submit(arm.move_joints, goal, _SPEED)
        while twin.joint_positions()[0] - begin[0] < np.radians(3.0):
            if turn.done():
                turn.result()
            time.sleep(_LOOK_S)
        lost = time.monotonic()
        WAYS[way](ssh)
        rest = _rest(twin, lost)
        failure = turn.exception()
        if getattr(failure, 'code', None) is not ErrorCode.ARM_UNREACHABLE:
            raise SafegenError(f'{way}: the loss of the link was not noticed: {failure}')
        if not emulator.first_stop:
            raise SafegenError(f'{way}: the arm was not told to stop')
        # An emulated arm that is short of time stands still as well, which does not count as held.
        rest = max(rest, emulator.first_stop)
        return 1000 * (emulator.first_stop - lost), 1000 * (rest - lost)


def _rest(twin: MujocoTwin, since: float) -> float:
    """When the arm was last seen moving, on the clock of `time.monotonic` [s]."""
    last, before = since, twin.joint_positions()
    while time.monotonic() < since + _WATCH_S:
        time.sleep(_LOOK_S)
        now = twin.joint_positions()
        if float(np.abs(now - before).max()) > _STILL:
            last, before = time.monotonic(), now
    return last
