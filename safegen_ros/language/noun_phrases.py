# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads the objects of a rule: `b1`, `the red block`, `any car`, `room1 or room2`, `nothing`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from safegen_ros.language.english import Phrases
from safegen_ros.language.lexicon import Lexicon, phrase_table, phrases
from safegen_ros.language.sentences import Sentence
from safegen_ros.pddl.diagnostics import suggestion
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.writer import names_text

NAME, EVERY, ALL, AND, ANY, SOME, OR, NO, NOR, ONLY, MOST, MORE = (
    'name', 'every', 'all', 'and', 'any', 'some', 'or', 'no', 'nor', 'only', 'most', 'more',
)  # fmt: skip

UNIVERSAL = (EVERY, ALL, AND)

_WITHOUT_NOUN, _BEFORE_NOUN = map(phrase_table, ('without-noun', 'before-noun'))
_EXCEPT, _PRONOUNS = map(phrases, ('except', 'pronouns'))
_COUNTED = (('at most', MOST), ('no more than', MOST), ('more than', MORE))
_MOST_COUNTED = 3


@dataclass(frozen=True, slots=True)
class Noun:
    """What a noun means.

    Attributes:
        kind: a type.
        sort: a predicate that says so, if it is not a type.
    """

    kind: str
    sort: str = ''


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """The objects of a rule.

    Attributes:
        how: `NAME` for one object, or how many of a kind are meant.
        names: the objects that are named; with a noun or without names, those that are left out.
        number: of `MOST` and `MORE`.
        index: the word where it stands.
    """

    how: str
    names: tuple[str, ...] = ()
    noun: Noun | None = None
    number: int = 0
    index: int = 0

    @property
    def listed(self) -> bool:
        """Whether its names are meant."""
        return self.how in (NAME, AND, OR, NOR, ONLY)


