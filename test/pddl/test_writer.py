# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is written reads back as the same domain and problem."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from support import strategies

from safegen_ros.errors import SafegenError
from safegen_ros.pddl import pruning
from safegen_ros.pddl.bits import AtomTable, compile_test, condition
from safegen_ros.pddl.deciding import without_costs
from safegen_ros.pddl.formulas import bindings, substitute
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.limits import MAX_ACTION_SIZE, InitialFacts, Objects, action_size
from safegen_ros.pddl.model import (
    AtomFormula,
    Constraint,
    ConstraintAnd,
    ConstraintForall,
    ConstraintTree,
    Domain,
    Exists,
    Problem,
)
from safegen_ros.pddl.plan import Step
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.pddl.writer import domain_text, names_text, problem_text
from safegen_ros.verify.validator import verify

OPEN = AtomFormula('open', ())


@pytest.mark.slow
@strategies.examples(300)
@given(strategies.SEEDS)
def test_a_random_task_reads_back(seed: int) -> None:
    problem = strategies.toggles(random.Random(seed))
    domain = read_domain(domain_text(problem.domain))
    assert domain == problem.domain
    assert read_problem(problem_text(problem), domain) == problem


def _meant(tree: ConstraintTree, objects: Objects) -> list[Constraint]:
    """The ground constraints of a tree, one substitution after the other."""
    if isinstance(tree, Constraint):
        return [tree]
    if isinstance(tree, ConstraintAnd):
        return [c for part in tree.parts for c in _meant(part, objects)]
    found = []
    for binding in bindings(tree.variables, objects):
        for inner in _meant(_bound(tree.body, binding), objects):
            found.append(replace(inner, binding=(*binding.items(), *inner.binding)))
    return found


def _bound(tree: ConstraintTree, binding: Mapping[str, str]) -> ConstraintTree:
    if isinstance(tree, Constraint):
        return replace(tree, arguments=tuple(substitute(f, binding) for f in tree.arguments))
    if isinstance(tree, ConstraintAnd):
        return ConstraintAnd(tuple(_bound(part, binding) for part in tree.parts))
    hidden = {name for name, _ in tree.variables}
    outer = {name: value for name, value in binding.items() if name not in hidden}
    return ConstraintForall(tree.variables, _bound(tree.body, outer))


@strategies.examples(200)
@given(strategies.SEEDS)
def test_nested_constraints_mean_their_ground_ones(seed: int) -> None:
    rng = random.Random(seed)
    problem, own = strategies.quantified_toggles(rng)
    domain_source, problem_source = strategies.written(rng, problem, own)
    domain = read_domain(domain_source)
    read = read_problem(problem_source, domain)
    assert without_costs(read).domain == problem.domain
    objects = problem.objects_by_type()
    trees = [tree for tree in (domain.constraint_tree, own) if tree is not None]
    meant = [c for tree in trees for c in _meant(tree, objects)]
    assert read.constraints == tuple(dict.fromkeys(meant))
    told = {c: dict(c.binding) for c in reversed(meant)}  # of equal ones the first is kept
    assert [dict(c.binding) for c in read.constraints] == [told[c] for c in read.constraints]
    assert all(c.place.count(':') == 2 for c in read.constraints)
    assert read_problem(problem_text(read), domain) == read


@strategies.examples(100)
@given(strategies.SEEDS)
def test_constraints_of_a_domain_read_back_with_it(seed: int) -> None:
    problem, _ = strategies.quantified_toggles(random.Random(seed))
    assert read_domain(domain_text(problem.domain, constraints=True)) == problem.domain
    plain = read_domain(domain_text(problem.domain))
    assert plain == replace(problem.domain, constraint_tree=None)


def test_constraints_of_the_domain_are_written_with_the_problem() -> None:
    domain = read_domain(
        '(define (domain d) (:predicates (p ?x)) (:constraints (forall (?x) (always (p ?x)))))'
    )
    text = '(define (problem one) (:domain d) (:objects a b) (:init) (:goal (p a)))'
    problem = read_problem(text, domain)
    assert len(problem.constraints) == 2
    plain: Domain = read_domain(domain_text(domain))
    assert plain == replace(domain, constraint_tree=None)
    assert read_problem(problem_text(problem), plain).constraints == problem.constraints
    assert read_problem(problem_text(problem), domain) == problem


