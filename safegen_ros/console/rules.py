# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A rule that somebody types in: what it means and its formula, or why it is not understood."""

from __future__ import annotations

from dataclasses import dataclass

from safegen_ros.errors import PddlError, SafegenError
from safegen_ros.language.additions import with_rules
from safegen_ros.language.reading import AmbiguousRule, Reading
from safegen_ros.language.rules import read_rules
from safegen_ros.pddl.model import Problem


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a rule cannot be added.

    Attributes:
        what: what is wrong.
        cure: how to say it so that it is understood.
        line: of the text, from 1; 0 where no place is meant.
        column: from 1.
        excerpt: the line with a caret under the place; empty where there is no place.
        meanings: where it can mean several things, each of them in words.
    """

    what: str
    cure: str = ''
    line: int = 0
    column: int = 0
    excerpt: str = ''
    meanings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Understood:
    """What became of a text: readings, or at least one trouble and no reading.

    Attributes:
        readings: for `Pddl3Task.with_rules`, once a person has confirmed them.
        troubles: why not.
    """

    readings: tuple[Reading, ...] = ()
    troubles: tuple[Trouble, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was understood, in canonical words."""
        return tuple(sentence for reading in self.readings for sentence in reading.sentences)

    @property
    def formulas(self) -> tuple[str, ...]:
        """The same in PDDL3."""
        return tuple(reading.formula for reading in self.readings)


def understand(text: str, problem: Problem) -> Understood:
    """Reads rules in plain words or in PDDL3; nothing is guessed and nothing left out.

    Args:
        text: one rule or several.
        problem: the problem that they are meant for; rules that it is seen no plan can keep are
            refused.
    """
    try:
        readings = read_rules(text, problem, 'your rule')
        with_rules(problem, readings)
    except PddlError as error:
        return Understood(troubles=tuple(_trouble(each, text) for each in error.errors))
    except SafegenError as error:
        return Understood(troubles=(Trouble(error.message),))
    if not readings:
        return Understood(troubles=(Trouble('there is no rule', 'write a sentence'),))
    return Understood(readings)


def _trouble(error: PddlError, text: str) -> Trouble:
    meanings = error.meanings if isinstance(error, AmbiguousRule) else ()
    return Trouble(
        error.what, error.cure, error.line, error.column, _excerpt(error, text), meanings
    )


def _excerpt(error: PddlError, text: str) -> str:
    lines = text.splitlines()
    if not 1 <= error.line <= len(lines):
        return ''
    return f'{lines[error.line - 1]}\n{" " * (error.column - 1)}^'
