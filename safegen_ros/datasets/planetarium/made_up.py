# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Clauses about domains that are drawn by chance.

A translator that learns from them has to look predicates up in the domain that it is shown. Names
and phrases are of everyday words in any role; phrases have a word of the predicate's name, or one
for it.
There are no actions.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from safegen_ros.pddl.model import Atom, Domain

_NOUNS = """
arm bag bell bin block book box bridge bus cable camera car card cell chair color crate cup desk
door drawer drone ferry flag floor gate hall key lamp lift machine mat nut packet paint pallet
person pipe place plane plate pump ring road robot rocket ship shelf shop slot spanner square
station stone table tank tile tool tower town train tray truck van wall wheel
"""
_WORDS = """
above active ahead at attached available away back behind below beside bright broken busy carries
clean closed cold connected covers dark deep done down dry empty faces far fast fits fixed follows
free full has heavy high holds hot inside kept leads left light links locked loaded lost low
marked meets mounted moves near new next off old on open opposite over owns packed painted parked
past pulls pushes ready red reaches rests right round safe sealed sees serves set shut side sits
slow small stands stored stuck tall takes tied touches under up used usable visits waits warm wet
wide works
"""
_SYNONYMS = """
at:on at:in on:over inside:in owns:has
holds:carries carries:holds near:beside next:beside free:empty empty:free
usable:available ready:available below:under light:bright small:low old:used stuck:fixed
links:connected links:tied
"""
"""A word in the name of a predicate, and another one for it in sentences; none of Floor Tile."""

_OWN = {'tile', 'robot', 'color'}
"""Kinds of a domain that training leaves out: no two of them are together in one."""

_VERBS = ('is', 'lies', 'stands', 'sits', 'was', 'stays', 'goes')
_LINKS = ('of', 'in', 'to', 'on', 'by', 'with', 'from', 'at')
_SUMMARIES = (
    'all {}s are {}', 'every {} is {}', 'no {} is {}', 'the {}s {} a ring', 'half the {}s are {}',
    'each {} {} its own place', 'the {}s lie in a row , {} to the last', 'all is {} but one {}',
)  # fmt: skip
_STRANGERS = (
    'red cold hot wet dry slow fast tall deep dark warm wide clean angry sweet tired famous cheap '
    'older lucky married hungry loud heavy broken round noisy poor sorry young',
    'hates loves dances owes remembers teaches blames pulls pushes sees serves pays hears sings '
    'forgets helps likes thanks beats washes calls cooks misses paints reads sells visits wakes',
)
"""Words that say no fact of a domain whose names do not have them: of one object, and of two."""
_STRANGE = 0.25  # share of the clauses about objects that say no fact
_PHRASES, _CLAUSES = 3, 20


@dataclass(frozen=True, slots=True)
class MadeUp:
    """Clauses of an unknown domain.

    Attributes:
        domain: it has no actions.
        kinds: by what the names of the objects begin with.
        clauses: each with the atom that it says; None for one that says none.
    """

    domain: Domain
    kinds: dict[str, str]
    clauses: Sequence[tuple[str, Atom | None]]


def made_up(seed: str) -> MadeUp:
    """The clauses of a seed."""
    rng = random.Random(seed)  # noqa: S311  # no secret
    kinds = [*_OWN]
    while len(_OWN.intersection(kinds)) > 1:
        kinds = rng.sample(_NOUNS.split(), rng.choice((1, 2, 2, 3)))
    typed = rng.random() < 0.6
    short = not typed and rng.random() < 0.5
    stems = {kind: kind[0] if short else kind for kind in kinds}
    names: dict[str, tuple[str, ...]] = {}
    told: dict[str, tuple[str, str]] = {}
    words = rng.sample(_WORDS.split(), 30)
    while len(names) < rng.randint(3, 7):
        signature = tuple(rng.choices(kinds, k=rng.choice((0, 1, 1, 1, 2, 2, 2, 2))))
        word = said = words.pop()
        if rng.random() < 0.3:
            word, said = rng.choice(_SYNONYMS.split()).split(':')
        thing = rng.choice(_NOUNS.split()) if len(signature) < rng.choice((1, 1, 2)) else ''
        name = _name(rng, word, (thing,) if thing else signature, words)
        if name not in names:
            names[name], told[name] = signature, (said, thing)
    phrases = {
        name: [_phrase(rng, said, len(names[name]), thing) for _ in range(_PHRASES)]
        for name, (said, thing) in told.items()
    }
    kind_of = {name: s if typed else ('object',) * len(s) for name, s in names.items()}
    domain = Domain('made-up', dict.fromkeys(kinds, 'object') if typed else {}, {}, kind_of, {})
    found: dict[str, Atom | None] = {}
    parts = {part for name in names for part in name.split('-')} | {
        said for said, _ in told.values()
    }
    for _ in range(_CLAUSES):
        name = rng.choice([*names])
        numbers = rng.sample(range(1, 50), places := len(names[name]))
        own = [f'{stems[kind]}{n}' for kind, n in zip(names[name], numbers, strict=True)]
        if rng.random() < _STRANGE and places:
            word = rng.choice(
                [word for word in _STRANGERS[places - 1].split() if word not in parts]
            )
            found[_phrase(rng, word, places, '').format(*own)] = None
        else:
            found[rng.choice(phrases[name]).format(*own)] = (name, *own)
    for each in rng.sample(_SUMMARIES, 2):
        found[each.format(rng.choice(kinds), rng.choice(words))] = None
    return MadeUp(domain, {stem: kind for kind, stem in stems.items()}, [*found.items()])


def _name(rng: random.Random, word: str, signature: Sequence[str], words: list[str]) -> str:
    shape = rng.random()
    if shape < 0.5:
        return word
    if shape < 0.75:
        return f'{signature[0]}-{word}'
    return f'{word}-{signature[-1] if shape < 0.9 else words.pop()}'


def _phrase(rng: random.Random, word: str, places: int, thing: str) -> str:
    """A sentence with gaps for the objects; about a thing that is there once, where it is given."""
    verb = f'{rng.choice(_VERBS)} ' if rng.random() < 0.7 else ''
    first = f'the {thing}' if thing else '{}'
    if places == (0 if thing else 1):
        return f'{first} {verb or "is "}{word}'
    link = f' {rng.choice(_LINKS)}' if rng.random() < 0.6 else ''
    return f'{first} {verb}{word}{link} {{}}'
