# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a problem is divided by: its complexity, the order of its goals, the objects of a part."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from support import strategies

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.bits import bit_numbers
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import AtomFormula, Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.pddl.writer import constraint_text, formula_text
from safegen_ros.search.budget import Budget, Unsolvable
from safegen_ros.search.solve import solve
from safegen_ros.search.task import SearchTask
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.planning.hierarchy import goal_ordering
from safegen_ros.tasks.pddl3.planning.hierarchy.goal_ordering import atoms_of, goal_orders
from safegen_ros.tasks.pddl3.planning.hierarchy.relaxed_analysis import (
    TRAINED,
    RelaxedAnalysis,
    assess,
    trained_on,
)
from safegen_ros.tasks.pddl3.planning.hierarchy.scope import (
    ScopeTooSmall,
    described,
    restricted,
    scopes,
)
from safegen_ros.tasks.pddl3.prompts.styles import WordStyle
from safegen_ros.verify.validator import verify

GATES = """(define (domain gates) (:predicates (open ?x) (oiled ?x) (stuck ?x))
  (:action oil :parameters (?x) :precondition (not (open ?x)) :effect (oiled ?x))
  (:action open :parameters (?x) :precondition (not (stuck ?x)) :effect (open ?x))
  (:action shut :parameters (?x) :precondition (open ?x)
    :effect (and (not (open ?x)) (not (oiled ?x)))))"""


def gates(goal: str, constraints: str = '(and)', init: str = '') -> Problem:
    return read_problem(
        f'(define (problem p) (:domain gates) (:objects a b c) (:init {init}) (:goal {goal}) '
        f'(:constraints {constraints}))',
        read_domain(GATES, '<domain>'),
        '<problem>',
    )


def budget() -> Budget:
    return Budget(600.0, 2048.0)


def goals(problem: Problem, number: int = 0) -> list[str]:
    found = goal_orders(SearchTask(problem, budget()), budget())[number]
    return [formula_text(goal.formula) for goal in found]


def test_towers_are_ordered_from_the_table_up() -> None:
    problem = kits()['blocksworld'].problem(4, {'blocks': 12}, 'building-order').problem
    waits = [c.arguments for c in problem.constraints]
    for found in goal_orders(SearchTask(problem, budget()), budget())[:-1]:
        order = [goal.formula for goal in found]
        place = {goal.terms[0]: n for n, goal in enumerate(order) if isinstance(goal, AtomFormula)}
        for goal in order:
            assert isinstance(goal, AtomFormula)
            if goal.predicate == 'on':
                upper, lower = goal.terms
                assert place.get(lower, -1) < place[upper]
        for later, earlier in waits:
            assert order.index(earlier) < order.index(later)


def test_a_goal_that_another_one_shuts_out_comes_first() -> None:
    """A gate cannot be oiled once it is open."""
    assert goals(gates('(and (open a) (oiled a) (open b))')) == [
        '(oiled a)',
        '(open a)',
        '(open b)',
    ]


def test_what_is_asked_in_passing_comes_first_or_last_and_deadlines_before_the_rest() -> None:
    problem = gates('(open a)', '(and (sometime (oiled b)) (within 3 (open c)) (at end (open b)))')
    assert goals(problem) == ['(open c)', '(oiled b)', '(open a)', '(open b)']
    assert goals(problem, 1) == ['(open a)', '(open b)']


@pytest.mark.parametrize(
    ('constraint', 'order'),
    [
        ('(always (imply (open a) (open b)))', ['(open b)', '(open a)']),
        ('(always (imply (open b) (open a)))', ['(open a)', '(open b)']),
        ('(hold-during 0 5 (not (open a)))', ['(open b)', '(open a)']),
        ('(hold-after 6 (open b))', ['(open b)', '(open a)', '(open b)']),
    ],
)
def test_constraints_order_goals(constraint: str, order: list[str]) -> None:
    assert goals(gates('(and (open a) (open b))', constraint)) == order


