# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads the files that a user names; an error shows the lines that it is about."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from safegen_ros.errors import ErrorCode, PddlError, SafegenError
from safegen_ros.paths import DataNotFoundError, data_path
from safegen_ros.pddl.diagnostics import with_excerpts
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.pddl.text_files import pddl_kind, read_stream, read_text
from safegen_ros.tasks.pddl3.formats import FORMATS
from safegen_ros.tasks.pddl3.task import Pddl3Task, load_files
from safegen_ros.tasks.table import WORLDS, check_format
from safegen_ros.tasks.table import read_action_task as of_any_world
from safegen_ros.tasks.task import ActionTask

__all__ = [
    'DomainFile',
    'ReadAs',
    'find_problem',
    'in_order',
    'plan_text',
    'read_action_task',
    'read_task',
    'read_text',
    'without_domain',
]

STDIN = '-'
"""The name of standard input."""

TEST_PROBLEMS = 'data/safegen-bench/test'
"""Where the test problems of the benchmark are, each under its id."""

_SUFFIXES = ', '.join(f'{each.suffix} for {name}' for name, each in FORMATS.items())

DomainFile = Annotated[
    Path | None, typer.Option('--domain', help='PDDL domain file (default: the built-in domain)')
]
ReadAs = Annotated[
    str,
    typer.Option(
        '--read-as',
        metavar='FORMAT',
        help=f'input format: pddl, json, english, {" or ".join(WORLDS)} (default: from the file '
        f'extension: {_SUFFIXES}; pddl for any other)',
    ),
]


def find_problem(name: Path) -> Path:
    """The file that a user means.

    Args:
        name: a file in the working directory or in the data folder of the package, or the id of a
            test problem of the benchmark, such as `blocksworld-023`.

    Returns:
        A path that exists, or the name itself where it looks like that of a file.

    Raises:
        SafegenError: the name looks like an id, and there is no such test problem.
    """
    if name.exists() or name.is_absolute():
        return name
    try:
        return data_path(name)
    except DataNotFoundError:
        pass
    if name.suffix or len(name.parts) != 1:
        return name
    if (found := problems_in(TEST_PROBLEMS).get(str(name))) is None:
        raise SafegenError(
            f'{name}: there is neither a file nor a test problem of that name: {_ids()}',
            ErrorCode.BAD_PDDL,
        )
    return found


def problems_in(folder: str) -> dict[str, Path]:
    """The problems in a folder of the package by name; none where the folder is not installed."""
    try:
        return {path.stem: path for path in sorted(data_path(folder).glob('*.pddl'))}
    except DataNotFoundError:
        return {}


def _ids() -> str:
    """What may be said instead: the first test problem of each domain."""
    found = problems_in(TEST_PROBLEMS)
    if not found:
        return f'give the path of a file ({TEST_PROBLEMS} is not here either)'
    first = {name.rpartition('-')[0]: name for name in reversed(found)}
    some = ' '.join(sorted(first.values()))
    return f'give the path of a file, or one of {len(found)} ids such as {some}'


def read_action_task(
    problem: Path, domain: Path | None = None, *, format: str = '', sent_as: str = ''
) -> ActionTask:
    """The task in a file, of any world, with its text as it is sent.

    Args:
        problem: its file, or another argument of `find_problem`; or the name of a household task.
        domain: of a PDDL task, the domain's file; None for the built-in one.
        format: of the problem; empty to derive it from the file name: PDDL, JSON or English.
        sent_as: format in which a PDDL task is sent; empty for that of the file.

    Raises:
        SafegenError: as `read_task`, and where there is no such task or format.
    """
    for name in (format, sent_as):
        check_format(name)
    world = next((each for each in (format, sent_as) if each in WORLDS), '')
    if not world:
        task = read_task(problem, domain, format=format)
        return task.written_as(sent_as or task.format)
    path = find_problem(problem) if problem.suffix else problem
    text = read_text(path, 'task') if path.is_file() else str(problem)
    domain_text = read_text(domain, 'domain') if domain else ''
    return of_any_world(text, domain_text, world, str(problem))


def read_task(
    problem: Path, domain: Path | None = None, *, format: str = '', any_name: bool = False
) -> Pddl3Task:
    """The task in a problem file and, when there is one, a domain file.

    Args:
        problem: the problem's file, or what else `find_problem` takes.
        domain: the domain's file; None for the built-in one that the problem names. The two may be
            given in either order; their texts decide.
        format: format of the problem; empty to derive it from the file name.
        any_name: whether the problem may name another domain than the one in that file.

    Raises:
        SafegenError: as `find_problem` and `load_files`; the message of a `PddlError` shows the
            lines with a caret under each place.
    """
    problem, domain = in_order(find_problem(problem), domain)
    try:
        return load_files(problem, domain, format=format, any_name=any_name)
    except PddlError as error:
        for each in filter(None, (problem, domain)):
            if _is_plan(each):
                raise SafegenError(
                    f'{each} is a plan: name the problem first, then the plan', ErrorCode.BAD_PDDL
                ) from None
        raise with_excerpts(error) from None


def in_order(problem: Path, domain: Path | None) -> tuple[Path, Path | None]:
    """Problem and domain, which a user may give in either order; their texts decide."""
    if domain is not None and _kind(domain) == 'problem' and _kind(problem) == 'domain':
        return domain, problem
    return problem, domain


def _is_plan(path: Path) -> bool:
    if not path.is_file() or _kind(path):
        return False
    try:
        return bool(parse_plan(read_text(path, 'file'), timed=True).steps)
    except SafegenError:
        return False


def _kind(path: Path) -> str:
    """What a PDDL file holds; empty for a pipe, which can be read once only."""
    return pddl_kind(read_text(path, 'file')) if path.is_file() else ''


def without_domain(names: list[str], domain: Path | None) -> tuple[Path | None, list[str]]:
    """The domain, and the names without it where the first two are domain and problem, as for VAL.

    They may be in either order. `-` for the built-in domain is what `safegen validate` took.
    """
    if domain is None and len(names) > 1:
        kinds = [''.join(map(pddl_kind, _texts(name))) for name in names[:2]]
        if names[0] == STDIN or 'domain' in kinds or kinds[1] == 'problem':
            return None if names[0] == STDIN else Path(names[0]), names[1:]
    return domain, names


def _texts(name: str) -> list[str]:
    try:
        return [read_text(Path(name), 'file')] if Path(name).is_file() else []
    except SafegenError:
        return []  # if it is read as such, the error is reported


def plan_text(name: str) -> str:
    """The text of a plan file, or of standard input.

    Raises:
        SafegenError: it cannot be read.
    """
    if name == STDIN:
        return read_stream(sys.stdin.buffer, '<stdin>', 'plan')
    return read_text(Path(name), 'plan')
