# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The sentences of a text of rules, and their words with places."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from safegen_ros.errors import ErrorCode, PddlError
from safegen_ros.language.placed import Place, error_at
from safegen_ros.pddl.diagnostics import suggestion
from safegen_ros.pddl.writer import names_text

MAX_RULES_TEXT = 20_000
"""Longest text of rules [characters]."""

MAX_WORDS = 80
"""Most words of one sentence in plain words."""

_MOST_ASKED = 200_000  # a sentence of the examples takes a few thousand

_TOKEN = re.compile(
    r'"[^"\n]*"|[A-Za-z0-9_?][A-Za-z0-9_\-]*(?:[\'\u2019][a-z]+)?|[.;!\n](?:[ \t\n]*)|[,:()=]',
    re.ASCII,
)
_BULLET = re.compile(r'(?:[-*+\u2022\u2013]|\d{1,3}[.)])[ \t]+', re.ASCII)
_SHORT = {
    'cannot': ('can', 'not'), "can't": ('can', 'not'), "won't": ('will', 'not'),
    "shan't": ('shall', 'not'), 'dont': ('do', 'not'), 'cant': ('can', 'not'),
    'mustnt': ('must', 'not'), 'shouldnt': ('should', 'not'),
}  # fmt: skip
_NUMBERS = (
    'zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten',
    'eleven', 'twelve',
)  # fmt: skip


class NotUnderstood(PddlError):
    """A sentence of which some word fits nothing that was expected there."""


@dataclass(frozen=True, slots=True)
class RuleWord:
    """A word or a mark with its place; a name in quotes is nothing else."""

    text: str
    place: Place
    quoted: bool = False


@dataclass
class Sentence:
    """One sentence, and how far it was understood.

    Attributes:
        source: file name, or a label, for messages.
    """

    text: str
    words: tuple[RuleWord, ...]
    place: Place
    source: str
    _furthest: int = 0
    _wanted: set[str] = field(default_factory=set)
    _hint: str = ''
    _asked: int = 0

    def at(self, index: int, words: str) -> int | None:
        """Behind these words, if they stand there.

        Raises:
            PddlError: this was asked so often that the sentence has too many ways to be read.
        """
        self._asked += 1
        if self._asked > _MOST_ASKED:
            raise self.error('this can be read in too many ways', 'write shorter sentences')
        for word in words.split():
            found = self.words[index] if index < len(self.words) else None
            if found is None or found.quoted or found.text != word:
                self.missed(index, word)
                return None
            index += 1
        return index

    def one_of(self, index: int, choices: tuple[str, ...]) -> Iterator[int]:
        """Behind each of the choices that stands there."""
        for words in choices:
            after = self.at(index, words)
            if after is not None:
                yield after

    def meant(self, index: int, table: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, int]]:
        """The meaning of each phrase of a table that stands there, and the word behind it."""
        for words, kind in table:
            after = self.at(index, words)
            if after is not None:
                yield kind, after

    def numbered(self, index: int, words: str) -> Iterator[tuple[tuple[int, ...], int]]:
        """The numbers in a phrase, if it stands there: `N` is one, `#` is one of steps."""
        numbers: list[int] = []
        for word in words.replace('#', 'N steps').split():
            number = self.number(index) if word == 'N' else None
            if number is not None:
                numbers.append(number)
                index += 1
                continue
            ends = () if word == 'N' else ('steps', 'step') if word == 'steps' else (word,)
            after = next(self.one_of(index, ends), None)
            if after is None:
                return
            index = after
        yield tuple(numbers), index

    def number(self, index: int) -> int | None:
        """The number that stands there, in digits or in a word."""
        text = self.words[index].text if index < len(self.words) else ''
        if text in _NUMBERS:
            return _NUMBERS.index(text)
        if text.isdecimal() and len(text) < 8:
            return int(text)
        self.missed(index, 'a number')
        return None

    def missed(self, index: int, wanted: str, hint: str = '') -> None:
        """Notes what would have been understood at a word."""
        if index > self._furthest:
            self._furthest, self._hint = index, ''
            self._wanted.clear()
        if index == self._furthest:
            self._wanted.add(wanted)
            self._hint = hint or self._hint

    def error(
        self, what: str, cure: str, index: int = 0, kind: type[PddlError] = PddlError
    ) -> PddlError:
        """An error at a word, or at the whole sentence."""
        line, column = self.words[index].place if index < len(self.words) else self.place
        return kind(what, source=self.source, line=line, column=column, cure=cure)

    def not_understood(self, names: Iterable[str], objects: Collection[str]) -> PddlError:
        """The error that nothing fits, at the furthest word that was reached."""
        index = self._furthest
        if self._hint:
            return self.error(self._hint, 'name what the problem has', index, NotUnderstood)
        cure = 'use other words, or PDDL3'
        if index and 'a name' in self._wanted:
            cure = f'name an object there: {names_text(objects)}'
        if index >= len(self.words):
            index = len(self.words) - 1
            what = f'the rule is not understood: it ends behind {self.words[index].text[:40]!a}'
        else:
            word = self.words[index].text
            known = word in names or word in _NUMBERS
            close = '' if known else suggestion(word, sorted({*names, *self._wanted}))
            what = f'the rule is not understood from {word[:40]!a} on'
            cure = close.strip() or cure
        return self.error(what, cure, index, NotUnderstood)


