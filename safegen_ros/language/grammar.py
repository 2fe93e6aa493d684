# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The sentences of rules: a main clause, with when and under which condition it is meant.

It is not a grammar for Lark. Its Earley parser takes nine times as long and half a second to build
for each domain (lark 0.12). It cannot say which object is of the wrong kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from safegen_ros.language.clauses import DO, KEEP, Clauses, MainClause, RuleCondition
from safegen_ros.language.lexicon import phrase_table, phrases

_INTROS, _AVOIDED, _THEN = map(phrases, ('intros', 'avoided', 'then'))
_COMMANDS, _THAT, _TIMES, _NUMBERED, _CONDITIONS = map(
    phrase_table, ('commands', 'that', 'times', 'numbered', 'conditions')
)


@dataclass(frozen=True, slots=True)
class Modifier:
    """When, or under which condition, a clause is meant.

    Attributes:
        kind: `always`, `within`, `before` ...
    """

    kind: str
    numbers: tuple[int, ...] = ()
    condition: RuleCondition | None = None


@dataclass(frozen=True, slots=True)
class Parse:
    """One way to take a sentence apart.

    Attributes:
        main: what it says; several for `first ..., then ...`.
        modifiers: when it is meant, in the order of the words.
        that: what must never, or always, be true, where there is no main clause.
    """

    main: tuple[MainClause, ...]
    modifiers: tuple[Modifier, ...]
    that: tuple[str, RuleCondition] | None = None


def parses(clauses: Clauses) -> Iterator[Parse]:
    """Every way to take the sentence apart that `clauses` has begun."""
    return _Grammar(clauses).sentence()


class _Grammar:
    def __init__(self, clauses: Clauses) -> None:
        self._clauses = clauses
        self._sentence = clauses.sentence
        self._modified: dict[int, list[tuple[Modifier, int]]] = {}

    def sentence(self) -> Iterator[Parse]:
        for start in self._sentence.one_of(0, _INTROS):
            yield from self._that(start)
            yield from self._first_then(start)
            for before, middle in self._leading(start):
                for told, after in self._main(middle):
                    for behind in self._trailing(after):
                        yield Parse((told,), (*before, *behind))

    def _ends(self, index: int) -> bool:
        if index == len(self._sentence.words):
            return True
        self._sentence.missed(index, 'the end of the sentence')
        return False

    def _that(self, start: int) -> Iterator[Parse]:
        for kind, after in self._sentence.meant(start, _THAT):
            for condition, end in self._clauses.condition(after):
                if self._ends(end):
                    yield Parse((), (), (kind, condition))

    def _first_then(self, start: int) -> Iterator[Parse]:
        for first in self._sentence.one_of(start, ('first',)):
            for one, middle in self._main(first):
                for then in self._sentence.one_of(middle, _THEN):
                    for other, end in self._main(then):
                        if self._ends(end):
                            yield Parse((one, other), ())

    def _main(self, index: int) -> Iterator[tuple[MainClause, int]]:
        yield from self._clauses.told(index)
        for tag, start in self._sentence.meant(index, _COMMANDS):
            tags = (tag,) if tag else ()
            for clause, end in self._clauses.done(start):
                yield MainClause(clause, DO, tags), end
            for clause, end in self._clauses.kept(start):
                yield MainClause(clause, KEEP, tags), end
        for start in self._sentence.one_of(index, _AVOIDED):
            for clause, end in self._clauses.done(start, ing=True):
                yield MainClause(clause, DO, ('not',)), end

    def _leading(self, index: int) -> Iterator[tuple[tuple[Modifier, ...], int]]:
        yield (), index
        for modifier, after in self._modifier(index):
            for end in (after, *self._sentence.one_of(after, (',', 'then', ', then'))):
                yield (modifier,), end

    def _trailing(self, index: int) -> Iterator[tuple[Modifier, ...]]:
        if self._ends(index):
            yield ()
            return
        for start in (index, *self._sentence.one_of(index, (',',))):
            for modifier, after in self._modifier(start):
                for more in self._trailing(after):
                    yield (modifier, *more)

    def _modifier(self, index: int) -> list[tuple[Modifier, int]]:
        if index not in self._modified:
            self._modified[index] = list(self._modifiers(index))
        return self._modified[index]

    def _modifiers(self, index: int) -> Iterator[tuple[Modifier, int]]:
        sentence = self._sentence
        for kind, after in sentence.meant(index, _TIMES):
            yield Modifier(kind), after
        for words, kind in _NUMBERED:
            for numbers, end in sentence.numbered(index, words):
                yield Modifier(kind, numbers), end
                if kind == 'within':
                    for start in sentence.one_of(end, ('of', 'after')):
                        for condition, last in self._clauses.condition(start):
                            yield Modifier('within-after', numbers, condition), last
        for kind, after in sentence.meant(index, _CONDITIONS):
            for condition, end in self._clauses.condition(after):
                yield Modifier(kind, (), condition), end
        for predicates, clause, end in self._clauses.place(index):
            yield (
                Modifier(f'place {" ".join(predicates)}', (), RuleCondition(((clause, True),))),
                end,
            )
