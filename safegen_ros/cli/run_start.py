# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the record of a run begins with."""

from __future__ import annotations

from safegen_ros.record.run import TaskRecord
from safegen_ros.worlds.pddl3.task import PDDL, Pddl3Task


def task_record(task: Pddl3Task, source: str, domain_text: str) -> TaskRecord:
    """The task as it is written down.

    Args:
        task: what is asked for.
        source: the file that it came from.
        domain_text: PDDL of its domain; empty for a built-in one.
    """
    return TaskRecord(
        task.name,
        source,
        task.problem.domain.name,
        domain_text,
        task.problem_text,
        task.format,
        '' if task.format == PDDL else task.problem_pddl,
    )
