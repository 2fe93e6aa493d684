# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Problems from texts that are not PDDL, checked by the reader of PDDL.

A format's reader writes the problem down word by word, each with its place in the text that it came
from. The words go through the one reader that knows the language, and what that has to say is told
about the place in the user's text. So no name, type or arity is checked in two ways.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from safegen_ros.errors import ErrorCode, PddlError, PddlErrors
from safegen_ros.language.placed import Place
from safegen_ros.pddl.model import Domain, Problem
from safegen_ros.pddl.reader import read_problem

_WORDS = '<words>'  # what the reader calls the text that it is given


class PlacedWords:
    """A PDDL text in the making.

    Args:
        source: file name, or a label, for messages.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self._words: list[str] = []
        self._places: list[Place] = []

    def add(self, place: Place, *words: str) -> None:
        """Writes words, parentheses among them, that all come from one place."""
        for word in words:
            self._words.append(word)
            self._places.append(place)

    def problem(self, domain: Domain) -> Problem:
        """What was written, as a problem of a domain.

        Raises:
            PddlError: as `read_problem`, with places in the user's text.
        """
        try:
            problem = read_problem('\n'.join(self._words), domain, _WORDS)
        except PddlError as error:
            raise self._moved(error.errors) from error
        constraints = tuple(replace(c, place=self._place(c.place)) for c in problem.constraints)
        return replace(problem, constraints=constraints)

    def error(
        self, place: Place, what: str, cure: str, code: ErrorCode = ErrorCode.BAD_PDDL
    ) -> PddlError:
        """An error at a place, to be raised by the caller."""
        line, column = place
        return PddlError(what, source=self.source, line=line, column=column, cure=cure, code=code)

    def _moved(self, errors: Iterable[PddlError]) -> PddlError:
        found = []
        for error in errors:
            place = self._places[error.line - 1]
            found.append(self.error(place, error.what, error.cure, error.code))
        return found[0] if len(found) == 1 else PddlErrors(found)

    def _place(self, place: str) -> str:
        """Where a constraint was written; those of the domain stay where they are."""
        if not place.startswith(f'{_WORDS}:'):
            return place
        number = int(place.split(':')[1])
        return ':'.join(map(str, (self.source, *self._places[number - 1])))
