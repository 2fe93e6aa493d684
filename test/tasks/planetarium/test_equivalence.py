# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The checker against Definition 2 tried out on every small problem, and its bounds."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import planetarium_small as small

from safegen_ros.pddl.model import And, Problem
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.tasks.planetarium.domains import planetarium_domain
from safegen_ros.tasks.planetarium.equivalence import Equivalence, compare
from safegen_ros.tasks.planetarium.graphs import renamed

_BLOCKS = '(arm-empty) (on-table a) (on-table b) (on-table c) (clear a) (clear b) (clear c)'


def blocks(goal: str, init: str = _BLOCKS, rest: str = '') -> Problem:
    domain = planetarium_domain('blocksworld')
    return read_problem(
        f'(define (problem p) (:domain blocksworld) (:objects a b c) (:init {init})'
        f' (:goal {goal}) {rest})',
        domain,
    )


@pytest.mark.parametrize('domain', small.DOMAINS)
@pytest.mark.parametrize('placeholder', [False, True], ids=['identity', 'placeholder'])
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_the_verdict_is_that_of_definition_2(domain: str, placeholder: bool, seed: int) -> None:
    rng = random.Random(seed)
    one = small.small(rng, domain)
    other = small.varied(rng, one)
    found = compare(one, other, placeholder=placeholder)
    assert found.answer is not Equivalence.UNKNOWN
    assert found.equivalent == small.equivalent(one, other, placeholder)
    if found.objects is not None:
        assert renamed(one.init, found.objects) == other.init
    if found.equivalent and not placeholder:
        assert found.objects is not None
        states = small.goal_states(one)
        assert {renamed(s, found.objects) for s in states} == small.goal_states(other)


@pytest.mark.parametrize('domain', small.DOMAINS)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_names_and_order_do_not_matter(domain: str, seed: int) -> None:
    rng = random.Random(seed)
    one = small.larger(rng, domain)
    other = small.disguised(rng, one)
    for placeholder in (False, True):
        assert compare(one, other, placeholder=placeholder).equivalent
        assert compare(one, other, placeholder=placeholder, compat='planetarium').equivalent


@pytest.mark.parametrize('domain', small.DOMAINS)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_goal_that_admits_other_states_is_different(domain: str, seed: int) -> None:
    rng = random.Random(seed)
    one = small.small(rng, domain)
    states = small.goal_states(one)
    found = [atom for atom in small.all_atoms(one) if sum(atom in s for s in states) > 0]
    free = [atom for atom in found if not all(atom in state for state in states)]
    if free:
        atom = rng.choice(free)
        more = And((*one.goal_conjuncts(), small.goal_of({atom})))
        narrowed = replace(one, goal=more)
        assert compare(one, narrowed).answer is Equivalence.DIFFERENT
        assert compare(narrowed, one).answer is Equivalence.DIFFERENT


def test_what_the_goal_implies_may_be_left_out() -> None:
    found = compare(
        blocks('(and (on a b) (on b c))'), blocks('(and (on c b) (on b a) (clear c) (arm-empty))')
    )
    assert found.equivalent
    assert found.objects == {'a': 'c', 'b': 'b', 'c': 'a'}


def test_an_initial_state_that_differs_is_told_apart_from_a_goal_that_does() -> None:
    standing = '(arm-empty) (on-table a) (on b a) (clear b) (on-table c) (clear c)'
    init = compare(blocks('(on a b)'), blocks('(on a b)', standing))
    goal = compare(blocks('(on a b)'), blocks('(and (on a b) (on b c))'))
    assert (init.answer, init.objects) == (Equivalence.DIFFERENT, None)
    assert goal.answer is Equivalence.DIFFERENT
    assert goal.objects is not None


def test_numbers_of_objects_and_domains_are_compared_first() -> None:
    one = blocks('(on a b)')
    fewer = replace(one, objects={'a': 'object', 'b': 'object'})
    assert compare(one, fewer).reason == ('the numbers of objects differ: 3 and 2 of type object')
    gripper = small.gripper(random.Random(1), 1, 1, 1)
    assert compare(one, gripper).reason == 'the domains differ: blocksworld and gripper'


@pytest.mark.parametrize(
    ('one', 'other', 'equivalent'),
    [
        ('(or (on a b) (on b c))', '(or (on c b) (on b a))', True),
        ('(or (on a b) (on b c))', '(on a b)', False),
        ('(and (on b c) (not (on a b)))', '(and (on b c) (clear b))', True),
        ('(and (on b c) (not (on a b)))', '(and (on a c) (not (on a b)))', False),
        ('(and (on b c) (not (on a b)) (not (holding a)))', '(and (on b c) (on-table a))', True),
        ('(forall (?x) (on-table ?x))', '(and (on-table a) (on-table b) (on-table c))', True),
        ('(exists (?x) (on ?x a))', '(exists (?x) (on ?x b))', True),
        ('(exists (?x) (on ?x a))', '(not (clear a))', False),
    ],
)
def test_goals_of_every_kind_are_decided(one: str, other: str, equivalent: bool) -> None:
    assert compare(blocks(one), blocks(other)).equivalent == equivalent
    assert small.equivalent(blocks(one), blocks(other)) == equivalent


def test_no_time_means_unknown() -> None:
    found = compare(blocks('(or (on a b) (on b c))'), blocks('(on a b)'), time_limit_s=0.0)
    assert found.answer is Equivalence.UNKNOWN
    assert 'time limit' in found.reason


def test_trajectory_constraints_must_be_the_same_under_one_bijection() -> None:
    one = blocks('(on a b)', rest='(:constraints (always (not (on c a))))')
    same = blocks('(on b c)', rest='(:constraints (always (not (on a b))))')
    other = blocks('(on b c)', rest='(:constraints (always (not (on b a))))')
    found = compare(one, same)
    assert found.equivalent
    assert found.objects == {'a': 'b', 'b': 'c', 'c': 'a'}
    assert compare(one, other).answer is Equivalence.UNKNOWN
    assert compare(one, blocks('(on b c)')).answer is Equivalence.UNKNOWN


def test_a_constant_stands_for_itself_only() -> None:
    domain = read_domain(
        '(define (domain d) (:constants home) (:predicates (at ?x))'
        ' (:action go :parameters (?x) :precondition (at home) :effect (at ?x)))'
    )
    text = '(define (problem p) (:domain d) (:objects x) (:init (at {})) (:goal (at {})))'
    one, other = (read_problem(text.format(*names), domain) for names in ('xx', ('home', 'home')))
    assert compare(one, other).answer is Equivalence.DIFFERENT
    assert compare(one, one).equivalent


def test_named_objects_stand_for_nothing_but_themselves() -> None:
    one, other = blocks('(and (on a b) (on c a))'), blocks('(and (on b a) (on c b))')
    assert compare(one, other).equivalent
    assert compare(one, other, named=True).answer is Equivalence.DIFFERENT
    fuller = blocks('(and (on a b) (on c a) (clear c) (not (holding b)))')
    assert compare(one, fuller, named=True).equivalent
    safe, unsafe = (
        blocks('(on a b)', rest=f'(:constraints (always (not (on c {block}))))') for block in 'ab'
    )
    assert compare(safe, safe, named=True).equivalent
    assert not compare(safe, unsafe, named=True).equivalent
