# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Key files, the operators file, and the border that every signature has to pass."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from safegen_ros.errors import ErrorCode, SafegenError, TextError
from safegen_ros.keys import key_pair
from safegen_ros.keys.authority import (
    Authority,
    Command,
    NotAuthorized,
    Operator,
    Role,
    Signature,
    read_operators,
    sign,
)
from safegen_ros.keys.key_pair import KeyFileError, KeyPair, load_key, new_key

RESET = Command('0/', 'reset')


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        import time

        self.now = time.time_ns()

    def __call__(self) -> int:
        return self.now

    def go(self, seconds: float) -> None:
        self.now += int(seconds * 1e9)


@pytest.fixture(scope='module')
def alice(tmp_path_factory: pytest.TempPathFactory) -> KeyPair:
    return new_key(tmp_path_factory.mktemp('keys') / 'alice.key')


def authority(pair: KeyPair, clock: Clock, *roles: Role, nodes: KeyPair | None = None) -> Authority:
    held = frozenset(roles or (Role.OPERATOR, Role.SENDER))
    clock.go(-0.1)
    made = Authority({pair.name: Operator(pair.name, held, pair.public)}, nodes, clock)
    clock.go(0.1)
    return made


def test_a_signature_counts_once(alice: KeyPair) -> None:
    border = authority(alice, Clock())
    signature = sign(alice, RESET, border.nonce())
    assert border.check(RESET, signature, Role.OPERATOR) == 'alice'
    with pytest.raises(NotAuthorized, match='used before'):
        border.check(RESET, signature, Role.OPERATOR)


def test_what_is_not_signed_is_refused_with_the_reason(alice: KeyPair, tmp_path: Path) -> None:
    clock = Clock()
    border = authority(alice, clock)
    mallory = new_key(tmp_path / 'mallory.key')
    again = KeyPair('alice', mallory._key)
    for signature, role, why in (
        (Signature(), Role.OPERATOR, 'must be signed'),
        (sign(mallory, RESET, border.nonce()), Role.OPERATOR, 'not in the operators file'),
        (sign(again, RESET, border.nonce()), Role.OPERATOR, 'not one of alice'),
        (sign(alice, RESET, border.nonce()), Role.ENGINEER, 'does not have the role engineer'),
        (sign(alice, RESET, 'a nonce of my own'), Role.OPERATOR, 'not one of this node'),
        (sign(alice, RESET, '1-2-é'), Role.OPERATOR, 'not one of this node'),
        (
            sign(alice, RESET, authority(alice, Clock()).nonce()),
            Role.OPERATOR,
            'not one of this node',
        ),
    ):
        with pytest.raises(NotAuthorized, match=why) as caught:
            border.check(RESET, signature, role)
        assert caught.value.code is ErrorCode.NOT_AUTHORIZED


def test_an_old_signature_is_refused(alice: KeyPair) -> None:
    clock = Clock()
    border = authority(alice, clock)
    signature = sign(alice, RESET, border.nonce())
    clock.go(61)
    with pytest.raises(NotAuthorized, match='nonce is too old'):
        border.check(RESET, signature, Role.OPERATOR)
    with pytest.raises(NotAuthorized, match='61 s old'):
        border.check(RESET, sign(alice, RESET, 'n'), Role.OPERATOR, nonce='n')
    clock.go(-121)
    with pytest.raises(NotAuthorized, match='compare the clocks'):
        border.check(RESET, sign(alice, RESET, 'n'), Role.OPERATOR, nonce='n')


def test_a_signature_from_before_a_restart_is_refused(alice: KeyPair) -> None:
    signature = sign(alice, RESET, 'goal')
    border = authority(alice, Clock())
    border._began = signature.time + 1
    with pytest.raises(NotAuthorized, match='older than this process'):
        border.check(RESET, signature, Role.SENDER, nonce='goal')


def test_nodes_send_and_do_nothing_else(alice: KeyPair, tmp_path: Path) -> None:
    own, strange = new_key(tmp_path / 'installation.key'), new_key(tmp_path / 'x.key')
    border = authority(alice, Clock(), nodes=own)
    send = Command('0/', 'execute_plan', 'digest')
    assert border.check(send, sign(own, send, 'goal'), Role.SENDER, nonce='goal') == 'installation'
    other = KeyPair('installation', strange._key)
    with pytest.raises(NotAuthorized, match='no node that is known'):
        border.check(send, sign(other, send, 'goal 2'), Role.SENDER, nonce='goal 2')
    with pytest.raises(NotAuthorized, match='not in the operators file'):
        border.check(RESET, sign(own, RESET, border.nonce()), Role.OPERATOR)


