# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An SSH connection to the computer of the arm: a host key known beforehand, and no password.

What fails says how to mend it, since whoever sets an arm up meets every one of these once.
"""

from __future__ import annotations

import base64
import hashlib
import logging
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
from safegen_ros.robot.agent_client.channel import Channel
from safegen_ros.robot.agent_client.known_hosts import read_known_hosts

CONNECT_TIMEOUT_S = 10.0
#: A server that is there says at once what it is [s].
BANNER_TIMEOUT_S = 5.0
#: What paramiko logs: our errors say the same with a cure, and without a traceback.
_LOG = 'safegen_ros.ssh'
logging.getLogger(_LOG).addHandler(logging.NullHandler())
logging.getLogger(_LOG).propagate = False
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
        link_timeout_s: see `AgentAddress`.
        hang_timeout_s: see `AgentAddress`.
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
    def cure(self) -> str:
        """What helps when the agent does not start."""
        return (
            "install it there with pip install 'safegen_ros[arm]', and name the path of its "
            'safegen-agent'
        )

    def open(self) -> Channel:
        """Starts the agent; see `AgentAddress.open`."""
        from safegen_ros.robot.agent_client.ssh_channel import SshChannel

        return SshChannel(self)

    @property
    def key_name(self) -> str:
        """The host as a known_hosts file names it."""
        return self.host if self.port == 22 else f'[{self.host}]:{self.port}'


def fingerprint(key: paramiko.PKey) -> str:
    """The fingerprint of a key, as `ssh-keygen -l` prints it."""
    digest = base64.b64encode(hashlib.sha256(key.asbytes()).digest()).decode('ascii')
    return f'SHA256:{digest.rstrip("=")}'


def connect(address: SshAddress) -> paramiko.SSHClient:
    """Connects and logs in; raises `RobotError` (`ARM_UNREACHABLE`) with the cure."""
    if not _COMMAND.fullmatch(address.command):
        raise _unreachable(
            address, f'the command {address.command!r} of the agent is not a plain path: mend it'
        )
    client = paramiko.SSHClient()
    client.set_log_channel(_LOG)
    with _explained(address):
        known = read_known_hosts(
            _readable(address, address.known_hosts, 'known_hosts'), address.key_name
        )
        for each in known.trusted:
            client.get_host_keys().add(address.key_name, each.get_name(), each)
        client.set_missing_host_key_policy(_Refuse(address))
        key = _private_key(address)
        try:
            client.connect(
                address.host,
                address.port,
                address.user,
                pkey=key,
                look_for_keys=False,
                allow_agent=False,
                timeout=CONNECT_TIMEOUT_S,
                banner_timeout=BANNER_TIMEOUT_S,
                auth_timeout=CONNECT_TIMEOUT_S,
                channel_timeout=CONNECT_TIMEOUT_S,
            )
            transport = client.get_transport()
            if transport is None or transport.get_remote_server_key() in known.revoked:
                raise _unreachable(
                    address, f'its host key is marked as revoked in {address.known_hosts}'
                )
        except BaseException:
            client.close()
            raise
    return client


def _private_key(address: SshAddress) -> paramiko.PKey:
    """The key of the user.

    Raises:
        RobotError: the file is missing or is no private key.
        paramiko.PasswordRequiredException: it has a passphrase.
    """
    path = _readable(address, address.key_file, 'key')
    if path.read_bytes()[:9].startswith((b'ssh-', b'ecdsa-', b'sk-')):
        raise _unreachable(
            address, f'key_file {path} is a public key: name the private one, {path.stem}'
        )
    try:
        return paramiko.PKey.from_path(path)
    except Exception as error:  # of whatever its decoding stumbles over
        if 'assword' in str(error):
            raise paramiko.PasswordRequiredException(str(error)) from error
        raise _unreachable(
            address,
            f'key_file {path} is no private key that can be read: name another, or make one: '
            f"ssh-keygen -t ed25519 -N '' -f NEW_FILE",
        ) from error


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
        what = f'{error}: is this the SSH server of the arm?'
        if 'banner' in str(error):
            what = (
                f'it accepts connections at port {address.port}, but no SSH server answers there '
                f'within {BANNER_TIMEOUT_S:g} s: look at ssh_port, and at the server'
            )
        raise _unreachable(address, what) from error
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
