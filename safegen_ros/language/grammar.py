# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The sentences of rules: a main clause, with when and under which condition it is meant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from safegen_ros.language.clauses import DO, KEEP, Clauses, Condition, Told

_INTROS = ('', 'please', 'make sure that', 'make sure', 'ensure that', 'ensure', 'also', 'and')

_COMMANDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ('', ()), ('never', ('not',)), ('do not', ('not',)), ('do not ever', ('not',)),
    ('never , ever', ('not',)),
    ('never ever', ('not',)), ('always', ('always',)), ('only', ('only',)),
    ('eventually', ('sometime',)), ('finally', ('end',)), ('you must', ()),
    ('you should', ()), ('you must not', ('not',)), ('you must never', ('not',)),
    ('you should not', ('not',)), ('you should never', ('not',)), ('you may not', ('not',)),
    ('you can not', ('not',)), ('it is forbidden to', ('not',)),
    ('it is not allowed to', ('not',)), ('you are not allowed to', ('not',)),
)  # fmt: skip
_AVOIDED = ('avoid', 'refrain from')

_THAT = (
    ('it must never happen that', 'never'), ('it must never be true that', 'never'),
    ('it must not happen that', 'never'), ('it must never be the case that', 'never'),
    ('there must never be a time when', 'never'), ('it must always be true that', 'always'),
    ('it must always be the case that', 'always'),
)  # fmt: skip

_TIMES: tuple[tuple[str, str], ...] = (
    ('always', 'always'), ('at all times', 'always'), ('all the time', 'always'),
    ('in every state', 'always'), ('throughout', 'always'), ('forever', 'always'),
    ('ever', 'ever'), ('at any time', 'ever'), ('at any point', 'ever'), ('anytime', 'ever'),
    ('at the end', 'end'), ('in the end', 'end'), ('finally', 'end'), ('at the very end', 'end'),
    ('eventually', 'sometime'), ('at some time', 'sometime'), ('at some point', 'sometime'),
    ('sometime', 'sometime'), ('at least once', 'sometime'), ('at most once', 'most-once'),
    ('no more than once', 'most-once'), ('more than once', 'more-than-once'),
    ('twice', 'more-than-once'), ('again', 'more-than-once'), ('exactly once', 'exactly-once'),
    ('only once', 'only-once'), ('just once', 'only-once'), ('once', 'once'),
    ('at the same time', 'together'), ('together', 'together'), ('one by one', 'each'),
    ('at most once each', 'most-once'), ('at once', 'together'), ('simultaneously', 'together'),
)  # fmt: skip

_NUMBERED: tuple[tuple[str, tuple[str, ...]], ...] = (
    ('within', ('within #', 'in at most #', 'in no more than #')),
    ('by', ('by step N', 'no later than step N')),
    ('before-step', ('before step N',)),
    ('from', ('from step N on', 'from step N onwards', 'after step N')),
    ('during', ('from step N until before step N', 'from step N to before step N')),
)
"""`N` is a number, `#` a number of steps."""

