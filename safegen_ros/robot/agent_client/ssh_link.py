# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An SSH connection to the computer of the arm: a host key known beforehand, and no password.

What fails says how to mend it, since whoever sets an arm up meets every one of these once.
"""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import paramiko

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.robot.agent.messages import HANG_TIMEOUT_S, LINK_TIMEOUT_S

CONNECT_TIMEOUT_S = 10.0
#: The command of the agent is a path and nothing else: nothing in it can mean something to a shell.
_COMMAND = re.compile(r'[A-Za-z0-9_./~+-]+')


@dataclass(frozen=True, slots=True)
class SshAddress:
    """Where the agent is, and how it is known there.

    Attributes:
        host: name or address.
        user: who logs in.
        key_file: private key, without a passphrase or one that no agent has to ask for.
        known_hosts: file with the host's key, as ssh-keyscan writes it.
        port: of the SSH server.
        command: path of the agent there.
        link_timeout_s: silence of this end after which the agent holds the arm [s]; from 0.5 s on
            this end bears twice as much of the agent.
        hang_timeout_s: the same for the process of the agent that moves the arm [s].
    """

    host: str
    user: str
    key_file: Path
    known_hosts: Path
    port: int = 22
    command: str = 'safegen-agent'
    link_timeout_s: float = LINK_TIMEOUT_S
    hang_timeout_s: float = HANG_TIMEOUT_S

    def __str__(self) -> str:
        return f'{self.user}@{self.host}:{self.port}'

    @property
    def command_line(self) -> str:
        """What starts the agent there."""
        return (
            f'{self.command} --link-timeout {self.link_timeout_s:g} '
            f'--hang-timeout {self.hang_timeout_s:g}'
        )

    @property
    def key_name(self) -> str:
        """The host as a known_hosts file names it."""
        return self.host if self.port == 22 else f'[{self.host}]:{self.port}'


def fingerprint(key: paramiko.PKey) -> str:
    """The fingerprint of a key, as `ssh-keygen -l` prints it."""
    digest = base64.b64encode(hashlib.sha256(key.asbytes()).digest()).decode('ascii')
    return f'SHA256:{digest.rstrip("=")}'


def connect(address: SshAddress) -> paramiko.SSHClient:
    """Connects and logs in.

    Raises:
        RobotError: `ARM_UNREACHABLE`, with what is wrong and the cure.
    """
    if not _COMMAND.fullmatch(address.command):
        raise _unreachable(
            address, f'the command {address.command!r} of the agent is not a plain path: mend it'
        )
    client = paramiko.SSHClient()
    with _explained(address):
        client.load_host_keys(str(_readable(address, address.known_hosts, 'known_hosts')))
        client.set_missing_host_key_policy(_Refuse(address))
        key_file = _readable(address, address.key_file, 'key')
        try:
            client.connect(
                address.host,
                address.port,
                address.user,
                key_filename=str(key_file),
                look_for_keys=False,
                allow_agent=False,
                timeout=CONNECT_TIMEOUT_S,
                banner_timeout=CONNECT_TIMEOUT_S,
                auth_timeout=CONNECT_TIMEOUT_S,
                channel_timeout=CONNECT_TIMEOUT_S,
            )
        except BaseException:
            client.close()
            raise
    return client


class _Refuse(paramiko.MissingHostKeyPolicy):
    """Refuses a host whose key is not known, and says how it becomes known."""

    def __init__(self, address: SshAddress) -> None:
        self._address = address

    def missing_host_key(
        self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey
    ) -> None:
        raise _unreachable(
            self._address,
            f'its host key is not in {self._address.known_hosts}. It shows {fingerprint(key)}: '
            f'compare with {_HOST_FINGERPRINT} at the arm; if it is the same: '
            f'{_scan(self._address)}',
        )


@contextmanager
def _explained(address: SshAddress) -> Iterator[None]:
    """Turns what paramiko and the network raise into our error with a cure."""
    try:
        yield
    except RobotError:
        raise
    except paramiko.BadHostKeyException as error:
        raise _unreachable(
            address,
            f'its host key has changed to {fingerprint(error.key)}: somebody may be in between, or '
            f'it was installed anew. Compare with {_HOST_FINGERPRINT} at the arm; if it is the '
            'same: '
            f"ssh-keygen -R '{address.key_name}' -f {_quoted(address.known_hosts)} && "
            f'{_scan(address)}',
        ) from error
    except paramiko.PasswordRequiredException as error:
        raise _unreachable(
            address, f'the key {address.key_file} has a passphrase: take one without, for this arm'
        ) from error
    except paramiko.AuthenticationException as error:
        raise _unreachable(
            address,
            f'it does not take the key {address.key_file}: ssh-copy-id -i '
            f'{_quoted(address.key_file)} -p {address.port} {address.user}@{address.host}',
        ) from error
    except socket.gaierror as error:
        raise _unreachable(address, f'there is no host of this name ({error}): mend it') from error
    except paramiko.SSHException as error:
        raise _unreachable(address, f'{error}: is this the SSH server of the arm?') from error
    except (OSError, EOFError) as error:
        raise _unreachable(
            address,
            f'{str(error) or type(error).__name__}: is it switched on, in this network, and its '
            'SSH server running (sudo systemctl enable --now ssh)?',
        ) from error


def _readable(address: SshAddress, path: Path, what: str) -> Path:
    try:
        with path.open('rb'):
            return path
    except OSError as error:
        cure = (
            f'make it: {_scan(address)}, after a look at {_HOST_FINGERPRINT} at the arm'
            if what == 'known_hosts'
            else f"make one: ssh-keygen -t ed25519 -N '' -f {_quoted(path)}"
        )
        raise _unreachable(
            address, f'the {what} file {path} cannot be read ({error.strerror}): {cure}'
        ) from error


_HOST_FINGERPRINT = "'ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub'"


def _scan(address: SshAddress) -> str:
    """The command that records the key of a host."""
    port = f'-p {address.port} ' if address.port != 22 else ''
    return f'ssh-keyscan {port}-t ed25519 {address.host} >> {_quoted(address.known_hosts)}'


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))


def _unreachable(address: SshAddress, what: str) -> RobotError:
    return RobotError(f'{address}: {what}', ErrorCode.ARM_UNREACHABLE)
