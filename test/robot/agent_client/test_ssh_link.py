# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The way to an agent over a real SSH server: who is let in, and what is said otherwise."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.arm_bench import SLACK_S, Bench, Turning, held_after, ready

from safegen_ros.benchmarks.stack.emulated_site import LoopbackSsh
from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.robot.agent.messages import LINK_TIMEOUT_S, SerialPort
from safegen_ros.robot.agent_client import ssh_link
from safegen_ros.robot.agent_client.agent_arm import AgentArm, RemoteArm
from safegen_ros.robot.agent_client.agent_link import AgentLink
from safegen_ros.robot.agent_client.ssh_link import SshAddress, SshChannel

pytestmark = pytest.mark.filterwarnings('error::pytest.PytestUnhandledThreadExceptionWarning')


@pytest.fixture(scope='module')
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with Bench('ssh', tmp_path_factory.mktemp('ssh')) as bench:
        yield bench


@pytest.fixture
def ssh(bench: Bench) -> LoopbackSsh:
    assert bench.ssh is not None
    return bench.ssh


@pytest.fixture
def address(bench: Bench) -> SshAddress:
    assert isinstance(bench.address, SshAddress)
    return bench.address


def refusal(address: SshAddress) -> str:
    with pytest.raises(RobotError) as caught:
        address.log_in()
    assert caught.value.code is ErrorCode.ARM_UNREACHABLE
    return caught.value.message


def fingerprint(address: SshAddress) -> str:
    words = ['ssh-keygen', '-lf', str(address.known_hosts.with_name('host_key.pub'))]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()[1]


def test_the_newest_agent_is_the_one_that_is_found(address: SshAddress, ssh: LoopbackSsh) -> None:
    """The agent of a link that has just died may still be ending."""
    found = []
    with contextlib.ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(AgentLink(address, lambda sample: None))
            found.append(ssh.agent_pid('serve'))
    assert found[0] != found[1]


def test_an_unknown_host_is_refused_with_its_fingerprint(
    address: SshAddress, tmp_path: Path
) -> None:
    known = tmp_path / 'known hosts'
    message = refusal(replace(address, known_hosts=known))
    assert fingerprint(address) in message
    cure = f"ssh-keyscan -p {address.port} -t ed25519 127.0.0.1 >> '{known}'"
    assert cure in message
    subprocess.run(cure, shell=True, check=True, capture_output=True)
    assert replace(address, known_hosts=known).log_in() == fingerprint(address)


@pytest.mark.parametrize('kind', ['ed25519', 'rsa'])
def test_a_host_is_refused_that_is_known_by_another_key(
    address: SshAddress, tmp_path: Path, kind: str
) -> None:
    key, known = tmp_path / 'key', tmp_path / 'known_hosts'
    subprocess.run(['ssh-keygen', '-q', '-t', kind, '-N', '', '-f', str(key)], check=True)
    known.write_text(f'{address.key_name} {key.with_suffix(".pub").read_text()}')
    message = refusal(replace(address, known_hosts=known))
    assert fingerprint(address) in message
    subprocess.run(message.rsplit(': ', 1)[1], shell=True, check=True, capture_output=True)
    assert replace(address, known_hosts=known).log_in() == fingerprint(address)


def test_hashed_names_are_known_and_revoked_keys_refused(
    address: SshAddress, tmp_path: Path
) -> None:
    hashed = tmp_path / 'known_hosts'
    hashed.write_text(address.known_hosts.read_text())
    subprocess.run(['ssh-keygen', '-H', '-f', str(hashed)], check=True, capture_output=True)
    assert address.key_name not in hashed.read_text()
    assert replace(address, known_hosts=hashed).log_in() == fingerprint(address)
    key = address.known_hosts.read_text().split(' ', 1)[1]
    with hashed.open('a') as file:
        file.write(f'@revoked * {key}')
    assert 'marked as revoked' in refusal(replace(address, known_hosts=hashed))


def test_a_server_that_is_silent_is_named(
    address: SshAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh_link, 'CONNECT_TIMEOUT_S', 1)
    with socket.create_server(('127.0.0.1', 0)) as silent:
        port = silent.getsockname()[1]
        assert f'no SSH server answers at port {port}' in refusal(replace(address, port=port))


def test_other_refusals_name_their_cure(address: SshAddress, tmp_path: Path) -> None:
    other = tmp_path / 'other_key'
    locked = tmp_path / 'locked_key'
    for path, phrase in ((other, ''), (locked, 'secret')):
        subprocess.run(
            ['ssh-keygen', '-q', '-t', 'ed25519', '-N', phrase, '-f', str(path)], check=True
        )
    (tmp_path / 'binary').write_bytes(bytes(range(256)))
    cures = [
        (replace(address, key_file=other), f'ssh-copy-id -i {other}'),
        (replace(address, key_file=locked), 'incorrect passphrase'),
        (replace(address, key_file=tmp_path / 'missing'), 'No such file'),
        (replace(address, key_file=other.with_suffix('.pub')), 'not a private key'),
        (replace(address, key_file=tmp_path / 'binary'), 'ssh-keygen -t ed25519'),
        (replace(address, host='no.such.host.invalid'), 'check the address'),
        (replace(address, port=1), 'systemctl enable --now ssh'),
    ]
    for address, cure in cures:
        assert cure in refusal(address)


@pytest.mark.parametrize(
    ('command', 'cure'),
    [
        ('/no/such/safegen-agent', r'No such file.*pip install'),
        ('safegen-agent; rm', 'not a plain path'),
    ],
)
def test_an_agent_that_is_not_there_is_told_apart(
    address: SshAddress,
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    cure: str,
) -> None:
    """Also where nothing can be sent to it any more before its last words are read."""

    def send(channel: SshChannel, data: bytes) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(SshChannel, 'send', send)
    with pytest.raises(RobotError, match=cure) as caught:
        AgentArm(replace(address, command=command), bench.remote)
    assert caught.value.code is ErrorCode.ARM_UNREACHABLE


def test_a_computer_without_ssh_is_told_so(
    address: SshAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('PATH', '/nowhere')
    assert 'apt-get install openssh-client' in refusal(address)
    with pytest.raises(RobotError, match='openssh-client') as caught:
        AgentLink(address, lambda sample: None)
    assert caught.value.code is ErrorCode.ARM_UNREACHABLE


def test_a_port_that_is_not_there_is_the_arms_error(address: SshAddress) -> None:
    with pytest.raises(RobotError, match='/dev/no-arm') as caught:
        AgentArm(address, RemoteArm(SerialPort('/dev/no-arm', 115200)))
    assert caught.value.code is ErrorCode.ARM_UNREACHABLE


@pytest.mark.parametrize('how', ['cut', 'server'])
def test_an_ssh_connection_that_dies_in_mid_motion_holds_the_arm(
    bench: Bench, ssh: LoopbackSsh, address: SshAddress, how: str
) -> None:
    """A pulled cable, and a computer that is switched off."""
    address = replace(address, link_timeout_s=LINK_TIMEOUT_S)
    with AgentArm(address, bench.remote) as arm:
        ready(arm)
        turning = Turning(bench, arm)
        bench.emulator.first_stop = 0.0
        since = time.monotonic()
        if how == 'cut':
            ssh.cut()
        else:
            ssh.kill()
        assert held_after(bench, since) < LINK_TIMEOUT_S + SLACK_S
        assert turning.end().code is ErrorCode.ARM_UNREACHABLE
        if how == 'server':
            with pytest.raises(RobotError, match='is it switched on'):
                arm.rearm()
            ssh.start()
        ready(arm)