class NounPhrases:
    """Reads them for one problem, with the nouns of a lexicon beside those of the wording."""

    def __init__(self, problem: Problem, lexicon: Lexicon) -> None:
        self.problem = problem
        wording = Phrases.of(problem.domain).wording
        kinds = [*problem.domain.types, 'object']
        self.nouns: dict[str, Noun] = {}
        for kind in kinds:
            self._add(Noun(kind), ((kind, f'{kind}s'),))
            self._add(Noun(kind), (wording.nouns.get(kind, (kind, kind)),))
            self._add(Noun(kind), lexicon.nouns.get(kind, ()))
        for sort, pair in wording.kinds.items():
            self._add(Noun('object', sort), (pair, *lexicon.nouns.get(sort, ())))

    def _add(self, noun: Noun, pairs: tuple[tuple[str, str], ...]) -> None:
        for pair in pairs:
            for word in pair:
                self.nouns[word] = noun

    def members(self, noun: Noun) -> tuple[str, ...]:
        """The objects that a noun means."""
        found = self.problem.objects_by_type()[noun.kind]
        init = self.problem.init
        return tuple(n for n in found if not noun.sort or (noun.sort, n) in init)

    def read(self, sentence: Sentence, index: int) -> Iterator[tuple[NounPhrase, int]]:
        """Every way to read what stands at a word, with the word behind it."""
        for thing, after in self._read(sentence, index):
            yield replace(thing, index=index), after

    def _read(self, sentence: Sentence, index: int) -> Iterator[tuple[NounPhrase, int]]:
        yield from self._listed(sentence, index)
        yield from self._counted(sentence, index)
        for after in sentence.one_of(index, ('only',)):
            for thing, end in self._listed(sentence, after):
                yield NounPhrase(ONLY, thing.names), end
        for how, after in sentence.meant(index, _WITHOUT_NOUN):
            yield from self._excepting(sentence, NounPhrase(how), after)
        for how, after in sentence.meant(index, _BEFORE_NOUN):
            for noun, end in self._noun(sentence, after):
                yield from self._excepting(sentence, NounPhrase(how, noun=noun), end)
        for after in sentence.one_of(index, ('the',)):
            for noun, end in self._noun(sentence, after):
                yield from self._definite(sentence, noun, after, end)

    def _definite(
        self, sentence: Sentence, noun: Noun, index: int, end: int
    ) -> Iterator[tuple[NounPhrase, int]]:
        """`the robot`, where there is only one."""
        members = self.members(noun)
        if len(members) == 1:
            yield NounPhrase(NAME, members), end
        elif not any(True for _ in self._name(sentence, end)):
            known = names_text(members) or 'none'
            word = sentence.words[index].text
            sentence.missed(end, 'a name', f'which {word} is meant? there are: {known}')

    def _counted(self, sentence: Sentence, index: int) -> Iterator[tuple[NounPhrase, int]]:
        for after in sentence.one_of(index, ('no two',)):
            for noun, end in self._noun(sentence, after):
                yield NounPhrase(MOST, noun=noun, number=1), end
        for how, after in sentence.meant(index, _COUNTED):
            number = sentence.number(after)
            if number is not None and 1 <= number <= _MOST_COUNTED:
                for noun, end in self._noun(sentence, after + 1):
                    yield NounPhrase(how, noun=noun, number=number), end

    def _noun(self, sentence: Sentence, index: int) -> Iterator[tuple[Noun, int]]:
        word = sentence.words[index].text if index < len(sentence.words) else ''
        if word in self.nouns and not sentence.words[index].quoted:
            yield self.nouns[word], index + 1
        else:
            sentence.missed(index, 'a kind of object')

    def _excepting(
        self, sentence: Sentence, thing: NounPhrase, index: int
    ) -> Iterator[tuple[NounPhrase, int]]:
        yield thing, index
        for after in sentence.one_of(index, _EXCEPT):
            for named, end in self._listed(sentence, after):
                yield replace(thing, names=named.names), end

    def _listed(self, sentence: Sentence, index: int) -> Iterator[tuple[NounPhrase, int]]:
        """One object, or several with `and` or with `or` between them."""
        for lead, joint in (('', ''), ('both', 'and'), ('either', 'or'), ('neither', 'nor')):
            start = sentence.at(index, lead) if lead else index
            if start is None:
                continue
            for name, after in self._name(sentence, start):
                if not lead:
                    yield NounPhrase(NAME, (name,)), after
                for joined in (joint,) if joint else ('and', 'or'):
                    how = {'and': AND, 'or': OR, 'nor': NOR}[joined]
                    for names, end in self._more(sentence, after, joined):
                        yield NounPhrase(how, (name, *names)), end

    def _more(
        self, sentence: Sentence, index: int, joined: str
    ) -> Iterator[tuple[tuple[str, ...], int]]:
        """The rest of a list, which has the word that joins it before the last name."""
        for start in [*sentence.one_of(index, (joined, f', {joined}'))]:
            for name, end in self._name(sentence, start):
                yield (name,), end
        for comma in sentence.one_of(index, (',',)):
            for name, after in self._name(sentence, comma):
                for names, end in self._more(sentence, after, joined):
                    yield (name, *names), end

    def _name(self, sentence: Sentence, index: int) -> Iterator[tuple[str, int]]:
        """`b1`, `block b1`, `the block b1`, `the b1 block`, `room 1` for `room1`."""
        the = sentence.at(index, 'the')
        for start in (index, *([the] if the is not None else [])):
            word = sentence.words[start] if start < len(sentence.words) else None
            if word is None:
                sentence.missed(start, 'a name')
                continue
            if word.text in self.problem.objects:
                yield word.text, start + 1
                if not word.quoted and self._is_noun(sentence, start + 1, word.text):
                    yield word.text, start + 2
            elif word.quoted or word.text not in self.nouns:
                self._unknown(sentence, start)
            if not word.quoted and word.text in self.nouns:
                yield from self._behind_noun(sentence, start)

    def _behind_noun(self, sentence: Sentence, start: int) -> Iterator[tuple[str, int]]:
        noun = sentence.words[start].text
        after = sentence.words[start + 1] if start + 1 < len(sentence.words) else None
        if after is None:
            sentence.missed(start + 1, 'a name')
        elif after.text in self.problem.objects:
            if after.text in self.members(self.nouns[noun]):
                yield after.text, start + 2
            else:
                sentence.missed(start + 1, 'a name', f'{after.text!r} is no {noun}')
        elif f'{noun}{after.text}' in self.problem.objects and after.text.isdecimal():
            yield f'{noun}{after.text}', start + 2
        else:
            self._unknown(sentence, start + 1)

    def _is_noun(self, sentence: Sentence, index: int, name: str) -> bool:
        if index >= len(sentence.words) or sentence.words[index].quoted:
            return False
        noun = self.nouns.get(sentence.words[index].text)
        return noun is not None and name in self.members(noun)

    def _unknown(self, sentence: Sentence, index: int) -> None:
        word = sentence.words[index]
        names = self.problem.objects
        close = suggestion(word.text, names)
        plain = not any(c.isdigit() for c in word.text) and not close and not word.quoted
        known = names_text(names)
        if word.text in _PRONOUNS and not word.quoted:
            sentence.missed(index, 'a name', f'it is unclear what {word.text!r} is')
            return
        hint = f'no object is called {word.text[:40]!a}: {close}objects are {known}'
        sentence.missed(index, 'a name', '' if plain else hint)
