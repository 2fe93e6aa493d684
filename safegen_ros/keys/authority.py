# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is signed, and whether a signature counts: signer, command, freshness, and only once.

The operators file says whose key may do what, one line each:

# name  roles            public key
alice   operator,sender  ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA...
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from safegen_ros.errors import ErrorCode, SafegenError, TextError
from safegen_ros.keys.key_pair import INSTALLATION, KEY_NAME, KeyPair, PublicKey

_MAX_FILE = 100_000  # characters


class Role(Enum):
    """What a key may do."""

    OPERATOR = 'operator'  # approve, reset, release
    SENDER = 'sender'  # send goals that move the arm
    ENGINEER = 'engineer'  # set parameters, configure and activate nodes
    NODE = 'node'  # the nodes of another computer of the stack


@dataclass(frozen=True, slots=True)
class Operator:
    """A line of the file."""

    name: str
    roles: frozenset[Role]
    key: PublicKey


def read_operators(path: Path) -> Mapping[str, Operator]:
    """The operators of a file by name.

    Raises:
        TextError: a line is wrong, with its place; or the file cannot be read, or has no names.
    """

    def refuse(what: str, cure: str, line: int = 0, column: int = 0) -> TextError:
        return TextError(
            what, source=str(path), line=line, column=column, cure=cure, code=ErrorCode.UNKNOWN
        )

    try:
        text = path.read_bytes()[: _MAX_FILE + 1].decode('ascii')
    except OSError as error:
        raise refuse(
            f'the operators file cannot be read: {error.strerror}', 'fix it, or name another'
        ) from error
    except UnicodeDecodeError:
        raise refuse('the operators file is not plain ASCII', 'correct it') from None
    if len(text) > _MAX_FILE:
        raise refuse('the operators file is too long', f'write at most {_MAX_FILE:,} characters')
    found: dict[str, Operator] = {}
    keys: dict[str, str] = {}
    for number, line in enumerate(text.split('\n'), start=1):
        words = line.split()
        if not words or words[0].startswith('#'):
            continue
        if len(words) < 4:
            raise refuse(
                'not a name, roles and a key', "write 'NAME ROLES ssh-ed25519 KEY'", number, 1
            )
        name, roles, *key = words
        if not KEY_NAME.fullmatch(name):
            raise refuse(f'{name!a} is not a name', 'begin with a lower-case letter', number, 1)
        at = line.index(roles, len(name)) + 1
        known = {role.value: role for role in Role}
        if unknown := [each for each in roles.split(',') if each not in known]:
            raise refuse(f'{unknown[0]!a} is not a role', f'use {" ".join(known)}', number, at)
        try:
            public = PublicKey(' '.join(key[:2]))
        except ValueError as error:
            at = line.index(key[0], at + len(roles) - 1) + 1
            raise refuse(
                str(error), "write the line that 'safegen security new-key' prints", number, at
            ) from None
        held = frozenset(known[each] for each in roles.split(','))
        if name == INSTALLATION or (Role.NODE in held and held != {Role.NODE}):
            raise refuse(
                f'{name} has a name or roles of a node',
                'give it another name, and roles of people',
                number,
                1,
            )
        if name in found or public.text in keys:
            raise refuse(f'{name} or its key stands here twice', 'remove one', number, 1)
        found[name] = Operator(name, held, public)
        keys[public.text] = name
    if not found:
        raise refuse('the operators file has no keys', 'add a line, or take the file away')
    return found


FRESH_S = 60.0
"""How old a nonce of a server, or the signature of a goal, may be [s]."""

APPROVAL_S = 900.0
"""How long after its signature an approval may begin an execution [s]."""

_AHEAD_S = 5.0  # how far the signer's clock may be ahead [s]
_MAX_TEXT = 1000  # characters of a name or a nonce


class NotAuthorized(SafegenError):
    """A signature is missing or wrong, or its key may not do this."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ErrorCode.NOT_AUTHORIZED)


@dataclass(frozen=True, slots=True)
class Command:
    """What somebody asks for.

    Attributes:
        stack: the ROS domain and the namespace, such as `0/cell1`.
        name: of the command, such as `reset` or `execute_plan`.
        argument: the digest of a plan or of a goal, or what else belongs to the command.
    """

    stack: str
    name: str
    argument: str = ''
    reason: str = ''


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature of a command; the fields are those of `safegen_msgs/msg/Signature`."""

    key: str = ''
    nonce: str = ''
    time: int = 0
    value: bytes = b''


def signed_bytes(command: Command, key: str, nonce: str, time_ns: int) -> bytes:
    """The signed bytes: every part, so that none can be exchanged."""
    parts = [
        'safegen command 1',
        command.stack,
        command.name,
        command.argument,
        command.reason,
        key,
        nonce,
        str(time_ns),
    ]
    return json.dumps(parts).encode('ascii')


