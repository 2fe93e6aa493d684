# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Finds the one problem in a model's answer: behind thoughts, amid prose, in a code fence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum

from safegen_ros.errors import ErrorCode, SafegenError


class Grade(str, Enum):
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
        return self in (
            Grade.TYPED,
            Grade.DIFFERENT,
            Grade.UNDECIDED,
            Grade.CORRECT,
        )


_UNREADABLE = frozenset(
    {
        Grade.TOO_LARGE, Grade.NO_PROBLEM, Grade.UNFINISHED, Grade.SEVERAL_PROBLEMS,
        Grade.NOT_PDDL, Grade.NOT_STRIPS, Grade.UNDECLARED_OBJECT,
    }
)  # fmt: skip


class UnreadableAnswer(SafegenError):
    """An answer that is not a problem of its domain, with its faults."""

    def __init__(self, finding: Grade, message: str) -> None:
        super().__init__(message, ErrorCode.BAD_PDDL)
        self.finding = finding


MAX_ANSWER = 1 << 20
"""Longest answer that is looked at [characters]."""

THOUGHT = re.compile(r'<think>.*?(?:</think>|(?P<open>\Z))', re.DOTALL | re.IGNORECASE)
"""What a model thought before it answered; without an end, all the rest."""

_DEFINE = re.compile(r'\(\s*define(?=[\s(])', re.IGNORECASE)
_INSIDE = re.compile(rf';[^\n]*|```|{_DEFINE.pattern}|[()]', re.IGNORECASE)
_KIND = re.compile(r'\(\s*define\s*\(\s*problem(?=[\s()])', re.IGNORECASE)
_COMMENT = re.compile(r';[^\n]*')


def problem_fragment(answer: str) -> str:
    """The one problem in an answer, with blank lines before it so that its places stay.

    Domains beside it are skipped. A definition ends where its parentheses do; a code fence or
    another definition before that means that it was not finished.

    Raises:
        AnswerError: the answer is longer than `MAX_ANSWER`, or holds no problem that is finished,
            or several that differ.
    """
    if len(answer) > MAX_ANSWER:
        raise UnreadableAnswer(
            Grade.TOO_LARGE,
            f'the answer has {len(answer):,} characters: write one problem of fewer than '
            f'{MAX_ANSWER:,}',
        )
    text = THOUGHT.sub(_blank, answer)
    whole: dict[str, tuple[int, int]] = {}
    unfinished = ''
    for start, end in _definitions(text):
        body = text[start : abs(end)]
        bare = _COMMENT.sub('', body)
        if not _KIND.match(bare):
            continue
        if end > 0:
            whole.setdefault(' '.join(bare.lower().split()), (start, end))
        else:
            unfinished = unfinished or f'line {text.count(chr(10), 0, start) + 1}'
    if len(whole) > 1:
        raise UnreadableAnswer(
            Grade.SEVERAL_PROBLEMS,
            f'the answer holds {len(whole)} problems that differ: write one',
        )
    if whole:
        ((start, end),) = whole.values()
        lines = text.count('\n', 0, start)
        return '\n' * lines + text[start:end]
    if unfinished:
        raise UnreadableAnswer(
            Grade.UNFINISHED,
            f"the problem that begins in {unfinished} lacks a ')': close every parenthesis",
        )
    raise UnreadableAnswer(
        Grade.NO_PROBLEM, 'the answer holds no (define (problem ...) ...): write one'
    )


def _blank(match: re.Match[str]) -> str:
    """The lines of a thought; nothing behind one that has no end is an answer."""
    return '\n' * match.group().count('\n')


def _definitions(text: str) -> Iterator[tuple[int, int]]:
    """Where every `(define` begins and ends; the end is negative where it was not finished."""
    at = 0
    while (first := _DEFINE.search(text, at)) is not None:
        start, at, depth = first.start(), first.end(), 1
        while depth:
            token = _INSIDE.search(text, at)
            if token is None:
                yield start, -len(text)
                return
            word = token.group()
            if word == '```' or (len(word) > 1 and word[0] == '('):
                yield start, -token.start()
                at = token.start() if word[0] == '(' else token.end()
                break
            at = token.end()
            depth += {'(': 1, ')': -1}.get(word, 0)
        else:
            yield start, at
