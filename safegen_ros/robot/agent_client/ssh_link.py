# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An SSH connection to the computer of the arm: a host key known beforehand, and no password.

Each failure names its fix, since every set-up of an arm meets each of them once.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import re
import shlex
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

import paramiko
from paramiko.hostkeys import HostKeyEntry, HostKeys

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.robot.agent_client.channel import CHUNK, SEND_TIMEOUT_S, AgentAddress, Channel


@dataclass(frozen=True, slots=True)
class KnownKeys:
    """The keys of one host.

    Attributes:
        trusted: keys that it may show.
        revoked: keys that no host may show.
    """

    trusted: list[paramiko.PKey] = field(default_factory=list)
    revoked: list[paramiko.PKey] = field(default_factory=list)


def read_known_hosts(path: Path, host: str) -> KnownKeys:
    """The keys of a host, named as in the file, such as `[arm]:2222`; may raise `OSError`.

    Lines that cannot be read, and those of certificate authorities, are skipped.
    """
    known = KnownKeys()
    for line in path.read_text(encoding='utf-8', errors='replace').splitlines():
        marker, names, key = _parsed(line.split())
        if key is None:
            continue
        if marker == '@revoked':
            known.revoked.append(key)
        elif not marker and _matches(host, names, key):
            known.trusted.append(key)
    return known


def _parsed(words: list[str]) -> tuple[str, str, paramiko.PKey | None]:
    """Marker, names and key of a line; no key where it has none that can be read."""
    marker = words.pop(0) if words and words[0].startswith('@') else ''
    if len(words) < 3 or words[0].startswith('#'):
        return marker, '', None
    try:
        entry = HostKeyEntry.from_line(' '.join(words[:3]))
    except Exception:  # paramiko raises whatever its decoding of the key stumbles over
        return marker, '', None
    return marker, words[0], None if entry is None else entry.key


def _matches(host: str, names: str, key: paramiko.PKey) -> bool:
    if names.startswith('|1|'):
        hashed = HostKeys()
        hashed.add(names, key.get_name(), key)
        return hashed.check(host, key)
    return _matches_patterns(host.lower(), names.lower().split(','))


def _matches_patterns(host: str, patterns: Iterable[str]) -> bool:
    """Whether a pattern matches, and none that begins with `!` does."""
    found = False
    for pattern in patterns:
        # Brackets stand round a host that has a port, and are not a set of characters.
        plain = pattern.lstrip('!').replace('[', '[[]')
        if fnmatchcase(host, plain):
            if pattern.startswith('!'):
                return False
            found = True
    return found


CONNECT_TIMEOUT_S = 10.0
#: A running server sends its version at once [s].
BANNER_TIMEOUT_S = 5.0
#: What paramiko logs: our errors say the same with a cure, and without a traceback.
_LOG = 'safegen_ros.ssh'
logging.getLogger(_LOG).addHandler(logging.NullHandler())
logging.getLogger(_LOG).propagate = False
#: The command of the agent is a path and nothing else: nothing in it can mean something to a shell.
_COMMAND = re.compile(r'[A-Za-z0-9_./~+-]+')


@dataclass(frozen=True, slots=True)
class SshAddress(AgentAddress):
    """Where the agent is, and how it is known there.

    Attributes:
        key_file: private key, without a passphrase or one that no agent has to ask for.
        known_hosts: file with the host's key, as ssh-keyscan writes it.
        command: path of the agent there.
    """

    host: str
    user: str
    key_file: Path
    known_hosts: Path
    port: int = 22
    command: str = 'safegen-agent'
    cure = (
        "install it there with pip install 'safegen_ros[arm]', and name the path of its "
        'safegen-agent'
    )

    def __str__(self) -> str:
        return f'{self.user}@{self.host}:{self.port}'

    def open(self) -> Channel:
        """Starts the agent; see `AgentAddress.open`."""
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
            address,
            f'the command {address.command!r} of the agent is not a plain path: give a path',
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
        RobotError: the file is missing or is not a private key.
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
            f'key_file {path} is not a private key that can be read: name another, or make one: '
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
        known, shown = error.expected_key.get_name(), error.key.get_name()
        if known != shown:
            raise _unreachable(
                address,
                f'{address.known_hosts} knows its {known} key only, and it shows {shown} '
                f'{fingerprint(error.key)}: compare with {_HOST_FINGERPRINT} at the arm; if it is '
                f'the same: {_scan(address)}',
            ) from error
        raise _unreachable(
            address,
            f'its host key has changed to {fingerprint(error.key)}: somebody may be in between, or '
            f'it was installed again. Compare with {_HOST_FINGERPRINT} at the arm; if it is the '
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
        raise _unreachable(address, f'no host of this name ({error}): check the address') from error
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


#: Time to open a channel in a connection that is there [s].
_OPEN_TIMEOUT_S = 5.0


class SshChannel:
    """See `Channel`.

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
            self._channel.exec_command(' '.join([address.command, *address.timeouts()]))
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
        """Its output to standard error since the last call."""
        said = b''
        while self._channel.recv_stderr_ready():
            said += self._channel.recv_stderr(4096)
        return said.decode('utf-8', 'replace')

    def cut(self) -> None:
        """Ends the connection."""
        self._client.close()
