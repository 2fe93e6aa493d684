# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An agent at the other end of an SSH connection."""

from __future__ import annotations

import paramiko

from safegen_ros.robot.agent_client.channel import CHUNK, SEND_TIMEOUT_S, timeouts
from safegen_ros.robot.agent_client.ssh_link import SshAddress, connect

#: Time to open a channel in a connection that is there [s].
_OPEN_TIMEOUT_S = 5.0


class SshChannel:
    """See `Channel`.

    Args:
        address: where the agent is.

    Raises:
        RobotError: `ARM_UNREACHABLE`, with the cure.
        OSError: the connection is there, and the agent cannot be started.
    """

    def __init__(self, address: SshAddress) -> None:
        self._client = connect(address)
        try:
            transport = self._client.get_transport()
            if transport is None:
                raise OSError('the connection is gone')
            self._channel = transport.open_session(timeout=_OPEN_TIMEOUT_S)
            self._channel.settimeout(SEND_TIMEOUT_S)
            self._channel.exec_command(' '.join([address.command, *timeouts(address)]))
        except (paramiko.SSHException, EOFError) as error:
            self._client.close()
            raise OSError(str(error) or type(error).__name__) from error

    def send(self, data: bytes) -> None:
        """Sends all bytes; see `Channel`."""
        try:
            self._channel.sendall(data)
        except (paramiko.SSHException, EOFError) as error:
            raise OSError(str(error) or type(error).__name__) from error

    def receive(self, wait: bool) -> bytes | None:
        """What has come; see `Channel`."""
        if not wait and not self._channel.recv_ready():
            return None
        try:
            return self._channel.recv(CHUNK)
        except TimeoutError:
            return None
        except (paramiko.SSHException, EOFError) as error:
            raise OSError(str(error) or type(error).__name__) from error

    def errors(self) -> str:
        """What it has written to standard error since the last call."""
        said = b''
        while self._channel.recv_stderr_ready():
            said += self._channel.recv_stderr(4096)
        return said.decode('utf-8', 'replace')

    def cut(self) -> None:
        """Ends the connection."""
        self._client.close()
