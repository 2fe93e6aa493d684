# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Problems of domains that are drawn by chance, told atom by atom.

A translator that learns from them has to look predicates up in the domain that it is shown. Names
and phrases are of everyday words in any role; most phrases have a word of the predicate's name.
There are no actions, and these problems are not planned for.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from safegen_ros.datasets.planetarium.layouts import numbered
from safegen_ros.pddl.model import Atom, Domain
from safegen_ros.tasks.planetarium.descriptions import description

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
_MOST_ATOMS = (4, 10, 40)


@dataclass(frozen=True, slots=True)
class MadeUp:
    """A problem of an unknown domain.

    Attributes:
        domain: it has no actions.
        objects: how many of each kind.
        init: the initial state in the order of the text.
        goal: likewise.
    """

    domain: Domain
    text: str
    objects: dict[str, int]
    init: tuple[Atom, ...]
    goal: tuple[Atom, ...]


def made_up(seed: str) -> MadeUp:
    """The problem of a seed."""
    rng = random.Random(seed)  # noqa: S311  # no secret
    kinds = [*_OWN]
    while len(_OWN.intersection(kinds)) > 1:
        kinds = rng.sample(_NOUNS.split(), rng.choice((1, 2, 2, 3)))
    typed = rng.random() < 0.6
    names: dict[str, tuple[str, ...]] = {}
    phrases: dict[str, str] = {}
    words = rng.sample(_WORDS.split(), 30)
    strange: set[tuple[str, ...]] = set()
    while len(names) < rng.randint(3, 7):
        signature = tuple(rng.choices(kinds, k=rng.choice((1, 1, 2, 2, 2))))
        word = told = words.pop()
        if rng.random() < 0.3:
            word, told = rng.choice(_SYNONYMS.split()).split(':')
        name = _name(rng, word, signature, words)
        if rng.random() < 0.15 and signature not in strange:  # has a separate word
            strange.add(signature)
            told = words.pop()
        if name not in names:
            names[name] = signature
            phrases[name] = _phrase(rng, told, len(signature))
    counts = {kind: _count(rng) for kind in kinds}
    types = dict.fromkeys(kinds, 'object') if typed else {}
    kind_of = {name: s if typed else ('object',) * len(s) for name, s in names.items()}
    domain = Domain('made-up', types, {}, kind_of, {})
    most = rng.choice(_MOST_ATOMS)
    init = _atoms(rng, names, counts, rng.randint(2, most))
    goal = _atoms(rng, names, counts, rng.randint(1, most // 2))
    told_init, told_goal = (
        [phrases[name].format(*arguments) for name, *arguments in atoms] for atoms in (init, goal)
    )
    objects = {kind: numbered(kind, count) for kind, count in counts.items()}
    return MadeUp(domain, description(objects, told_init, told_goal), counts, init, goal)


def _name(rng: random.Random, word: str, signature: Sequence[str], words: list[str]) -> str:
    shape = rng.random()
    if shape < 0.5:
        return word
    if shape < 0.75:
        return f'{signature[0]}-{word}'
    return f'{word}-{signature[-1] if shape < 0.9 else words.pop()}'


def _phrase(rng: random.Random, word: str, places: int) -> str:
    verb = f'{rng.choice(_VERBS)} ' if rng.random() < 0.7 else ''
    if places == 1:
        return f'{{}} {verb}{word}'
    link = f' {rng.choice(_LINKS)}' if rng.random() < 0.6 else ''
    return f'{{}} {verb}{word}{link} {{}}'


def _count(rng: random.Random) -> int:
    return rng.randint(1, 9) if rng.random() < 0.6 else rng.randint(10, 50)


def _atoms(
    rng: random.Random, names: dict[str, tuple[str, ...]], counts: dict[str, int], most: int
) -> tuple[Atom, ...]:
    """Atoms by chance, those of a predicate one after the other, as a person would list them."""
    drawn = {name: rng.random() for name in names}
    found: dict[str, dict[Atom, None]] = {name: {} for name in sorted(drawn, key=drawn.__getitem__)}
    for _ in range(most):
        name = rng.choice(list(names))
        arguments = (f'{kind}{rng.randint(1, counts[kind])}' for kind in names[name])
        found[name][(name, *arguments)] = None
    return tuple(atom for atoms in found.values() for atom in atoms)
