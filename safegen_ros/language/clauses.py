# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads the clauses of a rule: a fact with its verb, as a statement, demand, deed or condition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from safegen_ros.language.lexicon import (
    Lexicon,
    Pattern,
    Phrasing,
    gerund,
    patterns,
    phrase_table,
    phrases,
    third,
)
from safegen_ros.language.noun_phrases import NounPhrase, NounPhrases
from safegen_ros.language.sentences import Sentence
from safegen_ros.pddl.model import ANY_OF, Problem

IS, MUST, MAY, DO, KEEP = 'is', 'must', 'may', 'do', 'keep'
"""How a main clause is said: told, demanded, permitted, commanded, or kept so."""

_MUST, _MAY, _FORBIDDEN, _STAY, _KEEP, _WAS, _DID = map(
    phrases, ('must', 'may', 'forbidden', 'stay', 'keep', 'was', 'did')
)
_ADVERBS = phrase_table('adverbs')


@dataclass(frozen=True, slots=True)
class Clause:
    """A fact of which something is said.

    Attributes:
        things: its arguments by number; unnamed ones are left out.
        done: whether it states a deed.
        subject: the argument before the verb, -1 if there is none.
    """

    way: Phrasing
    things: tuple[tuple[int, NounPhrase], ...]
    done: bool = False
    subject: int = -1

    def put(self, number: int, thing: NounPhrase) -> Clause:
        """The clause with another argument."""
        pairs = tuple((n, thing if n == number else own) for n, own in self.things)
        return replace(self, things=pairs)


@dataclass(frozen=True, slots=True)
class MainClause:
    """A clause with its subject.

    Attributes:
        voice: `IS`, `MUST`, `MAY`, `DO` or `KEEP`.
        tags: `not`, `always`, `only`, `sometime`, `end`, `each`, as they stood around the verb.
    """

    clause: Clause
    voice: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Again:
    """`b2 is`, or `b2` alone: the main clause with another subject.

    Attributes:
        subject: whether it stands for the words before the verb.
        true: whether that is said to be so.
    """

    thing: NounPhrase
    subject: bool
    true: bool = True


@dataclass(frozen=True, slots=True)
class RuleCondition:
    """What a rule supposes: clauses, each with whether it is true, joined by `and` or by `or`."""

    parts: tuple[tuple[Clause | Again, bool], ...]
    conjunctive: bool = True


