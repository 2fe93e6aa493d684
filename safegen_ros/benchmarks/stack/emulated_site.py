# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An emulated arm where its agent reaches it: at a serial port, over TCP, or by an SSH server."""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import replace
from pathlib import Path

from safegen_ros.benchmarks.stack.loopback_ssh import LoopbackSsh, agent_process
from safegen_ros.robot.agent.messages import (
    HANG_TIMEOUT_S,
    LINK_TIMEOUT_S,
    ArmPort,
    SerialPort,
    TcpPort,
)
from safegen_ros.robot.agent_client.channel import AgentAddress, LocalAgent
from safegen_ros.robot.emulator.emulator import Emulator
from safegen_ros.robot.twin.twin import MujocoTwin
from safegen_ros.sync import Closing

#: Ways for the agent or its link to fail: the process that moves the arm is killed or hangs, its
#: guard is killed, nothing comes through any more, the SSH server is killed.
LINK_FAULTS = ('mover_killed', 'mover_frozen', 'guard_killed', 'cable_cut', 'server_killed')
#: Those that only an SSH server has.
OVER_SSH = ('cable_cut', 'server_killed')


class EmulatedSite(Closing):
    """An emulated arm and the way to it, until it is closed.

    Args:
        twin: the arm that the emulator moves; stays the caller's.
        transport: serial, tcp or ssh.
        folder: an empty one.

    Attributes:
        serial_port: link to the serial port, which stays when the arm is plugged in again.

    Raises:
        RobotError: there is no SSH server here.
    """

    def __init__(
        self,
        twin: MujocoTwin,
        transport: str,
        folder: Path,
        *,
        seed: int = 0,
        link_timeout_s: float = LINK_TIMEOUT_S,
        hang_timeout_s: float = HANG_TIMEOUT_S,
    ) -> None:
        self.transport = transport
        self._frozen = 0
        self.serial_port = folder / 'arm'
        self.emulator = Emulator(twin, link=self.serial_port, tcp_port=0, seed=seed)
        self.ssh: LoopbackSsh | None = None
        self.address: AgentAddress = LocalAgent(transport, link_timeout_s, hang_timeout_s)
        self.at: ArmPort = SerialPort(str(self.serial_port), 115200)
        if transport == 'tcp':
            self.at = TcpPort('127.0.0.1', self.emulator.tcp_port or 0)
        elif transport == 'ssh':
            (folder / 'ssh').mkdir()
            try:
                self.ssh = LoopbackSsh(folder / 'ssh')
            except BaseException:
                self.emulator.close()
                raise
            self.address = replace(
                self.ssh.address, link_timeout_s=link_timeout_s, hang_timeout_s=hang_timeout_s
            )

    def agent_pid(self, above: int, module: str) -> int:
        """The process of the agent that runs 'serve', which moves the arm, or 'main', its guard.

        Args:
            above: a process above a local agent; over SSH it is that of the server.
        """
        if self.ssh is not None:
            return self.ssh.agent_pid(module)
        return agent_process(above, module)

    def strike(self, name: str, above: int) -> None:
        """Lets the agent or its link fail: one of `LINK_FAULTS`, or `guard_frozen`."""
        if name == 'cable_cut' and self.ssh is not None:
            self.ssh.cut()
        elif name == 'server_killed' and self.ssh is not None:
            self.ssh.kill()
        else:
            module = 'main' if name.startswith('guard') else 'serve'
            number = signal.SIGSTOP if name.endswith('frozen') else signal.SIGKILL
            self._frozen = self.agent_pid(above, module)
            os.kill(self._frozen, number)

    def repair(self) -> None:
        """Repairs the arm and the way to it; agents come back with the next connection."""
        self.emulator.repair()
        if self._frozen:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._frozen, signal.SIGKILL)
            self._frozen = 0
        if self.ssh is not None:
            self.ssh.restart()

    def close(self) -> None:
        """Ends server and arm."""
        if self.ssh is not None:
            self.ssh.close()
        self.emulator.close()
