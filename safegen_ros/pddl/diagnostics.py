# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Errors in texts: gathered up to a limit, with likely corrections, shown at their places."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice
from typing import ParamSpec, TypeVar, cast

from safegen_ros.errors import PddlError, PddlErrors, PlanFormatError, TextError
from safegen_ros.untrusted import numbered

MAX_ERRORS = 20
"""Most errors of one text that are listed."""

_MAX_NOTED = 50  # errors after which reading ends, however alike they are

_MOST_ASSUMED = 100  # names that a domain may leave undeclared

_MAX_KNOWN = 1000  # names that are compared with a misspelt one
_MAX_NAME = 40  # characters of names that are compared
_MAX_DIFFERENCE = 3  # in their lengths
_WIDTH = 90  # characters of a line that an excerpt shows
_CONTEXT = 60  # of them before the place

_P = ParamSpec('_P')
_T = TypeVar('_T')


@dataclass(frozen=True, slots=True)
class Remark:
    """A name that a domain does not declare, or not widely enough, and the meaning it is given."""

    rule: str
    name: str
    what: str
    cure: str
    source: str = ''
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f'{self.source}:{self.line}:{self.column}: {self.what}'


@dataclass(slots=True)
class Assumed:
    """What a domain uses in one way only and does not declare.

    Attributes:
        types: of the domain; others are put in where they stand behind a dash.
        constants: of the domain; others are put in with the type that their places ask for.
        functions: those of costs and durations, with the types of their arguments.
        predicates: declared ones, widened for the terms that actions and rules put into them.
        called: names that were met with as many arguments as they are declared with.
        apart: whether a predicate is widened for a type that shares no object with its own.
        remarks: each such name by its rule, where it was met first.
    """

    types: dict[str, str]
    constants: dict[str, str] = field(default_factory=dict)
    functions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    predicates: dict[str, tuple[str, ...]] = field(default_factory=dict)
    called: set[str] = field(default_factory=set)
    apart: bool = True
    remarks: dict[tuple[str, str], Remark] = field(default_factory=dict)

    @property
    def full(self) -> bool:
        """Whether so many names are undeclared that no more are looked at."""
        return len(self.remarks) >= _MOST_ASSUMED


class Reports:
    """The errors that were found in one text so far.

    An error leaves a gap in the result, so a reader that goes on after one must end with `finish`:
    until then its result may not be used.
    """

    def __init__(self) -> None:
        self._noted: list[PddlError] = []
        self._count = 0

    def attempt(self, read: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T | None:
        """What a function reads, or None when that failed and the error was noted."""
        try:
            return read(*args, **kwargs)
        except PddlErrors:
            raise
        except PddlError as error:
            self.note(error)
            return None

    def whole(self, read: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """What a function reads out of a whole text.

        Raises:
            PddlError: one error was found, or several (`PddlErrors`).
        """
        found = self.attempt(read, *args, **kwargs)
        self.finish()
        return cast(_T, found)  # only a function that failed leaves None

    def note(self, error: PddlError) -> None:
        """Keeps an error for `finish`; equal errors are listed once.

        Raises:
            PddlError: there are `MAX_ERRORS` of them now, or very many of the same.
        """
        if all(error.what != other.what for other in self._noted):
            # A traceback keeps everything that was read so far alive, this object too.
            self._noted.append(error.with_traceback(None))
        self._count += 1
        if len(self._noted) >= MAX_ERRORS or self._count >= _MAX_NOTED:
            self.finish()

    def finish(self) -> None:
        """Ends the reading of a text, or of a part that the rest needs.

        Raises:
            PddlError: one error was noted.
            PddlErrors: several were.
        """
        found = sorted(self._noted, key=lambda error: (error.line, error.column))
        self._noted.clear()
        try:
            if len(found) > 1:
                raise PddlErrors(found)
            if found:
                raise found[0]
        finally:
            found.clear()


def suggestion(word: str, known: Iterable[str]) -> str:
    """`did you mean 'always'? ` for a word that is nearly a known one, else nothing."""
    return _suggestion(word, tuple(islice(known, _MAX_KNOWN))) if len(word) <= _MAX_NAME else ''


@lru_cache(256)  # a model writes the same wrong name in many plans
def _suggestion(word: str, known: tuple[str, ...]) -> str:
    alike = [name for name in known if abs(len(name) - len(word)) <= _MAX_DIFFERENCE]
    close = get_close_matches(word, alike, 1, 0.7)
    return f'did you mean {close[0]!r}? ' if close else ''


def excerpt(text: str, error: TextError) -> str:
    """The line of an error with a caret under the place; see `excerpt_at`.

    Returns:
        Two lines, or an empty string when the text has no such line.
    """
    start = 0
    for _ in range(error.line - 1):
        start = text.find('\n', start) + 1
        if not start:
            return ''
    return excerpt_at(text, start, error.line, error.column) if error.line else ''


def excerpt_at(text: str, start: int, line: int, column: int) -> str:
    """A line of a text with a caret under a place in it, for a terminal.

    Characters that are not plain ASCII are shown as `~`, which no PDDL has. So the caret stands
    under the place, and no text can steer the terminal. Long lines are cut at both ends.
    """
    first = max(0, column - 1 - _CONTEXT)
    window = text[start + first : start + first + _WIDTH + 1].split('\n')[0].rstrip('\r')
    shown = ''.join(c if ' ' <= c <= '~' else ' ' if c == '\t' else '~' for c in window[:_WIDTH])
    left = '...' if first else ''
    right = '...' if len(window) > _WIDTH else ''
    margin = f'{line:>5} | '
    caret = ' ' * (len(margin) + len(left) + column - 1 - first) + '^'
    return f'{margin}{left}{shown}{right}\n{caret}'


def with_excerpts(error: PddlError) -> PddlError:
    """The same error with a message that shows the lines it is about, for a terminal."""
    shown = [f'{each.message}\n{each.excerpt}'.rstrip('\n') for each in error.errors]
    error.message = '\n'.join(shown)
    error.args = (error.message,)
    return error


ONLY_STEPS = 'write only steps, each in parentheses'

_SHOWN = 40  # characters of a text that a message repeats

_KINDS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.ASCII | re.IGNORECASE), kind)
    for pattern, kind in (
        (r'```', 'a code fence'),
        (r'</?[a-z]', 'a tag'),
        (r'\{|\[\s*["{\[]', 'JSON'),
        (r'\[', 'a list in brackets'),
        (r'\)', 'a parenthesis that closes nothing'),
        (r'[-*+\u2022]\s', 'a bullet'),
        (r'\d+[.)]\s', 'a numbered list'),
        (r'#', 'a heading'),
        (r'`', 'a backtick'),
        (r'["\']', 'a quotation mark'),
        (r'[,;]', 'a comma'),
        (r'[\w\-]+\(', 'a call'),
        (r'\d[\d.]*\s*:', 'a second time'),
        (r'[\w\-]+(?:[ \t]+[\w\-]+)*[ \t]*\r?$', 'words without parentheses'),
        (r'[\w\-]', 'a sentence'),
    )
)

