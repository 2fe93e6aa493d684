# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The words and marks of an English text, each with its place."""

from __future__ import annotations

import re
from dataclasses import dataclass

from safegen_ros.errors import PddlError
from safegen_ros.language.phrases import plain
from safegen_ros.language.placed import Place, error_at, too_long
from safegen_ros.pddl.sexpr import MAX_TEXT

_TOKEN = re.compile(r'\s+|"[^"\s]*"|[A-Za-z0-9_?@][A-Za-z0-9_\-]*|[.,:()\-]', re.ASCII)

_BULLETS = frozenset('*+\u2022\u2023\u25e6\u25aa\u00b7\u2013\u2014\u2212')
"""What may stand before an item instead of `-`: stars, dots and dashes of other kinds."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word or a mark with its place."""

    text: str
    line: int
    column: int

    @property
    def place(self) -> Place:
        """Line and column, both from 1."""
        return self.line, self.column


class Tokens:
    """The words and marks of a text, read one after the other.

    Raises:
        PddlError: the text is too long, or holds other characters than words and marks have.
    """

    def __init__(self, text: str, source: str) -> None:
        self._source = source
        if len(text) > MAX_TEXT:
            raise too_long(text, source)
        self._tokens = self._split(text)
        self.index = 0

    def _split(self, text: str) -> list[Token]:
        found = []
        position, line, start = 0, 1, 0
        while position < len(text):
            match = _TOKEN.match(text, position)
            if text[position] in _BULLETS and not text[start:position].strip():
                found.append(Token('-', line, position - start + 1))
                position += 1
                continue
            if match is None:
                bad = Token('', line, position - start + 1)
                raise self.error(bad, f'found {text[position]!a}', 'use plain words only')
            if match[0].isspace():
                line += match[0].count('\n')
                if '\n' in match[0]:
                    start = text.rindex('\n', 0, match.end()) + 1
            else:
                found.append(Token(match[0], line, position - start + 1))
            position = match.end()
        return [*found, Token('', line, position - start + 1)]

    @property
    def next(self) -> Token:
        """The token that comes next; its text is empty at the end."""
        return self._tokens[self.index]

    def place(self, index: int) -> Place:
        """Where a token stands."""
        return self._tokens[index].place

    def take(self) -> Token:
        """Takes the next token."""
        token = self.next
        self.index += bool(token.text)
        return token

    def at(self, words: str) -> bool:
        """Whether these words come next; capitals do not matter."""
        wanted = words.lower().split()
        found = self._tokens[self.index : self.index + len(wanted)]
        return [token.text.lower() for token in found] == wanted

    def accept(self, words: str) -> bool:
        """Takes these words if they come next."""
        if not self.at(words):
            return False
        self.index += len(words.split())
        return True

    def mark(self, mark: str) -> bool:
        """Takes a full stop or a colon; at the end of a line it may be missing.

        Returns:
            Whether what the mark ends can end here.
        """
        before = self._tokens[self.index - 1]
        return self.accept(mark) or not self.next.text or self.next.line > before.line

    def expect(self, words: str, cure: str = '') -> None:
        """Takes these words.

        Raises:
            PddlError: something else comes next.
        """
        for word in words.split():
            if not (self.mark(word) if word in ('.', ':') else self.accept(word)):
                raise self.unexpected(f'{word!r}', cure or f'write {plain(words)!r}')

    def unexpected(self, wanted: str, cure: str) -> PddlError:
        """An error at the next token."""
        found = ascii(self.next.text[:40]) if self.next.text else 'the end of the text'
        return self.error(self.next, f'found {found} where {wanted} must stand', cure)

    def error(self, at: Token, what: str, cure: str) -> PddlError:
        """An error at a token."""
        return error_at(self._source, at.place, what, cure)
