# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The journal of a run or a node: an SQLite file of events, on the disk before they are shown.

Append an event before acting on it or telling anybody; then a process that is killed at any moment
leaves behind what had been done. Events are never changed: they are a signed chain (`chain.py`), so
that neither damage nor a change goes unnoticed. docs/journal.md describes the file.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from stat import S_ISREG
from typing import Any
from urllib.parse import quote

from safegen_ros.errors import RecordError
from safegen_ros.record.signatures import (
    ChainLink,
    ChainWriter,
    Signer,
    find_head,
    signer_of,
    verify,
)
from safegen_ros.sync import Closing


class EmptyJournalError(RecordError):
    """Nothing was written yet, not even what makes the file a journal."""


JOURNAL = 'journal.db'
"""Name of the journal in the folder of a run."""

APPLICATION_ID = 0x53474A31  # 'SGJ1', which the SQLite header holds
FORMAT = 2
"""Format that is written; format 1, which has no signatures, is only read."""

LOCK_TIMEOUT_S = 10.0
"""How long another program that has the file open may keep an event waiting [s]."""

_ASK_AGAIN_S = 0.01
_TAKE_TRIES = 50  # for a journal that is held, which takes a second

_SCHEMA = """
CREATE TABLE entry (
  number INTEGER PRIMARY KEY, time TEXT NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL,
  digest TEXT NOT NULL, key TEXT NOT NULL, signature TEXT NOT NULL
);
CREATE TRIGGER entry_is_not_changed BEFORE UPDATE ON entry
  BEGIN SELECT RAISE(ABORT, 'a journal only grows'); END;
CREATE TRIGGER entry_is_not_removed BEFORE DELETE ON entry
  BEGIN SELECT RAISE(ABORT, 'a journal only grows'); END;
CREATE VIEW task AS SELECT number AS entry, time, json_extract(data, '$.goal_id') AS goal,
  json_extract(data, '$.task.name') AS name,
  json_extract(data, '$.task.domain_name') AS domain,
  json_extract(data, '$.task.format') AS format,
  json_extract(data, '$.task.problem') AS problem
  FROM entry WHERE kind = 'task';
CREATE VIEW attempt AS SELECT number AS entry, time, json_extract(data, '$.goal_id') AS goal,
  json_extract(data, '$.number') AS number,
  json_extract(data, '$.source') AS source,
  json_extract(data, '$.seconds') AS seconds,
  json_extract(data, '$.text') AS text
  FROM entry WHERE kind = 'attempt';
CREATE VIEW verdict AS SELECT number AS entry, time, json_extract(data, '$.goal_id') AS goal,
  json_extract(data, '$.number') AS attempt,
  json_extract(data, '$.verdict.category') AS category,
  json_extract(data, '$.verdict.failing_step') AS failing_step,
  json_extract(data, '$.verdict.reason') AS reason
  FROM entry WHERE kind IN ('attempt', 'result');
CREATE VIEW step AS SELECT begun.number AS entry, begun.time,
  json_extract(begun.data, '$.goal_id') AS goal,
  json_extract(begun.data, '$.index') AS step,
  json_extract(begun.data, '$.step') AS action,
  json_extract(begun.data, '$.at') AS begun_s,
  (SELECT json_extract(done.data, '$.at') - json_extract(begun.data, '$.at') FROM entry AS done
   WHERE done.kind = 'observed' AND done.number > begun.number
   AND json_extract(done.data, '$.goal_id') IS json_extract(begun.data, '$.goal_id')
   AND json_extract(done.data, '$.done') = json_extract(begun.data, '$.index') + 1 LIMIT 1)
  AS seconds
  FROM entry AS begun WHERE kind = 'step';
"""

