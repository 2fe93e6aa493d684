# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Says in words what stands in a text where a step of a plan must stand.

The messages go back to the language model that wrote the text, and to a person beside it.
"""

from __future__ import annotations

import re

from safegen_ros.errors import PlanFormatError
from safegen_ros.untrusted import numbered

ONLY_STEPS = 'write only steps, each in parentheses'

_LONGEST = 40  # characters of a text that a message repeats

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
    """The error about what stands at a position, behind some steps."""
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
    shown = line[:_LONGEST].rstrip()
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