def test_what_goals_use_up_is_laid_in_before_them() -> None:
    """Spanners behind each other on a way of no return, the last one beside the nuts' gate."""
    size = {'spanners': 5, 'nuts': 3, 'locations': 5}
    problem = kits()['spanner'].problem(1, size, 'defective-spanner').problem
    bad = constraint_text(problem.constraints[0]).strip(')').split()[-1]
    task = SearchTask(problem, budget())
    found = goal_orders(
        task, budget(), RelaxedAnalysis(problem, budget()).resource_goals(atoms_of(task))
    )
    place = {atom[1]: atom[2] for atom in problem.init if atom[0] == 'at'}
    spanners = sorted((place[name], name) for name in place if 'spanner' in name and name != bad)
    for order, count in zip(found, (3, 4), strict=False):
        ready = [formula_text(goal.formula) for goal in order if goal.ready]
        assert ready[-1] == '(at bob gate)'
        carried = [text.strip(')').split()[-1] for text in ready[:-1]]
        assert len(carried) == len(set(carried)) == count
        assert {place[name] for name in carried} == {where for where, _ in spanners[:count]}
        assert [place[name] for name in carried] == sorted(place[name] for name in carried)
        assert [goal.ready for goal in order] == [True] * (count + 1) + [False] * 3
    assert not any(goal.ready for goal in found[2])


def test_what_cannot_be_had_together_is_not_laid_in() -> None:
    task = SearchTask(gates('(and (open a) (oiled b))'), budget())
    a, b = (task.table.bit(('open', 'a')), task.table.bit(('oiled', 'a')))
    assert any(goal.ready for goal in goal_orders(task, budget(), [[b]])[0])
    assert any(goal.ready for goal in goal_orders(task, budget(), [[a, b]])[0])
    blocks = SearchTask(kits()['blocksworld'].problem(1, {'blocks': 3}).problem, budget())
    both = [blocks.table.bit(('holding', name)) for name in ('b1', 'b2')]
    assert not any(goal.ready for goal in goal_orders(blocks, budget(), [both])[0])


