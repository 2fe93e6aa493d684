# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is used up is counted, and only that."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from support import exhaustive, strategies

from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.reader import read_problem
from safegen_ros.search.budget import Budget, Unsolvable
from safegen_ros.search.cuts import Consumables
from safegen_ros.search.in_process import solve_in_process
from safegen_ros.search.relaxation import Relaxation
from safegen_ros.search.task import SearchTask
from safegen_ros.tasks.pddl3.domains import builtin_domain


def _spanners(where: list[int], nuts: int, length: int) -> Problem:
    """A walk of some length, with a spanner at each of the given places."""
    places = ['shed', *(f'p{index}' for index in range(1, length)), 'gate']
    lines = [f'(link {a} {b})' for a, b in itertools.pairwise(places)]
    for number, place in enumerate(where):
        lines.append(f'(at s{number} {places[place]}) (useable s{number})')
    for number in range(nuts):
        lines.append(f'(at n{number} gate) (loose n{number})')
    spanners = ' '.join(f's{number}' for number in range(len(where)))
    names = [f'n{number}' for number in range(nuts)]
    text = f"""(define (problem tight) (:domain spanner)
      (:objects bob - man {spanners} - spanner {' '.join(names)} - nut
        {' '.join(places)} - location)
      (:init (at bob shed) {' '.join(lines)})
      (:goal (and {' '.join(f'(tightened {name})' for name in names)})))"""
    return read_problem(text, builtin_domain('spanner'))


def test_a_long_walk_takes_no_search() -> None:
    """A spanner that was passed is never fetched again, which relaxed plans do not mind."""
    problem = _spanners(list(range(1, 21)), 20, 21)
    solution = solve_in_process(problem, Budget(60.0, 500.0))
    assert len(solution.plan) == 21 + 20 + 20
    assert solution.expanded < 300


@pytest.mark.parametrize('optimal', [True, False])
def test_too_few_are_seen_without_search(optimal: bool) -> None:
    with pytest.raises(Unsolvable):
        solve_in_process(_spanners([1] * 9, 10, 3), Budget(5.0, 500.0), optimal=optimal)


def test_a_plan_with_just_enough_is_found() -> None:
    problem = _spanners([1, 2, 2], 3, 3)
    for optimal in (True, False):
        assert len(solve_in_process(problem, Budget(60.0, 500.0), optimal=optimal).plan) == 9


@strategies.examples(40)
@given(strategies.SEEDS)
def test_no_problem_with_enough_is_given_up(seed: int) -> None:
    rng = random.Random(seed)
    length = rng.randint(2, 4)
    where = [rng.randrange(length) for _ in range(rng.randint(1, 3))]
    problem = _spanners(where, rng.randint(1, 3), length)
    shortest = exhaustive.explore(problem).shortest
    for optimal in (True, False):
        try:
            found = len(solve_in_process(problem, Budget(60.0, 500.0), optimal=optimal).plan)
        except Unsolvable:
            assert shortest is None
        else:
            assert shortest is not None
            assert found == shortest if optimal else found >= shortest


def test_what_can_be_made_again_is_no_supply() -> None:
    task = SearchTask(_spanners([1], 1, 2), Budget(60.0, 500.0))
    assert Consumables(task, Relaxation(task, Budget(60.0, 500.0)))
    text = """(define (problem again) (:domain blocksworld) (:objects a b)
      (:init (arm-empty) (on-table a) (on-table b) (clear a) (clear b)) (:goal (on a b)))"""
    task = SearchTask(read_problem(text, builtin_domain('blocksworld')), Budget(60.0, 500.0))
    assert not Consumables(task, Relaxation(task, Budget(60.0, 500.0)))
