# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Descriptions of problems in words, atom by atom or summed up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

START, END = ' At the start: ', ' In the end: '
"""What stands between the objects, the initial state and the goal."""


def description(
    objects: Mapping[str, Sequence[str]], start: Sequence[str], goal: Sequence[str]
) -> str:
    """A problem in words.

    Args:
        objects: the objects by their kinds, numbered from 1.
        start: clauses about the initial state; empty ones are left out.
        goal: clauses about the goal, likewise.
    """
    kinds = [_counted(kind, names) for kind, names in objects.items()]
    return f'Given: {listed(kinds)}.{START}{_clauses(start)}.{END}{_clauses(goal)}.'


def _counted(kind: str, names: Sequence[str]) -> str:
    """`3 rooms (room1 to room3)`."""
    if len(names) == 1:
        return f'1 {kind} ({names[0]})'
    link = 'and' if len(names) == 2 else 'to'
    return f'{len(names)} {kind}s ({names[0]} {link} {names[-1]})'


def _clauses(clauses: Sequence[str]) -> str:
    return '; '.join(filter(None, clauses))


def listed(words: Sequence[object]) -> str:
    """`1`, `1 and 2`, `1, 2 and 3`."""
    *head, last = map(str, words)
    return f'{", ".join(head)} and {last}' if head else last
