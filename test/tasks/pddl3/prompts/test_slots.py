# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Canonical names: the same problem under other names is the same, and no verdict changes."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, reject
from support import strategies

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.formulas import substitute
from safegen_ros.pddl.model import And, Problem
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.pddl.writer import problem_text
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.domains import builtin_domain, kits
from safegen_ros.tasks.pddl3.prompts.slots import MAX_PARTS, slotted, taught_plan
from safegen_ros.verify.validator import verify


def shuffled(rng: random.Random, problem: Problem) -> Problem:
    """The problem with other names, in another order."""
    constants = problem.domain.constants
    others = [name for name in problem.objects if name not in constants]
    fresh = [f'n{number}' for number in rng.sample(range(100, 999), len(others))]
    names = {**{c: c for c in constants}, **dict(zip(others, fresh, strict=True))}
    objects = [(names[name], kind) for name, kind in problem.objects.items()]
    goals = [substitute(goal, names) for goal in problem.goal_conjuncts()]
    constraints = [
        replace(c, arguments=tuple(substitute(a, names) for a in c.arguments))
        for c in problem.constraints
    ]
    return replace(
        problem,
        objects=dict(rng.sample(objects, len(objects))),
        init=frozenset((head, *(names[n] for n in rest)) for head, *rest in problem.init),
        goal=And(tuple(rng.sample(goals, len(goals)))),
        constraints=tuple(rng.sample(constraints, len(constraints))),
    )


@pytest.mark.parametrize('name', kits())
@strategies.examples(40)
@given(strategies.SEEDS)
def test_renaming_a_problem_does_not_change_it(name: str, seed: int) -> None:
    problem = kits()[name].problem(seed).problem
    other = shuffled(random.Random(seed), problem)
    ours, theirs = slotted(problem), slotted(other)
    assert ours.problem == theirs.problem
    assert ours.told == theirs.told
    assert list(ours.problem.objects) == list(theirs.problem.objects)


