# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Ed25519 keys in files, in the formats of OpenSSH."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from contextlib import suppress
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization as forms
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.paths import state_dir

INSTALLATION = 'installation'
"""The name of the key of the nodes of a computer."""

OPERATOR_KEY_ENV = 'SAFEGEN_OPERATOR_KEY'
"""The file, or the name, of the key by which the command line, the console and `Client` sign."""

KEY_NAME = re.compile(r'[a-z][a-z0-9_.-]{0,31}')
_MAX_FILE = 10_000  # bytes


class KeyFileError(SafegenError):
    """A key file that is missing, damaged or open to others."""


class PublicKey:
    """A key that verifies signatures.

    Args:
        text: in the form of OpenSSH, `ssh-ed25519 AAAA...`.

    Raises:
        ValueError: it is not such a key.
    """

    def __init__(self, text: str) -> None:
        try:
            key = forms.load_ssh_public_key(text.encode('ascii'))
        except (ValueError, UnsupportedAlgorithm) as error:
            raise ValueError('not an OpenSSH public key') from error
        if not isinstance(key, Ed25519PublicKey):
            raise ValueError('not an ed25519 key')
        self._key = key
        self.text = ' '.join(text.split()[:2])

    @property
    def fingerprint(self) -> str:
        """As `ssh-keygen -l` prints it."""
        digest = hashlib.sha256(base64.b64decode(self.text.split()[1])).digest()
        return f'SHA256:{base64.b64encode(digest).decode().rstrip("=")}'

    def verifies(self, data: bytes, signature: bytes) -> bool:
        """Whether the signature is of this key over just these bytes."""
        try:
            self._key.verify(signature, data)
        except InvalidSignature:
            return False
        return True


class KeyPair:
    """A key that signs."""

    def __init__(self, name: str, key: Ed25519PrivateKey) -> None:
        self.name = name
        self._key = key
        form = forms.Encoding.OpenSSH, forms.PublicFormat.OpenSSH
        self.public = PublicKey(key.public_key().public_bytes(*form).decode())

    def sign(self, data: bytes) -> bytes:
        """The signature, 64 bytes."""
        return self._key.sign(data)


def load_key(path: Path) -> KeyPair:
    """The key of a file; its name is that of the file.

    Raises:
        KeyFileError: it is missing, damaged, has a passphrase, or others may read it.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise KeyFileError(f'{path}: the key cannot be read: {error.strerror}') from None
    with open(descriptor, 'rb') as file:
        status = os.fstat(descriptor)
        if status.st_mode & 0o077 or status.st_uid not in (os.getuid(), 0):
            raise KeyFileError(f'{path}: others may read this key: chmod 600 {path}')
        data = file.read(_MAX_FILE)
    try:
        key = forms.load_ssh_private_key(data, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise KeyFileError(
            f'{path}: is not an ed25519 private key without a passphrase: make one with '
            "'safegen security new-key NAME'"
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyFileError(
            f"{path}: is not an ed25519 key: make one with 'safegen security new-key NAME'"
        )
    return KeyPair(path.name.removesuffix('.key'), key)


def new_key(path: Path) -> KeyPair:
    """Makes a key that its owner alone may read; raises `FileExistsError` rather than replace one.

    Two processes may do this at once: whichever is later gets `FileExistsError`.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = Ed25519PrivateKey.generate()
    text = key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.OpenSSH, forms.NoEncryption())
    scratch = path.with_name(f'.{path.name}.{os.getpid()}.{os.urandom(4).hex()}')
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, 'wb') as file:
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        os.link(scratch, path)  # whole or not at all, and never over another one
    finally:
        scratch.unlink()
    return KeyPair(path.name.removesuffix('.key'), key)


def installation_key() -> KeyPair:
    """The key of the nodes of this user on this computer, made when it is used first."""
    path = state_dir() / f'{INSTALLATION}.key'
    try:
        if not path.exists():
            with suppress(FileExistsError):
                return new_key(path)
        return load_key(path)
    except OSError as error:
        raise KeyFileError(f'{path}: the key cannot be made: {error.strerror}') from error


def keys_dir() -> Path:
    """Folder of the private keys of the operators of this user."""
    return state_dir() / 'keys'


def operator_key() -> KeyPair | None:
    """The key by which this user signs: that of `OPERATOR_KEY_ENV`, else the only one there is.

    None where there is none.

    Raises:
        SafegenError: the key cannot be read, or there are several and none is named.
    """
    wanted = os.environ.get(OPERATOR_KEY_ENV, '')
    if wanted:
        named = keys_dir() / f'{wanted}.key' if KEY_NAME.fullmatch(wanted) else Path(wanted)
        return load_key(named.expanduser())
    found = sorted(keys_dir().glob('*.key'))
    if len(found) > 1:
        names = ' '.join(path.name.removesuffix('.key') for path in found)
        raise KeyFileError(
            f'there are several keys, {names}: name one of them in {OPERATOR_KEY_ENV}',
            ErrorCode.NOT_AUTHORIZED,
        )
    return load_key(found[0]) if found else None
