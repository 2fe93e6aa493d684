# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Worlds that requests are about: scenes of our domains, and of made-up ones; and their phrases.

In made-up worlds the predicates have one of several names, so that a model has to look them up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from random import Random
from typing import Any

import yaml

from safegen_ros.language import lexicon
from safegen_ros.pddl.deciding import changed_predicates
from safegen_ros.pddl.model import And, Atom, Problem
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.pddl.writer import atom_text
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.domains.folders import folder_domain
from safegen_ros.tasks.pddl3.domains.kit import SizeError
from safegen_ros.tasks.planetarium.styles import observed_facts

_ALTERNATIVES = re.compile(r'[^\s{}]+/[^\s{}]+')
_SYMBOL = re.compile(r'<([\w-]+)>')


@cache
def phrases() -> Mapping[str, Any]:
    """All of the files."""
    found = dict[str, Any]()
    for path in sorted(Path(__file__).parent.glob('*.yaml')):
        found |= yaml.safe_load(path.read_text(encoding='utf-8'))
    return found


def chosen(rng: Random, templates: Sequence[str], number: int | None = None) -> str:
    """One of the templates, with one of the words that a slash divides.

    A `<name>` in it is chosen from `grammar`, in the same way.

    Args:
        number: which of the words, where they are not alike.
    """

    def word(found: re.Match[str]) -> str:
        words = found[0].split('/')
        return rng.choice(words) if number is None else words[number % len(words)]

    def symbol(found: re.Match[str]) -> str:
        return chosen(rng, phrases()['grammar'][found[1]])

    return _SYMBOL.sub(symbol, _ALTERNATIVES.sub(word, rng.choice(templates)))


def participle(verb: str) -> str:
    """`stuck` for `stick`."""
    return str(phrases()['participles'].get(verb) or lexicon.participle(verb))


def gerund(verb: str) -> str:
    """`sticking` for `stick`."""
    return str(phrases()['gerunds-of'].get(verb) or lexicon.gerund(verb))


def of_several(be: str) -> str:
    """The plural of a verb form such as `is` or `has`."""
    first, blank, rest = be.partition(' ')
    return f'{_PLURALS.get(first, first)}{blank}{rest}'


_PLURALS = {
    'is': 'are', 'has': 'have', 'needs': 'need', 'ends': 'end', 'stays': 'stay',
    'remains': 'remain', "isn't": "aren't", "doesn't": "don't", 'to': 'to',
}  # fmt: skip


_OURS = 0.75  # share of the scenes that are of our domains
_OWN_NAMES = 0.5  # share of those that keep the names of the generators
_STEMS = ('a', 'x', 'obj', 'item', 'o', 'k', 'm', 'n', 'p', 'q')
_LETTERS = 'bcdefghjklmnopqrstuvwxyz'
_COLOURS = ('red', 'blue', 'green', 'yellow', 'white', 'black', 'orange', 'purple', 'pink', 'grey')


@dataclass(frozen=True, slots=True)
class AskedFact:
    """A predicate that can be asked for.

    Attributes:
        takes: the kinds of its arguments.
        phrases: of `phrases.yaml`.
        number: which of the words that a slash divides are meant; None where all are alike.
    """

    name: str
    takes: tuple[str, ...]
    phrases: Mapping[str, Any]
    number: int | None = None


@dataclass(frozen=True)
class RequestScene:
    """What a group of requests is about.

    Attributes:
        facts: what can be asked for, by predicate.
        signatures: the kinds of the arguments of every predicate that can change.
        objects: the names of every kind.
        nouns: words for one of a kind.
        start: the world, as a problem.
        ruled: phrases that forbid a fact.
        pairs: phrases for several facts of the same objects.
        blocks: whether the objects are stacked.
        seen: facts that only say where things are.
    """

    facts: dict[str, AskedFact]
    signatures: Mapping[str, Sequence[str]]
    objects: dict[str, list[str]]
    nouns: dict[str, list[str]]
    start: Problem
    ruled: list[Mapping[str, Any]]
    pairs: Sequence[Mapping[str, Any]] = ()
    blocks: bool = False
    seen: Sequence[AskedFact] = ()

    @cached_property
    def now(self) -> frozenset[Atom]:
        """What is true and can change."""
        changing = changed_predicates(self.start)
        return frozenset(atom for atom in self.start.init if atom[0] in changing)

    @property
    def typed(self) -> bool:
        """Whether the kinds are types."""
        return bool(self.start.domain.types)

    def kind(self, name: str) -> str:
        """The kind of an object."""
        return next(kind for kind, names in self.objects.items() if name in names)

    def deed(self, rng: Random, ruled: Mapping[str, Any]) -> tuple[Sequence[str], Atom]:
        """The kinds of a forbidden fact's arguments, and that fact of random objects."""
        takes = self.facts[ruled['fact']].takes
        atom = (ruled['fact'], *(rng.choice(self.objects[kind]) for kind in takes))
        hands = [each for each in sorted(self.now) if each[0] == 'free']
        if len(atom) == 4 and hands:
            _, robot, hand = rng.choice(hands)
            atom = (atom[0], robot, atom[2], hand)
        return takes, atom

    def exists(self, atom: Atom, takes: Sequence[str], every: Sequence[int]) -> str:
        """A fact in PDDL, for some objects in the places of `every`."""
        if not every:
            return atom_text(atom)
        terms, bound = [*atom[1:]], []
        for place, variable in zip(every, 'xyz', strict=False):
            terms[place] = f'?{variable}'
            bound.append(f'?{variable} - {takes[place]}' if self.typed else f'?{variable}')
        return f'(exists ({" ".join(bound)}) {atom_text((atom[0], *terms))})'


