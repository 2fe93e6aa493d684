# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The words and sentences that the English format is made of, for its writer and its reader.

A domain with its own words has them used (see `vocabulary`). For any other domain facts use the
names of their predicates, which reads worse and says the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from safegen_ros.language.lexicon import Wording, vocabulary
from safegen_ros.pddl.model import Domain

SENTENCES: dict[str, str] = {
    'always': 'At all times , {0} .',
    'sometime': 'At some time , {0} .',
    'at-most-once': 'There is at most one period during which {0} .',
    'sometime-before': 'Before the first time that {0} , there is a time when {1} .',
    'sometime-after': 'Whenever {0} , then or at a later time {1} .',
    'at end': 'At the end , {0} .',
    'within': 'Within {time} steps , {0} .',
    'always-within': 'Whenever {0} , then or within {time} steps {1} .',
    'hold-during': 'From step {time} until before step {time} , {0} .',
    'hold-after': 'From step {time} on , {0} .',
}
"""The words of each constraint; blanks set marks apart here, and are left out in a text."""

TITLE = 'Problem {name} of the domain {name} .'
START = 'At the start :'
CLOSED = 'Nothing else is true at the start .'
GOALS = 'The goal :'
GOAL = 'The goal is that {0} .'
RULES = 'The rules :'
NO_OBJECTS = 'There are no objects .'
DISTINCT = 'All {plural} are different places .'
UNTRUE = 'it is not true that'
NOT_BOTH = f'{UNTRUE} both'
ALL_PARTS, ANY_PART = 'all of', 'any of'
EVERY, SOME = 'for every', 'for some'
SAME, DIFFERENT = 'is the same as', 'is not the same as'
EMPTY = 'nothing'

GRAMMAR = (
    'There are of type and or if then for every some step', TITLE, START, CLOSED, GOALS, GOAL,
    RULES, NO_OBJECTS, DISTINCT, NOT_BOTH, ALL_PARTS, ANY_PART, EVERY, SOME, SAME, DIFFERENT, EMPTY,
    *SENTENCES.values(),
)  # fmt: skip
"""What sentences are made of, beside the words of a domain."""

_SLOT = re.compile(r'\{\w*\}')


def plain(template: str) -> str:
    """A template in a text, marks close to the words before them."""
    return template.replace(' ,', ',').replace(' .', '.').replace(' :', ':')


@dataclass(frozen=True, slots=True)
class Fact:
    """The words of a fact.

    Attributes:
        true: whether it states that the fact is true.
        words: the same in a row; a number stands for an argument.
    """

    predicate: str
    true: bool
    template: str
    words: tuple[str | int, ...]

    @classmethod
    def of(cls, predicate: str, true: bool, template: str) -> Fact:
        """A fact from its template."""
        words = tuple(
            int(word[1:-1]) if _SLOT.fullmatch(word) else word
            for word in template.lower().replace(',', ' ,').split()
        )
        return cls(predicate, true, template, words)


@dataclass(frozen=True)
class Phrases:
    """The words for one domain.

    Attributes:
        arities: number of arguments of every predicate.
    """

    wording: Wording
    arities: Mapping[str, int]

    @classmethod
    def of(cls, domain: Domain) -> Phrases:
        """The words for a domain: its own ones, or plain ones."""
        arities = {name: len(kinds) for name, kinds in domain.predicates.items()}
        return cls(vocabulary(domain).wording, arities)

    @cached_property
    def facts(self) -> dict[tuple[str, bool], Fact]:
        """The words of each predicate, when it is true and when it is not."""
        found = {}
        for name, arity in self.arities.items():
            slots = ', '.join(f'{{{number}}}' for number in range(arity))
            told = f' for {slots}' if arity else ''
            shown = self.name(name)
            own = (f'{shown} holds{told}', f'{shown} does not hold{told}')
            for true, template in zip(
                (True, False), self.wording.facts.get(name, own), strict=True
            ):
                found[name, true] = Fact.of(name, true, template)
        return found

    @cached_property
    def reserved(self) -> frozenset[str]:
        """Words that stand in sentences; a name that is one of them is put in quotes."""
        wording = self.wording
        nouns = [
            noun for pair in (*wording.nouns.values(), *wording.kinds.values()) for noun in pair
        ]
        templates = [template for pair in wording.facts.values() for template in pair]
        generic = 'holds does hold not for'
        words = ' '.join((*GRAMMAR, *nouns, *templates, generic)).lower()
        return frozenset(re.findall(r'[a-z]+', _SLOT.sub(' ', words)))

    def name(self, name: str) -> str:
        """A name in a text; a variable `?x` is a capital `X` where that is clear."""
        if name.startswith('?'):
            bare = name[1:]
            clear = bare.upper() != bare and (len(bare) == 1 or bare not in self.reserved)
            return bare.upper() if clear else name
        return f'"{name}"' if name in self.reserved else name

    def noun(self, kind: str) -> str:
        """The singular for a type."""
        return self.wording.nouns[kind][0] if kind in self.wording.nouns else self.name(kind)

    @cached_property
    def types(self) -> dict[str, str]:
        """From the nouns of the domain's own words, singular and plural, to types."""
        return {noun: kind for kind, pair in self.wording.nouns.items() for noun in pair}

    @cached_property
    def kinds(self) -> dict[str, str]:
        """Likewise to predicates that say what an object is."""
        return {noun: kind for kind, pair in self.wording.kinds.items() for noun in pair}
