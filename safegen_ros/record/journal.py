# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The run's journal: one JSON object per line, on the disk before its effect is shown.

Append an event before acting on it or telling anybody; then a process that is killed at any moment
leaves behind what had been done.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from safegen_ros.closing import Closing
from safegen_ros.record.run import RecordError


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One event.

    Attributes:
        number: from 0, without gaps.
        time: UTC, ISO 8601 with microseconds.
        kind: what it is, such as 'task', 'attempt', 'step' or 'end'.
        data: its values.
    """

    number: int
    time: str
    kind: str
    data: Mapping[str, Any]


class Journal(Closing):
    """An append-only file of events."""

    def __init__(self, path: Path) -> None:
        """Open or continue a journal. A half last line, never acknowledged, is cut off.

        Raises:
            RecordError: what is there is not a journal.
        """
        self.path = path
        self._lock = threading.Lock()
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            entries, whole = _read(path)
            os.ftruncate(self._descriptor, whole)
            self._next = len(entries)
            _sync_folder(path.parent)
        except BaseException:
            os.close(self._descriptor)
            raise

    def append(self, kind: str, **data: Any) -> JournalEntry:
        """Write an event; when this returns, it is on the disk.

        Args:
            kind: what happened.
            data: values that JSON can hold.

        Raises:
            OSError: the disk did not take it: do not go on.
        """
        with self._lock:
            now = datetime.now(timezone.utc).isoformat(timespec='microseconds')
            entry = JournalEntry(self._next, now, kind, data)
            record = {'number': entry.number, 'time': now, 'kind': kind, 'data': data}
            line = json.dumps(record, ensure_ascii=False, allow_nan=False) + '\n'
            self._write(line.encode('utf-8', 'backslashreplace'))
            self._next += 1
            return entry

    def _write(self, line: bytes) -> None:
        size = os.fstat(self._descriptor).st_size
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            os.fdatasync(self._descriptor)
        except OSError:
            # A half line must not stand before the next one.
            os.ftruncate(self._descriptor, size)
            raise

    def close(self) -> None:
        """Close the file; harmless when repeated."""
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1


def load_journal(path: Path) -> tuple[JournalEntry, ...]:
    """The events of a journal in order, without a half last line.

    Raises:
        RecordError: a whole line is not an event; the message names it.
        OSError: the file cannot be read.
    """
    return _read(path)[0]


def _sync_folder(folder: Path) -> None:
    """Make the name of a new file as durable as its content."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(path: Path) -> tuple[tuple[JournalEntry, ...], int]:
    """The events, and the length [bytes] of the whole lines that hold them."""
    data = path.read_bytes()
    whole = data.rfind(b'\n') + 1
    entries = []
    # Only line feeds end a line here: str.splitlines would also break at U+2028 within a text.
    for number, line in enumerate(data[:whole].split(b'\n')[:-1]):
        try:
            record = json.loads(line)
            entry = JournalEntry(record['number'], record['time'], record['kind'], record['data'])
        except (ValueError, KeyError, TypeError) as error:
            raise RecordError(f'{path}:{number + 1}: is not a journal entry: {error!r}') from error
        if entry.number != number:
            raise RecordError(f'{path}:{number + 1}: entry {entry.number} stands here: lines lost')
        entries.append(entry)
    return tuple(entries), whole