def drawn_scene(rng: Random) -> RequestScene:
    """A random scene."""
    worlds = phrases()['worlds']
    ours = [name for name, world in worlds.items() if 'domain' in world]
    if rng.random() < _OURS:
        return _known(rng, worlds[rng.choice(['blocks', *ours])])
    return _made_up(rng, worlds[rng.choice([name for name in worlds if name not in ours])])


def _known(rng: Random, world: Mapping[str, Any]) -> RequestScene:
    kit = kits()[world['domain']]
    while True:
        try:
            drawn = {p.name: (p.least, p.wide[1]) for p in kit.parameters}
            # Mostly enough of a kind that 'both' and 'the other one' mean something.
            size = kit.checked({n: max(rng.randint(*d), rng.randint(*d)) for n, d in drawn.items()})
            break
        except SizeError:
            continue
    problem = read_problem(kit.text('scene', kit.draw(rng, size)), folder_domain(kit.name))
    signatures, objects, _ = observed_facts(problem)
    names = _new_names(rng, objects)
    start = replace(
        problem,
        objects={names[n]: kind for n, kind in problem.objects.items()},
        init=frozenset((atom[0], *(names[n] for n in atom[1:])) for atom in problem.init),
    )
    return RequestScene(
        {
            name: AskedFact(each.get('fact', name), tuple(each['takes']), each)
            for name, each in world['facts'].items()
        },
        signatures,
        {kind: [names[n] for n in each] for kind, each in objects.items()},
        {kind: words.split('/') for kind, words in world['kinds'].items()},
        start,
        list(world['ruled'].values()),
        world['pairs'],
        kit.name == 'blocksworld',
        [AskedFact(each['fact'], tuple(each['takes']), each) for each in world.get('seen', ())],
    )


def _new_names(rng: Random, objects: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """What objects are called; every name is there once."""
    own = [name for names in objects.values() for name in names]
    style = rng.random()
    if style < _OWN_NAMES:
        return {name: name for name in own}
    if style < 0.6 and len(own) <= len(_LETTERS):
        return dict(zip(own, rng.sample(_LETTERS, len(own)), strict=True))
    found: dict[str, str] = {}
    for kind, names in objects.items():
        if style < 0.75 and len(names) <= len(_COLOURS):
            behind = rng.choice(('', '-block')) if kind == 'object' else f'-{kind}'
            fresh = [f'{colour}{behind}' for colour in rng.sample(_COLOURS, len(names))]
        else:
            stem = rng.choice((kind, kind[0], rng.choice(_STEMS))) + rng.choice(('', '', '_', '-'))
            fresh = [f'{stem}{n}' for n in rng.sample(range(1, len(names) + 10), len(names))]
        found |= dict(zip(names, fresh, strict=True))
    return found if len({*found.values()}) == len(own) else {name: name for name in own}


def _made_up(rng: Random, world: Mapping[str, Any]) -> RequestScene:
    """A scene with some of the facts of a made-up world."""
    facts: dict[str, AskedFact] = {}
    for alternatives, each in rng.sample(
        [*world['facts'].items()], rng.randint(2, len(world['facts']))
    ):
        number = rng.randrange(alternatives.count('|') + 1)
        name = alternatives.split('|')[number]
        exact = number if each.get('exact') else None
        facts[name] = AskedFact(name, tuple(each['takes']), each, exact)
    kinds = {kind: world['kinds'][kind] for fact in facts.values() for kind in fact.takes}
    objects = {kind: _objects(rng, each) for kind, each in kinds.items()}
    now = set[Atom]()
    for fact in facts.values():
        for first in objects[fact.takes[0]]:
            others = (rng.choice(objects[kind]) for kind in fact.takes[1:])
            if rng.random() < {'one': 1.0, 'some': 0.4, 'none': 0.0}[fact.phrases['start']]:
                now.add((fact.name, first, *others))
    signatures = {fact.name: fact.takes for fact in facts.values()}
    return RequestScene(
        facts,
        signatures,
        objects,
        {kind: each['say'].split('/') for kind, each in kinds.items()},
        _free_world(signatures, objects, now),
        [],
    )


def _free_world(
    signatures: Mapping[str, Sequence[str]], objects: Mapping[str, Sequence[str]], now: set[Atom]
) -> Problem:
    """A problem in which any fact can be made true or false at any time."""
    facts, actions = '', ''
    for name, takes in signatures.items():
        terms = ' '.join(f'?{n} - {kind}' for n, kind in enumerate(takes))
        fact = atom_text((name, *(f'?{n}' for n in range(len(takes)))))
        facts += f'({name} {terms})'
        for verb, effect in (('do', fact), ('undo', f'(not {fact})')):
            actions += f'(:action {verb}-{name} :parameters ({terms}) :effect {effect})'
    domain = read_domain(
        '(define (domain made-up) (:requirements :strips :typing)'
        f'(:types {" ".join(objects)}) (:predicates {facts}) {actions})'
    )
    kinds = {name: kind for kind, names in objects.items() for name in names}
    return Problem('made-up', domain, kinds, frozenset(now), And(()), ())


def _objects(rng: Random, kind: Mapping[str, Any]) -> list[str]:
    names, count = kind['names'], rng.randint(1, 5)
    if not kind.get('numbered'):
        return rng.sample(names, min(len(names), count + 1))
    stem = rng.choice(names) + rng.choice(('', '', '_', '-'))
    return [f'{stem}{number}' for number in range(1, count + 1)]
