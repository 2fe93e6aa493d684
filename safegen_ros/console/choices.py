# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What an operator may ask for: the problems that come with the package, and texts of their own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from safegen_ros.errors import ErrorCode, PddlError, SafegenError
from safegen_ros.paths import DataNotFoundError, data_path
from safegen_ros.pddl.diagnostics import with_excerpts
from safegen_ros.tasks.pddl3.formats import PDDL
from safegen_ros.tasks.pddl3.task import Pddl3Task, load_files, load_task

EXAMPLES = 'examples'
TEST_PROBLEMS = 'data/safegen-bench/test'

PASTED = '<pasted text>'
"""What errors call a text that was pasted."""

MAX_TEXT = 500_000
"""Longest text that is read here [characters]; the nodes have limits of their own."""

_DEFINE = re.compile(r'\(\s*define\s*\(\s*(domain|problem)\b', re.IGNORECASE)
_COMMENT = re.compile(r';[^\n]*')


@dataclass(frozen=True, slots=True)
class Chosen:
    """A task as it would be sent.

    Attributes:
        task: what was read.
        domain_text: the domain as it is sent; empty for a built-in one.
        source: where it comes from, for the record.
    """

    task: Pddl3Task
    domain_text: str
    source: str


def problems() -> dict[str, Path]:
    """The problems to choose from, by name: examples first, then the test problems."""
    found: dict[str, Path] = {}
    for folder in (EXAMPLES, TEST_PROBLEMS):
        try:
            place = data_path(folder)
        except DataNotFoundError:
            continue
        found |= {path.stem: path for path in sorted(place.glob('*.pddl'))}
    return found


def read_problem(name: str) -> Chosen:
    """A problem of those to choose from.

    Raises:
        SafegenError: there is none of that name any more, or it cannot be read.
    """
    path = problems().get(name)
    if path is None:
        raise SafegenError(f'there is no problem {name[:80]!a}', ErrorCode.BAD_PDDL)
    return Chosen(load_files(path), '', str(path))


def read_pasted(text: str, domain: str = '') -> Chosen:
    """A text that was pasted: PDDL, or JSON where it begins with a brace.

    Args:
        text: the problem; PDDL may have its domain before or behind it.
        domain: PDDL of the domain; empty for one in `text`, or the built-in one that it names.

    Raises:
        SafegenError: it cannot be read; the message has the lines with a caret under the place.
    """
    if len(text) + len(domain) > MAX_TEXT:
        raise SafegenError(
            f'the text has {len(text) + len(domain):,} characters, more than the limit of '
            f'{MAX_TEXT:,}: send a smaller task',
            ErrorCode.TASK_TOO_LARGE,
        )
    form = 'json' if text.lstrip().startswith('{') else PDDL
    if form == PDDL and not domain.strip():
        domain, text = _apart(text)
    try:
        task = load_task(text, domain, format=form, problem_source=PASTED)
    except PddlError as error:
        raise with_excerpts(error) from None
    return Chosen(task, domain, PASTED)


def _apart(text: str) -> tuple[str, str]:
    """The domain and the problem of a text with both; the first is empty where it has one only.

    The place of the other is filled with blanks, so that lines and columns stay what they are.
    """
    plain = _COMMENT.sub(lambda found: ' ' * len(found[0]), text)
    starts = [(found.start(), found[1].lower()) for found in _DEFINE.finditer(plain)]
    if [kind for _, kind in starts] not in (['domain', 'problem'], ['problem', 'domain']):
        return '', text
    cut, (_, first) = starts[1][0], starts[0]
    head, tail = text[:cut], re.sub(r'[^\n]', ' ', text[:cut]) + text[cut:]
    return (head, tail) if first == 'domain' else (tail, head)
