# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The way to an agent over a real SSH server: who is let in, and what is said otherwise."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import paramiko
import pytest
from support import waiting
from support.arm_bench import SLACK_S, Bench, Turning, held_after, ready

from safegen_ros.benchmarks.stack.emulated_site import LoopbackSsh
from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.robot.agent.messages import LINK_TIMEOUT_S, SerialPort
from safegen_ros.robot.agent_client import ssh_link
from safegen_ros.robot.agent_client.agent_arm import AgentArm, RemoteArm
from safegen_ros.robot.agent_client.agent_link import AgentLink
from safegen_ros.robot.agent_client.ssh_link import SshAddress, connect

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


def refusal(address: SshAddress) -> RobotError:
    with pytest.raises(RobotError) as caught:
        connect(address)
    assert caught.value.code is ErrorCode.ARM_UNREACHABLE
    return caught.value


@pytest.mark.nightly
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
    empty = tmp_path / 'known hosts'
    empty.touch()
    printed = subprocess.run(
        ['ssh-keygen', '-lf', str(address.known_hosts.with_name('host_key.pub'))],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    message = refusal(replace(address, known_hosts=empty)).message
    assert printed.split()[1] in message
    cure = f"ssh-keyscan -p {address.port} -t ed25519 127.0.0.1 >> '{empty}'"
    assert cure in message
    subprocess.run(cure, shell=True, check=True, capture_output=True)
    connect(replace(address, known_hosts=empty)).close()


def test_a_host_whose_key_changed_is_refused(address: SshAddress, tmp_path: Path) -> None:
    user_key = address.key_file.with_name('user_key.pub').read_text().split()[:2]
    changed = tmp_path / 'known_hosts'
    changed.write_text(f'{address.key_name} {" ".join(user_key)}\n')
    message = refusal(replace(address, known_hosts=changed)).message
    assert 'its host key has changed' in message
    assert f"ssh-keygen -R '{address.key_name}' -f {changed}" in message


def test_a_host_that_is_known_by_a_key_of_another_type_is_not_called_changed(
    address: SshAddress, tmp_path: Path
) -> None:
    key, known = tmp_path / 'key', tmp_path / 'known_hosts'
    subprocess.run(['ssh-keygen', '-q', '-t', 'rsa', '-N', '', '-f', str(key)], check=True)
    known.write_text(f'{address.key_name} {key.with_suffix(".pub").read_text()}')
    message = refusal(replace(address, known_hosts=known)).message
    assert 'changed' not in message
    assert f'{known} knows its ssh-rsa key only, and it shows ssh-ed25519 SHA256:' in message
    subprocess.run(message.rsplit(': ', 1)[1], shell=True, check=True, capture_output=True)
    connect(replace(address, known_hosts=known)).close()


def test_lines_that_openssh_skips_are_skipped(address: SshAddress, tmp_path: Path) -> None:
    known = tmp_path / 'known_hosts'
    known.write_text(
        '# a comment\n\nnot a line\n\xff\n'
        '@cert-authority *.example.com ssh-ed25519 AAAA\n'
        'host ssh-ed25519 %%%\nhost no-such-type AAAA\nhost ssh-ed25519 AAAAC3Nz\n'
        + address.known_hosts.read_text()
    )
    connect(replace(address, known_hosts=known)).close()


@pytest.mark.parametrize(
    ('names', 'known'),
    [
        ('[127.0.0.1]:{port}', True),
        ('other,[127.*]:{port}', True),
        ('[127.*]:{port},![127.0.0.1]:{port}', False),
        ('127.0.0.1', False),
        ('[127.0.0.2]:{port}', False),
    ],
)
def test_the_names_of_a_host_may_be_patterns(
    address: SshAddress, tmp_path: Path, names: str, known: bool
) -> None:
    key = address.known_hosts.read_text().split(' ', 1)[1]
    file = tmp_path / 'known_hosts'
    file.write_text(f'{names.format(port=address.port)} {key}')
    changed = replace(address, known_hosts=file)
    if known:
        connect(changed).close()
    else:
        assert 'its host key is not in' in refusal(changed).message


def test_hashed_names_are_known_and_revoked_keys_refused(
    address: SshAddress, tmp_path: Path
) -> None:
    hashed = tmp_path / 'known_hosts'
    hashed.write_text(address.known_hosts.read_text())
    subprocess.run(['ssh-keygen', '-H', '-f', str(hashed)], check=True, capture_output=True)
    assert address.key_name not in hashed.read_text()
    connect(replace(address, known_hosts=hashed)).close()
    key = address.known_hosts.read_text().split(' ', 1)[1]
    with hashed.open('a') as file:
        file.write(f'@revoked * {key}')
    assert 'marked as revoked' in refusal(replace(address, known_hosts=hashed)).message


def test_a_server_that_is_silent_is_named_without_a_traceback(
    address: SshAddress, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ssh_link, 'BANNER_TIMEOUT_S', 0.2)
    with socket.create_server(('127.0.0.1', 0)) as silent:
        message = refusal(replace(address, port=silent.getsockname()[1])).message
    assert 'no SSH server answers there within 0.2 s' in message
    said = capfd.readouterr()
    assert 'Traceback' not in said.out + said.err


def test_other_refusals_name_their_cure(address: SshAddress, tmp_path: Path) -> None:
    other = tmp_path / 'other_key'
    locked = tmp_path / 'locked_key'
    for path, phrase in ((other, ''), (locked, 'secret')):
        subprocess.run(
            ['ssh-keygen', '-q', '-t', 'ed25519', '-N', phrase, '-f', str(path)], check=True
        )
    missing = tmp_path / 'missing'
    (tmp_path / 'no_key').write_text('hello')
    (tmp_path / 'binary').write_bytes(bytes(range(256)))
    cures = [
        (replace(address, key_file=other), f'ssh-copy-id -i {other}'),
        (replace(address, key_file=locked), 'has a passphrase'),
        (replace(address, key_file=missing), 'ssh-keygen -t ed25519'),
        (replace(address, key_file=other.with_suffix('.pub')), 'name the private one, other_key'),
        (replace(address, key_file=tmp_path / 'no_key'), 'no_key is not a private key'),
        (replace(address, key_file=tmp_path / 'binary'), 'binary is not a private key'),
        (replace(address, host='no.such.host.invalid'), 'no host of this name'),
        (replace(address, known_hosts=missing), 'ssh-keyscan'),
        (replace(address, port=1), 'systemctl enable --now ssh'),
        (replace(address, command='safegen-agent; rm'), 'not a plain path'),
    ]
    for address, cure in cures:
        assert cure in refusal(address).message


def test_an_agent_that_is_not_there_is_told_apart(
    address: SshAddress, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where nothing can be sent to it any more before its last words are read."""
    failed = threading.Event()
    send, read = paramiko.Channel.sendall, paramiko.Channel.recv

    def sendall(channel: paramiko.Channel, data: bytes) -> None:
        try:
            send(channel, data)
        except OSError:
            failed.set()
            raise

    def recv(channel: paramiko.Channel, size: int) -> bytes:
        if threading.current_thread().name == 'agent _read':
            assert failed.wait(waiting.WAIT_S)
        return read(channel, size)

    monkeypatch.setattr(paramiko.Channel, 'sendall', sendall)
    monkeypatch.setattr(paramiko.Channel, 'recv', recv)
    with pytest.raises(RobotError, match=r'No such file.*pip install') as caught:
        AgentArm(replace(address, command='/no/such/safegen-agent'), bench.remote)
    assert caught.value.code is ErrorCode.ARM_UNREACHABLE


def test_a_port_that_is_not_there_is_the_arms_error(address: SshAddress) -> None:
    with pytest.raises(RobotError, match='/dev/no-arm') as caught:
        AgentArm(address, RemoteArm(SerialPort('/dev/no-arm', 115200)))
    assert caught.value.code is ErrorCode.ARM_UNREACHABLE


@pytest.mark.parametrize('how', ['cut', pytest.param('server', marks=pytest.mark.nightly)])
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
