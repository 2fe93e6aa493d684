# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Text that came from a model, a file or the wire, made fit for each border that it crosses.

Characters that are not seen, or that turn the order of those around them, stand as their numbers
there: terminal escapes, bidi overrides, NUL, lone surrogates. `visible` is for terminals, HTML,
error messages and the answers of models; `hidden` finds what a message over DDS must not contain.
After `guard` nor does `print` write others to a terminal.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, TextIO

_KEPT = '\n\t'
_HIDDEN = frozenset({'Cc', 'Cf', 'Cs', 'Co', 'Cn', 'Zl', 'Zp'})

_NUMBERED = re.compile('\u27e8(U\\+[0-9A-F]{4,6})\u27e9')
_HIDING = re.compile(
    '[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]'
)


def visible(text: str) -> str:
    """A text in which characters that are not seen stand as their numbers, such as ⟨U+202E⟩.

    Line feeds and tabs stay.
    """
    if text.isprintable():
        return text
    return ''.join(map(_shown, text))


@lru_cache(4096)
def _shown(character: str) -> str:
    if character in _KEPT or unicodedata.category(character) not in _HIDDEN:
        return character
    return f'\u27e8U+{ord(character):04X}\u27e9'


def numbered(text: str) -> str:
    """The number with which a text begins that `visible` put there, `U+202E`; empty for another."""
    match = _NUMBERED.match(text)
    return match[1] if match else ''


def unhidden(text: str) -> str:
    """A text in which the characters that no message may hold stand as their numbers.

    For the record, where everything that a message may hold stays as it is.
    """
    return _HIDING.sub(lambda found: f'\u27e8U+{ord(found[0]):04X}\u27e9', text)


def hidden(text: str) -> str:
    """The first character of a text that no message may hold, as `U+202E`; empty without one.

    DDS ends a text at NUL and cannot carry half of a surrogate pair; control characters and marks
    of the writing direction make a text read otherwise than it is.
    """
    found = _HIDING.search(text)
    return f'U+{ord(found[0]):04X}' if found else ''


class _Guarded:
    """A text stream for `print`; a console of rich writes to the one behind it."""

    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream  # rich asks for this name

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)

    def write(self, text: str) -> int:
        """Writes a text as it may be seen."""
        self.rich_proxied_file.write(visible(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Writes several."""
        for line in lines:
            self.write(line)


def guard() -> None:
    """Lets `print` and every console write visible text only, from now on."""
    for name in ('stdout', 'stderr'):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, _Guarded):
            setattr(sys, name, _Guarded(stream))