class Clauses:
    """Reads clauses about one problem, in the words of a lexicon."""

    def __init__(self, problem: Problem, lexicon: Lexicon) -> None:
        self.problem = problem
        self.lexicon = lexicon
        self.things = NounPhrases(problem, lexicon)
        self._read: dict[int, list[tuple[NounPhrase, int]]] = {}
        self._verbs: dict[tuple[int, str, bool], list[tuple[str, tuple[str, ...], int]]] = {}
        self._sentence: Sentence | None = None

    @cached_property
    def _patterns(self) -> tuple[Pattern, ...]:
        return patterns(self.lexicon)

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The words of the domain, for suggestions."""
        words = {word for pattern in self._patterns for word in pattern.words}
        return tuple(sorted({*words, *self.things.nouns, *self.problem.objects}))

    def begin(self, sentence: Sentence) -> None:
        """Goes to another sentence."""
        self._sentence = sentence
        self._read.clear()
        self._verbs.clear()

    @property
    def sentence(self) -> Sentence:
        """The sentence that is read."""
        assert self._sentence is not None  # noqa: S101 - `begin` comes first
        return self._sentence

    def thing(self, index: int) -> list[tuple[NounPhrase, int]]:
        """The things that a word may begin."""
        if index not in self._read:
            self._read[index] = list(dict.fromkeys(self.things.read(self.sentence, index)))
        return self._read[index]

    def fits(self, thing: NounPhrase, kind: str) -> bool:
        """Whether a thing may stand where a type, or a predicate that says a kind, is wanted."""
        domain, problem = self.problem.domain, self.problem
        if kind in domain.predicates and kind not in domain.types and kind != 'object':
            return all((kind, name) in problem.init for name in thing.names) and (
                thing.noun is None or thing.noun.sort == kind
            )
        if not all(domain.is_subtype(problem.objects[name], kind) for name in thing.names):
            return False
        return thing.noun is None or domain.is_subtype(thing.noun.kind, kind)

    def wanted(self, way: Phrasing, number: int) -> str:
        """What an argument must be: a type, or a predicate that says so."""
        sorts = self.lexicon.sorts.get(way.predicate, {})
        kinds = self.problem.domain.predicates[way.predicate]
        return dict(way.types).get(number) or sorts.get(number) or kinds[number]

    def _matched(
        self, way: Phrasing, words: tuple[str | int, ...], index: int
    ) -> Iterator[tuple[tuple[tuple[int, NounPhrase], ...], int]]:
        """The arguments among some words of a pattern, where these stand."""
        if not words:
            yield (), index
            return
        head, *rest = words
        if isinstance(head, str):
            after = self.sentence.at(index, head)
            if after is not None:
                yield from self._matched(way, tuple(rest), after)
            return
        kind = self.wanted(way, head)
        for thing, after in self.thing(index):
            if not self.fits(thing, kind):
                what = ' '.join(word.text for word in self.sentence.words[index:after])
                hint = f'{what[:60]!a} is no {kind.replace(ANY_OF, " or ")}'
                self.sentence.missed(after, 'something else', hint if thing.names else '')
                continue
            for more, end in self._matched(way, tuple(rest), after):
                yield ((head, thing), *more), end

    def _adverbs(self, index: int) -> Iterator[tuple[tuple[str, ...], int]]:
        yield (), index
        for tag, after in self.sentence.meant(index, _ADVERBS):
            for tags, end in self._adverbs(after):
                yield (*([tag] if tag else []), *tags), end

    def _verb(
        self, index: int, base: str, supposed: bool
    ) -> list[tuple[str, tuple[str, ...], int]]:
        """The forms of a verb that may stand at a word: voice, tags, and the word behind it."""
        key = index, base, supposed
        if key not in self._verbs:
            self._verbs[key] = list(self._forms(index, base, supposed))
        return self._verbs[key]

    def _forms(
        self, index: int, base: str, supposed: bool
    ) -> Iterator[tuple[str, tuple[str, ...], int]]:
        sentence = self.sentence
        if base == 'be':
            for after in sentence.one_of(index, _WAS if supposed else ('is', 'are')):
                for tags, end in self._adverbs(after):
                    yield IS, tags, end
        for before, start in self._adverbs(index):
            for after in sentence.one_of(start, () if base == 'be' else (third(base), base)):
                for tags, end in self._adverbs(after):
                    yield IS, (*before, *tags), end
            stays = tuple(word for stay in _STAY for word in (third(stay), stay))
            for end in sentence.one_of(start, stays if base == 'be' else ()):
                yield KEEP, before, end
            for after in sentence.one_of(start, () if base == 'be' else ('does not', 'do not')):
                for tags, middle in self._adverbs(after):
                    for end in sentence.one_of(middle, (base,)):
                        yield IS, (*before, 'not', *tags), end
        if supposed:
            return
        for voice, words, first in (
            (MUST, _MUST, ()),
            (MAY, _MAY, ()),
            (MUST, _FORBIDDEN, ('not',)),
        ):
            for after in sentence.one_of(index, words):
                for tags, middle in self._adverbs(after):
                    for end in sentence.one_of(middle, (base,)):
                        for more, last in self._adverbs(end):
                            yield voice, (*first, *tags, *more), last
                    for end in sentence.one_of(middle, _STAY if base == 'be' else ()):
                        yield (KEEP if voice == MUST else MAY), (*first, *tags, 'stay'), end

    def told(self, index: int, supposed: bool = False) -> Iterator[tuple[MainClause, int]]:
        """Clauses with a subject and a verb: `b1 must not be on the table`."""
        for pattern in self._patterns:
            if pattern.done:
                continue
            way = pattern.way
            for before, middle in self._matched(way, pattern.before, index):
                for voice, tags, start in self._verb(middle, pattern.verb, supposed):
                    for after, end in self._matched(way, pattern.after, start):
                        subject = before[0][0] if before else -1
                        told = Clause(way, (*before, *after), subject=subject)
                        yield MainClause(told, voice, tags), end

    def done(self, index: int, *, ing: bool = False) -> Iterator[tuple[Clause, int]]:
        """Clauses that state a deed: `put b1 on b2`, or `putting b1 on b2`."""
        for pattern in self._patterns:
            if not pattern.done:
                continue
            verb = gerund(pattern.verb) if ing else pattern.verb
            after = self.sentence.at(index, verb)
            if after is not None:
                for things, end in self._matched(pattern.way, pattern.after, after):
                    yield Clause(pattern.way, things, True), end

    def kept(self, index: int) -> Iterator[tuple[Clause, int]]:
        """Clauses of a lasting state: `keep the ferry empty`."""
        for start in self.sentence.one_of(index, _KEEP):
            for pattern in self._patterns:
                if pattern.done or pattern.verb != 'be':
                    continue
                way = pattern.way
                for before, middle in self._matched(way, pattern.before, start):
                    for after, end in self._matched(way, pattern.after, middle):
                        yield Clause(way, (*before, *after)), end

    def condition(self, index: int) -> Iterator[tuple[RuleCondition, int]]:
        """What a rule supposes."""
        for part, after in self._supposed(index):
            yield RuleCondition((part,)), after
            for word in ('and', 'or'):
                for parts, end in self._joined(after, word):
                    yield RuleCondition((part, *parts), word == 'and'), end

    def _joined(
        self, index: int, word: str
    ) -> Iterator[tuple[tuple[tuple[Clause | Again, bool], ...], int]]:
        start = self.sentence.at(index, word)
        if start is None:
            return
        for part, after in self._supposed(start):
            yield (part,), after
            for parts, end in self._joined(after, word):
                yield (part, *parts), end

    def _supposed(self, index: int) -> Iterator[tuple[tuple[Clause | Again, bool], int]]:
        sentence = self.sentence
        for told, after in self.told(index, supposed=True):
            if set(told.tags) <= {'not'} and told.voice == IS:
                yield (told.clause, 'not' not in told.tags), after
        for clause, after in self.done(index, ing=True):
            yield (clause, True), after
        for thing, after in self.thing(index):
            yield (Again(thing, False), True), after
            for end in sentence.one_of(after, _DID):
                yield (Again(thing, True), True), end

    def again(self, main: Clause, other: Again) -> list[Clause]:
        """The main clause, with another subject wherever that fits."""
        numbers = [number for number, thing in main.things if thing.index >= 0]
        if other.subject:
            numbers = [main.subject] if main.subject >= 0 else []
        return [
            main.put(number, other.thing)
            for number in numbers
            if self.fits(other.thing, self.wanted(main.way, number))
        ]

    def place(self, index: int) -> Iterator[tuple[tuple[str, ...], Clause, int]]:
        """A place behind a fact without a place: predicates it goes with, and the fact."""
        if self.lexicon.where is not None:
            predicates, way = self.lexicon.where
            words = tuple(int(w[1]) if w[0] == '{' else w for w in way.text.split())
            for things, end in self._matched(way, words, index):
                yield predicates, Clause(way, things), end
