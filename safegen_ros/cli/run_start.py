# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the record of a run holds before anything has happened."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

from safegen_ros.record.journal import Journal
from safegen_ros.record.run import ModelRecord, RunRecord, TaskRecord
from safegen_ros.worlds.pddl3.task import PDDL, Pddl3Task


def begin_record(
    folder: Path, journal: Journal, task: Pddl3Task, source: str, domain_text: str, cell: str = ''
) -> RunRecord:
    """A record with its task, which is also the first entry of the journal.

    Args:
        folder: of the run.
        journal: of the run.
        task: what is asked for.
        source: the file that it came from.
        domain_text: PDDL of its domain; empty for a built-in one.
        cell: what executes, as in `RunRecord`.
    """
    journal.append('task', name=task.name, format=task.format, problem=task.problem_text)
    return RunRecord(
        run_id=folder.name,
        started=datetime.now(timezone.utc).isoformat(timespec='seconds'),
        task=TaskRecord(
            task.name,
            source,
            task.problem.domain.name,
            domain_text,
            task.problem_text,
            task.format,
            '' if task.format == PDDL else task.problem_pddl,
        ),
        model=ModelRecord('', 0, 0.0, 0.0, 0, False),
        cell=cell,
    )