WHOLE = Command('0/cell', 'approve', 'ab12', 'looks fine')


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bit=st.integers(0, 511))
def test_any_bit_of_the_signature_counts(alice: KeyPair, bit: int) -> None:
    border = authority(alice, Clock())
    good = sign(alice, WHOLE, 'nonce')
    value = bytearray(good.value)
    value[bit // 8] ^= 1 << bit % 8
    with pytest.raises(NotAuthorized):
        border.check(WHOLE, replace(good, value=bytes(value)), Role.OPERATOR, nonce='nonce')
    assert border.check(WHOLE, good, Role.OPERATOR, nonce='nonce') == 'alice'


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    part=st.sampled_from(['stack', 'name', 'argument', 'reason', 'key', 'nonce']),
    at=st.integers(0, 40),
    bit=st.integers(0, 6),
)
def test_any_bit_of_what_is_signed_counts(alice: KeyPair, part: str, at: int, bit: int) -> None:
    border = authority(alice, Clock())
    good = sign(alice, WHOLE, 'nonce')
    holder = good if part in ('key', 'nonce') else WHOLE
    text = getattr(holder, part)
    index = at % len(text)
    other = text[:index] + chr(ord(text[index]) ^ 1 << bit) + text[index + 1 :]
    changed = replace(holder, **{part: other})
    command, signature = (WHOLE, changed) if holder is good else (changed, good)
    with pytest.raises(NotAuthorized):
        border.check(command, signature, Role.OPERATOR, nonce=signature.nonce)
    with pytest.raises(NotAuthorized):
        border.check(WHOLE, replace(good, time=good.time ^ 1 << bit), Role.OPERATOR, nonce='nonce')


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=st.text(max_size=20), nonce=st.text(max_size=60), value=st.binary(max_size=80))
def test_nonsense_is_refused_and_nothing_else_happens(
    alice: KeyPair, key: str, nonce: str, value: bytes
) -> None:
    border = authority(alice, Clock())
    for name in (key, 'alice', 'installation'):
        with pytest.raises(NotAuthorized):
            border.check(RESET, Signature(name, nonce, 0, value), Role.OPERATOR)


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / 'bob.key'
    new_key(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert load_key(path).name == 'bob'
    with pytest.raises(FileExistsError):
        new_key(path)
    path.chmod(0o640)
    with pytest.raises(KeyFileError, match='chmod 600'):
        load_key(path)
    path.chmod(0o600)
    path.write_text('-----BEGIN OPENSSH PRIVATE KEY-----\nnonsense')
    with pytest.raises(KeyFileError, match='security new-key'):
        load_key(path)
    with pytest.raises(KeyFileError, match='No such file'):
        load_key(tmp_path / 'none.key')


def test_keys_of_ssh_keygen_are_keys(tmp_path: Path) -> None:
    path = tmp_path / 'carol'
    subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', path], check=True)
    pair = load_key(path)
    assert pair.public.text == ' '.join((tmp_path / 'carol.pub').read_text().split()[:2])
    subprocess.run(['ssh-keygen', '-q', '-t', 'rsa', '-N', '', '-f', tmp_path / 'old'], check=True)
    with pytest.raises(KeyFileError, match='not an ed25519'):
        load_key(tmp_path / 'old')
    subprocess.run(['ssh-keygen', '-q', '-p', '-N', 'secret', '-f', path], check=True)
    with pytest.raises(KeyFileError, match='passphrase'):
        load_key(path)


def test_the_key_of_a_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('SAFEGEN_STATE_DIR', str(tmp_path))
    monkeypatch.delenv(key_pair.OPERATOR_KEY_ENV, raising=False)
    assert key_pair.operator_key() is None
    new_key(key_pair.keys_dir() / 'alice.key')
    assert key_pair.operator_key().name == 'alice'
    new_key(key_pair.keys_dir() / 'bob.key')
    with pytest.raises(SafegenError, match='alice bob: name one'):
        key_pair.operator_key()
    monkeypatch.setenv(key_pair.OPERATOR_KEY_ENV, 'bob')
    assert key_pair.operator_key().name == 'bob'
    monkeypatch.setenv(key_pair.OPERATOR_KEY_ENV, str(key_pair.keys_dir() / 'alice.key'))
    assert key_pair.operator_key().name == 'alice'
    first = key_pair.installation_key()
    assert key_pair.installation_key().public.text == first.public.text


def test_the_operators_file(alice: KeyPair, tmp_path: Path) -> None:
    path = tmp_path / 'operators'
    path.write_text(f'# who\n\nalice  operator,sender  {alice.public.text} a comment\n')
    (found,) = read_operators(path).values()
    assert (found.name, found.roles) == ('alice', {Role.OPERATOR, Role.SENDER})
    key = alice.public.text
    for text, why in (
        ('', 'has no keys'),
        ('alice operator', ':1:1: not a name'),
        (f'alice king {key}', ":1:7: 'king' is not a role"),
        (f'Alice operator {key}', ":1:1: 'Alice' is not a name"),
        ('alice operator ssh-ed25519 AAAA', ':1:16: not an OpenSSH public key'),
        (f'alice operator {key}\nbob sender {key}', ':2:1: bob or its key stands here twice'),
        (f'installation sender {key}', ':1:1: installation has a name'),
        (f'pc operator,node {key}', ':1:1: pc has a name or roles'),
        (f'alice operator {key} é', 'not plain ASCII'),
    ):
        path.write_text(text)
        with pytest.raises(TextError, match=why):
            read_operators(path)
    with pytest.raises(TextError, match='cannot be read'):
        read_operators(tmp_path / 'none')
