# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Derived predicates: what is read, what is refused, and what follows from rules."""

from __future__ import annotations

import pytest

from safegen_ros.errors import PddlError
from safegen_ros.pddl import limits
from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.derived import levels
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.pddl.writer import domain_text
from safegen_ros.verify.validator import verify

ABOVE = (
    '(:derived (above ?x ?y) (or (on ?x ?y) (exists (?z - block) (and (on ?x ?z) (above ?z ?y)))))'
)
CLEAR = '(:derived (clear ?x - block) (not (exists (?y - block) (on ?y ?x))))'
TOWER = """(define (domain tower) (:requirements :derived-predicates) (:types block)
  (:predicates (on ?x ?y - block) (above ?x ?y - block) (clear ?x - block))
  {rules}
  (:action put :parameters (?x ?y - block) :precondition {needs}
    :effect {effect}))"""
PUT = '(and (on ?x ?y) (forall (?z - block) (when (not (= ?y ?z)) (not (on ?x ?z)))))'


def _tower(rules: str, needs: str = '(clear ?x)', effect: str = PUT) -> str:
    return TOWER.format(rules=rules, needs=needs, effect=effect)


def _problem(goal: str = '(above a c)', constraints: str = '(and)', init: str = '') -> Problem:
    text = f"""(define (problem t) (:domain tower) (:objects a b c - block)
      (:init (on b c) {init}) (:goal {goal}) (:constraints {constraints}))"""
    return read_problem(text, read_domain(_tower(f'{CLEAR} {ABOVE}')))


def test_recursion_is_followed_to_its_end() -> None:
    problem = _problem()
    table = AtomTable(problem)
    state = table.encode([('on', 'a', 'b'), ('on', 'b', 'c'), ('above', 'c', 'c')])
    derived = sorted(table.atoms(state & table.closure.heads)) if table.closure else []
    assert derived == [
        ('above', 'a', 'b'),
        ('above', 'a', 'c'),
        ('above', 'b', 'c'),
        ('clear', 'a'),
    ]
    assert table.decode(state) == {('on', 'a', 'b'), ('on', 'b', 'c')}


def test_a_circle_of_atoms_holds_nothing_up() -> None:
    table = AtomTable(_problem())
    state = table.encode([('on', 'a', 'b'), ('on', 'b', 'a')])
    assert table.closure is not None
    assert ('above', 'a', 'a') in table.atoms(state)
    assert ('above', 'a', 'c') not in table.atoms(state)


@pytest.mark.parametrize(
    ('constraints', 'plan', 'verdict'),
    [
        ('(and)', '(put a b)', 'SUCCESS'),
        ('(and)', '(put a b) (put b a)', 'PRECONDITION_VIOLATION'),
        ('(always (not (above a c)))', '(put a b)', 'SAFETY_VIOLATION'),
        ('(sometime-before (above a c) (clear c))', '(put a b)', 'SAFETY_VIOLATION'),
        ('(sometime-before (above a c) (clear c))', '(put b a) (put b c) (put a b)', 'SUCCESS'),
        ('(and)', '(put a c) (put a a)', 'GOAL_NOT_SATISFIED'),
    ],
)
def test_rules_decide_like_any_predicate(constraints: str, plan: str, verdict: str) -> None:
    assert verify(_problem(constraints=constraints), plan).category.name == verdict


def test_a_domain_is_written_as_it_was_read() -> None:
    domain = read_domain(_tower(f'{CLEAR} {ABOVE}'))
    assert [rule.variables for rule in domain.derived] == [
        (('?x', 'block'),),
        (('?x', 'block'), ('?y', 'block')),  # as the predicate takes, where the head says nothing
    ]
    assert read_domain(domain_text(domain)) == domain


REFUSED = [
    (_tower('(:derived (abov ?x ?y) (on ?x ?y))'), "predicate 'abov' is not declared"),
    (_tower('(:derived (over ?x) (on ?x ?x)) (:derived (over) (and))'), "'over' takes 1 arg"),
    (_tower('(:derived (over a) (on a a))'), "'a' is not a variable"),
    (_tower('(:derived (clear ?x ?y) (on ?x ?y))'), "'clear' takes 1 arguments, found 2"),
    (_tower('(:derived (clear ?x))'), ':derived takes an atom and a formula, found 1 parts'),
    (_tower('(:derived (clear a) (on a a))'), "'a' is not a variable"),
    (_tower(CLEAR, effect='(clear ?x)'), "predicate 'clear' is derived"),
    (_tower(CLEAR, effect='(not (clear ?x))'), "predicate 'clear' is derived"),
    (
        _tower(f'{CLEAR} (:derived (on ?x ?y) (and (above ?x ?y) (clear ?x)))', effect='(and)'),
        'derived predicates in a circle: clear needs the absence of on, which needs clear',
    ),
    (
        _tower('(:derived (clear ?x) (imply (clear ?x) (on ?x ?x)))'),
        'clear needs the absence of clear',
    ),
]


@pytest.mark.parametrize(('text', 'message'), REFUSED)
def test_what_has_no_one_meaning_is_refused(text: str, message: str) -> None:
    with pytest.raises(PddlError, match=r'domain\.pddl:') as caught:
        read_domain(text, 'domain.pddl')
    assert message in str(caught.value)


LIFT = """(:durative-action lift :parameters (?x - block) :duration (= ?duration 1)
  :condition (and (at start (clear ?x)) ({moment} (clear ?x)))
  :effect (and (at start {effect}) (at end (on ?x ?x))))"""


def test_a_durative_action_must_not_change_what_it_then_asks_for() -> None:
    held = LIFT.format(moment='over all', effect='(when (clear ?x) (above ?x ?x))')
    assert read_domain(_tower(f'{CLEAR} {held}')).durative
    moved = LIFT.format(moment='at end', effect='(not (on ?x ?x))')
    with pytest.raises(PddlError, match=r"'clear' at the end .* derived from 'on'"):
        read_domain(_tower(f'{CLEAR} {moved}'))


@pytest.mark.parametrize('init', ['(above a b)', '(not (above a b))'])
def test_an_initial_state_states_no_derived_atom(init: str) -> None:
    with pytest.raises(PddlError, match="predicate 'above' is derived"):
        _problem(init=init)


def test_large_rules_are_refused_before_they_are_written_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, 'MAX_DERIVED', 20)
    with pytest.raises(PddlError, match='parts of derived predicates'):
        _problem()


def test_a_long_chain_of_rules_is_ordered_without_recursion() -> None:
    count = 3000
    names = ' '.join(f'(p{number})' for number in range(count + 1))
    chain = (f'(:derived (p{n}) (not (p{n + 1})))' for n in range(count))
    text = f'(define (domain chain) (:predicates {names}) {" ".join(chain)} (:action a))'
    level = levels(read_domain(text).derived)
    assert [level[f'p{number}'] for number in range(count)] == list(range(count))[::-1]
