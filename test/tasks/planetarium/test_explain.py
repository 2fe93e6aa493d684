# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Explanations name what to change, and changing it makes the problems equivalent."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import planetarium_small as small
from support.strategies import examples

from safegen_ros.errors import SafegenError
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.reader import read_problem
from safegen_ros.tasks.planetarium.domains import planetarium_domain
from safegen_ros.tasks.planetarium.equivalence import compare
from safegen_ros.tasks.planetarium.explain import Explanation, explain
from safegen_ros.tasks.planetarium.state_rules import StripsTask

_TABLE = '(arm-empty) (on-table a) (on-table b) (on-table c) (clear a) (clear b) (clear c)'


def blocks(goal: str, init: str = _TABLE, objects: str = 'a b c') -> Problem:
    return read_problem(
        f'(define (problem p) (:domain blocksworld) (:objects {objects})'
        f' (:init {init}) (:goal (and {goal})))',
        planetarium_domain('blocksworld'),
    )


def corrected(problem: Problem, found: Explanation) -> Problem:
    """The problem after everything that was said has been done."""
    task = StripsTask.of(problem)
    assert task is not None
    scenes = {'init': set(task.init), 'goal': set(task.goal)}
    for difference in found.differences:
        scene = scenes[difference.scene]
        scene.discard(difference.has or ())
        scene |= {difference.lacks} if difference.lacks else set()
    return replace(problem, init=frozenset(scenes['init']), goal=small.goal_of(scenes['goal']))


@pytest.mark.parametrize('domain', small.DOMAINS)
@pytest.mark.parametrize('placeholder', [False, True], ids=['identity', 'placeholder'])
@examples(15)
@given(seed=st.integers(0, 2**32))
def test_doing_what_is_said_makes_problems_equivalent(
    domain: str, placeholder: bool, seed: int
) -> None:
    rng = random.Random(seed)
    wanted = small.small(rng, domain)
    problem = small.varied(rng, wanted)
    if rng.random() < 0.5:
        lost = rng.choice(sorted(problem.init))
        problem = replace(problem, init=problem.init - {lost})
    if not small.goal_states(wanted):
        return  # what no state satisfies has no meaning to be explained
    found = explain(wanted, problem, placeholder=placeholder)
    better = corrected(problem, found)
    assert compare(wanted, better, placeholder=placeholder).equivalent
    if small.goal_states(problem):
        equal = compare(wanted, problem, placeholder=placeholder).equivalent
        assert equal == (str(found) == '')


def test_a_wrong_atom_is_said_with_the_right_one() -> None:
    found = explain(blocks('(on a b) (on b c)'), blocks('(on a c) (on b c)'))
    assert str(found) == 'the goal has (on a c) where (on a b) belongs: change it'


def test_what_is_implied_is_neither_missing_nor_extra() -> None:
    wanted = blocks('(on a b) (on b c) (clear a) (arm-empty)')
    assert str(explain(wanted, blocks('(on a b) (on b c) (on-table c)'))) == ''


def test_names_that_were_told_stay_together() -> None:
    init = '(arm-empty) (on-table b) (on-table c) (clear a) (clear b) (clear c)'
    found = explain(blocks('(on a b)'), blocks('(on a b) (on b c)', init))
    assert str(found).splitlines() == [
        'the initial state lacks (on-table a): add it',
        'the goal has (on b c), which does not belong there: remove it',
    ]


def test_other_names_are_aligned() -> None:
    standing = '(arm-empty) (on-table a) (on b a) (on c b) (clear c)'
    renamed = '(arm-empty) (on-table y) (on z y) (on x z) (clear x)'
    found = explain(blocks('(on a c)', standing), blocks('(on y z)', renamed, 'x y z'))
    assert found.objects == {'a': 'y', 'b': 'z', 'c': 'x'}
    assert str(found) == 'the goal has (on y z) where (on y x) belongs: change it'


def test_objects_that_are_missing_are_counted_and_marked() -> None:
    init = '(arm-empty) (on-table a) (on-table b) (clear a) (clear b)'
    found = explain(blocks('(on a b) (on b c)'), blocks('(on a b)', init, 'a b'))
    lines = str(found).splitlines()
    assert lines[0] == (
        'there are 2 objects of type object where 3 belong: declare the missing ones'
    )
    assert 'the initial state lacks (on-table <c>): add it' in lines
    assert 'the goal lacks (on b <c>): add it' in lines


def test_negative_literals_are_told_in_pddl() -> None:
    found = explain(blocks('(on a b) (not (on b c))'), blocks('(on a b)'))
    assert str(found) == 'the goal lacks (not (on b c)): add it'


def test_goals_that_cannot_be_explained_are_refused() -> None:
    with pytest.raises(SafegenError, match='conjunctions of literals'):
        explain(blocks('(or (on a b) (on b c))'), blocks('(on a b)'))
    with pytest.raises(SafegenError, match='write both for one domain'):
        explain(blocks('(on a b)'), small.gripper(random.Random(1), 1, 1, 1))
