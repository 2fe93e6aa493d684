# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An emulated arm, and an agent that drives it over serial, TCP or SSH, for tests of the driver."""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from safegen_ros.benchmarks.stack.emulated_site import LoopbackSsh, has_sshd
from safegen_ros.errors import SafegenError
from safegen_ros.robot.agent.messages import ArmPort, SerialPort, TcpPort
from safegen_ros.robot.agent_client.agent_arm import AgentArm, RemoteArm
from safegen_ros.robot.agent_client.channel import LocalAgent, LocalChannel
from safegen_ros.robot.agent_client.ssh_link import SshAddress
from safegen_ros.robot.emulator.emulator import Emulator
from safegen_ros.robot.scene import load_scene
from safegen_ros.robot.twin.twin import MujocoTwin
from safegen_ros.sync import Closing
from support import waiting

SCENE = load_scene()
TRANSPORTS = ('serial', 'tcp', 'ssh')
#: A turn that takes far longer than anything that is waited for.
SLOW = 0.05
#: Timeouts that a busy machine does not reach, and that end long before a slow turn does.
PATIENT = {'link_timeout_s': 10.0, 'hang_timeout_s': 10.0}

#: What a busy machine adds to a timeout: looks, the way of the stop, and two processes' turns [s].
SLACK_S = 0.45


class Bench(Closing):
    """An emulated arm, and where its agent is.

    Args:
        transport: one of `TRANSPORTS`.
        folder: an empty one.
    """

    def __init__(self, transport: str, folder: Path) -> None:
        if transport == 'ssh' and not has_sshd():
            pytest.skip('THE ARM OVER SSH IS NOT TESTED HERE: apt-get install openssh-server')
        self.transport = transport
        self._link = folder / 'arm'
        self._tcp_port = 0
        self.ssh: LoopbackSsh | None = None
        self.address: LocalAgent | SshAddress = LocalAgent(transport, **PATIENT)
        if transport == 'ssh':
            (folder / 'ssh').mkdir()
            self.ssh = LoopbackSsh(folder / 'ssh')
            self.address = replace(self.ssh.address, **PATIENT)
        self.twin = MujocoTwin(SCENE)
        self.plug_in()

    def plug_in(self) -> None:
        """Switches an arm on, at the same port as any before."""
        port = self._tcp_port
        self.emulator = Emulator(self.twin, link=self._link, tcp_port=port)
        self._tcp_port = self.emulator.tcp_port or 0

    def unplug(self) -> None:
        """Switches the arm off: its ports are gone."""
        self.emulator.close()

    @property
    def port(self) -> ArmPort:
        """The port of the arm, as its agent sees it."""
        if self.transport == 'tcp':
            return TcpPort('127.0.0.1', self._tcp_port)
        return SerialPort(str(self._link), 115200)

    @property
    def remote(self) -> RemoteArm:
        """What the agent opens."""
        return RemoteArm(self.port)

    def agent_pid(self, arm: AgentArm, module: str) -> int:
        """The process of the agent of an arm that runs 'main', its guard, or 'serve'."""
        if self.ssh is not None:
            return self.ssh.agent_pid(module)
        channel = arm._link.channel
        assert isinstance(channel, LocalChannel)
        return channel.pid if module == 'main' else children(channel.pid)[0]

    def joint1(self) -> float:
        """Measured by the twin [deg]."""
        return float(np.degrees(self.twin.joint_positions()[0]))

    def rests(self) -> bool:
        """Whether the arm is at rest; it turns a degree and a half in the time of the look."""
        before = self.joint1()
        time.sleep(0.2)
        return abs(self.joint1() - before) < 0.02

    def close(self) -> None:
        """Ends server and arm."""
        if self.ssh is not None:
            self.ssh.close()
        self.emulator.close()


def held_after(bench: Bench, since: float) -> float:
    """Time from a moment to the first stop command at the arm, which rests then [s]."""
    waiting.wait_until(lambda: bench.emulator.first_stop > 0, 'the stop at the arm')
    waiting.wait_until(bench.rests, 'the arm rests')
    here = bench.joint1()
    assert bench.rests()
    assert bench.joint1() == pytest.approx(here, abs=0.1)
    return bench.emulator.first_stop - since


class Turning:
    """A slow turn of joint 1 in a thread, from when it is under way."""

    def __init__(self, bench: Bench, arm: AgentArm) -> None:
        self.error: SafegenError | None = None
        self._bench = bench
        self._arm = arm
        begin = bench.joint1()
        self._goal = SCENE.home_joints + np.radians([150.0, 0, 0, 0, 0, 0])
        self._thread = threading.Thread(target=self._turn)
        self._thread.start()
        waiting.wait_until(lambda: bench.joint1() > begin + 2.0, 'the arm turns')

    def _turn(self) -> None:
        try:
            self._arm.move_joints(self._goal, SLOW)
        except SafegenError as error:
            self.error = error

    def end(self) -> SafegenError:
        """Waits for the error that ended it; the arm is at rest far from the goal then."""
        self._thread.join(waiting.WAIT_S)
        assert self.error is not None
        assert not self._thread.is_alive()
        waiting.wait_until(self._bench.rests, 'the arm rests')
        assert self._bench.joint1() < np.degrees(self._goal[0]) - 10.0
        return self.error


def children(pid: int) -> list[int]:
    """The processes that a process has started, oldest first."""
    found = []
    for path in Path('/proc').glob('[0-9]*/stat'):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(')')[2].split()
            if int(fields[1]) == pid:
                found.append(int(path.parent.name))
    return sorted(found)


def alive(pid: int) -> bool:
    """Whether a process runs, and is not a zombie."""
    with contextlib.suppress(OSError):
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    return False


def ready(arm: AgentArm) -> AgentArm:
    """The arm, released by an operator and moved to its home."""
    arm.rearm()
    arm.reset_stop()
    arm.move_joints(SCENE.home_joints, 1.0)
    return arm
