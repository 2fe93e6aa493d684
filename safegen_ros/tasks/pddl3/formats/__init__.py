# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Problems as PDDL3, as JSON and as English text.

What one of the formats writes it reads back as an equal problem. A text that is wrong is refused at
its line and column, in every format alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.language.english import to_english
from safegen_ros.language.english_reader import english_domain_name, from_english
from safegen_ros.pddl.diagnostics import suggestion
from safegen_ros.pddl.model import Domain, Problem
from safegen_ros.pddl.reader import problem_domain_name, read_problem
from safegen_ros.pddl.sexpr import respelt
from safegen_ros.pddl.writer import problem_text
from safegen_ros.tasks.pddl3.formats.json_format import from_json, json_domain_name
from safegen_ros.tasks.pddl3.formats.json_writer import to_json

PDDL = 'pddl'
"""The format that is meant where none is named."""

WORDS = 'words'
"""What a request in plain words is sent as: no format, for a model writes the problem first."""


@dataclass(frozen=True, slots=True)
class Format:
    """A way to write problems down.

    Attributes:
        suffix: how the names of its files end.
        read: a problem from its text, its domain, and a file name or label for messages; raises
            `PddlError`.
        domain_name: the domain that a text asks for, from the text and a file name or label;
            raises `PddlError`.
    """

    suffix: str
    write: Callable[[Problem], str]
    read: Callable[[str, Domain, str], Problem]
    domain_name: Callable[[str, str], str]


def _english(problem: Problem) -> str:
    _check_timeless(problem.domain)
    return to_english(problem)


def _from_english(text: str, domain: Domain, source: str) -> Problem:
    _check_timeless(domain)
    return from_english(text, domain, source)


def _check_timeless(domain: Domain) -> None:
    """Refuses durative actions: the deadlines of English count steps."""
    if domain.durative:
        raise SafegenError(
            f'the actions of {domain.name} take time, which a .txt problem cannot say: write the '
            'problem in PDDL or JSON',
            ErrorCode.UNSUPPORTED_FEATURE,
        )


FORMATS = {
    PDDL: Format(
        '.pddl',
        problem_text,
        read_problem,
        lambda text, source: problem_domain_name(text, source).text,
    ),
    'json': Format('.json', to_json, from_json, json_domain_name),
    'english': Format('.txt', _english, _from_english, english_domain_name),
}
"""The formats by name."""


def written(format: str, problem: Problem, spelling: Mapping[str, str]) -> str:
    """A problem as text, with its names as they came where that is PDDL."""
    text = FORMATS[format].write(problem)
    return respelt(text, spelling) if format == PDDL else text


def known_format(name: str) -> str:
    """The name of a format; the empty one is that of PDDL.

    Raises:
        SafegenError: there is no such format (`UNKNOWN_FORMAT`).
    """
    if not name:
        return PDDL
    if name not in FORMATS:
        raise SafegenError(
            f'format {name[:40]!a} of the problem is not known: '
            f'{suggestion(name, FORMATS)}use one of {" ".join(FORMATS)}',
            ErrorCode.UNKNOWN_FORMAT,
        )
    return name


def format_of(path: Path) -> str:
    """The format of a problem file by its name; PDDL by default."""
    suffix = path.suffix.lower()
    return next((name for name, each in FORMATS.items() if each.suffix == suffix), PDDL)