_SELECT = {
    1: "SELECT number, time, kind, data, digest, '', '' FROM entry ORDER BY number",
    2: 'SELECT number, time, kind, data, digest, key, signature FROM entry ORDER BY number',
}


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One event.

    Attributes:
        number: from 0, without gaps.
        time: UTC, ISO 8601 with microseconds.
        kind: its kind, such as 'task', 'attempt', 'step' or 'end'.
    """

    number: int
    time: str
    kind: str
    data: Mapping[str, Any]


class Journal(Closing):
    """An append-only file of events, which one process at a time writes."""

    def __init__(self, path: Path) -> None:
        """Open or continue a journal. An event that was never acknowledged may be missing.

        Raises:
            RecordError: the file is not a whole journal, or another process writes it.
            OSError: the folder cannot be used.
        """
        self.path = path
        self._lock = threading.Lock()
        self._folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        self._database: sqlite3.Connection | None = None
        try:
            _take(self._folder, path)
            with _named(path):
                self._database, self._file = _open_to_write(path)
            version, entries, self._link = _read(self._database, path)
            if version != FORMAT:
                raise RecordError(f'{path}: has format {version}, which is only read')
            self._next = len(entries)
            self._first = _first(self._database)
            self._chain = ChainWriter(path)
            self._log = _identity(_log_of(path))
            os.fsync(self._folder)  # the name of a new file is as durable as its content
        except BaseException:
            self.close()
            raise

    def append(self, kind: str, **data: Any) -> JournalEntry:
        """Write an event; when this returns, it is on the disk.

        Args:
            data: values that JSON can hold.

        Raises:
            RecordError: the disk did not take it, the file is no longer at its path, or the journal
                is closed: do not go on.
            ValueError: JSON cannot hold a value.
        """
        return self.extend([(kind, data)])[0]

    def extend(self, events: Iterable[tuple[str, Mapping[str, Any]]]) -> tuple[JournalEntry, ...]:
        """Write events, each a kind and its values, all of them or none; as `append` otherwise."""
        with self._lock:
            if self._database is None:
                raise RecordError(f'{self.path}: the journal is closed')
            now = datetime.now(timezone.utc).isoformat(timespec='microseconds')
            rows, entries, link, first = [], [], self._link, self._first
            for number, (kind, data) in enumerate(events, self._next):
                text = json.dumps(data, allow_nan=False)
                link = self._chain.link(link.digest_of(FORMAT, number, now, kind, text))
                first = first or link.digest
                rows.append((number, now, kind, text, link.digest, link.key, link.signature))
                entries.append(JournalEntry(number, now, kind, json.loads(text)))
            with _named(self.path), _transaction(self._database) as database:
                database.executemany('INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?)', rows)
            self._next, self._link, self._first = self._next + len(rows), link, first
            if rows:
                self._chain.keep_head(first, self._next - 1, link.digest)
            self._check_place()
            return tuple(entries)

    def _check_place(self) -> None:
        """Refuse a file that was deleted, moved or replaced: its content would be lost."""
        known = ((self.path, self._file), (_log_of(self.path), self._log))
        for path, written in known:
            if _identity(path) != written:
                raise RecordError(
                    f'{path}: was deleted, moved or replaced while it was written: put it back, '
                    'or start its process again'
                )

    def close(self) -> None:
        """Close the file; harmless when repeated."""
        with self._lock:
            database, self._database = self._database, None
            try:
                if database is not None:
                    with closing(database), _named(self.path):
                        _leave_one_file(database)
            finally:
                if self._folder >= 0:
                    os.close(self._folder)
                    self._folder = -1


@contextmanager
def _transaction(database: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """All that is done inside is on the disk afterwards, or none of it is."""
    database.execute('BEGIN IMMEDIATE')
    try:
        yield database
        database.execute('COMMIT')
    except BaseException:
        if database.in_transaction:
            database.execute('ROLLBACK')
        raise


def load_journal(path: Path) -> tuple[JournalEntry, ...]:
    """The events of a journal in order, also of one that is still being written.

    Raises:
        RecordError: it is not a journal, or is damaged or rewritten; the message names the entry.
        OSError: the file cannot be read.
    """
    return load_signed(path)[0]


def load_signed(path: Path) -> tuple[tuple[JournalEntry, ...], Signer]:
    """As `load_journal`, with who signed it."""
    with _to_read(path) as database:
        _, entries, link = _read(database, path)
        return entries, signer_of(link)


@contextmanager
def _to_read(path: Path) -> Iterator[sqlite3.Connection]:
    if not S_ISREG(path.stat().st_mode):  # to open a pipe would wait for its writer
        raise RecordError(f'{path}: is not a file')
    path.open('rb').close()  # for an error that says why
    with _named(path):
        uri = f'file:{quote(str(path.absolute()))}?mode=ro'
        with closing(sqlite3.connect(uri, uri=True, timeout=LOCK_TIMEOUT_S)) as database:
            yield database


def is_written(path: Path) -> bool:
    """Whether a process has this journal open to write."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(folder)
    return False


