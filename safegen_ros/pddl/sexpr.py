# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""S-expressions: a PDDL text as nested lists of words.

PDDL is case-insensitive, so the text is lower-cased here once. Reading is one pass of a regular
expression over the whole text. A list remembers only its first token; lines and columns are
computed only for an error. The depth of a text is bounded by a limit and never by Python's stack.
"""

from __future__ import annotations

import gc
import re
from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from safegen_ros.errors import ErrorCode, PddlError
from safegen_ros.pddl.diagnostics import Assumed, Reports, excerpt_at

MAX_TEXT = 8 << 20
"""Longest text that is read [characters]; the largest domains of the planning competitions, which
are ground ones, have half of that."""

MAX_DEPTH = 100
"""Deepest nesting of lists; later passes recurse once or a few times per level."""

_COMMENT = re.compile(r';[^\r\n]*')
_CHUNK = re.compile(r'\([^()]*\)|[()]|[^\s()]+', re.ASCII)  # a list of words, or one token
_TOKEN = re.compile(r'[()]|\?[^\s();?]*|[^\s();?]+', re.ASCII)
_TOKEN_OR_COMMENT = re.compile(rf'{_COMMENT.pattern}|{_TOKEN.pattern}', re.ASCII)
_NAMES = re.compile(r'(?<![^\s()])[^\s();?:]+', re.ASCII)
_CAPITALS = re.compile(r'(?<![^\s();?])[^\s();?A-Z]*[A-Z][^\s();?]*', re.ASCII)  # as a token
_GLUED = re.compile(r'(?<=[^\s()])\?', re.ASCII)  # a variable starts where its '?' stands
_NAME = re.compile(r'@?[a-z0-9_][a-z0-9_\-]*\Z')

_LONG_WORD = re.compile(r'(\S{100})\S+')
"""A name that a message repeats; it may be as long as the text."""

_OBJECTS = ('object', 'constant')
_HIDING = re.compile('[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]')
"""Characters by which a comment could show as a line of PDDL that is not read."""


def is_name(text: str) -> bool:
    """Whether a lower-case word is a name; unlike in the PDDL reports it may start with a digit.

    That of an object may start with `@`, as those of pddlstream do.
    """
    return _NAME.match(text) is not None


@dataclass(frozen=True, slots=True)
class SourceWord:
    """A word with its place, for messages about it later on."""

    text: str
    line: int
    column: int


class Group:
    """A parenthesised list.

    Attributes:
        items: words and lists.
        start: the number of its opening parenthesis among the tokens of the text.
        size: how many tokens it has, both parentheses included.
    """

    __slots__ = ('items', 'size', 'start')

    def __init__(self, items: Sequence[Node], start: int, size: int) -> None:
        self.items = items
        self.start = start
        self.size = size

    @property
    def head(self) -> str:
        """The first word, or an empty string when there is none."""
        first = self.items[0] if self.items else None
        return first if isinstance(first, str) else ''


Node = str | Group


class Spelling(Mapping[str, str]):
    """The names that a text has with capitals, as it has them first; looked for when first asked.

    Args:
        text: a domain or a problem.
        names: the names to look for, in lower case.
        more: names of another text, which come before these.
    """

    def __init__(
        self, text: str, names: Collection[str], more: Mapping[str, str] | None = None
    ) -> None:
        self._text, self._names, self._more = text, names, more or {}

    @cached_property
    def _found(self) -> dict[str, str]:
        first: dict[str, str] = {}
        for token in dict.fromkeys(_CAPITALS.findall(_COMMENT.sub('', self._text))):
            first.setdefault(token.lower(), token)
        own = {name: token for name, token in first.items() if name in self._names}
        return {**own, **self._more}

    def __getitem__(self, name: str) -> str:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def respelt(text: str, spelling: Mapping[str, str]) -> str:
    """A PDDL text in lower case with names as a spelling has them."""
    return _NAMES.sub(lambda name: spelling.get(name[0], name[0]), text) if spelling else text


class Reader(Reports):
    """One text: where its errors are reported from, and those that were found in it so far."""

    assumed: Assumed | None = None  # what the text leaves undeclared; None where nothing may be

    def __init__(self, source: str, text: str = '') -> None:
        super().__init__()
        self.source = source
        self.text = text

    def error(
        self,
        at: Group | SourceWord,
        what: str,
        cure: str = '',
        code: ErrorCode = ErrorCode.BAD_PDDL,
    ) -> PddlError:
        """An error at a list or a word, to be raised by the caller."""
        line, column = (at.line, at.column) if isinstance(at, SourceWord) else self.place(at.start)
        what, cure = (_LONG_WORD.sub(r'\1...', text) for text in (what, cure))
        error = PddlError(what, source=self.source, line=line, column=column, cure=cure, code=code)
        if self.text:
            error.excerpt = excerpt_at(self.text, self._starts[1][line - 1], line, column)
        return error

    def error_in(
        self,
        group: Group,
        index: int,
        what: str,
        cure: str = '',
        code: ErrorCode = ErrorCode.BAD_PDDL,
    ) -> PddlError:
        """An error at an item of a list, to be raised by the caller."""
        return self.error(self.locate(group, index), what, cure, code)

    def unsupported(self, at: Group | SourceWord, feature: str, cure: str) -> PddlError:
        """A refusal of a feature of PDDL that is understood but not handled here."""
        return self.error(at, f'{feature} is not supported', cure, ErrorCode.UNSUPPORTED_FEATURE)

    def locate(self, group: Group, index: int) -> Group | SourceWord:
        """An item of a list, with its place."""
        item = group.items[index]
        return item if isinstance(item, Group) else SourceWord(item, *self.place_in(group, index))

    def place_in(self, group: Group, index: int) -> tuple[int, int]:
        """Line and column of an item of a list."""
        before = sum(i.size if isinstance(i, Group) else 1 for i in group.items[:index])
        return self.place(group.start + 1 + before)

    def spelling(self, group: Group, index: int, length: int) -> str:
        """A word of a list as the text has it, in capitals or not."""
        line, column = self.place_in(group, index)
        start = self._starts[1][line - 1] + column - 1
        return self.text[start : start + length]

    def place(self, token: int) -> tuple[int, int]:
        """Line and column of a token, both from 1."""
        starts, lines = self._starts
        if not starts:
            return 1, 1
        offset = starts[min(token, len(starts) - 1)]
        line = bisect_right(lines, offset)
        return line, offset - lines[line - 1] + 1

    @cached_property
    def _starts(self) -> tuple[array[int], array[int]]:
        """Where in the text each token and each line starts."""
        read = _COMMENT.sub(lambda match: ' ' * len(match.group()), self.text)
        tokens = array('L', [match.start() for match in _TOKEN.finditer(read)])
        lines = array('L', [0])
        lines.extend(m.end() for m in re.finditer('\n', self.text))
        return tokens, lines

    def word(self, group: Group, index: int, what: str) -> str:
        """An item that must be a word."""
        item = group.items[index]
        if isinstance(item, str):
            return item
        raise self.error(item, f'expected {what}, found a list', f'write {what} as a plain word')

    def name(self, group: Group, index: int, what: str) -> str:
        """An item that must be a name."""
        item = group.items[index]
        if isinstance(item, str) and is_name(item) and (item[0] != '@' or what in _OBJECTS):
            return item
        raise self.error_in(
            group,
            index,
            f'{self.word(group, index, what)[:40]!r} is not a name for {what}',
            'a name holds letters, digits, - and _, and starts with no -',
        )

    def group(self, group: Group, index: int, what: str) -> Group:
        """An item that must be a list."""
        item = group.items[index]
        if isinstance(item, Group):
            return item
        raise self.error_in(
            group,
            index,
            f'expected {what}, found {item[:40]!r}',
            _cure(item, 'put it in parentheses'),
        )


def read_sexpr(text: str, source: str) -> tuple[Reader, Group]:
    """Reads the one list that a PDDL text must hold.

    Returns:
        The list, and the reader that knows its places.

    Raises:
        PddlError: the text is empty, longer than `MAX_TEXT`, not ASCII outside comments, not
            balanced, nested deeper than `MAX_DEPTH`, or holds anything beside one list.
    """
    if len(text) > MAX_TEXT:
        raise Reader(source).error(
            SourceWord('', 1, 1),
            f'the text has {len(text):,} characters, more than the limit of {MAX_TEXT:,}',
            'send one problem, not a collection',
            ErrorCode.TASK_TOO_LARGE,
        )
    reader = Reader(source, text)
    read = _COMMENT.sub('', text) if ';' in text else text
    if not read.isascii() or _HIDING.search(text):
        _check_characters(reader)
    read = _GLUED.sub(' ?', read.lower())
    top = _nest(reader, _CHUNK.findall(read))
    if top is None:
        raise reader.error(
            SourceWord('', 1, 1),
            'the text is empty',
            'write a (define ...) form',
            ErrorCode.EMPTY_TASK,
        )
    return reader, top


def _check_characters(reader: Reader) -> None:
    """Raises at the first token that is not plain ASCII and the first comment that hides text."""
    number = 0
    for match in _TOKEN_OR_COMMENT.finditer(reader.text):
        token = match.group()
        if token[0] != ';':
            if not (token.isascii() and token.isprintable()):
                raise reader.error(
                    SourceWord('', *reader.place(number)),
                    f'{token.lower()[:40]!r} is not plain ASCII',
                    'retype it without such characters',
                )
            number += 1
        elif _HIDING.search(token):
            line = reader.text.count('\n', 0, match.start()) + 1
            column = match.start() - reader.text.rfind('\n', 0, match.start())
            raise reader.error(
                SourceWord('', line, column), 'a control character in a comment', 'remove it'
            )


def _nest(reader: Reader, chunks: Iterable[str]) -> Group | None:
    """The one list that the chunks of a text make; None when there are no chunks."""
    top: Group | None = None
    stack: list[tuple[Group, list[Node]]] = []
    items: list[Node] | None = None  # of the innermost list that is open
    number = 0
    for chunk in chunks:
        if items is None and (top is not None or chunk[0] != '('):
            raise _outside(reader, top, number, chunk)
        if chunk == ')':
            group, _ = stack.pop()
            number += 1
            group.size = number - group.start
            items = stack[-1][1] if stack else None
        elif chunk[0] != '(':
            if items is not None:
                items.append(chunk)
            number += 1
        elif len(chunk) > 1:
            words = tuple(chunk[1:-1].split())
            group = Group(words, number, len(words) + 2)
            number += group.size
            if items is None:
                top = group
            else:
                items.append(group)
        else:
            inner: list[Node] = []
            group = Group(inner, number, 0)
            number += 1
            if items is None:
                top = group
            else:
                items.append(group)
            if len(stack) >= MAX_DEPTH:
                raise reader.error(group, f'nested deeper than {MAX_DEPTH} lists', 'flatten it')
            stack.append((group, inner))
            items = inner
    if stack:
        raise _unclosed(reader, stack[0][0], stack[-1][0])
    return top


def _unclosed(reader: Reader, top: Group, last: Group) -> PddlError:
    """Where a `)` lacks: before the first section that begins inside another one, if any does."""
    for section in top.items:
        if isinstance(section, str):
            continue
        waiting = [section]
        while waiting:
            group = waiting.pop()
            if group is not section and group.head.startswith(':'):
                line, _ = reader.place(section.start)
                return reader.error(
                    group,
                    f'{_shown(group)} begins inside {_shown(section)} of line {line}',
                    f"add the ')' that is missing before it, in {_shown(section)}",
                )
            waiting += [each for each in reversed(group.items) if isinstance(each, Group)]
    missing = "')' at its end, unless more of it is cut off" if last is top else "the missing ')'"
    return reader.error(last, "'(' is never closed", f'add {missing}')


def _shown(group: Group) -> str:
    """A list by its first words, `(:action lift ...)`."""
    words = [each[:40] for each in group.items[:2] if isinstance(each, str)]
    return f'({" ".join(words)} ...)'


def _outside(reader: Reader, top: Group | None, number: int, chunk: str) -> PddlError:
    """What is wrong with a token that stands outside the one list."""
    place = SourceWord('', *reader.place(number))
    found = chunk[0] if chunk[0] in '()' else chunk[:40]
    if top is not None:
        line, _ = reader.place(top.start + top.size - 1)
        what = f'{found!r} after the end of the definition, which is in line {line}'
        cure = f"remove a ')' that is too many up to line {line}, or put another definition "
        cure += 'into a separate file'
        if found[0] not in '(:':
            cure = _cure(found, 'remove it')
        return reader.error(place, what, cure)
    if chunk == ')':
        return reader.error(place, "')' closes nothing", 'remove it')
    cure = _cure(found, 'start with (define')
    return reader.error(place, f'expected (define ...), found {found!r}', cure)


def _cure(word: str, cure: str) -> str:
    """What to do about a word where a list must stand."""
    if word.startswith(('#', '//', '/*')):
        return 'a comment begins with ;'
    if word.replace('/', '', 1).isdecimal() and '/' in word[1:-1]:
        return f'write (/ {word.replace("/", " ")})'
    return 'leave out the fence around the text' if word.startswith('```') else cure


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pauses the collector in the block, unless it is off already.

    A large text becomes hundreds of thousands of small values, none of them in a circle, and going
    through all of them again and again takes longer than making them. How long the pause is is
    bounded, as the length of a text is.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