def test_long_lists_of_names_are_cut_off() -> None:
    names = [f'b{index}' for index in range(25)]
    assert names_text(names[:3]) == 'b0 b1 b2'
    assert names_text(names).endswith('b19 and 5 more')


ROADS = read_domain(
    """(define (domain d) (:predicates (road ?a ?b) (ok) (busy ?a))
    (:action go :parameters (?x) :precondition (and (not (busy ?x)) (exists (?a ?b ?c ?d)
      (and (road ?a ?b) (road ?b ?c) (road ?c ?d) (road ?x ?a))))
      :effect (and (ok) (busy ?x)
        (forall (?a ?b ?c ?d) (when (and (road ?a ?b) (road ?b ?c) (road ?c ?d) (= ?d ?x))
          (busy ?d))))))"""
)


def _chain(count: int, goal: str = '(and (ok) (busy o0))') -> Problem:
    names = [f'o{number}' for number in range(count)]
    roads = ' '.join(f'(road {a} {b})' for a, b in pairwise(names))
    return read_problem(
        f'(define (problem p) (:domain d) (:objects {" ".join(names)}) (:init {roads})'
        f'(:goal {goal}))',
        ROADS,
    )


def test_what_static_atoms_decide_does_not_count() -> None:
    problem = _chain(40)
    assert verify(problem, '(go o0)').ok
    assert not verify(problem, '(go o36)').ok
    action = ROADS.actions['go']
    assert action_size(action, problem.objects_by_type()) > MAX_ACTION_SIZE
    assert action_size(action, problem.objects_by_type(), InitialFacts(problem)) < 1_000


def test_where_any_atom_may_change_the_action_is_refused() -> None:
    problem = _chain(40)
    with pytest.raises(SafegenError, match='where any atom may change'):
        Grounder(problem, AtomTable(problem, fold_static=False)).action(Step('go', ('o0',)))


@pytest.mark.parametrize(
    ('body', 'found'),
    [
        ('(busy ?c)', 40**3),
        ('(road ?a ?b)', 39 * 40),
        ('(and (road ?b ?c) (busy ?a))', 40 * 39),
        ('(and (road ?a ?b) (= ?b ?c))', 39),
        ('(and (busy ?b) (= ?a o0))', 40**2),
        ('(and (road ?a ?b) (road o1 o0))', 0),
        ('(or (road ?a ?b) (busy ?a))', 40**3),
    ],
)
def test_as_many_bindings_are_counted_as_are_found(body: str, found: int) -> None:
    problem = _chain(40, f'(exists (?a ?b ?c) {body})')
    goal = problem.goal
    assert isinstance(goal, Exists)
    asked = goal.variables, goal.body, True, problem.objects_by_type(), InitialFacts(problem)
    assert pruning.fitting_count(*asked) == found
    assert sum(1 for _ in pruning.fitting(*asked, {})) == found


def test_what_nothing_is_known_about_is_counted_without_trying() -> None:
    problem = _chain(40)
    effect = ROADS.actions['go'].effects[-1]
    more = (*effect.variables, ('?e', 'object'), ('?f', 'object'), ('?g', 'object'))
    objects, facts = problem.objects_by_type(), InitialFacts(problem)
    assert pruning.fitting_count(more, effect.condition, True, objects, facts) == 37 * 40**3


def _outcomes(problem: Problem, seed: int) -> list[object]:
    """What the formulas of a problem and its actions say in random states."""
    rng = random.Random(seed)
    table = AtomTable(problem)
    tests = [compile_test(condition(problem.goal, table))]
    for each in problem.constraints:
        tests += [compile_test(condition(formula, table)) for formula in each.arguments]
    actions = Grounder(problem, table).all_actions()
    atoms = sorted({atom for action in actions for atom in table.atoms(action.add | action.delete)})
    found: list[object] = []
    for _ in range(10):
        state = table.encode(atom for atom in atoms if rng.random() < 0.5)
        found.append([test(state) for test in tests])
        for action in actions:
            found.append((action.step, action.applicable(state)))
            if action.applicable(state):
                found.append(table.decode(action.apply(state)))
    return found


@strategies.examples(60)
@given(strategies.SEEDS)
def test_written_out_or_not_it_means_the_same(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.problem(rng) if seed % 2 else strategies.quantified_toggles(rng)[0]
    few = pruning.FEW
    try:
        pruning.FEW = 1 << 40
        whole = _outcomes(problem, seed)
        pruning.FEW = 0
        assert _outcomes(problem, seed) == whole
    finally:
        pruning.FEW = few