@pytest.mark.slow
@strategies.examples(150)
@given(strategies.SEEDS)
def test_verdicts_stay_the_same(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.problem(rng)
    try:
        task = slotted(problem)
    except SafegenError:
        reject()  # too many parts, as the last test has it
    for _ in range(4):
        plan = strategies.plan(rng, problem)
        before, after = verify(problem, plan), verify(task.problem, task.plan(plan))
        assert before.category is after.category
        assert before.failing_step == after.failing_step
        assert before.failing_state == after.failing_state
        assert task.original(task.plan(plan)) == plan


def test_names_say_what_an_object_is_and_where() -> None:
    problem = read_problem(
        '(define (problem p) (:domain blocksworld) (:objects red green blue)'
        '(:init (arm-empty) (on-table red) (on-table blue) (on green blue) (clear green)'
        ' (clear red)) (:goal (and (on red blue))) (:constraints (always (not (holding green)))))',
        builtin_domain('blocksworld'),
    )
    assert slotted(problem).names == {'blue': 'block1', 'green': 'block2', 'red': 'block3'}
    ferry = kits()['ferry'].problem(1, {'locations': 4, 'cars': 3}).problem
    task = slotted(ferry)
    assert sorted(task.names.values()) == [
        'car1', 'car2', 'car3', 'location1', 'location2', 'location3', 'location4',
    ]  # fmt: skip
    assert {atom[0] for atom in task.told} == {'car', 'location', 'not-eq'}


def test_ways_to_write_a_constraint_come_to_the_same() -> None:
    def constraints(text: str) -> object:
        return slotted(
            read_problem(
                '(define (problem p) (:domain blocksworld) (:objects a b c) (:init (arm-empty)'
                '(on-table a) (on b a) (on c b) (clear c)) (:goal (on-table c))'
                f'(:constraints {text}))',
                builtin_domain('blocksworld'),
            )
        ).problem.constraints

    written_out = constraints(
        '(and (always (not (holding a))) (always (not (holding b))) (always (not (holding c))))'
    )
    assert written_out == constraints('(forall (?y) (always (not (holding ?y))))')
    assert written_out == constraints('(always (forall (?x) (not (holding ?x))))')
    assert written_out == constraints(
        '(always (and (not (not (not (holding c)))) (and (not (holding b)) (not (holding a)))'
        ' (not (holding a))))'
    )
    assert written_out != constraints('(always (not (forall (?x) (holding ?x))))')


def test_a_formula_that_is_too_large_is_refused() -> None:
    objects = ' '.join(f'o{number}' for number in range(MAX_PARTS + 1))
    problem = read_problem(
        f'(define (problem p) (:domain blocksworld) (:objects {objects}) (:init (arm-empty))'
        '(:goal (arm-empty)) (:constraints (sometime (exists (?x) (holding ?x)))))',
        builtin_domain('blocksworld'),
    )
    with pytest.raises(SafegenError, match='use fewer objects') as caught:
        slotted(problem)
    assert caught.value.code is ErrorCode.TASK_TOO_LARGE


def own_problem(domain: str, problem: str) -> Problem:
    return read_problem(f'(define (problem p) (:domain d) {problem})', read_domain(domain))


def test_kinds_that_end_in_digits_share_no_name() -> None:
    bays = ' '.join(f'a{number}' for number in range(12))
    rules = ' '.join(f'(always (not (q a{number})))' for number in range(12))
    problem = own_problem(
        '(define (domain d) (:requirements :typing) (:types bay bay1 - object)'
        '(:predicates (p ?x) (q ?x)) (:action go :parameters (?x) :precondition (p ?x)'
        ' :effect (q ?x)))',
        f'(:objects {bays} - bay z - bay1) (:init (p z)) (:goal (q z))(:constraints (and {rules}))',
    )
    task = slotted(problem)
    assert len(set(task.names.values())) == 13
    plan = parse_plan('(go z)')
    assert verify(problem, plan).ok
    assert verify(task.problem, task.plan(plan)).ok


def test_names_of_joined_types_can_be_read() -> None:
    problem = own_problem(
        '(define (domain d) (:requirements :typing) (:types bench site - object)'
        '(:predicates (p ?x)) (:action go :parameters (?x) :effect (p ?x)))',
        '(:objects a - (either bench site)) (:init) (:goal (p a))',
    )
    task = slotted(problem)
    assert task.names == {'a': 'bench-site1'}
    text = problem_text(task.problem)
    assert read_problem(text, problem.domain) == task.problem


def test_only_what_the_domain_calls_distinct_goes_without_saying() -> None:
    roads = (
        '(define (domain d) (:predicates (link ?a ?b) (here ?a)) (:action go :parameters (?a ?b)'
        ' :precondition (and (here ?a) (link ?a ?b)) :effect (and (here ?b) (not (here ?a)))))'
    )
    links = ' '.join(f'(link {a} {b})' for a in 'xyz' for b in 'xyz' if a != b)
    whole = own_problem(roads, f'(:objects x y z) (:init (here x) {links}) (:goal (here z))')
    assert slotted(whole).told == frozenset()
    gates = (
        '(define (domain d) (:constants gate) (:predicates (open ?a) (shut ?a) (here ?a))'
        ' (:action go :parameters (?a) :precondition (open gate) :effect (here ?a)))'
    )
    shut = own_problem(gates, '(:objects a) (:init (open a) (shut gate)) (:goal (here a))')
    assert ('shut', 'gate') not in slotted(shut).told


def test_a_ferry_whose_places_do_not_differ_is_not_usual() -> None:
    def ferry(pairs: str) -> bool:
        text = (
            '(define (problem p) (:domain ferry) (:objects l0 l1 c0) (:init (location l0)'
            f'(location l1) (car c0) (empty-ferry) (at-ferry l0) (at c0 l0) {pairs})'
            '(:goal (at c0 l1)))'
        )
        return slotted(read_problem(text, builtin_domain('ferry'))).usual

    assert ferry('(not-eq l0 l1) (not-eq l1 l0)')
    assert not ferry('(not-eq l0 l1)')
    assert not ferry('')


def test_times_have_no_normal_form() -> None:
    action = ':durative-action a :parameters () :duration (= ?duration 1) :effect (at end (p))'
    domain = read_domain(f'(define (domain d) (:predicates (p)) ({action}))')
    text = '(define (problem x) (:domain d) (:init) (:goal (p)))'
    with pytest.raises(SafegenError, match='does not know times'):
        slotted(read_problem(text, domain))


@pytest.mark.parametrize('name', kits())
def test_the_taught_plan(name: str) -> None:
    for seed in range(12):
        problem = kits()[name].problem(seed).problem
        task = slotted(problem)
        plan = taught_plan(task)
        assert verify(problem, task.original(plan)).ok
        assert len(plan) == len(solve(problem, optimal=True).plan)
        assert taught_plan(slotted(shuffled(random.Random(seed), problem))) == plan
