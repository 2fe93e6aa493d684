# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Ways to express a domain's facts, as patterns for the grammar of rules.

A pattern is words, `{0}` for the first argument, and `=verb` for a verb that takes the form that
its sentence asks for. `{0} =be on {1}` states how things are. A pattern without `=` states a deed,
beginning with the verb: `put {0} on {1}` makes `{0} =be on {1}` true. The patterns of a domain are
in the `lexicon.yaml` of its folder, where `put/place` is either word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from safegen_ros.language.placed import Placed, read_yaml
from safegen_ros.pddl.model import Domain


# The domains belong to a room above this one, which has them found here (`add_source`). Any other
# domain is spoken of by the names of its predicates.
@dataclass(frozen=True, slots=True)
class Wording:
    """The words of a domain.

    A template is plain words, with `{0}` where the first argument stands. It may not contain `and`,
    `both`, `or`, `if` or `then`, which join facts, and no two templates may fit the same text.

    Attributes:
        nouns: singular and plural for every type.
        facts: for every predicate, a template for when it is true and one for when it is not.
        kinds: predicates of one argument for the kind of an object; where each object has just one
            of them they become nouns (singular and plural).
        distinct: a predicate of two arguments that is true of any two different objects of a kind,
            and that kind; where it is, one sentence states that.
        steps: for actions, what the robot does in a step, such as `put {0} on {1}`.
    """

    nouns: Mapping[str, tuple[str, str]]
    facts: Mapping[str, tuple[str, str]]
    kinds: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    distinct: tuple[str, str] | None = None
    steps: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of a domain.

    Attributes:
        names: the names by which problems ask for it.
        lexicon: the file of its lexicon (see `lexicon`); None if it has none.
    """

    wording: Wording
    names: tuple[str, ...] = ()
    lexicon: Path | None = None


Source = Callable[[Domain], Vocabulary | None]
"""Finds the vocabulary of a domain, by its types and predicates; None where it knows none."""

_PLAIN = Vocabulary(Wording({}, {}))
_sources: list[Source] = []


def add_source(source: Source) -> None:
    """Has the vocabularies of more domains found."""
    _sources.append(source)


def vocabulary(domain: Domain) -> Vocabulary:
    """The vocabulary of a domain; one without words where no source knows it."""
    return next((found for source in _sources if (found := source(domain))), _PLAIN)


_PHRASES: Mapping[str, Any] = yaml.safe_load(
    Path(__file__).with_name('rules.yaml').read_text(encoding='utf-8')
)


def phrases(name: str) -> tuple[str, ...]:
    """The phrases of a list in `rules.yaml`."""
    return tuple(_PHRASES[name])


def phrase_table(name: str) -> tuple[tuple[str, str], ...]:
    """The phrases of a table in `rules.yaml`, each with its meaning."""
    return tuple((words, kind) for kind, each in _PHRASES[name].items() for words in each)


_FORMS: Mapping[str, tuple[str, str, str]] = _PHRASES['verbs']
_LASTING = phrases('lasting')


def third(verb: str) -> str:
    """`carries` for `carry`."""
    if verb in _FORMS:
        return _FORMS[verb][0]
    return f'{verb[:-1]}ies' if re.search('[^aeiou]y$', verb) else f'{verb}s'


def gerund(verb: str) -> str:
    """`carrying` for `carry`."""
    if verb in _FORMS:
        return _FORMS[verb][1]
    return f'{verb[:-1]}ing' if verb.endswith('e') else f'{verb}ing'


def participle(verb: str) -> str:
    """`carried` for `carry`."""
    if verb in _FORMS:
        return _FORMS[verb][2]
    if verb.endswith('e'):
        return f'{verb}d'
    return f'{verb[:-1]}ied' if re.search('[^aeiou]y$', verb) else f'{verb}ed'


@dataclass(frozen=True, slots=True)
class Phrasing:
    """One way to express a fact.

    Attributes:
        text: a pattern.
        agent: the argument that does it, of a pattern for a deed.
        passing: whether the deed is over at once, as a visit is.
        goal: the argument that may be left out where the problem's goal has it.
        types: narrower types for arguments.
    """

    predicate: str
    text: str
    agent: int | None = None
    passing: bool = False
    goal: int | None = None
    types: tuple[tuple[int, str], ...] = ()

    @property
    def momentary(self) -> bool:
        """Whether it states a step, as `put` does, and not how things are from then on."""
        return '=' not in self.text and self.text.split()[0] not in _LASTING


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The ways to express a domain.

    Attributes:
        agents: the agent of the ways without one.
        nouns: more nouns, singular and plural, for a type or a predicate that says what a thing is.
        sorts: the kinds of the arguments of a predicate, where its types do not say.
        where: predicates that may be followed by a place, the words of the place, and its
            predicate.
    """

    ways: tuple[Phrasing, ...]
    agents: tuple[str, ...] = ()
    nouns: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    sorts: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    where: tuple[tuple[str, ...], Phrasing] | None = None


@dataclass(frozen=True, slots=True)
class Pattern:
    """A way, ready to be looked for.

    Attributes:
        before: the words before the verb; a number stands for an argument.
        verb: the verb in its base form; it comes first in a deed.
        after: the words after the verb.
        done: whether it states a deed, not how things are.
    """

    way: Phrasing
    before: tuple[str | int, ...]
    verb: str
    after: tuple[str | int, ...]
    done: bool

    @property
    def words(self) -> Iterator[str]:
        """Every word that may stand in it."""
        forms = (self.verb, third(self.verb), gerund(self.verb))
        yield from (word for word in (*self.before, *self.after, *forms) if isinstance(word, str))


_WORD = re.compile(r'\{(\d)\}')


