# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans, and the strict grammar by which a text becomes one.

A plan is data from a model, from a file or from another process: the grammar accepts steps in
parentheses, comments and the time stamps that planners print, and nothing else. There is no
guessing, since a prefix of a plan is another plan.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from safegen_ros.errors import PlanFormatError

MAX_PLAN_TEXT = 1 << 20
"""Longest plan text that is read [characters]."""

_GRAMMAR = re.compile(
    r"""
    (?P<space>\s+) | (?P<comment>;[^\n]*)
    | (?P<stamp>\d+(?:\.\d+)?\s*:)
    | (?P<duration>\[\s*\d+(?:\.\d+)?\s*\])
    | \(\s*(?P<step>[A-Za-z][\w\-]*(?:\s+[A-Za-z][\w\-]*)*)\s*\)
    """,
    re.VERBOSE | re.ASCII,
)

_AFTER = {
    'step': ('', 'stamp', 'step', 'duration'),
    'stamp': ('', 'step', 'duration'),
    'duration': ('step',),
}
"""What each part may follow."""


@dataclass(frozen=True, slots=True)
class Step:
    """One ground action."""

    action: str
    arguments: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The step in PDDL, `(stack b1 b2)`."""
        return f'({" ".join((self.action, *self.arguments))})'


@dataclass(frozen=True, slots=True)
class Plan:
    """A sequence of steps; its text is one step per line."""

    steps: tuple[Step, ...] = ()

    def __str__(self) -> str:
        """The plan as text that `parse_plan` reads back."""
        return '\n'.join(map(str, self.steps))

    def __len__(self) -> int:
        return len(self.steps)


def make_plan(steps: Sequence[Sequence[str]]) -> Plan:
    """A plan from `(action, argument, ...)` sequences."""
    return Plan(tuple(Step(name, tuple(arguments)) for name, *arguments in steps))


def parse_plan(text: str) -> Plan:
    """Reads a plan.

    Accepted are steps such as `(stack b1 b2)`, one or several to a line, in any case, with `;`
    comments and with the stamps `0:`, `0.000:` and `[0.001]` of common planners. The order of the
    text is the order of the plan; a text without steps is the empty plan.

    Raises:
        PlanFormatError: anything else, with its line, its column and what was found.
    """
    if len(text) > MAX_PLAN_TEXT:
        raise PlanFormatError(
            f'the plan text has {len(text):,} characters, more than the limit of {MAX_PLAN_TEXT:,}'
        )
    steps: list[Step] = []
    previous = ''  # what stands before, space and comments apart
    position = 0
    while position < len(text):
        match = _GRAMMAR.match(text, position)
        if match is None or match.lastgroup is None:
            raise _unexpected(text, position, len(steps))
        kind = match.lastgroup
        if kind not in ('space', 'comment'):
            if previous not in _AFTER[kind]:
                raise _unexpected(text, position, len(steps))
            previous = kind
        if kind == 'step':
            name, *arguments = match['step'].lower().split()
            steps.append(Step(name, tuple(arguments)))
        position = match.end()
    if previous == 'stamp':
        raise _unexpected(text, len(text), len(steps))
    return Plan(tuple(steps))


def _unexpected(text: str, position: int, steps: int) -> PlanFormatError:
    line = text.count('\n', 0, position) + 1
    column = position - (text.rfind('\n', 0, position) + 1) + 1
    found = text[position : position + 40].split('\n')[0]
    what = f'found {found!r}' if found else 'the text ends'
    return PlanFormatError(
        f'<plan>:{line}:{column}: {what} where a step such as (stack b1 b2) must stand, '
        f'after {steps} steps: write only steps, each in parentheses',
        line=line,
        column=column,
    )