_CONDITIONS: tuple[tuple[str, str], ...] = (
    ('before', 'before'), ('until', 'until'), ('till', 'until'), ('after', 'after'),
    ('once', 'after'), ('while', 'while'), ('as long as', 'while'), ('when', 'while'),
    ('if', 'while'), ('whenever', 'while'), ('unless', 'unless'), ('except when', 'unless'),
    ('except if', 'unless'), ('except while', 'unless'), ('only if', 'only-while'),
    ('only when', 'only-while'), ('only while', 'only-while'), ('only after', 'only-after'),
    ('only once', 'only-after'), ('not until', 'not-until'), ('not before', 'not-until'),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Modifier:
    """When, or under which condition, a clause is meant.

    Attributes:
        kind: `always`, `within`, `before` ...
        numbers: its numbers of steps.
        condition: what it supposes.
    """

    kind: str
    numbers: tuple[int, ...] = ()
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class Parse:
    """One way to take a sentence apart.

    Attributes:
        main: what it says; several for `first ..., then ...`.
        modifiers: when it is meant, in the order of the words.
        that: what must never, or always, be true, where there is no main clause.
    """

    main: tuple[Told, ...]
    modifiers: tuple[Modifier, ...]
    that: tuple[str, Condition] | None = None


def parses(clauses: Clauses) -> Iterator[Parse]:
    """Every way to take the sentence apart that `clauses` has begun."""
    return _Grammar(clauses).sentence()


class _Grammar:
    def __init__(self, clauses: Clauses) -> None:
        self._clauses = clauses
        self._sentence = clauses.sentence
        self._modified: dict[int, list[tuple[Modifier, int]]] = {}

    def sentence(self) -> Iterator[Parse]:
        for intro in _INTROS:
            start = self._sentence.at(0, intro)
            if start is None:
                continue
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
        for words, kind in _THAT:
            after = self._sentence.at(start, words)
            if after is None:
                continue
            for condition, end in self._clauses.condition(after):
                if self._ends(end):
                    yield Parse((), (), (kind, condition))

    def _first_then(self, start: int) -> Iterator[Parse]:
        first = self._sentence.at(start, 'first')
        if first is None:
            return
        for one, middle in self._main(first):
            for then in self._sentence.one_of(middle, ('then', ', then', 'and then', ', and then')):
                for other, end in self._main(then):
                    if self._ends(end):
                        yield Parse((one, other), ())

    def _main(self, index: int) -> Iterator[tuple[Told, int]]:
        yield from self._clauses.told(index)
        for words, tags in _COMMANDS:
            start = self._sentence.at(index, words)
            if start is None:
                continue
            for clause, end in self._clauses.done(start):
                yield Told(clause, DO, tags), end
            for clause, end in self._clauses.kept(start):
                yield Told(clause, KEEP, tags), end
        for start in self._sentence.one_of(index, _AVOIDED):
            for clause, end in self._clauses.done(start, ing=True):
                yield Told(clause, DO, ('not',)), end

    def _leading(self, index: int) -> Iterator[tuple[tuple[Modifier, ...], int]]:
        yield (), index
        for modifier, after in self._modifier(index):
            ends = [after, *self._sentence.one_of(after, (',', 'then', ', then'))]
            for end in ends:
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
        found = self._modified.get(index)
        if found is None:
            found = self._modified[index] = list(self._modifiers(index))
        return found

    def _modifiers(self, index: int) -> Iterator[tuple[Modifier, int]]:
        sentence = self._sentence
        for words, kind in _TIMES:
            after = sentence.at(index, words)
            if after is not None:
                yield Modifier(kind), after
        for kind, templates in _NUMBERED:
            for template in templates:
                yield from self._numbered(index, kind, template)
        for words, kind in _CONDITIONS:
            after = sentence.at(index, words)
            if after is not None:
                for condition, end in self._clauses.condition(after):
                    yield Modifier(kind, (), condition), end
        for predicates, clause, end in self._clauses.place(index):
            yield Modifier(f'place {" ".join(predicates)}', (), Condition(((clause, True),))), end

    def _numbered(self, index: int, kind: str, template: str) -> Iterator[tuple[Modifier, int]]:
        sentence, numbers, at = self._sentence, [], index
        for word in template.split():
            number = sentence.number(at) if word in 'N#' else None
            if word in 'N#':
                if number is None:
                    return
                numbers.append(number)
                at += 1
                if word == '#':
                    ends = list(sentence.one_of(at, ('steps', 'step')))
                    if not ends:
                        return
                    at = ends[0]
            else:
                after = sentence.at(at, word)
                if after is None:
                    return
                at = after
        yield Modifier(kind, tuple(numbers)), at
        if kind == 'within':
            for start in sentence.one_of(at, ('of', 'after')):
                for condition, end in self._clauses.condition(start):
                    yield Modifier('within-after', tuple(numbers), condition), end
