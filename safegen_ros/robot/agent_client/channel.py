# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The bytes to and from an agent: one on this computer here, one over SSH in `ssh_link`."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from typing import ClassVar, Protocol

from safegen_ros.robot.agent.messages import HANG_TIMEOUT_S, LINK_TIMEOUT_S

#: Time for one write to an agent, and longest time between two looks at what it sends [s].
SEND_TIMEOUT_S = LOOK_S = 0.2
#: Longest read at once [bytes].
CHUNK = 1 << 16


class Channel(Protocol):
    """The standard input, output and error of a running agent."""

    def send(self, data: bytes) -> None:
        """Sends all bytes; raises `OSError` when they are not taken in `SEND_TIMEOUT_S`."""

    def receive(self, wait: bool) -> bytes | None:
        """What has come, and b'' at the end.

        Args:
            wait: whether to wait for it, for `LOOK_S` at most; None when nothing has come.

        Raises:
            OSError: the channel is broken.
        """

    def errors(self) -> str:
        """What the agent has written to standard error since the last call."""

    def cut(self) -> None:
        """Ends the channel in both directions; any thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAddress:
    """Where an agent runs, and how it is started.

    Attributes:
        link_timeout_s: silence of this end after which the agent holds the arm [s]; from 0.5 s on
            this end bears twice as much of the agent.
        hang_timeout_s: the same for the process of the agent that moves the arm [s].
        cure: what helps when the agent does not start.
    """

    link_timeout_s: float = LINK_TIMEOUT_S
    hang_timeout_s: float = HANG_TIMEOUT_S
    cure: ClassVar[str]

    def open(self) -> Channel:
        """Starts the agent; raises `RobotError` (`ARM_UNREACHABLE`) or `OSError`."""
        raise NotImplementedError

    def timeouts(self) -> list[str]:
        """The timeouts, as arguments of the agent's command."""
        return [
            *('--link-timeout', f'{self.link_timeout_s:g}'),
            *('--hang-timeout', f'{self.hang_timeout_s:g}'),
        ]


@dataclass(frozen=True, slots=True)
class LocalAgent(AgentAddress):
    """An agent on this computer, as a child of this process that outlives it to hold the arm.

    `name` is that of the arm, for messages.
    """

    name: str
    cure = "install it with pip install 'safegen_ros[arm]'"

    def __str__(self) -> str:
        return self.name

    def open(self) -> Channel:
        """Starts the agent; see `AgentAddress.open`."""
        return LocalChannel(self)


class LocalChannel:
    """An agent on this computer, at a pair of sockets.

    Attributes:
        pid: process of its guard.
    """

    def __init__(self, address: LocalAgent) -> None:
        self._socket, far = socket.socketpair()
        self._socket.setblocking(False)
        command = [sys.executable, '-m', 'safegen_ros.robot.agent.main', *address.timeouts()]
        # A separate session: signals of a terminal or a supervisor to this process group must not
        # end the agent before it has held the arm.
        with far:
            self._process = subprocess.Popen(
                command,
                stdin=far.fileno(),
                stdout=far.fileno(),
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        self.pid = self._process.pid
        # So that it is not a zombie afterwards.
        threading.Thread(target=self._process.wait, name='agent end', daemon=True).start()

    def send(self, data: bytes) -> None:
        """Sends all bytes; see `Channel`."""
        while data:
            if not select.select([], [self._socket], [], SEND_TIMEOUT_S)[1]:
                raise TimeoutError(f'the agent takes nothing for {SEND_TIMEOUT_S:g} s')
            with contextlib.suppress(BlockingIOError):
                data = data[self._socket.send(data) :]

    def receive(self, wait: bool) -> bytes | None:
        """What has come; see `Channel`."""
        if not select.select([self._socket], [], [], LOOK_S if wait else 0)[0]:
            return None
        try:
            return self._socket.recv(CHUNK)
        except ConnectionResetError:
            return b''  # it has ended with something unread

    def errors(self) -> str:
        """Its output to standard error since the last call."""
        pipe, said = self._process.stderr, b''
        while pipe is not None and select.select([pipe], [], [], 0)[0]:
            data = os.read(pipe.fileno(), 4096)
            if not data:
                break
            said += data
        return said.decode('utf-8', 'replace')

    def cut(self) -> None:
        """Ends the channel; the agent holds the arm and ends."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