_STEP_PARTS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.ASCII), kind)
    for pattern, kind in (
        (r'\(\s*\)', 'a step without a name'),
        (r'\(\s*\(', 'a list inside a list'),
        (r'\([^)]*;', 'a comment inside a step'),
        (r'\([^()]*(?:\(|\Z)', 'an unclosed parenthesis'),
        (r'\([^)]*\?', 'a variable in a step'),
        (r'\([^)]*,', 'a comma in a step'),
        (r'\([^)]*["\'`]', 'a quotation mark in a step'),
    )
)


def place_of(text: str, position: int) -> tuple[int, int]:
    """Line and column of a position in a text, both from 1."""
    line = text.count('\n', 0, position) + 1
    return line, position - text.rfind('\n', 0, position)


def misplaced(text: str, position: int, steps: int) -> PlanFormatError:
    """The error about the element at a position, behind some steps.

    The message goes back to the language model that wrote the text, and to a person beside it.
    """
    line, column = place_of(text, position)
    kind, shown = found_at(text, position)
    found = f'found {shown!r}, {kind},' if shown else 'the text ends'
    return PlanFormatError(
        f'{found} where a step such as (stack b1 b2) must stand, after {steps} steps',
        line=line,
        column=column,
        cure=ONLY_STEPS,
        steps=steps,
    )


def found_at(text: str, position: int) -> tuple[str, str]:
    """What stands at a position, in words and as it is written; both empty at the end."""
    end = text.find('\n', position)
    line = text[position : len(text) if end < 0 else end]
    shown = line[:_SHOWN].rstrip()
    return (_kind(text, position, line), shown) if shown else ('', '')


def _kind(text: str, position: int, line: str) -> str:
    first = line[0]
    if number := numbered(line):
        return f'the character {number}'
    if not first.isascii() or not first.isprintable():
        return f'the character U+{ord(first):04X}'
    if first == '(':
        end = text.find(')', position)
        step = text[position : len(text) if end < 0 else end + 1]
        for pattern, kind in _STEP_PARTS:
            if pattern.match(step):
                return kind
        for place, character in enumerate(step):
            if character == '\u27e8' and (number := numbered(step[place:])):
                return f'the character {number} in a step'
        strange = next(
            (c for c in step if not (c.isascii() and c.isprintable()) and c not in '\t\r\n'), ''
        )
        if strange:
            return f'the character U+{ord(strange):04X} in a step'
        return 'a step with a character that no name has'
    return next((kind for pattern, kind in _KINDS if pattern.match(line)), 'the text')
