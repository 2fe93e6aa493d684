# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The stored release of an executor: nothing moves without it, whatever happened to its process.

A folder for each ROS domain and namespace holds one `state.json`, which says `released` or
`moving`, and one `stopped-*.json` for each stop that no reset has ended. Only a valid `released`
without any stop is a release: a file that is missing, damaged or unreadable means stopped.

The executor alone writes `state.json`. Everybody may add a stop. A reset removes only the stops
that it has read, so that a stop which comes meanwhile stays.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

from safegen_ros.paths import release_dir
from safegen_ros.schema import NotJsonError, SchemaReader, between, json_object, one_of
from safegen_ros.sync import Closing

RELEASED, MOVING, STOPPED, NEW = 'released', 'moving', 'stopped', 'new'

MAX_BYTES = 64 * 1024
"""No file of a store is longer."""

MAX_REASON = 2000
"""Characters of a reason that are stored."""

_File = TypeVar('_File')
_STATE = 'state.json'
_STOPS = 'stopped-*.json'


@dataclass(frozen=True, slots=True)
class Stored:
    """What a store says.

    Attributes:
        state: `RELEASED`, `MOVING` or `STOPPED`; `NEW` where nothing was ever stored.
        reason: of a stop; of `MOVING`, the plan that is executed.
        arm: whether an operator has released the real arm, and not only a simulated cell.
        count: number of stops up to now.
        time: when this state was stored, since the epoch [s].
    """

    state: str
    reason: str = ''
    arm: bool = False
    count: int = 0
    time: float = 0.0


def place_name(domain: int, namespace: str) -> str:
    """A file name for a ROS domain and namespace; names in ROS have no dots."""
    return f'{domain}{namespace.rstrip("/").replace("/", ".")}'


class ReleaseStore(Closing):
    """The store of one executor.

    Args:
        domain: ROS domain id.
        namespace: absolute, of the executor.

    Raises:
        DataNotFoundError: there is no place where a stop could be kept.
    """

    def __init__(self, domain: int, namespace: str) -> None:
        base, name = release_dir(), place_name(domain, namespace)
        self.folder = base / 'executors' / name
        self._former = base / f'stopped-{name}.json'
        self._lock_file = base / 'executors' / f'{name}.lock'
        self.socket = self._lock_file.with_name(f'{name}.sock')  # of `StopSocket`
        self._lock: int | None = None

    # One owner

    def own(self) -> bool:
        """Takes the store for this process; false where another executor has it.

        Raises:
            OSError: the lock cannot be opened.
        """
        if self._lock is not None:
            return True
        self._lock_file.parent.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(self._lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return False
        except BaseException:
            os.close(lock)
            raise
        with suppress(OSError):  # who it is, for messages
            os.ftruncate(lock, 0)
            os.pwrite(lock, str(os.getpid()).encode(), 0)
        self._lock = lock
        return True

    def owner(self) -> str:
        """The process that has taken the store, in words."""
        with suppress(OSError, ValueError):
            return f'process {int(self._lock_file.read_text()[:20])}'
        return 'another process'

    def close(self) -> None:
        """Gives the store to the next executor; the lock file stays, as removing it would race."""
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)

    # Reading

    def read(self) -> Stored:
        """The stored state; never raises: what cannot be read is a stop."""
        try:
            stops = self.stops()
            if stops:
                return min((_read_stop(file) for file in stops), key=lambda stop: stop.time)
            if not self.folder.exists():
                return Stored(NEW)
            return _read_state(self.folder / _STATE)
        except (OSError, ValueError) as error:
            return Stored(STOPPED, f'the stored release cannot be read: {error}')

    def stops(self) -> list[Path]:
        """The files of all stops that no reset has ended."""
        former = [self._former] if os.path.lexists(self._former) else []
        if not self.folder.exists():
            return former
        os.listdir(self.folder)  # a glob would skip a folder that cannot be read
        return [*former, *sorted(self.folder.glob(_STOPS))]

    # Writing

    def first_release(self) -> bool:
        """Stores a release for a simulated cell where nothing was ever stored; whether it was.

        Raises:
            OSError: it could not be stored.
        """
        if self.read().state != NEW:
            return False
        try:
            self.folder.mkdir(mode=0o700)
        except FileExistsError:
            return False
        _sync(self.folder.parent)
        self.write(Stored(RELEASED, time=time.time()))
        return True

    def write(self, state: Stored) -> None:
        """Replaces the state by `RELEASED` or `MOVING`; it is on the disk when this returns.

        Raises:
            OSError: it is not, and the state before is still there.
        """
        self.folder.mkdir(mode=0o700, exist_ok=True)
        fields = {'reason': state.reason[:MAX_REASON], 'arm': state.arm, 'count': state.count}
        _write(self.folder / _STATE, {'state': state.state, **fields, 'time': state.time})

    def add_stop(self, reason: str, count: int) -> None:
        """Stores a stop, and withdraws the release beside it.

        Raises:
            OSError: the stop is not stored; the message says whether the release is withdrawn.
        """
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            fields = {'reason': reason[:MAX_REASON], 'count': count, 'time': time.time()}
            # First: a reader in between finds the reason, and a stop outweighs a release.
            _write(self.folder / _STOPS.replace('*', uuid.uuid4().hex[:12]), fields)
        except OSError as error:
            kept = self._withdraw()
            with suppress(OSError):
                _sync(self.folder)
            raise OSError(f'{error}{kept}') from error
        self._withdraw()

    def _withdraw(self) -> str:
        """Removes the release, which works on a full disk; returns in words whether it is gone."""
        try:
            (self.folder / _STATE).unlink(missing_ok=True)
        except OSError as error:
            return f', and the release stays stored ({error}): a restart would move again'
        return ': the release is withdrawn, so that a restart stays stopped'

    def release(self, stops: list[Path], arm: bool, count: int) -> Stored:
        """Stores a release and ends the named stops; returns the stored state.

        Raises:
            OSError: it could not be stored.
        """
        self.write(Stored(RELEASED, arm=arm, count=count, time=time.time()))
        for file in stops:
            file.unlink(missing_ok=True)
            _sync(file.parent)
        return self.read()


