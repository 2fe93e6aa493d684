# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""No action that can be applied is missing, and what cannot be reached costs nothing."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from support import exhaustive, strategies

from safegen_ros.errors import Canceled
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.search.budget import Budget, SearchLimit
from safegen_ros.search.grounding import reachable_actions


def _names(problem: Problem, budget: Budget | None = None) -> list[str]:
    found = reachable_actions(Grounder(problem), budget or Budget(60.0, 500.0))
    return [str(action.step) for action in found]


@strategies.examples(200)
@given(strategies.SEEDS)
def test_every_applicable_action_is_found(seed: int) -> None:
    problem = exhaustive.problem_of(seed)
    grounder = Grounder(problem)
    every = {action.step: action for action in grounder.all_actions()}
    found = {a.step: a for a in reachable_actions(grounder, Budget(60.0, 500.0))}
    assert len(found) == len(_names(problem))
    assert found.keys() <= every.keys()
    states = [state for state, _ in exhaustive.explore(problem, 500, grounder.table).distances]
    for step, action in every.items():
        if any(action.applicable(state) for state in states):
            assert found[step].apply(states[0]) == action.apply(states[0])


def _problem(action: str, objects: str, init: str) -> Problem:
    domain = read_domain(
        f"""(define (domain d) (:requirements :adl) (:types place thing)
          (:constants hub a c - place) (:predicates (at ?x) (link ?x ?y) (lit)) {action})"""
    )
    text = f'(define (problem p) (:domain d) (:objects {objects}) (:init {init}) (:goal (lit)))'
    return read_problem(text, domain)


MOVE = """(:action move :parameters (?x ?y - place) :precondition (and (at ?x) (link ?x ?y) {})
  :effect (and (at ?y) (not (at ?x))))"""
CHAIN = '(at a) (link a b) (link b c) (link d e) (link c hub) (link hub hub)'


@pytest.mark.parametrize(
    ('condition', 'actions'),
    [
        ('', ['(move hub hub)', '(move a b)', '(move b c)', '(move c hub)']),
        ('(not (= ?x ?y))', ['(move a b)', '(move b c)', '(move c hub)']),
        ('(= ?x a)', ['(move a b)']),
        ('(= ?x ?y)', []),
        ('(not (link hub ?y))', ['(move a b)', '(move b c)']),
        ('(link ?y hub)', []),
        ('(or (at c) (link ?y c))', ['(move a b)', '(move b c)', '(move c hub)', '(move hub hub)']),
        ('(not (at ?y))', ['(move a b)', '(move b c)', '(move c hub)']),
        ('(forall (?z - place) (imply (link ?y ?z) (at ?x)))', ['(move a b)', '(move b c)']),
        ('(lit)', []),
        ('(= hub a)', []),
    ],
)
def test_preconditions_are_joined(condition: str, actions: list[str]) -> None:
    found = _names(_problem(MOVE.format(condition), 'b d e - place', CHAIN))
    if 'forall' in condition:
        assert set(actions) <= set(found)
    else:
        assert sorted(found) == sorted(actions)


def test_types_of_parameters_are_kept() -> None:
    """A predicate over all objects does not let a thing in where a place is asked for."""
    init = '(at a) (at t) (link t b) (link a t)'
    problem = _problem(MOVE.format(''), 'b - place t - thing', init)
    assert _names(problem) == []


def test_repeated_variables_and_constants() -> None:
    action = """(:action ring :parameters (?x - place)
      :precondition (and (link ?x ?x) (link hub ?x)) :effect (lit))"""
    init = '(link a a) (link hub a) (link b b) (link hub c)'
    assert _names(_problem(action, 'b - place', init)) == ['(ring a)']


def test_actions_without_parameters_wait_for_their_atoms() -> None:
    domain = read_domain(
        """(define (domain steps) (:predicates (a) (b) (c) (d) (e))
          (:action third :precondition (and (a) (c)) :effect (d))
          (:action first :precondition (a) :effect (b))
          (:action second :precondition (and (b) (a)) :effect (c))
          (:action never :precondition (and (d) (e)) :effect (a))
          (:action other :precondition (d) :effect (not (e))))"""
    )
    problem = read_problem('(define (problem p) (:domain steps) (:init (a)) (:goal (d)))', domain)
    assert _names(problem) == ['(third)', '(first)', '(second)', '(other)']


def test_the_order_is_that_of_the_declarations() -> None:
    action = '(:action go :parameters (?x ?y - place) :effect (lit))'
    assert _names(_problem(action, 'b - place', '')) == [
        f'(go {x} {y})' for x in ('hub', 'a', 'c', 'b') for y in ('hub', 'a', 'c', 'b')
    ]


def test_hundreds_of_objects_are_no_hindrance() -> None:
    """All combinations would be 400 ** 4; the links allow one for each object."""
    action = """(:action pass :parameters (?w ?x ?y ?z - place)
      :precondition (and (at ?w) (link ?w ?x) (link ?x ?y) (link ?y ?z))
      :effect (and (at ?z) (at ?x)))"""
    names = [f'p{index}' for index in range(400)]
    links = ' '.join(f'(link {a} {b})' for a, b in itertools.pairwise(names))
    problem = _problem(action, f'{" ".join(names)} - place', f'(at p0) {links}')
    assert len(_names(problem, Budget(20.0, 500.0))) == 397


def _wide() -> Problem:
    action = '(:action go :parameters (?v ?w ?x ?y - place) :effect (lit))'
    return _problem(action, f'{" ".join(f"p{index}" for index in range(100))} - place', '')


def test_limits_are_kept_while_grounding() -> None:
    with pytest.raises(SearchLimit, match='time limit') as caught:
        _names(_wide(), Budget(0.1, 10_000.0))
    assert caught.value.message.startswith('the search ended')
    with pytest.raises(SearchLimit, match='memory limit'):
        _names(_wide(), Budget(60.0, 1.0))
    with pytest.raises(Canceled):
        _names(_wide(), Budget(60.0, 10_000.0, lambda: True))
