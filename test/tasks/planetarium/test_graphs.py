# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Bijections of graphs, compared with trying all of them."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import planetarium_small as small
from support.strategies import examples

from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import Atom, Problem
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.search.budget import Budget, SearchLimit
from safegen_ros.tasks.planetarium import generic
from safegen_ros.tasks.planetarium.equivalence import Equivalence, compare
from safegen_ros.tasks.planetarium.generic import Specification, exactly_one, specify
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


@examples(60)
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


@examples(40)
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


_LIGHTS = read_domain(
    """(define (domain lights) (:requirements :typing :negative-preconditions)
    (:types lamp switch)
    (:predicates (lit ?l - lamp) (wired ?a ?b - lamp ?s - switch) (broken ?l - lamp))
    (:action toggle :parameters (?s - switch ?a ?b - lamp)
      :precondition (and (wired ?a ?b ?s) (lit ?a) (not (broken ?b)))
      :effect (and (lit ?b) (not (lit ?a))))
    (:action smash :parameters (?l - lamp) :precondition (not (broken ?l))
      :effect (and (broken ?l) (not (lit ?l)))))"""
)


def lights(goal: str, names: str = 'l1 l2 l3 s') -> Problem:
    one, two, three, switch = names.split()
    return read_problem(
        f'(define (problem p) (:domain lights) (:objects {one} {two} {three} - lamp'
        f' {switch} - switch) (:init (lit {one}) (wired {one} {two} {switch})'
        f' (wired {two} {three} {switch})) (:goal (and {goal})))',
        _LIGHTS,
    )


def budget(seconds: float = 30.0) -> Budget:
    return Budget(seconds, 500.0)


def of_all_states(problem: Problem) -> Specification:
    states = small.goal_states(problem)
    if not states:
        return Specification(frozenset(), frozenset(), False)
    common = frozenset.intersection(*states)
    return Specification(common, common)


@pytest.mark.parametrize('domain', small.DOMAINS)
@pytest.mark.parametrize('most', [generic.MOST_STATES, 1], ids=['states', 'search'])
@examples(12)
@given(seed=st.integers(0, 2**32))
def test_every_domain_is_specified_without_rules(domain: str, most: int, seed: int) -> None:
    problem = small.small(random.Random(seed), domain)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generic, 'MOST_STATES', most)
        assert specify(problem, (), budget()) == of_all_states(problem)


@pytest.mark.parametrize('domain', small.DOMAINS)
@examples(12)
@given(seed=st.integers(0, 2**32), seconds=st.sampled_from([0.0, 0.01, 0.1, 5.0]))
def test_an_answer_without_rules_is_right_or_unknown(
    domain: str, seed: int, seconds: float
) -> None:
    rng = random.Random(seed)
    one = small.small(rng, domain)
    one = replace(one, domain=replace(one.domain, name='of-ones-own'))
    other = small.varied(rng, one)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generic, 'MOST_STATES', rng.choice([1, generic.MOST_STATES]))
        for placeholder in (False, True):
            found = compare(one, other, placeholder=placeholder, time_limit_s=seconds)
            if found.answer is not Equivalence.UNKNOWN:
                assert found.equivalent == small.equivalent(one, other, placeholder)


@pytest.mark.parametrize('domain', small.DOMAINS)
@examples(12)
@given(seed=st.integers(0, 2**32))
def test_exactly_one_atom_of_a_group_is_true_in_every_state(domain: str, seed: int) -> None:
    problem = small.small(random.Random(seed), domain)
    table = AtomTable(problem)
    actions = Grounder(problem, table).all_actions()
    atoms = sorted(set().union(*small.reachable(problem)))
    fluent = [atom for atom in atoms if atom[0] in table.fluents]
    for mask in exactly_one(table, fluent, actions, budget()):
        group = set(table.atoms(mask))
        assert all(len(group & state) == 1 for state in small.reachable(problem))


def test_groups_show_what_a_goal_implies_where_states_are_too_many() -> None:
    problem = small.blocksworld(random.Random(1), 12)
    below = {atom for atom in problem.init if atom[0] in ('on', 'on-table', 'holding')}
    found = specify(replace(problem, goal=small.goal_of(below)), (), budget())
    assert found == Specification(problem.init, problem.init)


def test_a_domain_of_ones_own_needs_no_rules() -> None:
    one = lights('(lit l3)')
    # There is one light, and it can be in one place only.
    assert compare(one, lights('(lit x) (not (lit y))', 'z y x w')).equivalent
    assert compare(one, lights('(lit y)', 'z y x w')).answer is Equivalence.DIFFERENT
    assert compare(one, lights('(lit x) (broken y)', 'z y x w')).answer is Equivalence.DIFFERENT
    assert compare(one, lights('(lit x) (not (broken x))', 'z y x w')).equivalent


@pytest.mark.parametrize('most', [generic.MOST_STATES, 1], ids=['states', 'search'])
def test_negative_literals_are_common_to_goal_states_too(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generic, 'MOST_STATES', most)
    wanted = [('not broken', f'l{n}') for n in (1, 2, 3)]
    found = specify(lights('(lit l3)'), wanted, budget())
    assert found.exact
    assert {each for each in found.known if each[0] == 'not broken'} == {('not broken', 'l3')}


def test_a_goal_that_cannot_be_reached_has_no_specification() -> None:
    found = specify(lights('(lit l1) (lit l2)'), (), budget())
    assert found == Specification(frozenset(), frozenset(), False)
    assert compare(lights('(lit l1) (lit l2)'), lights('(lit l3)')).answer is Equivalence.DIFFERENT


def test_without_time_nothing_is_claimed() -> None:
    problem = lights('(lit l3)')
    found = specify(problem, (), budget(0.0))
    assert (found.known, found.solvable, found.exact) == ({('lit', 'l3')}, None, False)