def sentences(text: str, source: str) -> list[Sentence]:
    """The sentences of a text.

    One ends at a full stop, a semicolon or an exclamation mark, and at the end of its line unless
    the next line begins with blanks. A dash or a number before it is left out, and a line that
    begins with `#`, too.

    Raises:
        PddlError: characters that words do not have, too long a text or sentence, or none.
    """
    if len(text) > MAX_RULES_TEXT:
        what = f'the rules have {len(text):,} characters, more than {MAX_RULES_TEXT:,}'
        raise error_at(source, (1, 1), what, 'give fewer', ErrorCode.TASK_TOO_LARGE)
    found: list[Sentence] = []
    words: list[RuleWord] = []
    start = position = 0
    while position < len(text):
        if not words:
            position = _skipped(text, position)
            start = position
            if position >= len(text):
                break
        if text[position] in ' \t\r':
            position += 1
            continue
        match = _TOKEN.match(text, position)
        place = _place(text, position)
        if match is None:
            what = f'found {text[position]!a}'
            cure = 'use plain words, with unusual names in double quotes'
            raise error_at(source, place, what, cure)
        token = match[0]
        if token[0] in '.;!\n':
            indented = token[0] == '\n' and _continues(text, match.end())
            if not indented:
                found.append(_sentence(text[start:position], words, start, text, source))
                words = []
        else:
            words += _split(token, place)
        position = match.end()
    if words:
        found.append(_sentence(text[start:], words, start, text, source))
    if not found:
        cure = "write one, such as 'never put anything on b3'"
        raise error_at(source, (1, 1), 'there is no rule', cure, ErrorCode.EMPTY_TASK)
    return found


def _skipped(text: str, position: int) -> int:
    """Where the next sentence begins: behind blanks, comments and a bullet."""
    while position < len(text):
        if text[position] in ' \t\r\n.;!':
            position += 1
        elif text[position] == '#':
            position = text.find('\n', position)
            if position < 0:
                return len(text)
        else:
            match = _BULLET.match(text, position)
            if match is None:
                break
            position = match.end()
    return position


def _continues(text: str, position: int) -> bool:
    """Whether a line goes on with the sentence before it: blanks, then no bullet."""
    if position >= len(text) or text[position - 1] not in ' \t':
        return False
    return _BULLET.match(text, position) is None and text[position] != '#'


def _place(text: str, position: int) -> Place:
    return text.count('\n', 0, position) + 1, position - text.rfind('\n', 0, position)


def _split(token: str, place: Place) -> list[RuleWord]:
    """The words of a token in small letters; `don't` is two."""
    if token[0] == '"':
        return [RuleWord(token.strip('"').lower(), place, quoted=True)]
    lower = token.lower().replace('\u2019', "'")
    if lower in _SHORT:
        return [RuleWord(word, place) for word in _SHORT[lower]]
    if lower.endswith("n't"):
        return [RuleWord(lower[:-3], place), RuleWord('not', place)]
    return [RuleWord(lower, place)]


def _sentence(text: str, words: list[RuleWord], start: int, whole: str, source: str) -> Sentence:
    return Sentence(text.rstrip(), tuple(words), _place(whole, start), source)
