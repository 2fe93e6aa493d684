# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The operators file: whose key may do what, one line each.

# name  roles            public key
alice   operator,sender  ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA...
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from safegen_ros.errors import ErrorCode, TextError
from safegen_ros.keys.key_pair import INSTALLATION, KEY_NAME, PublicKey

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
        TextError: a line is wrong, with its place; or the file cannot be read, or names nobody.
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
            raise refuse(f'{name!a} is no name', 'begin with a lower-case letter', number, 1)
        at = line.index(roles, len(name)) + 1
        known = {role.value: role for role in Role}
        if unknown := [each for each in roles.split(',') if each not in known]:
            raise refuse(f'{unknown[0]!a} is no role', f'use {" ".join(known)}', number, at)
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
