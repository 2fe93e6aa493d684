# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The keys of one host in a known_hosts file, read as OpenSSH reads it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

import paramiko
from paramiko.hostkeys import HostKeyEntry, HostKeys


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
        # Brackets stand round a host that has a port, and are no set of characters.
        plain = pattern.lstrip('!').replace('[', '[[]')
        if fnmatchcase(host, plain):
            if pattern.startswith('!'):
                return False
            found = True
    return found