def _words(text: str) -> tuple[str | int, ...]:
    found = (_WORD.fullmatch(word) for word in text.split())
    pairs = zip(text.split(), found, strict=True)
    return tuple(int(match[1]) if match else word for word, match in pairs)


def patterns(lexicon: Lexicon) -> tuple[Pattern, ...]:
    """The patterns of a lexicon: each way, and for a deed also its agent and object."""
    found: list[Pattern] = []
    for way in lexicon.ways:
        before, states, rest = way.text.partition('=')
        if states:
            verb, _, after = rest.partition(' ')
            found.append(Pattern(way, _words(before), verb, _words(after), False))
            continue
        first, *others = _words(way.text)
        base, after_all = str(first), tuple(others)
        found.append(Pattern(way, (), base, after_all, True))
        found += [
            Pattern(way, who, base, after_all, False)
            for who in ([(way.agent,)] if way.agent is not None else map(_words, lexicon.agents))
        ]
        place = next((n for n, word in enumerate(after_all) if isinstance(word, int)), None)
        if place is not None and not way.passing:
            passive = (participle(base), *after_all[:place], *after_all[place + 1 :])
            found.append(Pattern(way, (after_all[place],), 'be', passive, False))
    return tuple(dict.fromkeys(found))


def lexicon(domain: Domain) -> Lexicon:
    """The lexicon of a domain: the file in its folder, or one made of its words."""
    known = vocabulary(domain)
    arities = tuple((name, len(kinds)) for name, kinds in domain.predicates.items())
    return _read(known.lexicon, arities) if known.lexicon else _generic(known.wording, arities)


_Arities = tuple[tuple[str, int], ...]
_KEYS = ('agents', 'nouns', 'sorts', 'ways', 'where')
_SAID = ('say', 'agent', 'passing', 'goal', 'types')


@cache
def _read(path: Path, arities: _Arities) -> Lexicon:
    """The lexicon in a file.

    Raises:
        PddlError: it is not YAML, has another key, or names a thing that the domain does not have.
    """
    top = read_yaml(path.read_text(encoding='utf-8'), str(path)).mapping('a lexicon', _KEYS)

    def part(key: str) -> Mapping[str, Placed]:
        return top[key].mapping(repr(key)) if key in top else {}

    ways: list[Phrasing] = []
    for name, said in part('ways').items():
        if name not in dict(arities):
            raise said.error(f'{name!a} is not a predicate of the domain', 'use a predicate of it')
        ways += (way for each in said.items(name) for way in _ways(name, each))
    where = part('where')
    agents = top['agents'].items("'agents'") if 'agents' in top else ()
    return Lexicon(
        tuple(ways),
        tuple(each.text('an agent') for each in agents),
        {kind: tuple(_texts(pairs)) for kind, pairs in part('nouns').items()},
        {
            name: dict(enumerate(each.text('a kind') for each in kinds.items(name)))
            for name, kinds in part('sorts').items()
        },
        (
            tuple(each.text('a predicate') for each in where['behind'].items('behind')),
            Phrasing(where['means'].text('a predicate'), where['say'].text('a pattern')),
        )
        if where
        else None,
    )


def _texts(pairs: Placed) -> Iterator[tuple[str, str]]:
    for singular, plural in pairs.mapping('nouns').items():
        yield singular, plural.text('a plural')


def _ways(predicate: str, said: Placed) -> Iterator[Phrasing]:
    """The ways of one entry: a pattern, or several with their settings."""
    if isinstance(said.value, str):
        yield from (Phrasing(predicate, text) for text in _alternatives(said.value))
        return
    own = said.mapping('a way', _SAID)
    agent, goal = (own[key].whole(key) if key in own else None for key in ('agent', 'goal'))
    passing = 'passing' in own and own['passing'].value is True
    types = own['types'].items("'types'") if 'types' in own else ()
    for each in own['say'].items("'say'"):
        for text in _alternatives(each.text('a pattern')):
            kinds = tuple((n, kind.text('a type')) for n, kind in enumerate(types))
            yield Phrasing(predicate, text, agent, passing, goal, kinds)


def _alternatives(pattern: str) -> Iterator[str]:
    """`put {0}` and `place {0}` for `put/place {0}`."""
    for words in product(*(_choices(word) for word in pattern.split())):
        yield ' '.join(words)


def _choices(word: str) -> list[str]:
    mark = word[:1] if word[:1] == '=' else ''
    return [mark + each for each in word.removeprefix('=').split('/')]


def _generic(wording: Wording, arities: _Arities) -> Lexicon:
    """A lexicon for a domain that has none: its own words for facts, or the predicates' names."""
    ways: list[Phrasing] = []
    for name, arity in arities:
        if name in wording.facts:
            ways += _from_sentence(name, wording.facts[name][0])
        plain = name.replace('-', ' ').replace('_', ' ')
        slots = [f'{{{number}}}' for number in range(arity)]
        ways.append(
            Phrasing(name, f'{plain} =hold {" ".join(["for", *slots]) if slots else ""}'.strip())
        )
        if slots:
            # As the domain spells it, too: a hyphen or an underline joins a word.
            for spelt in dict.fromkeys((plain, name)):
                ways.append(Phrasing(name, ' '.join([slots[0], '=be', spelt, *slots[1:]])))
        else:
            ways.append(Phrasing(name, f'{plain} =be true'))
    return Lexicon(tuple(dict.fromkeys(ways)))


def _from_sentence(predicate: str, template: str) -> Iterator[Phrasing]:
    """A way made of a sentence that states a fact, where its verb is clear."""
    text = re.sub(r'\b(is|are)\b', '=be', template, count=1)
    if '=' not in text:
        text = re.sub(r'\{0\} (\w+)s\b', r'{0} =\1', template, count=1)
    if '=' in text:
        yield Phrasing(predicate, text)