def sign(pair: KeyPair, command: Command, nonce: str) -> Signature:
    """The signature of a command, now."""
    now = time.time_ns()
    value = pair.sign(signed_bytes(command, pair.name, nonce, now))
    return Signature(pair.name, nonce, now, value)


class Authority:
    """Decides whether the sender of a command may give it.

    Args:
        operators: who there is, by name; empty where no keys are configured, and nothing is asked.
        clock: the time since the epoch [ns].
    """

    def __init__(
        self,
        operators: Mapping[str, Operator],
        nodes: KeyPair | None = None,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._operators = dict(operators)
        self._nodes = nodes
        self._clock = clock
        self._began = clock()
        self._secret = os.urandom(32)
        self._lock = threading.Lock()
        self._used: dict[str, int] = {}

    @property
    def required(self) -> bool:
        """Whether commands have to be signed."""
        return bool(self._operators)

    def public_key(self, name: str) -> str:
        """The key of an operator in the form of OpenSSH; empty where there is none."""
        operator = self._operators.get(name)
        return operator.key.text if operator is not None else ''

    def nonce(self) -> str:
        """A nonce for one command, within `FRESH_S`. Nothing is kept of it until it is used."""
        now = str(self._clock())
        salt = os.urandom(8).hex()
        return f'{now}-{salt}-{self._proof(now, salt)}'

    def check(
        self,
        command: Command,
        signature: Signature,
        role: Role,
        *,
        nonce: str | None = None,
        fresh_s: float = FRESH_S,
    ) -> str:
        """The name of the signer; each signature counts once.

        Args:
            role: that the key must have; with `SENDER`, nodes may send, too.
            nonce: which one it must be; None for one of `nonce()`.
            fresh_s: how old the signature may be [s].

        Raises:
            NotAuthorized: with the reason.
        """
        if not signature.key:
            raise NotAuthorized(
                f"{command.name} must be signed here: sign it with an operator's key, see "
                "'safegen security --help'"
            )
        if max(len(signature.key), len(signature.nonce)) > _MAX_TEXT:
            raise NotAuthorized(f'{command.name}: the name or the nonce is too long')
        self._check_key(command, signature, role)
        now = self._clock()
        if nonce is None:
            self._check_own(command, signature.nonce, now)
        elif signature.nonce != nonce:
            raise NotAuthorized(f'{command.name}: the signature is about something else')
        age_s = (now - signature.time) / 1e9
        if not -_AHEAD_S <= age_s <= fresh_s:
            raise NotAuthorized(
                f'{command.name}: the signature is {age_s:.0f} s old, and counts for '
                f'{fresh_s:.0f} s: sign again, or compare the clocks of the computers'
            )
        # Signatures used before this process began are not known.
        if signature.time < self._began:
            raise NotAuthorized(
                f'{command.name}: the signature is older than this process: sign again'
            )
        with self._lock:
            self._used = {old: end for old, end in self._used.items() if end > now}
            if signature.nonce in self._used:
                raise NotAuthorized(f'{command.name}: the signature was used before: sign again')
            self._used[signature.nonce] = now + int((fresh_s + 2 * _AHEAD_S) * 1e9)
        return signature.key

    def _check_key(self, command: Command, signature: Signature, role: Role) -> None:
        data = signed_bytes(command, signature.key, signature.nonce, signature.time)
        if signature.key == INSTALLATION and role is Role.SENDER:
            nodes = [each.key for each in self._operators.values() if Role.NODE in each.roles]
            nodes += [self._nodes.public] if self._nodes is not None else []
            if not any(key.verifies(data, signature.value) for key in nodes):
                raise NotAuthorized(f'{command.name}: the signature is of no node that is known')
            return
        operator = self._operators.get(signature.key)
        if operator is None:
            raise NotAuthorized(
                f'{command.name}: the key {signature.key!a} is not in the operators file'
            )
        if not operator.key.verifies(data, signature.value):
            raise NotAuthorized(f'{command.name}: the signature is not one of {operator.name}')
        if role not in operator.roles:
            raise NotAuthorized(
                f'{command.name}: {operator.name} does not have the role {role.value}'
            )

    def _check_own(self, command: Command, nonce: str, now: int) -> None:
        when, _, rest = nonce.partition('-')
        salt, _, proof = rest.partition('-')
        if not hmac.compare_digest(_utf8(proof), _utf8(self._proof(when, salt))):
            raise NotAuthorized(
                f'{command.name}: the nonce is not one of this node: ask for another'
            )
        if now - int(when) > FRESH_S * 1e9:
            raise NotAuthorized(f'{command.name}: the nonce is too old: ask for another')

    def _proof(self, when: str, salt: str) -> str:
        return hmac.new(self._secret, _utf8(f'{when}-{salt}'), hashlib.sha256).hexdigest()


def _utf8(text: str) -> bytes:
    return text.encode('utf-8', 'replace')
