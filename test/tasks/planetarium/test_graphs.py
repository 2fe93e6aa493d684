# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Bijections of graphs, compared with trying all of them."""

from __future__ import annotations

import random
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safegen_ros.pddl.model import Atom
from safegen_ros.search.budget import Budget, SearchLimit
from safegen_ros.tasks.planetarium.graphs import (
    Scenes,
    embeddings,
    isomorphism,
    isomorphisms,
    renamed,
    scene_graph,
)

_ARITIES = {'flag': 0, 'red': 1, 'on': 2, 'between': 3}
_NAMES = ('a', 'b', 'c', 'd')


def scenes(rng: random.Random, count: int) -> dict[str, frozenset[Atom]]:
    return {
        scene: frozenset(
            (p, *rng.choices(_NAMES, k=_ARITIES[p]))
            for p in rng.choices(list(_ARITIES), k=rng.randint(0, count))
        )
        for scene in ('init', 'goal')
    }


def kinds(rng: random.Random) -> dict[str, str]:
    return {name: rng.choice(['thing', 'thing', 'other']) for name in _NAMES}


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), same=st.booleans())
def test_all_bijections_are_found(seed: int, same: bool) -> None:
    rng = random.Random(seed)
    objects, one = kinds(rng), scenes(rng, 3)
    mixed = dict(zip(_NAMES, rng.sample(_NAMES, len(_NAMES)), strict=True))
    others = {mixed[name]: kind for name, kind in objects.items()}
    other: Scenes = {scene: renamed(atoms, mixed) for scene, atoms in one.items()}
    if not same:
        other = {**other, 'goal': scenes(rng, 2)['goal']}
    wanted = [
        names
        for order in permutations(_NAMES)
        for names in [dict(zip(_NAMES, order, strict=True))]
        if all(others[names[name]] == kind for name, kind in objects.items())
        and all(renamed(atoms, names) == other[scene] for scene, atoms in one.items())
    ]
    found = list(isomorphisms(scene_graph(objects, one), scene_graph(others, other)))
    key = [sorted(names.items()) for names in wanted]
    assert sorted(sorted(names.items()) for names in found) == sorted(key)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_all_embeddings_are_found(seed: int) -> None:
    rng = random.Random(seed)
    large = {'goal': scenes(rng, 6)['goal']}
    small = {'goal': frozenset(a for a in scenes(rng, 3)['goal'] if a[0] != 'flag')}
    used = sorted({name for atom in small['goal'] for name in atom[1:]})
    wanted = [
        names
        for order in permutations(_NAMES, len(used))
        for names in [dict(zip(used, order, strict=True))]
        if renamed(small['goal'], names) <= large['goal']
    ]
    graphs = (scene_graph(dict.fromkeys(n, ''), s) for n, s in ((used, small), (_NAMES, large)))
    found = {tuple(sorted(names.items())) for names in embeddings(*graphs)}
    assert found == {tuple(sorted(names.items())) for names in wanted}


def test_regular_graphs_that_colors_cannot_tell_apart_are_told_apart() -> None:
    names = 'abcdef'
    ring = {('on', x, y) for x, y in zip(names, names[1:] + names[0], strict=True)}
    rings = {('on', *pair) for pair in ('ab', 'bc', 'ca', 'de', 'ef', 'fd')}
    objects = dict.fromkeys(names, '')
    one, other = (scene_graph(objects, {'init': atoms}) for atoms in (ring, rings))
    assert isomorphism(one, other) is None
    assert isomorphism(one, scene_graph(objects, {'init': ring})) is not None


def test_looking_ends_when_the_time_is_over() -> None:
    objects = dict.fromkeys(map(str, range(30)), '')
    one, other = (scene_graph(objects, {'init': {('flag',)}}) for _ in range(2))
    with pytest.raises(SearchLimit):
        list(isomorphisms(one, other, Budget(0.05, 100.0).tick))
