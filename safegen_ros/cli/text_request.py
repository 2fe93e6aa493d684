# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A request in plain words instead of a problem file."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.goal_options import Options
from safegen_ros.goals.files import find_problem, read_text
from safegen_ros.pddl.text_files import pddl_kind
from safegen_ros.tasks.pddl3.formats import FORMATS

Words = Annotated[
    bool,
    typer.Option(
        '--words',
        help='read the task as a request in plain words (default for a text with blanks that '
        'is not a file)',
    ),
]
Constraints = Annotated[
    str,
    typer.Option(metavar='PDDL3', help='with words: extra constraints, as a formula or a file'),
]
Start = Annotated[
    Path | None,
    typer.Option(
        '--start',
        help='with words: problem file or ID with the objects, initial state and constraints',
    ),
]
Yes = Annotated[
    bool,
    typer.Option(
        '--yes',
        help='with words: do not ask to confirm the reading; its plan waits for approval, and a '
        'reading in doubt is refused',
    ),
]


@dataclass(frozen=True, slots=True)
class TextRequest:
    """A request in words, with its formal parts.

    Attributes:
        domain: PDDL, or a name; empty for that of `start`.
        constraints: PDDL3; empty for none.
        start: PDDL of a problem; empty for none.
    """

    text: str
    domain: str
    constraints: str
    start: str

    @classmethod
    def read(
        cls, text: str, words: bool, domain: Path | None, constraints: str, start: Path | None
    ) -> TextRequest | None:
        """The request of a command line; None where a file is named, which is read elsewhere.

        Raises:
            SafegenError: a file cannot be read, or goes with no request.
        """
        if not words and not is_request(text):
            if constraints or start is not None:
                raise SafegenError(
                    f'{text}: --constraints and --start go with a request in words only: write '
                    'them into the problem, or give --words',
                    ErrorCode.BAD_PDDL,
                )
            return None
        known = ''
        if domain is not None:
            known = read_text(domain, 'domain') if domain.is_file() else str(domain)
        if constraints and not constraints.lstrip().startswith('('):
            constraints = read_text(Path(constraints), 'constraints')
        begin = '' if start is None else read_text(find_problem(start), 'problem')
        if start is not None and pddl_kind(begin) != 'problem':
            raise SafegenError(f'{start}: is not a PDDL problem: name one', ErrorCode.BAD_PDDL)
        return cls(text, known, constraints, begin)

    def options(self, options: Options) -> Options:
        """Options of a goal with those of the words."""
        return replace(options, constraints=self.constraints, start=self.start)


def is_request(text: str) -> bool:
    """Whether a text can only be meant as a request: with blanks, and not the name of a file."""
    named = Path(text).suffix.lower() in {each.suffix for each in FORMATS.values()}
    return len(text.split()) > 1 and not named and not os.path.exists(text)