def _log_of(path: Path) -> Path:
    """The file beside a journal that holds its newest entries while it is written."""
    return path.with_name(f'{path.name}-wal')


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file is at a path; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _take(folder: int, path: Path) -> None:
    # A call of `is_written` holds the lock for an instant, so one refusal proves nothing; and an
    # instant is long where that process gets no time. It does not pass where this one gets none,
    # either, so tries are counted and no seconds.
    for _ in range(_TAKE_TRIES):
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02)
        else:
            return
    raise RecordError(f'{path}: another process writes this journal: wait until it has ended')


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Errors of SQLite as ours, with the file."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise RecordError(
            f'{path}: the journal cannot be used: {error}: check the disk and who owns the file'
        ) from error
    except (sqlite3.Error, UnicodeDecodeError) as error:  # what SQLite quotes may not be text
        raise RecordError(
            f'{path}: is not a journal, or is damaged: {error}: restore it from a copy'
        ) from error


def _open_to_write(path: Path) -> tuple[sqlite3.Connection, tuple[int, int] | None]:
    """The database, and which file it is. Only its owner may read a new one."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    file = _identity(path)
    # Closed by the caller, from any thread; our own lock keeps the threads apart.
    database = sqlite3.connect(
        path, timeout=LOCK_TIMEOUT_S, isolation_level=None, check_same_thread=False
    )
    try:
        database.execute('PRAGMA journal_mode = WAL')
        database.execute('PRAGMA synchronous = FULL')
        if not database.execute('SELECT count(*) FROM sqlite_schema').fetchone()[0]:
            marks = f'PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {FORMAT};'
            database.executescript(f'BEGIN; {marks} {_SCHEMA} COMMIT;')
    except BaseException:
        database.close()
        raise
    return database, file


def _leave_one_file(database: sqlite3.Connection) -> None:
    """A journal that is over is one plain file, which can be read anywhere.

    SQLite does not wait for those who read it just now. Who reads on and on keeps it as it is,
    which loses nothing.
    """
    end = time.monotonic() + LOCK_TIMEOUT_S
    while time.monotonic() < end:
        try:
            database.execute('PRAGMA journal_mode = DELETE')
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            time.sleep(_ASK_AGAIN_S)
        else:
            return


def _first(database: sqlite3.Connection) -> Any:
    """The digest of entry 0, by which a journal is known; empty where there is none."""
    row = database.execute('SELECT digest FROM entry WHERE number = 0').fetchone()
    return row[0] if row else ''


def _read(
    database: sqlite3.Connection, path: Path
) -> tuple[int, tuple[JournalEntry, ...], ChainLink]:
    """The format, the events and the end of their chain, verified."""
    with _named(path):
        (application,) = database.execute('PRAGMA application_id').fetchone()
        (version,) = database.execute('PRAGMA user_version').fetchone()
        if not database.execute('SELECT count(*) FROM sqlite_schema').fetchone()[0]:
            raise EmptyJournalError(f'{path}: is empty: its process ended before it wrote anything')
        if application != APPLICATION_ID:
            raise RecordError(f'{path}: is not a journal of a run')
        if version not in _SELECT:
            raise RecordError(
                f'{path}: has format {version}, and this version reads 1 to {FORMAT}: '
                'read it with the version that wrote it'
            )
        head = find_head(path, _first(database))
        rows = database.execute(_SELECT[version]).fetchall()
    link = verify(path, version, rows, head)
    return version, tuple(_entry(path, *row[:4]) for row in rows), link


def _entry(path: Path, number: Any, now: Any, kind: Any, text: Any) -> JournalEntry:
    """The entry of a row, checked, as SQLite keeps any type in any column."""
    try:
        data = json.loads(text)
        # Times are compared as text, which only one form of them allows.
        utc = datetime.fromisoformat(now).astimezone(timezone.utc)
        if not isinstance(data, dict) or utc.isoformat(timespec='microseconds') != now:
            raise ValueError('its values or its time are not written as they should be')
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise RecordError(
            f'{path}: entry {number!a} cannot be read: {error}: restore the file from a copy'
        ) from error
    return JournalEntry(number, now, kind, data)
