# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An emulated arm where its agent reaches it: at a serial port, over TCP, or by an SSH server.

The SSH server is a real one on the loopback, with its own host key, user key and port. It takes no
part in the SSH of this computer.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from safegen_ros.errors import RobotError
from safegen_ros.robot.agent.messages import (
    HANG_TIMEOUT_S,
    LINK_TIMEOUT_S,
    ArmPort,
    SerialPort,
    TcpPort,
)
from safegen_ros.robot.agent_client.channel import AgentAddress, LocalAgent
from safegen_ros.robot.agent_client.ssh_link import SshAddress
from safegen_ros.robot.emulator.emulator import Emulator
from safegen_ros.robot.twin.twin import MujocoTwin
from safegen_ros.sync import Closing

_START_TIMEOUT_S = 20.0
#: sshd as root wants this folder, which its service makes otherwise.
_PRIVILEGE_FOLDER = Path('/run/sshd')
_CONFIG = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host_key
PidFile {folder}/pid
AuthorizedKeysFile {folder}/authorized_keys
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UsePAM no
StrictModes no
"""


class LoopbackSsh(Closing):
    """A running server that lets the own user in, with an agent to start.

    Attributes:
        address: for `AgentArm`.

    Raises:
        RobotError: there is no sshd here, or it does not start.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sshd = _program('sshd')
        keygen = _program('ssh-keygen')
        for name in ('host_key', 'user_key'):
            subprocess.run(
                [keygen, '-q', '-t', 'ed25519', '-N', '', '-f', str(folder / name)], check=True
            )
        (folder / 'authorized_keys').write_text((folder / 'user_key.pub').read_text())
        if os.getuid() == 0:
            _PRIVILEGE_FOLDER.mkdir(exist_ok=True)
        agent = folder / 'safegen-agent'
        words = [sys.executable, '-m', 'safegen_ros.robot.agent.main']
        # An agent that is killed leaves its temporary folder behind: in this one.
        place = shlex.quote(f'TMPDIR={folder}')
        agent.write_text(f'#!/bin/sh\nexec env {place} {shlex.join(words)} "$@"\n')
        agent.chmod(0o700)
        self._port = _free_port()
        (folder / 'sshd_config').write_text(_CONFIG.format(port=self._port, folder=folder))
        self.address = SshAddress(
            host='127.0.0.1',
            user=pwd.getpwuid(os.getuid()).pw_name,
            key_file=folder / 'user_key',
            known_hosts=folder / 'known_hosts',
            port=self._port,
            command=str(agent),
        )
        key = ' '.join((folder / 'host_key.pub').read_text().split()[:2])
        self.address.known_hosts.write_text(f'{self.address.key_name} {key}\n')
        self.start()

    def start(self) -> None:
        """Starts the server, again after `kill`.

        Raises:
            RobotError: it does not answer.
        """
        with (self._folder / 'log').open('ab') as log:
            # It must not outlive its starter, however that ends.
            setpriv = _find('setpriv')
            words = [setpriv, '--pdeathsig', 'KILL'] if setpriv else []
            self._process = subprocess.Popen(
                [*words, self._sshd, '-D', '-e', '-f', str(self._folder / 'sshd_config')],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + _START_TIMEOUT_S
        while True:
            try:
                socket.create_connection(('127.0.0.1', self._port), 1.0).close()
                return
            except OSError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    self.close()
                    log_text = (self._folder / 'log').read_text(errors='replace')
                    raise RobotError(f'sshd does not start: {log_text[-500:]}') from None
                time.sleep(0.02)

    def cut(self) -> None:
        """Lets nothing through any more while every connection stays up, as a pulled cable does."""
        for pid in self._of_connections():
            os.kill(pid, signal.SIGSTOP)

    def kill(self) -> None:
        """Kills the server and its connections, as switching the computer off does to them."""
        # Found first: without the server they have no parent.
        connections = self._of_connections()
        self._process.kill()
        for pid in connections:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()

    def restart(self) -> None:
        """Starts the server again after `cut` or `kill`; connections that were cut are gone."""
        connections = self._of_connections()
        stopped = [pid for pid in connections if _state(pid) == b'T']
        for pid in stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self._process.poll() is not None:
            self.start()

    def agent_pid(self, module: str) -> int:
        """The process of the newest agent that runs a module, such as 'serve' or 'main'.

        One whose link has died may still be ending.

        Raises:
            RobotError: there is none.
        """
        return agent_process(self._process.pid, module)

    def close(self) -> None:
        """Ends the server, its connections, and with them the agents."""
        if self._process.poll() is None:
            self.kill()

    def _of_connections(self) -> list[int]:
        return [
            pid
            for pid in _descendants(self._process.pid)
            if _read(Path(f'/proc/{pid}/comm')).startswith(b'sshd')
        ]


def agent_process(above: int, module: str) -> int:
    """The newest process that runs a module of the agent: a given one, or one below it.

    Args:
        module: 'serve', which moves the arm, or 'main', its guard.

    Raises:
        RobotError: there is none.
    """
    wanted = f'safegen_ros.robot.agent.{module}'.encode()
    found = [
        pid
        for pid in (above, *_descendants(above))
        if wanted in _read(Path(f'/proc/{pid}/cmdline')).split(b'\0')
    ]
    if not found:
        raise RobotError(f'no agent runs {module}')
    return max(found, key=_started)


def _descendants(parent: int) -> list[int]:
    """Processes below one, parents first."""
    parents = {}
    for path in Path('/proc').glob('[0-9]*/stat'):
        fields = _read(path).rpartition(b')')[2].split()
        if fields:
            parents[int(path.parent.name)] = int(fields[1])
    found = [parent]
    for each in found:
        found += [pid for pid, above in parents.items() if above == each]
    return found[1:]


def _state(pid: int) -> bytes:
    """The state of a process, such as T for stopped; empty when it has ended."""
    fields = _read(Path(f'/proc/{pid}/stat')).rpartition(b')')[2].split()
    return fields[0] if fields else b''


def _started(pid: int) -> int:
    """When a process began, in ticks; 0 when it has ended."""
    fields = _read(Path(f'/proc/{pid}/stat')).rpartition(b')')[2].split()
    return int(fields[19]) if fields else 0


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b''  # it has ended


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        port: int = probe.getsockname()[1]
        return port


def has_sshd() -> bool:
    """Whether this computer has the programs of an SSH server."""
    return _find('sshd') is not None and _find('ssh-keygen') is not None


def _find(name: str) -> str | None:
    # /usr/sbin is not on the path of a user, and sshd wants to be started by its whole name.
    return shutil.which(name, path=f'{os.environ.get("PATH", "")}:/usr/sbin:/usr/local/sbin')


def _program(name: str) -> str:
    found = _find(name)
    if found is None:
        raise RobotError(f'there is no {name} here: apt-get install openssh-server')
    return found


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
        self.address: AgentAddress = LocalAgent(
            transport, link_timeout_s=link_timeout_s, hang_timeout_s=hang_timeout_s
        )
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
