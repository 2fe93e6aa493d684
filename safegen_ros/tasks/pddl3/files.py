# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads the tasks that a user names, with errors that say what to do."""

from __future__ import annotations

from pathlib import Path

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.text_files import read_text
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.tasks.pddl3.task import PDDL, Pddl3Task, known_format, load_task

_BEGINNINGS = {'pddl': '(', 'json': '{', 'english': 'Problem '}


def format_of(path: Path) -> str:
    """The format that the name of a problem file tells; PDDL where it tells none."""
    suffix = path.suffix.lower()
    return next((name for name, each in FORMATS.items() if each.suffix == suffix), PDDL)


def load_files(
    problem: Path, domain: Path | None = None, *, format: str = '', any_name: bool = False
) -> Pddl3Task:
    """The task in a problem file and, when there is one, a domain file.

    Args:
        problem: the problem's file.
        domain: the domain's file, in PDDL; None for the built-in one that the problem names.
        format: what the problem is written in; empty for what the name of its file tells.
        any_name: whether the problem may name another domain than the one in that file.

    Raises:
        SafegenError: a file cannot be read, or `load_task` refuses what is in it.
    """
    domain_text = '' if domain is None else read_text(domain, 'domain')
    if domain is not None and not domain_text.strip():
        raise SafegenError(
            f'{domain}: the domain is empty: write a (define (domain ...) ...) form',
            ErrorCode.EMPTY_TASK,
        )
    text = read_text(problem, 'problem')
    written = known_format(format or format_of(problem))
    begun = next(
        (name for name, start in _BEGINNINGS.items() if text.lstrip().startswith(start)), ''
    )
    if begun and begun != written:
        raise SafegenError(
            f'{problem}: begins like a problem in {begun}, but is to be read as {written}: give '
            f'--read-as {begun}, or a name that ends with {FORMATS[begun].suffix}',
            ErrorCode.BAD_PDDL,
        )
    return load_task(
        text,
        domain_text,
        format=written,
        problem_source=str(problem),
        domain_source=str(domain or '<domain>'),
        any_name=any_name,
    )