@dataclass(frozen=True, slots=True)
class _StopFile:
    reason: str
    count: Annotated[int, between(0, 2**31 - 1)]
    time: Annotated[float, between(0, 2**31 - 1)]


@dataclass(frozen=True, slots=True)
class _StateFile(_StopFile):
    state: Annotated[str, one_of(RELEASED, MOVING)]
    arm: bool


def _read_state(file: Path) -> Stored:
    try:
        found = _load(file, _StateFile)
    except FileNotFoundError:
        return Stored(STOPPED, 'no release is stored')
    return Stored(found.state, _shown(found.reason), found.arm, found.count, found.time)


def _read_stop(file: Path) -> Stored:
    """A stop; what cannot be read in it does not matter, as the file alone says it."""
    try:
        found = _load(file, _StopFile)
    except (OSError, ValueError) as error:
        return Stored(STOPPED, f'a stop is stored, and its reason cannot be read: {error}')
    return Stored(STOPPED, _shown(found.reason), False, found.count, found.time)


def _shown(reason: str) -> str:
    """A reason without what would end it on the wire, or steer a terminal."""
    return ''.join(each if each.isprintable() else ' ' for each in reason[:MAX_REASON])


def _load(file: Path, kind: type[_File]) -> _File:
    # Whatever lies there in its place must not block, as a pipe would.
    handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(handle, 'rb') as opened:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError(f'{file} is not a file')
        content = opened.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError(f'{file} is too long')
    try:
        data = json_object(content)
    except NotJsonError as error:
        raise ValueError(f'{file}: {error}') from None
    return SchemaReader(str(file), ValueError).read(kind, data)


def _write(file: Path, data: Mapping[str, object]) -> None:
    scratch = file.with_name(f'{uuid.uuid4().hex[:12]}.tmp')
    try:
        with scratch.open('w', encoding='utf-8') as out:
            json.dump(data, out)
            out.flush()
            os.fsync(out.fileno())
        scratch.replace(file)
    except BaseException:
        with suppress(OSError):
            scratch.unlink(missing_ok=True)
        raise
    # Until the folder is written, too, a loss of power could take the name away.
    _sync(file.parent)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
