# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Writes a run down: every event goes to the disk first, then into the record."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

from safegen_ros.closing import Closing
from safegen_ros.record.events import KINDS, Event, TaskEvent, advance, begin
from safegen_ros.record.journal import JOURNAL, Journal
from safegen_ros.record.json_form import plain
from safegen_ros.record.run import TaskRecord


class RunLog(Closing):
    """A run that is being written down. One thread at a time may use it.

    Args:
        folder: of the run.
        task: what is asked for.
        cell: what executes, as in `RunRecord`; empty while it is not known.
        stepwise: as in `RunRecord`.

    Attributes:
        record: all that the journal holds.
    """

    def __init__(
        self, folder: Path, task: TaskRecord, cell: str = '', stepwise: bool = False
    ) -> None:
        self._journal = Journal(folder / JOURNAL)
        started = datetime.now(timezone.utc).isoformat(timespec='seconds')
        begun = TaskEvent(folder.name, started, task, cell, stepwise)
        self._write(begun)
        self.record = begin(begun)

    def note(self, event: Event) -> None:
        """Writes an event down; when this returns, it is on the disk and in the record.

        Raises:
            RecordError: the disk did not take it: do not go on.
        """
        self._write(event)
        self.record = advance(self.record, event)

    def _write(self, event: Event) -> None:
        self._journal.append(KINDS[type(event)], **plain(event))

    def close(self) -> None:
        """Close the journal; harmless when repeated."""
        self._journal.close()
