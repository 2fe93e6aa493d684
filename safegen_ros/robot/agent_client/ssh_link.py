# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""An agent at the computer of the arm, by the `ssh` of OpenSSH: a known host key, and no password.

Each failure names its fix, since every set-up of an arm meets each of them once.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.robot.agent_client.channel import AgentAddress, Channel

CONNECT_TIMEOUT_S = 10
#: The command of the agent is a path and nothing else: nothing in it can mean something to a shell.
_COMMAND = re.compile(r'[A-Za-z0-9_./~+-]+')
_FINGERPRINT = re.compile(r'SHA256:[\w+/]+')
_OPTIONS = (
    'BatchMode=yes', 'PreferredAuthentications=publickey', 'IdentitiesOnly=yes',
    'IdentityAgent=none', 'StrictHostKeyChecking=yes', 'UpdateHostKeys=no', 'CheckHostIP=no',
    'GlobalKnownHostsFile=/dev/null', 'ForwardAgent=no', 'ForwardX11=no', 'LogLevel=ERROR',
    'ServerAliveInterval=15',
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SshAddress(AgentAddress):
    """Where the agent is, and how it is known there.

    Attributes:
        key_file: private key without a passphrase.
        known_hosts: file with the host's key, as ssh-keyscan writes it.
        command: path of the agent there.
    """

    host: str
    user: str
    key_file: Path
    known_hosts: Path
    port: int = 22
    command: str = 'safegen-agent'

    def __str__(self) -> str:
        return f'{self.user}@{self.host}:{self.port}'

    @property
    def key_name(self) -> str:
        """The host as a known_hosts file names it."""
        return self.host if self.port == 22 else f'[{self.host}]:{self.port}'

    def open(self) -> Channel:
        """Starts the agent; see `AgentAddress.open`."""
        if not _COMMAND.fullmatch(self.command):
            raise self._unreachable(
                f'the command {self.command!r} of the agent is not a plain path: give a path'
            )
        try:
            return SshChannel(self.words(' '.join([self.command, *self.timeouts()])))
        except FileNotFoundError as error:
            raise self._unreachable(_NO_SSH) from error

    def words(self, command: str) -> list[str]:
        """The call of `ssh` that executes a command there; no other settings of `ssh` count."""
        key, known = (str(path).replace('%', '%%') for path in (self.key_file, self.known_hosts))
        options = (
            *_OPTIONS, f'ConnectTimeout={CONNECT_TIMEOUT_S}', f'UserKnownHostsFile="{known}"'
        )  # fmt: skip
        given = [word for option in options for word in ('-o', option)]
        where = ['-T', '-i', key, '-p', str(self.port), '-l', self.user, '--', self.host]
        return ['ssh', '-F', 'none', *given, *where, command]

    def log_in(self) -> str:
        """Logs in once; returns the fingerprint of the host's key.

        Raises:
            RobotError: `ARM_UNREACHABLE`, with the cure.
        """
        try:
            done = _run(self.words('true'))
        except FileNotFoundError as error:
            raise self._unreachable(_NO_SSH) from error
        except subprocess.TimeoutExpired as error:
            said = f'the login timed out after {error.timeout:g} s'
            raise self._unreachable(f'{said}: {self.cure(said)}') from error
        if done.returncode:
            said = ' '.join(_plain(done.stderr).split())
            raise self._unreachable(f'{said}: {self.cure(said)}')
        known = _run(['ssh-keygen', '-lF', self.key_name, '-f', str(self.known_hosts)]).stdout
        found = _FINGERPRINT.search(known)
        return found[0] if found else 'of a pattern'

    def cure(self, said: str) -> str:
        """What helps when the agent does not start, by the last words of it or of `ssh`."""
        key, known = shlex.quote(str(self.key_file)), shlex.quote(str(self.known_hosts))
        at = f'-p {self.port} ' if self.port != 22 else ''
        scan = f'ssh-keyscan {at}-t ed25519 {self.host} >> {known}'
        look = f'compare with {_AT_THE_ARM} at the arm; if it is the same: '
        if 'host key is known' in said:
            shown = self._shown_key()
            return f'its host key is not in {self.known_hosts}. It shows {shown}: {look}{scan}'
        if 'revoked' in said:
            return f'its host key is marked as revoked in {self.known_hosts}: ask who did so'
        if 'IDENTIFICATION HAS CHANGED' in said:
            return (
                'its host key has changed: somebody may be in between, or it was installed again: '
                f"{look}ssh-keygen -R '{self.key_name}' -f {known} && {scan}"
            )
        if 'Permission denied' in said:
            asked = _run(['ssh-keygen', '-y', '-P', '', '-f', str(self.key_file)])
            if asked.returncode:
                return (
                    f'key_file {self.key_file} is not a private key without a passphrase '
                    f'({" ".join(asked.stderr.split())}): name another, or make one: '
                    f"ssh-keygen -t ed25519 -N '' -f NEW_FILE"
                )
            return f'it does not take the key: ssh-copy-id -i {key} {at}{self.user}@{self.host}'
        if 'resolve hostname' in said:
            return 'check the address'
        if 'banner' in said:
            return f'no SSH server answers at port {self.port}: look at ssh_port, and at the server'
        if re.search(r'connect to host|timed out|Connection \w+ by', said):
            return (
                'is it switched on, in this network, and its SSH server running (sudo systemctl '
                'enable --now ssh)?'
            )
        return (
            "install it there with pip install 'safegen_ros[arm]', and name the path of its "
            'safegen-agent'
        )

    def _shown_key(self) -> str:
        """The fingerprint of the key that the host shows, which proves nothing about it."""
        scanned = _run(['ssh-keyscan', '-T', '5', '-t', 'ed25519', '-p', str(self.port), self.host])
        found = _FINGERPRINT.search(_run(['ssh-keygen', '-lf', '-'], scanned.stdout).stdout)
        return found[0] if found else 'none to ssh-keyscan'

    def _unreachable(self, what: str) -> RobotError:
        return RobotError(f'{self}: {what}', ErrorCode.ARM_UNREACHABLE)


_NO_SSH = 'there is no ssh here: apt-get install openssh-client'
_AT_THE_ARM = "'ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub'"


def _run(words: list[str], given: str = '') -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, input=given, capture_output=True, text=True, errors='replace', check=False,
        timeout=2 * CONNECT_TIMEOUT_S,
    )  # fmt: skip


def _plain(said: str) -> str:
    """What `ssh` says, without the frames of its warnings."""
    return re.sub('@{3,}', '', said)


class SshChannel(Channel):
    """An agent behind `ssh`, whose process this is."""

    def errors(self) -> str:
        """What agent and `ssh` have written to standard error since the last call."""
        return _plain(super().errors())

    def cut(self) -> None:
        """Ends the connection, also one in which nothing comes through; the agent holds the arm."""
        super().cut()
        self._process.kill()