@strategies.examples(40)
@given(strategies.SEEDS)
def test_atoms_that_are_ever_true_together_are_known_to_be(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.toggles(rng) if seed % 2 else strategies.blocks(rng, 4, 0)
    try:
        task = SearchTask(problem, budget())
    except Unsolvable:
        return
    together = goal_ordering._together(task, budget())
    grounder = Grounder(problem, task.table)
    actions, state = grounder.all_actions(), task.init
    for _ in range(12):
        for number in bit_numbers(state):
            assert not state & ~together[number]
        possible = [action for action in actions if action.applicable(state)]
        if not possible:
            break
        state = rng.choice(possible).apply(state)


@strategies.examples(40)
@given(strategies.SEEDS)
def test_a_plan_over_some_objects_is_a_plan_of_the_whole(seed: int) -> None:
    """In domains whose actions do not range over all objects, as the built-in ones."""
    rng = random.Random(seed)
    problem = strategies.blocks(rng, 5) if seed % 2 else strategies.generated(rng)
    if not verify(problem, Plan()).category.name.startswith('GOAL'):
        return
    count = rng.randint(1, len(problem.objects))
    objects = described(problem, frozenset(rng.sample(list(problem.objects), count)))
    try:
        part = restricted(problem, objects)
    except ScopeTooSmall:
        return
    plan = strategies.plan(rng, part)
    assert verify(part, plan).ok == verify(problem, plan).ok
    try:
        found = solve(part, route='in-process', time_limit_s=2.0).plan
    except SafegenError:
        return
    assert verify(problem, found).ok


@pytest.mark.parametrize(
    ('constraint', 'written'),
    [
        ('(always (or (not (open a)) (stuck c)))', '(always (or (not (open a)) (stuck c)))'),
        ('(always (not (and (open a) (oiled c))))', '(always (not (open a)))'),
        ('(always (not (and (open a) (oiled b))))', ''),
        (
            '(always (forall (?x) (imply (oiled ?x) (open ?x))))',
            '(always (or (open a) (not (oiled a))))',
        ),
        ('(always (exists (?x) (open ?x)))', ''),
        ('(sometime-before (open a) (open b))', '(always (not (open a)))'),
        ('(sometime-after (open a) (oiled c))', ''),
        ('(sometime-after (open a) (open b))', '(always (not (open a)))'),
        ('(at-most-once (open c))', ''),
        ('(hold-after 4 (or (open a) (open b)))', '(hold-after 4 (open a))'),
    ],
)
def test_what_a_constraint_says_of_some_objects(constraint: str, written: str) -> None:
    part = restricted(
        gates('(open a)', constraint, '(open c) (oiled c)'),
        frozenset('ac' if 'stuck c' in constraint else 'a'),
    )
    texts = [constraint_text(c) for c in part.constraints]
    assert ' '.join(texts) == written
    assert set(part.objects) >= {'a'}
    assert all(set(atom[1:]) <= part.objects.keys() for atom in part.init)


@pytest.mark.parametrize('asked', ['(sometime (open b))', '(within 2 (open b))'])
def test_what_cannot_come_true_with_some_objects_is_said(asked: str) -> None:
    with pytest.raises(ScopeTooSmall, match=r'\(open b\) cannot come true'):
        restricted(gates('(open a)', asked), frozenset('a'))
    with pytest.raises(ScopeTooSmall, match=r'\(open b\) cannot come true'):
        restricted(gates('(and (open a) (open b))'), frozenset('a'))


def test_more_and_more_objects_are_taken() -> None:
    problem = kits()['blocksworld'].problem(4, {'blocks': 9}, 'building-order').problem
    below = {atom[1]: atom[2] for atom in problem.init if atom[0] == 'on'}
    upper = next(block for block in below if below[block] in below)
    found = list(scopes(problem, frozenset((upper,))))
    assert found[0] == {upper}
    assert found[1] >= {upper, below[upper], below[below[upper]]}
    assert found[-1] == set(problem.objects)
    for scope, wider in pairwise(found):
        assert scope < wider
    for scope in found[1:]:
        assert all(below[block] in scope for block in scope if block in below)
    waiting = problem.constraints[0].arguments[0]
    assert isinstance(waiting, AtomFormula)
    named = {t for part in problem.constraints[0].arguments for t in part.terms}  # type: ignore[union-attr]
    assert any(named <= scope for scope in list(scopes(problem, frozenset(waiting.terms)))[:-1])


@pytest.mark.parametrize('name', kits())
def test_problems_that_models_are_trained_on_are_simple(name: str) -> None:
    kit = kits()[name]
    for family in list(kit.families)[:4]:
        largest = kit.sizes(family, wide=True)[-1]
        found = assess(kit.problem(5, largest, family).problem, time_limit_s=600.0)
        assert not found.complex, found.reason
        assert 0 < found.relaxed_steps <= 20
        assert found.open_goals <= 7
        for other_name in kit.names:
            assert trained_on(other_name).objects == found.objects


def test_every_reason_why_a_task_is_complex_is_told() -> None:
    kit = kits()['blocksworld']
    large, huge = (kit.problem(1, {'blocks': n}, 'none').problem for n in (16, 60))
    assert assess(huge).reason == 'it has 60 objects, more than 7'
    assert assess(huge, thresholds=TRAINED).reason == 'it has 60 objects, more than 17'
    wide = assess(large, thresholds=TRAINED)
    assert wide.reason == f'it has {wide.open_goals} open goals, more than 7'
    asked = assess(large, lambda problem: WordStyle().messages(problem, []))
    assert asked.complex
    assert asked.reason.startswith('it cannot be put to the model as a whole: problem blocks')
    small = kit.problem(1, {'blocks': 5}, 'none').problem
    assert assess(small, time_limit_s=0.0).reason == 'looking at its actions takes more than 0 s'
    few = replace(TRAINED, relaxed_steps=3)
    found = assess(small, thresholds=few, time_limit_s=600.0)
    assert found.reason == f'it takes {found.relaxed_steps} steps or more, over 3'
    assert not assess(small, time_limit_s=600.0).complex

    def unknown_words(problem: Problem) -> None:
        raise SafegenError('no word for that', ErrorCode.UNSUPPORTED_FEATURE)

    with pytest.raises(SafegenError, match='no word for that'):
        assess(small, unknown_words)  # which parts of it would not help


def test_a_task_without_a_plan_is_neither() -> None:
    with pytest.raises(Unsolvable):
        assess(gates('(open a)', init='(stuck a)'))
