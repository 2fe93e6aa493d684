# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Renamed problems have the same canonical form, and no others have."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import permutations, product

import pytest
from hypothesis import given
from support import strategies

from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.domains.isomorphism import canonical_problem


def _isomorphic(one: Problem, other: Problem) -> bool:
    """By trying every way of renaming."""
    own = [name for name in one.objects if name not in one.domain.constants]
    theirs = [name for name in other.objects if name not in one.domain.constants]
    return len(own) == len(theirs) and any(
        (renamed.objects, renamed.init, set(renamed.goal_conjuncts()), set(renamed.constraints))
        == (other.objects, other.init, set(other.goal_conjuncts()), set(other.constraints))
        for names in permutations(theirs)
        for renamed in [strategies.renamed(one, dict(zip(own, names, strict=True)))]
    )


@strategies.examples(150)
@given(strategies.SEEDS)
def test_other_names_and_another_order_change_nothing(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.toggles(rng) if seed % 2 else strategies.blocks(rng, rng.randint(1, 6))
    canonical, other = (
        canonical_problem(problem),
        canonical_problem(strategies.disguised(rng, problem)),
    )
    assert canonical.text == other.text
    assert canonical.key == other.key
    assert sorted(canonical.order) == sorted(problem.objects)


@strategies.examples(150)
@given(strategies.SEEDS)
def test_forms_are_equal_exactly_when_some_renaming_works(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.blocks(rng, rng.randint(2, 4), rng.randint(0, 1))
    atoms = sorted(problem.init)
    one = replace(problem, init=problem.init - {rng.choice(atoms)})
    other = replace(problem, init=problem.init - {rng.choice(atoms)})
    same = canonical_problem(one).text == canonical_problem(other).text
    assert same == _isomorphic(one, other)


def test_the_order_is_a_renaming_between_isomorphic_problems() -> None:
    rng = random.Random(4)
    for seed in range(20):
        problem = kits()['grippers'].problem(seed).problem
        other = strategies.disguised(rng, problem)
        one_order, other_order = canonical_problem(problem).order, canonical_problem(other).order
        renamed = strategies.renamed(problem, dict(zip(one_order, other_order, strict=True)))
        assert renamed.init == other.init
        assert canonical_problem(renamed).text == canonical_problem(other).text


def _blocks(init: str, goal: str, constraints: str) -> Problem:
    text = f"""(define (problem small) (:domain blocksworld) (:objects a b c)
      (:init (arm-empty) {init}) (:goal {goal}) (:constraints (and {constraints})))"""
    return read_problem(text, strategies.BLOCKSWORLD)


FLAT = '(on-table a) (on-table b) (on-table c) (clear a) (clear b) (clear c)'


@pytest.mark.parametrize(
    ('one', 'other', 'same'),
    [
        ('(sometime-before (holding a) (holding b))', '(sometime-before (holding c) (holding a))',
         True),
        ('(within 3 (holding a))', '(within 4 (holding a))', False),
        ('(always (holding a))', '(sometime (holding a))', False),
        ('(always (imply (holding a) (clear b)))', '(always (imply (clear b) (holding a)))', False),
        ('(always (or (holding a) (clear b)))', '(always (or (clear a) (holding c)))', True),
        ('(always (not (= a b)))', '(always (not (= c b)))', True),
        ('(always (forall (?x ?y) (on ?x ?y)))', '(always (forall (?y ?x) (on ?y ?x)))', True),
        ('(always (forall (?x ?y) (on ?x ?y)))', '(always (forall (?x ?y) (on ?y ?x)))', False),
        ('(always (forall (?x) (exists (?x) (on ?x ?x))))',
         '(always (forall (?x) (exists (?y) (on ?x ?y))))', False),
        ('(always (exists (?x) (on ?x a)))', '(always (exists (?x) (on a ?x)))', False),
    ],
)  # fmt: skip
def test_what_makes_constraints_differ(one: str, other: str, same: bool) -> None:
    forms = [canonical_problem(_blocks(FLAT, '(arm-empty)', c)).text for c in (one, other)]
    assert (forms[0] == forms[1]) == same


def test_goals_and_types_count() -> None:
    forms = {
        canonical_problem(_blocks(FLAT, goal, '')).key
        for goal in ('(on a b)', '(on b c)', '(and (on a b) (on b c))', '(on a a)', '(and)')
    }
    assert len(forms) == 4  # the first two are the same


@pytest.mark.nightly
@pytest.mark.timeout(20)
def test_many_objects_that_are_all_alike_take_no_time() -> None:
    for name, size in {
        'grippers': {'robots': 12, 'rooms': 2, 'objects': 60},
        'spanner': {'spanners': 60, 'nuts': 30, 'locations': 2},
        'blocksworld': {'blocks': 60},
    }.items():
        problem = kits()[name].problem(1, size, 'none').problem
        assert len(canonical_problem(problem).order) == len(problem.objects)


def test_few_problems_of_spanner_are_new_up_to_names() -> None:
    """Two spanners, two nuts and three locations: spanners lie in one of six ways."""
    kit = kits()['spanner']
    size = {'spanners': 2, 'nuts': 2, 'locations': 3}
    problems = [kit.problem(seed, size, 'none') for seed in range(60)]
    assert len({p.text for p in problems}) > 6
    assert len({canonical_problem(p.problem).key for p in problems}) == 6


def test_a_constant_is_not_taken_for_an_object() -> None:
    """A constant may have any name, also one that looks like a rank of the canonical text."""
    domain = read_domain(
        '(define (domain d) (:constants o1) (:predicates (p ?x) (q ?x) (r ?x))'
        ' (:action go :parameters (?x) :precondition (p ?x) :effect (q ?x)))'
    )
    keys: dict[str, set[tuple[str, ...]]] = {}
    for terms in product(('o1', 'x', 'y'), repeat=3):
        text = (
            '(define (problem t) (:domain d) (:objects x y) (:init (p {}) (r {})) (:goal (q {})))'
        )
        found = canonical_problem(read_problem(text.format(*terms), domain)).key
        names = {'o1': 'constant'}
        shape = tuple(names.setdefault(term, str(len(names))) for term in terms)
        keys.setdefault(found, set()).add(shape)
    assert all(len(shapes) == 1 for shapes in keys.values())
    assert len(keys) == len({shape for shapes in keys.values() for shape in shapes})
