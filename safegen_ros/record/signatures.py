# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is signed in a record: the chain of a journal, and the answers of operators about plans.

The digest of an entry covers the entry and the digest, key and signature of the entry before it.
The key of the installation signs each digest. So the last signature vouches for all entries, and
the head in the state folder has their number. docs/journal.md describes the chain.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from safegen_ros.errors import RecordError, SafegenError
from safegen_ros.keys.authority import Command, signed_bytes
from safegen_ros.keys.key_pair import INSTALLATION, PublicKey, installation_key, load_key
from safegen_ros.paths import DataNotFoundError, state_dir

KNOWN_KEYS = 'known_installations'
"""File in the state folder with the public keys of other installations, one a line."""

_HEADS = 'journals'
_MAX_FILE = 100_000  # bytes


class RewrittenError(RecordError):
    """A journal does not show a lost entry."""

    def __init__(self, path: Path, entry: int, why: str) -> None:
        super().__init__(f'{path}: REWRITTEN at entry {entry}: {why}; restore the file from a copy')


@dataclass(frozen=True, slots=True)
class Signer:
    """Who signed a journal.

    Attributes:
        key: fingerprint of the key; empty for a journal of format 1, which has no signatures.
        known: whether it is the key of this installation, or one in `KNOWN_KEYS`.
    """

    key: str = ''
    known: bool = False


@dataclass(frozen=True, slots=True)
class ChainLink:
    """An entry of a chain, of which the last one is its end.

    Attributes:
        digest: of the entry; empty before the first one.
        key: that signed it, in the form of OpenSSH.
    """

    digest: str = ''
    key: str = ''
    signature: str = ''

    def digest_of(self, version: int, number: int, time: str, kind: str, text: str) -> str:
        """SHA-256 of the next entry and, through this link, of all entries before it."""
        before = [self.digest] if version == 1 else [version, self.digest, self.key, self.signature]
        whole = json.dumps([*before, number, time, kind, text])
        return sha256(whole.encode()).hexdigest()


def _signed_bytes(digest: str) -> bytes:
    return f'safegen journal 2 {digest}'.encode()


