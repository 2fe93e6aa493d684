# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads the files that a user names, with errors that say what to do."""

from __future__ import annotations

from pathlib import Path

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.sexpr import MAX_TEXT
from safegen_ros.worlds.pddl3.task import Pddl3Task, load_task


def read_text(path: Path, what: str) -> str:
    """The text of a file.

    Raises:
        SafegenError: there is no such file, it is too large, or it is not UTF-8 text.
    """
    try:
        size = path.stat().st_size
        if size > MAX_TEXT:
            raise SafegenError(
                f'{path}: the {what} has {size:,} bytes, more than the limit of {MAX_TEXT:,}: '
                'give one problem, not a collection',
                ErrorCode.TASK_TOO_LARGE,
            )
        return path.read_text(encoding='utf-8')
    except UnicodeDecodeError as error:
        raise SafegenError(
            f'{path}: the {what} is not UTF-8 text (byte {error.start}): save it as plain text',
            ErrorCode.BAD_PDDL,
        ) from error
    except OSError as error:
        raise SafegenError(
            f'{path}: the {what} cannot be read: {error.strerror}: check the path',
            ErrorCode.BAD_PDDL,
        ) from error


def read_task(problem: Path, domain: Path | None = None) -> Pddl3Task:
    """The task in a problem file and, when there is one, a domain file."""
    return load_task(
        read_text(problem, 'problem'),
        '' if domain is None else read_text(domain, 'domain'),
        problem_source=str(problem),
        domain_source=str(domain or '<domain>'),
    )
