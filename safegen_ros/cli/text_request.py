# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A request in plain words instead of a problem file."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.goals.files import find_problem, read_text
from safegen_ros.pddl.text_files import pddl_kind
from safegen_ros.record.approval import shown_request
from safegen_ros.tasks.pddl3.formats import FORMATS, WORDS

if TYPE_CHECKING:
    from safegen_msgs.action import PlanTask
    from safegen_ros.cli.display import RunDisplay
    from safegen_ros.client import Client, Goal, Options
    from safegen_ros.goals.request import GoalRequest

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

_MEANT = ('Is this what is meant?', 'Is this what is meant, in spite of the doubts?')


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


def understood(
    client: Client, spoken: TextRequest, options: Options, display: RunDisplay, yes: bool
) -> tuple[GoalRequest | None, Any]:
    """Has a stack read a request, and the reading accepted by a person or by its digest.

    The user is asked on a terminal. Without one, and without a digest, the goal asks for approval:
    its plan waits for an operator, who sees what the request was read as. A reading in doubt is
    refused then.

    Args:
        options: of the goal that will be sent for it; `accept_reading` is the digest.
        display: shows the problem in canonical words and in PDDL.
        yes: whether the user is not asked here.

    Returns:
        The problem to send instead of the words, exactly as shown; None where there is
        none, or the user did not agree. And the `PlanTask.Result` that says why.

    Raises:
        SafegenError: the request cannot be read, or there is no answer.
    """
    from safegen_ros.goals.recorder import planned
    from safegen_ros.goals.request import IN_WORDS, GoalRequest, TranslatedRequest
    from safegen_ros.tasks.planetarium.request import read_request

    given = (spoken.text, spoken.domain, spoken.constraints, spoken.start)
    domain = read_request(*given).domain_text
    asked = replace(spoken.options(options), translate_only=True)

    def start() -> Goal[PlanTask.Result]:
        return client.start_plan(
            spoken.text, spoken.domain, asked, lambda told: display.planning(told.progress), WORDS
        )

    result, events = planned(client, start, display.show)
    display.pause()
    if result.error_code != ErrorCode.NONE:
        code = ErrorCode(result.error_code).name
        display.line(f'[bold red]{code}[/] {escape(result.error_msg)}')
        return None, result
    accepted = options.accept_reading
    if accepted not in ('', result.reading_digest):
        display.line(
            '[bold red]READING_NOT_ACCEPTED[/] this reading is not the accepted one, '
            f'{escape(accepted)}: nothing was planned, and nothing moved'
        )
        return None, result
    asks = not (accepted or yes) and sys.stdin.isatty()
    for doubt in result.question.splitlines():
        display.line(f'[bold red]in doubt[/] {escape(doubt)}')
    if result.question and not (accepted or asks):
        display.line(
            '[bold red]READING_NOT_ACCEPTED[/] nothing was planned: run it on a terminal without '
            f'--yes, or let a person accept it (--accept-reading {result.reading_digest})'
        )
        return None, result
    # The reading itself is sent; an operator sees the request beside it.
    options = replace(
        options, accept_reading='', request=shown_request(spoken.text, result.question)
    )
    if not (accepted or asks):
        display.line('not confirmed here: the plan waits for an operator')
        options = replace(options, approval=True)
    elif asks and not typer.confirm(_MEANT[bool(result.question)], err=True):
        display.line('nothing was planned, and nothing moved: say it in other words')
        return None, result
    task, translated = TranslatedRequest.of(spoken.text, domain, asked, result, events)
    return GoalRequest(Path(IN_WORDS), task, domain, options, spoken=translated), result
