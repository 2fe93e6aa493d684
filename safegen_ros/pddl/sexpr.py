# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""S-expressions with a line and a column on every token.

PDDL is case-insensitive, so tokens are lower-cased here once. The reader is iterative: the depth
of a text is bounded by a limit and never by Python's stack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from safegen_ros.errors import ErrorCode, PddlError

MAX_TEXT = 1 << 20
"""Longest text that is read [characters]; a task is typed or generated, not dumped."""

MAX_DEPTH = 100
"""Deepest nesting of lists; later passes recurse once or a few times per level."""

_TOKEN = re.compile(r'[()]|[^\s();]+|;[^\r\n]*|\n', re.ASCII)
_NAME = re.compile(r'[a-z][a-z0-9_\-]*\Z')

_HIDING = re.compile('[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]')
"""Characters by which a comment could show as a line of PDDL that is not read."""


@dataclass(frozen=True, slots=True)
class Word:
    """One token that is not a parenthesis, lower-cased."""

    text: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Group:
    """A parenthesised list."""

    items: tuple[Node, ...]
    line: int
    column: int

    @property
    def head(self) -> str:
        """The first word, or an empty string when there is none."""
        first = self.items[0] if self.items else None
        return first.text if isinstance(first, Word) else ''


Node = Word | Group


@dataclass(frozen=True, slots=True)
class Reader:
    """Where errors of one text are reported from.

    Attributes:
        source: file name, or a label such as `<problem>`.
    """

    source: str

    def error(
        self, node: Node, what: str, cure: str = '', code: ErrorCode = ErrorCode.BAD_PDDL
    ) -> PddlError:
        """An error at a node, to be raised by the caller."""
        return PddlError(
            what, source=self.source, line=node.line, column=node.column, cure=cure, code=code
        )

    def unsupported(self, node: Node, feature: str, cure: str) -> PddlError:
        """A refusal of a feature of PDDL that is understood but not handled here."""
        return self.error(node, f'{feature} is not supported', cure, ErrorCode.UNSUPPORTED_FEATURE)

    def word(self, node: Node, what: str) -> str:
        """The text of a node that must be a word."""
        if isinstance(node, Word):
            return node.text
        raise self.error(node, f'expected {what}, found a list', f'write {what} as a plain word')

    def name(self, node: Node, what: str) -> str:
        """The text of a node that must be a PDDL name."""
        text = self.word(node, what)
        if not _NAME.match(text):
            raise self.error(
                node,
                f'{text[:40]!r} is not a name for {what}',
                'a name starts with a letter and holds letters, digits, - and _',
            )
        return text

    def group(self, node: Node, what: str) -> Group:
        """A node that must be a list."""
        if isinstance(node, Group):
            return node
        raise self.error(
            node, f'expected {what}, found {node.text[:40]!r}', 'put it in parentheses'
        )


def read_sexpr(text: str, source: str) -> Group:
    """Reads the one list that a PDDL text must hold.

    Args:
        text: the whole text.
        source: file name, or a label, for messages.

    Raises:
        PddlError: the text is empty, longer than `MAX_TEXT`, not ASCII outside comments, not
            balanced, nested deeper than `MAX_DEPTH`, or holds anything beside one list.
    """
    reader = Reader(source)
    top: Group | None = None
    stack: list[tuple[Word, list[Node]]] = []
    for token in _tokens(reader, text):
        if top is not None:
            raise reader.error(
                token, f'{token.text[:40]!r} after the end of the definition', 'remove it'
            )
        if token.text == '(':
            if len(stack) >= MAX_DEPTH:
                raise reader.error(token, f'nested deeper than {MAX_DEPTH} lists', 'flatten it')
            stack.append((token, []))
        elif token.text == ')':
            if not stack:
                raise reader.error(token, "')' closes nothing", 'remove it')
            opened, items = stack.pop()
            group = Group(tuple(items), opened.line, opened.column)
            if stack:
                stack[-1][1].append(group)
            else:
                top = group
        elif stack:
            stack[-1][1].append(token)
        else:
            raise reader.error(
                token, f'expected (define ...), found {token.text[:40]!r}', 'start with (define'
            )
    if stack:
        raise reader.error(stack[-1][0], "'(' is never closed", "add the missing ')'")
    if top is None:
        raise reader.error(
            Word('', 1, 1), 'the text is empty', 'write a (define ...) form', ErrorCode.EMPTY_TASK
        )
    return top


def _tokens(reader: Reader, text: str) -> Iterator[Word]:
    """The parentheses and words of a text, lower-cased, each with its place."""
    if len(text) > MAX_TEXT:
        raise reader.error(
            Word('', 1, 1),
            f'the text has {len(text):,} characters, more than the limit of {MAX_TEXT:,}',
            'send one problem, not a collection',
            ErrorCode.TASK_TOO_LARGE,
        )
    line, line_start = 1, 0
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token[0] == '\n':
            line, line_start = line + 1, match.end()
            continue
        place = Word(token.lower(), line, match.start() - line_start + 1)
        if token[0] == ';':
            if _HIDING.search(token):
                raise reader.error(place, 'a control character in a comment', 'remove it')
            continue
        if not (token.isascii() and token.isprintable()):
            raise reader.error(
                place, f'{token[:40]!r} is not plain ASCII', 'retype it without such characters'
            )
        yield place
