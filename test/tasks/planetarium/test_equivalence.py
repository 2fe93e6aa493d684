# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The checker against Definition 2 tried out on every small problem, and its bounds."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import planetarium_small as small
from support.strategies import examples

from safegen_ros.errors import SafegenError
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
@examples(25)
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
@examples(25)
@given(seed=st.integers(0, 2**32))
def test_names_and_order_do_not_matter(domain: str, seed: int) -> None:
    rng = random.Random(seed)
    one = small.larger(rng, domain)
    other = small.disguised(rng, one)
    for placeholder in (False, True):
        assert compare(one, other, placeholder=placeholder).equivalent
        assert compare(one, other, placeholder=placeholder, compat='planetarium').equivalent


@pytest.mark.parametrize('domain', small.DOMAINS)
@examples(15)
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


def test_a_rule_is_the_same_in_other_words() -> None:
    ways = [
        '(always (forall (?x) (not (on ?x a))))',
        '(always (not (exists (?y) (on ?y a))))',
        '(and (always (not (on a a))) (always (not (or (on b a) (on c a)))))',
    ]
    made = [blocks('(on a b)', rest=f'(:constraints {way})') for way in ways]
    weaker = blocks('(on a b)', rest='(:constraints (always (not (on b a))))')
    for other in made:
        assert compare(made[0], other, named=True).equivalent
        assert not compare(weaker, other, named=True).equivalent


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


class Case(NamedTuple):
    """Two goals over one initial state; what Definition 2 says of them, and the published code.

    The last column is what the published code said when it was run on these very problems.
    """

    domain: str
    objects: str
    init: str
    one: str
    other: str
    equivalent: bool
    published: bool
    placeholder: bool = False


_ONE_ROOM = '(room r) (ball b) (gripper g) (at-robby r) (at b r) (free g)'
_TWO_ROOMS = '(room r) (room s) (ball b) (at-robby r) (at b r)'
_HAND = f'{_TWO_ROOMS} (gripper g) (free g)'
_STRIP = '(right t2 t1) (right t3 t2)'
_FLOOR = 'r - robot t1 t2 t3 - tile a c - color'
_TWO_ROBOTS = 'r q - robot t1 t2 t3 - tile a c - color'

CASES = {
    'gripper: a ball can be in the only room and nowhere else': Case(
        'gripper', 'r b g', _ONE_ROOM, '(free g)', '(free g) (at b r)', True, False
    ),
    'gripper: the robot can be in the only room and nowhere else': Case(
        'gripper', 'r b g', _ONE_ROOM, '(at b r)', '(at b r) (at-robby r)', True, False
    ),
    'gripper: what a gripper is, said in the goal, hides that it must be free': Case(
        'gripper', 'r s b g', _HAND, '(at b s)', '(at b s) (gripper g)', True, False
    ),
    'gripper: without a gripper no ball moves': Case(
        'gripper', 'r s b', _TWO_ROOMS, '(at-robby s)', '(at-robby s) (at b r)', True, False
    ),
    'floor-tile: a color fixed for a robot that need not paint with it': Case(
        'floor-tile', _TWO_ROBOTS,
        '(right t2 t1) (robot-at r t1) (robot-at q t3) (robot-has r c) (robot-has q a)'
        '(available-color a)',
        '(painted t2 c)', '(painted t2 c) (robot-has r a)', False, True,
    ),
    'floor-tile: paint that is there already counts as paint to come': Case(
        'floor-tile', _FLOOR,
        f'{_STRIP} (robot-at r t1) (robot-has r c) (available-color a) (painted t3 a)',
        '(robot-at r t2)', '(robot-at r t2) (robot-has r a)', False, True,
    ),
    'floor-tile: the only robot that can still paint with a color': Case(
        'floor-tile', _TWO_ROBOTS,
        f'{_STRIP} (robot-at r t1) (robot-at q t3) (robot-has r c) (robot-has q c)'
        '(available-color a)',
        '(painted t2 a) (robot-has q c)', '(painted t2 a) (robot-has q c) (robot-has r a)',
        True, False,
    ),
    'floor-tile: a robot without a color makes the published code fail': Case(
        'floor-tile', _FLOOR, f'{_STRIP} (robot-at r t1) (available-color a)',
        '(robot-at r t2)', '(robot-at r t2) (available-color a)', True, False,
    ),
    'floor-tile: a permutation of tiles that is not a symmetry of the floor': Case(
        'floor-tile', _FLOOR, f'{_STRIP} (robot-at r t1) (robot-has r c)',
        '(painted t1 c)', '(painted t2 c)', True, False, placeholder=True,
    ),
    'blocksworld: a block that the initial state does not mention is out of reach': Case(
        'blocksworld', 'a b c',
        '(arm-empty) (on-table a) (on-table b) (clear a) (clear b)',
        '(on a b)', '(on a b) (on-table b) (clear a) (arm-empty)', True, False,
    ),
    'blocksworld: a block that the arm may hold is taken to stand on the table': Case(
        'blocksworld', 'a b', '(arm-empty) (on-table a) (on-table b) (clear a) (clear b)',
        '(clear a)', '(on-table b)', False, True,
    ),
    'blocksworld: without arm-empty nothing can move': Case(
        'blocksworld', 'a b', '(on-table a) (on-table b) (clear a) (clear b)',
        '(clear a)', '(clear a) (on-table b)', True, False,
    ),
    'blocksworld: two goals that no state satisfies have the same goal states': Case(
        'blocksworld', 'a b', '(arm-empty) (on-table a) (on-table b) (clear a) (clear b)',
        '(on a b) (on b a)', '(on a a)', True, False,
    ),
    'blocksworld: a goal with a disjunction cannot be read': Case(
        'blocksworld', 'a b', '(arm-empty) (on-table a) (on-table b) (clear a) (clear b)',
        '(or (on a b) (on a b))', '(on a b)', True, False,
    ),
}  # fmt: skip


def problems(case: Case) -> tuple[Problem, Problem]:
    domain = planetarium_domain(case.domain)
    text = '(define (problem p) (:domain {}) (:objects {}) (:init {}) (:goal (and {})))'
    one, other = (
        read_problem(text.format(case.domain, case.objects, case.init, goal), domain)
        for goal in (case.one, case.other)
    )
    return one, other


@pytest.mark.parametrize('case', CASES.values(), ids=CASES)
def test_a_difference(case: Case) -> None:
    one, other = problems(case)
    assert small.equivalent(one, other, case.placeholder) == case.equivalent
    assert compare(one, other, placeholder=case.placeholder).equivalent == case.equivalent
    published = compare(one, other, placeholder=case.placeholder, compat='planetarium')
    assert published.equivalent == case.published


def test_literally_equal_problems_are_equivalent_to_the_published_code() -> None:
    one, _ = problems(CASES['floor-tile: a robot without a color makes the published code fail'])
    assert compare(one, one, compat='planetarium').equivalent


@pytest.mark.parametrize('domain', small.DOMAINS)
def test_the_published_code_sees_no_difference_in_names(domain: str) -> None:
    for seed in range(20):
        rng = random.Random(seed)
        one = small.small(rng, domain)
        assert compare(one, small.disguised(rng, one), compat='planetarium').equivalent


def test_an_unknown_compat_is_refused() -> None:
    one, other = problems(next(iter(CASES.values())))
    with pytest.raises(SafegenError, match="use '' or 'planetarium'"):
        compare(one, other, compat='planetary')  # type: ignore[arg-type]
