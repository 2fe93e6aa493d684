# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What can be found out about a problem that a model wrote, each with a name."""

from __future__ import annotations

from enum import Enum

from safegen_ros.errors import ErrorCode, SafegenError


class Finding(str, Enum):
    """What became of an answer: the first thing that is wrong with it, or that nothing is."""

    TOO_LARGE = 'too large'
    NO_PROBLEM = 'no problem in it'
    UNFINISHED = 'not finished'
    SEVERAL_PROBLEMS = 'several problems'
    NOT_PDDL = 'not PDDL'
    NOT_STRIPS = 'not STRIPS'
    UNDECLARED_OBJECT = 'undeclared object'
    WRONG_DOMAIN = 'wrong domain'
    UNKNOWN_PREDICATE = 'unknown predicate'
    WRONG_TYPES = 'wrong types'
    INVALID_START = 'impossible initial state'
    UNSOLVABLE = 'unsolvable'
    PLAN_UNDECIDED = 'no plan found in time'
    TYPED = 'types in a domain without types'
    DIFFERENT = 'another problem'
    UNDECIDED = 'not compared in time'
    CORRECT = 'correct'

    @property
    def parseable(self) -> bool:
        """Whether a STRIPS problem could be read."""
        return self not in _UNREADABLE

    @property
    def solvable(self) -> bool:
        """Whether the problem has a plan."""
        return self in (Finding.TYPED, Finding.DIFFERENT, Finding.UNDECIDED, Finding.CORRECT)


_UNREADABLE = frozenset(
    {
        Finding.TOO_LARGE, Finding.NO_PROBLEM, Finding.UNFINISHED, Finding.SEVERAL_PROBLEMS,
        Finding.NOT_PDDL, Finding.NOT_STRIPS, Finding.UNDECLARED_OBJECT,
    }
)  # fmt: skip


class AnswerError(SafegenError):
    """An answer that is no problem of its domain.

    Args:
        finding: what is wrong with it.
        message: where, and how to mend it.
    """

    def __init__(self, finding: Finding, message: str) -> None:
        super().__init__(message, ErrorCode.BAD_PDDL)
        self.finding = finding
