# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads the English text that `english` writes; other English is refused, never guessed at."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

from safegen_ros.errors import ErrorCode
from safegen_ros.language import english
from safegen_ros.language.english import Phrases
from safegen_ros.language.english_clauses import CanonicalClauses, Tokens, Words
from safegen_ros.language.placed import Place, PlacedWords
from safegen_ros.pddl.model import Domain, Problem
from safegen_ros.pddl.writer import declared_constants


def from_english(text: str, domain: Domain, source: str = '<problem>') -> Problem:
    """Reads a problem of a domain.

    Line breaks, blanks, capitals, the kind of bullets and marks at the ends of lines do not matter.

    Raises:
        PddlError: words that do not follow the sentences of `to_english`, or that say what PDDL
            could not say either (see `read_problem`).
    """
    return _Sentences(text, source, Phrases.of(domain)).problem(domain)


def english_domain_name(text: str, source: str = '<problem>') -> str:
    """The domain that an English problem asks for; the rest of it is not looked at.

    Raises:
        PddlError: the text does not begin with its first sentence.
    """
    return _Sentences(text, source, Phrases.of(Domain('none', {}, {}, {}, {}))).title()[1][0]


class _Sentences:
    """Reads the sentences of a problem and writes them down as words of PDDL."""

    def __init__(self, text: str, source: str, own: Phrases) -> None:
        self._tokens = Tokens(text, source)
        self._words = PlacedWords(source)
        self._phrases = own
        self._clauses = CanonicalClauses(self._tokens, own)
        self._init: Words = []

    def problem(self, domain: Domain) -> Problem:
        add, tokens = self._words.add, self._tokens
        start = tokens.next.place
        (name, at), (domain_name, domain_at) = self.title()
        if domain_name != domain.name:
            raise self._words.error(
                domain_at,
                f'the problem is for domain {domain_name!r}, not {domain.name!r}',
                'give the domain that it names',
                ErrorCode.UNKNOWN_DOMAIN,
            )
        add(start, '(', 'define')
        add(at, '(', 'problem', name, ')')
        add(domain_at, '(', ':domain', domain_name, ')')
        add(tokens.next.place, '(', ':objects')
        self._objects()
        add(tokens.next.place, ')')
        self._clauses.objects |= declared_constants(domain)
        tokens.expect(english.START)
        facts = self._list(self._clauses.unit)
        tokens.expect(english.CLOSED)
        add(start, '(', ':init')
        self._write([*self._init, *facts])
        add(start, ')', '(', ':goal')
        self._goal()
        add(tokens.next.place, ')')
        if tokens.next.text:
            tokens.expect(english.RULES)
            add(tokens.next.place, '(', ':constraints', '(', 'and')
            self._write(self._list(self._clauses.constraint))
            add(tokens.next.place, ')', ')')
        if tokens.next.text:
            raise tokens.unexpected('the end', 'write nothing behind the rules')
        add(tokens.next.place, ')')
        return self._words.problem(domain)

    def title(self) -> tuple[tuple[str, Place], tuple[str, Place]]:
        """The names of the problem and of its domain."""
        before, between, after = english.TITLE.split('{name}')
        cure = f"begin with '{english.plain(english.TITLE.format(name='NAME'))}'"
        self._tokens.expect(before, cure)
        name = self._clauses.name('the name of the problem', any_word=True)
        self._tokens.expect(between, cure)
        domain = self._clauses.name('the name of the domain', any_word=True)
        self._tokens.expect(after, cure)
        return name, domain

    def _write(self, words: Words) -> None:
        for word, place in words:
            self._words.add(place, word)

    def _objects(self) -> None:
        """The sentences about objects; those that say what an object is add facts."""
        tokens = self._tokens
        members: dict[str, Words] = {}
        if tokens.at(english.NO_OBJECTS.rstrip(' .')):
            tokens.expect(english.NO_OBJECTS)
            return
        while tokens.at('There'):
            self._objects_of_a_kind(members)
        wording = self._phrases.wording
        if wording.distinct is not None:
            predicate, kind = wording.distinct
            place = tokens.next.place
            sentence = english.DISTINCT.format(plural=wording.kinds[kind][1])
            if tokens.at(sentence.rstrip(' .')):
                tokens.expect(sentence)
                names = [name for name, _ in members.get(kind, [])]
                for pair in permutations(names, 2):
                    self._init += [(word, place) for word in ('(', predicate, *pair, ')')]

    def _objects_of_a_kind(self, members: dict[str, Words]) -> None:
        tokens = self._tokens
        tokens.expect('There')
        if not tokens.accept('is'):
            tokens.expect('are')
        at = tokens.next
        if not at.text.isdecimal():
            raise tokens.unexpected('a number', 'say how many there are')
        count = tokens.take().text
        kind, parts = self._kind()
        tokens.expect(':')
        names = [self._clauses.name('an object')]
        while tokens.accept(', and') or tokens.accept(',') or tokens.accept('and'):
            names.append(self._clauses.name('an object'))
        tokens.expect('.')
        if count != str(len(names)):
            what = f'{count[:20]} announced, {len(names)} named'
            raise tokens.error(at, what, 'make the number that of the names')
        for name, place in names:
            self._words.add(place, name, '-', *parts)
            self._clauses.objects.add(name)
            if kind is not None:
                members.setdefault(kind, []).append((name, place))
                self._init += [(word, place) for word in ('(', kind, name, ')')]

    def _kind(self) -> tuple[str | None, list[str]]:
        """The announced kind: a predicate that says so, if any, and the words of the type."""
        tokens = self._tokens
        if tokens.accept('of type'):
            parts = [self._clauses.name('a type')[0]]
            while tokens.accept('and'):
                parts.append(self._clauses.name('a type')[0])
            return None, parts if len(parts) == 1 else ['(', 'either', *parts, ')']
        word = tokens.next.text.lower()
        if word in self._phrases.kinds:
            tokens.take()
            return self._phrases.kinds[word], ['object']
        if word in self._phrases.types:
            tokens.take()
            return None, [self._phrases.types[word]]
        known = ' '.join(sorted({*self._phrases.kinds, *self._phrases.types, "'of type ...'"}))
        raise tokens.unexpected('a kind of object', f'use one of {known}')

    def _list(self, read: Callable[[], Words]) -> Words:
        """The items behind dashes, at least one."""
        tokens = self._tokens
        if not tokens.at('-'):
            raise tokens.unexpected("a list, whose items begin with '-',", "write '- nothing'")
        found: Words = []
        if tokens.accept(f'- {english.EMPTY}'):
            tokens.accept('.')
            return found
        while tokens.accept('-'):
            found += read()
            tokens.accept('.')
        return found

    def _goal(self) -> None:
        tokens = self._tokens
        before, after = english.GOAL.split('{0}')
        if not tokens.at(before):
            place = tokens.next.place
            tokens.expect(english.GOALS)
            parts = self._list(self._clauses.unit)
            self._write([('(', place), ('and', place), *parts, (')', place)])
            return
        tokens.expect(before)
        self._write(self._clauses.formula())
        tokens.expect(after)
