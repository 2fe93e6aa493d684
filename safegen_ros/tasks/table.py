# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The one table of worlds: what reads a task, by the format that its text is in."""

from __future__ import annotations

from importlib import import_module

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.diagnostics import suggestion
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.tasks.pddl3.task import load_task
from safegen_ros.tasks.task import ActionTask

WORLDS = {
    'boxnet': 'safegen_ros.tasks.boxnet.goal',
    'household': 'safegen_ros.tasks.household.goal',
}
"""The module of each world beside PDDL, whose `read_goal` reads a text of that format."""


def check_format(name: str) -> None:
    """Refuses a format that no world has; the empty one is that of PDDL.

    Raises:
        SafegenError: there is no such format (`UNKNOWN_FORMAT`).
    """
    known = (*FORMATS, *WORLDS)
    if name and name not in known:
        raise SafegenError(
            f'format {name[:40]!a} of the problem is not known: '
            f'{suggestion(name, known)}use one of {" ".join(known)}',
            ErrorCode.UNKNOWN_FORMAT,
        )


def read_action_task(
    problem: str,
    domain: str = '',
    format: str = '',
    problem_source: str = '<problem>',
    domain_source: str = '<domain>',
) -> ActionTask:
    """The task in a text of any world.

    Args:
        problem: the text.
        domain: PDDL of the domain of a PDDL task; empty for a built-in one, and for other worlds.
        format: what the text is written in: a key of `WORLDS` or of `formats.FORMATS`; empty for
            PDDL.
        problem_source: file name of the text, or a label, for messages.
        domain_source: likewise for the domain.

    Raises:
        SafegenError: the text cannot be read, or there is no such format (`UNKNOWN_FORMAT`).
    """
    check_format(format)
    if format not in WORLDS:
        return load_task(
            problem,
            domain,
            format=format,
            problem_source=problem_source,
            domain_source=domain_source,
        )
    if domain:
        raise SafegenError(
            f'{domain_source}: a task in format {format} has no domain: leave it out',
            ErrorCode.UNSUPPORTED_FEATURE,
        )
    task: ActionTask = import_module(WORLDS[format]).read_goal(problem, problem_source)
    return task