class ChainWriter:
    """Signs the entries of one journal, and keeps its newest head in the state folder.

    Raises:
        RecordError: the key or the state folder cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()
        self._began = ''
        try:
            self._key = installation_key()
            self._folder = state_dir() / _HEADS
            self._folder.mkdir(mode=0o700, exist_ok=True)
        except SafegenError as error:
            raise RecordError(f'{path}: the journal cannot be signed: {error.message}') from error
        except OSError as error:
            raise RecordError(f'{path}: the journal cannot be signed: {error}') from error

    def link(self, digest: str) -> ChainLink:
        """The digest of an entry with its signature."""
        signature = self._key.sign(_signed_bytes(digest)).hex()
        return ChainLink(digest, self._key.public.text, signature)

    def keep_head(self, first: str, number: int, digest: str) -> None:
        """Replaces the head. It is not synced: after a power cut an older head may be there.

        Args:
            first: digest of entry 0, by which the journal is known wherever it lies.

        Raises:
            RecordError: the state folder cannot be written.
        """
        try:
            if self._began != first:
                _replace(self._folder, _place(self._path), lambda new: new.symlink_to(first))
                self._began = first
            text = json.dumps({'number': number, 'digest': digest, 'path': str(self._path)})
            _replace(self._folder, first, lambda new: new.write_text(text))
        except OSError as error:
            raise RecordError(
                f'{self._path}: its newest digest cannot be kept in {self._folder}: {error}: '
                'free some space there, or fix its permissions'
            ) from error


def _replace(folder: Path, name: str, make: Any) -> None:
    scratch = folder / f'.{name}.{os.getpid()}'
    scratch.unlink(missing_ok=True)
    make(scratch)
    scratch.replace(folder / name)


def _place(path: Path) -> str:
    return f'at-{sha256(os.fsencode(path)).hexdigest()[:40]}'


@dataclass(frozen=True, slots=True)
class Head:
    """What the state folder knows of a journal.

    Attributes:
        first: digest of its entry 0.
        number: of an entry that was its newest one.
    """

    first: str
    number: int
    digest: str


def find_head(path: Path, first: object) -> Head | None:
    """The newest known head of a journal; None where this installation knows of none.

    Read it before the journal: that may be written on meanwhile.

    Args:
        path: of the journal; the journal that was written there counts.
        first: digest of its entry 0, which counts where nothing was written at the path.

    Raises:
        RecordError: the head cannot be read.
    """
    try:
        folder = state_dir() / _HEADS
    except DataNotFoundError:
        return None
    name = str(first)
    with suppress(OSError):
        name = os.readlink(folder / _place(path.resolve()))
    if len(name) != 64 or not name.isalnum():
        return None
    try:
        text = (folder / name).read_text()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RecordError(f'{path}: its digest in {folder} cannot be read: {error}') from error
    if not text:  # a power cut has taken it
        return None
    try:
        values = json.loads(text)
        return Head(name, int(values['number']), str(values['digest']))
    except (ValueError, KeyError, TypeError) as error:
        raise RecordError(f'{path}: its digest in {folder / name} is damaged') from error


def verify(path: Path, version: int, rows: Sequence[Sequence[Any]], head: Head | None) -> ChainLink:
    """The end of a whole chain.

    Args:
        rows: number, time, kind, data, digest, key and signature of each entry.
        head: the known facts of it.

    Raises:
        RewrittenError: it is not whole; the message names the entry.
    """
    link, links = ChainLink(), []
    for expected, (number, *texts) in enumerate(rows):
        whole = number == expected and all(isinstance(each, str) for each in texts)
        if not whole or link.digest_of(version, number, *texts[:3]) != texts[3]:
            raise RewrittenError(path, expected, 'it is missing or is not what was written')
        link = ChainLink(*texts[3:])
        links.append(link)
    if version > 1:
        _verify_signatures(path, links)
    if head is not None:
        if links and links[0].digest != head.first:
            raise RewrittenError(path, 0, 'another journal was written at this place')
        if len(links) <= head.number:
            raise RewrittenError(path, len(links), f'the entries up to {head.number} were cut off')
        if links[head.number].digest != head.digest:
            raise RewrittenError(
                path, head.number, 'it, or an entry before it, is not what was written'
            )
    return link


def _verify_signatures(path: Path, links: Sequence[ChainLink]) -> None:
    """Each signature is in the digest of the next entry, so that the last one vouches for all."""
    for number, link in enumerate(links):
        if link.key != links[0].key:
            raise RewrittenError(path, number, 'its key is not that of the entries before it')
    if not links or _signed(links[-1]):
        return
    wrong = next(number for number, link in enumerate(links) if not _signed(link))
    raise RewrittenError(path, wrong, 'its signature is not one of its key')


def _signed(link: ChainLink) -> bool:
    try:
        return PublicKey(link.key).verifies(
            _signed_bytes(link.digest), bytes.fromhex(link.signature)
        )
    except ValueError:
        return False


def signer_of(link: ChainLink) -> Signer:
    """Who signed a verified chain."""
    if not link.key:
        return Signer()
    return Signer(PublicKey(link.key).fingerprint, link.key in _known_keys())


def _known_keys() -> set[str]:
    known: set[str] = set()
    with suppress(SafegenError):
        folder = state_dir()
        with suppress(SafegenError):
            known.add(load_key(folder / f'{INSTALLATION}.key').public.text)
        with suppress(OSError):
            with (folder / KNOWN_KEYS).open('rb') as file:
                text = file.read(_MAX_FILE).decode('ascii', 'replace')
            for line in text.splitlines():
                words = line.split()
                if 'ssh-ed25519' in words[:-1] and not line.startswith('#'):
                    at = words.index('ssh-ed25519')
                    known.add(' '.join(words[at : at + 2]))
    return known


def signature_words(signers: Iterable[Signer]) -> tuple[bool, str]:
    """Whether the signatures of a record are as they should be, and the record's state in words.

    Args:
        signers: of all journals that the record is made of.
    """
    found = sorted(set(signers), key=lambda each: each.key)
    if strange := [each.key for each in found if each.key and not each.known]:
        return False, (
            f'signed by {", ".join(strange)}, NOT a key of this installation: anybody may have '
            f'written it; add the public key to {KNOWN_KEYS} in the state folder if you trust it'
        )
    if not found or not all(each.key for each in found):
        return True, 'unsigned'
    return True, f'signed by {", ".join(each.key for each in found)}, whole'


@dataclass(frozen=True, slots=True)
class ApprovalRecord:
    """An answer of an operator about a plan.

    Attributes:
        approved: whether the plan may be executed.
        digest: of task, plan and site rules, see `PendingPlan.msg`.
        stack: the ROS domain and namespace in which the answer counts, such as `0/cell1`.
        public: the operator's key in the operators file then; empty without keys.
        nonce: that was signed.
        time: of the signature, since the epoch [ns].
        signature: hexadecimal; empty without keys.
        about: JSON text whose SHA-256 is the digest, as `looked_at` makes it; empty in records of
            an earlier version.
    """

    approved: bool
    digest: str
    by: str
    reason: str
    stack: str
    public: str = ''
    nonce: str = ''
    time: int = 0
    signature: str = ''
    about: str = ''

    def fits(self, plans: Collection[tuple[str, ...]]) -> bool:
        """Whether the digest is that of steps of one of the plans, computed from the record."""
        if not self.about:
            return True
        try:
            steps = tuple(map(_step_text, json.loads(self.about)[3]))
        except (ValueError, LookupError, TypeError):
            return False
        same = sha256(self.about.encode()).hexdigest() == self.digest
        return same and any(
            steps == plan[first : first + len(steps)]
            for plan in plans
            for first in range(len(plan) + 1)
        )

    @property
    def verified(self) -> bool | None:
        """Whether the signature is one of the key over just this answer; None without one."""
        if not self.signature:
            return None
        name = 'approve' if self.approved else 'refuse'
        command = Command(self.stack, name, self.digest, self.reason)
        try:
            value = bytes.fromhex(self.signature)
            signed = signed_bytes(command, self.by, self.nonce, self.time)
            return PublicKey(self.public).verifies(signed, value)
        except ValueError:
            return False

    def in_words(self, plans: Collection[tuple[str, ...]]) -> str:
        """The answer for a person; `plans` are those of the record."""
        if not self.fits(plans):
            return f'answer of {self.by}, but the DIGEST IS NOT THAT OF A RECORDED PLAN'
        said = f'{"approved" if self.approved else "refused"} by {self.by}'
        if self.verified is None:
            return f'{said}, not signed'
        if not self.verified:
            return f'{said}, but the SIGNATURE IS WRONG'
        return f'{said}, signed by {PublicKey(self.public).fingerprint}'


def looked_at(
    domain: str, problem: str, form: str, steps: Sequence[object], request: str, site: str
) -> str:
    """The text whose SHA-256 is the digest by which a plan is approved.

    Args:
        domain: text of the task's domain, or its name.
        steps: each as a list of action, arguments, and such lists for the actions beside it.
        request: in plain words, of which a model made the task; empty where it was sent as it is.
        site: digest of the site file; empty: none.
    """
    return json.dumps([domain, problem, form, steps, request, site])


def _step_text(step: list[str | list[str]]) -> str:
    """A step of such a text as a record has it."""
    words = [each for each in step if isinstance(each, str)]
    beside = [each for each in step if isinstance(each, list)]
    return ' '.join(f'({" ".join(each)})' for each in (words, *beside))


_DOUBT, _REQUEST = 'In doubt: ', '\nRequest: '


def shown_request(text: str, doubts: str) -> str:
    """A request as an operator sees it, with the doubts about its reading, if there are any."""
    return f'{_DOUBT}{"; ".join(doubts.splitlines())}.{_REQUEST}{text}' if doubts else text


def doubts_and_request(shown: str) -> tuple[str, str]:
    """The two parts of `shown_request`; the doubts, if there are any, are its first line."""
    doubts, between, text = shown.partition(_REQUEST)
    return (doubts, text) if between and doubts.startswith(_DOUBT) else ('', shown)
