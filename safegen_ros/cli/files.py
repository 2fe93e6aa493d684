# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads the files that a user names; an error shows the lines that it is about."""

from __future__ import annotations

from pathlib import Path

from safegen_ros.errors import PddlError
from safegen_ros.pddl.diagnostics import with_excerpts
from safegen_ros.worlds.pddl3.files import load_files, read_text
from safegen_ros.worlds.pddl3.task import Pddl3Task

__all__ = ['read_task', 'read_text']


def read_task(problem: Path, domain: Path | None = None, *, any_name: bool = False) -> Pddl3Task:
    """The task in a problem file and, when there is one, a domain file.

    Args:
        problem: the problem's file.
        domain: the domain's file; None for the built-in one that the problem names.
        any_name: whether the problem may name another domain than the one in that file.

    Raises:
        SafegenError: as `load_files`; the message of a `PddlError` shows the lines with a caret
            under each place.
    """
    try:
        return load_files(problem, domain, any_name=any_name)
    except PddlError as error:
        raise with_excerpts(error) from None
