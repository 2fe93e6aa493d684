# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""`safegen bench link`: how soon the arm holds when the agent or its link dies in mid-motion.

The agent, the vendor's library and the SSH server are real; all of them and the emulated arm are on
this computer.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from safegen_ros.benchmarks.measurement import Measurement, Notify, Report
from safegen_ros.benchmarks.stack.emulated_site import LINK_FAULTS, OVER_SSH, EmulatedSite
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.robot.agent_client.agent_arm import AgentArm, RemoteArm
from safegen_ros.robot.agent_client.channel import LocalChannel
from safegen_ros.robot.scene import load_scene
from safegen_ros.robot.twin.twin import MujocoTwin

MOST_HOLD_MS = 500.0
#: Transport and fault: the agent fails alike for all, and only SSH has a server.
WAYS = (
    *((transport, name) for transport in ('serial', 'tcp', 'ssh')
      for name in LINK_FAULTS if name not in OVER_SSH),
    *(('ssh', name) for name in OVER_SSH),
)  # fmt: skip
_TURN_DEG, _SPEED = 150.0, 0.1
#: A joint that moves less than this in one look is at rest [rad]; it turns ten times as much.
_STILL = float(np.radians(0.005))
_LOOK_S = 0.01
_WATCH_S = 2.0


def measure(runs: int, notify: Notify) -> Report:
    """Lets the agent or its link die so many times in each way.

    Raises:
        SafegenError: there is no SSH server here, or an arm went on to its target.
    """
    figures = []
    for transport, name in WAYS:
        way = f'{transport}: {name}'
        stops, holds = [], []
        for done in range(1, runs + 1):
            stop_ms, hold_ms = _run(transport, name)
            stops.append(stop_ms)
            holds.append(hold_ms)
            notify(way, done, runs)
        figures.append(
            Measurement(
                f'{way}, to the arm at rest, most', max(holds), 'ms', MOST_HOLD_MS,
                at_least=False,
                note=f'median {statistics.median(holds):.0f}; stop command at the arm after '
                f'{max(stops):.0f} at most',
            )
        )  # fmt: skip
    return Report('link', {'runs': runs}, tuple(figures))


def _run(transport: str, name: str) -> tuple[float, float]:
    """Time from the fault to the stop command at the arm, and to its rest [ms]."""
    with (
        tempfile.TemporaryDirectory(prefix='safegen-link-') as folder,
        MujocoTwin(load_scene()) as twin,
        EmulatedSite(twin, transport, Path(folder)) as site,
        AgentArm(site.address, RemoteArm(site.at)) as arm,
        ThreadPoolExecutor(1) as turning,
    ):
        emulator, channel = site.emulator, arm.channel
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
        site.strike(name, channel.pid if isinstance(channel, LocalChannel) else os.getpid())
        rest = _rest(twin, lost)
        failure = turn.exception()
        if getattr(failure, 'code', None) is not ErrorCode.ARM_UNREACHABLE:
            raise SafegenError(f'{transport}: {name} was not noticed: {failure}')
        if not emulator.first_stop:
            raise SafegenError(f'{transport}: {name}: no stop command came')
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
