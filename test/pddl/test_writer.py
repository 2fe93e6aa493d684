# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is written reads back as the same domain and problem."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from support import strategies

from safegen_ros.pddl.deciding import without_costs
from safegen_ros.pddl.formulas import bindings, substitute
from safegen_ros.pddl.limits import Objects
from safegen_ros.pddl.model import (
    And,
    AtomFormula,
    Constraint,
    ConstraintAnd,
    ConstraintForall,
    ConstraintTree,
    Domain,
    Not,
)
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.pddl.writer import constraint_text, domain_text, names_text, problem_text

OPEN = AtomFormula('open', ())


@pytest.mark.slow
@strategies.examples(300)
@given(strategies.SEEDS)
def test_a_random_task_reads_back(seed: int) -> None:
    problem = strategies.toggles(random.Random(seed))
    domain = read_domain(domain_text(problem.domain))
    assert domain == problem.domain
    assert read_problem(problem_text(problem), domain) == problem


@strategies.examples(60)
@given(strategies.SEEDS)
def test_blocksworld_reads_back(seed: int) -> None:
    problem = strategies.blocks(random.Random(seed), 5)
    assert read_domain(domain_text(problem.domain)) == strategies.BLOCKSWORLD
    assert read_problem(problem_text(problem), strategies.BLOCKSWORLD) == problem


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


@pytest.mark.parametrize(
    ('constraint', 'text'),
    [
        (Constraint('at end', (OPEN,)), '(at end (open))'),
        (Constraint('within', (OPEN,), (3,)), '(within 3 (open))'),
        (Constraint('always-within', (OPEN, And(())), (0,)), '(always-within 0 (open) (and))'),
        (Constraint('hold-during', (OPEN,), (1, 4)), '(hold-during 1 4 (open))'),
        (Constraint('sometime-after', (Not(OPEN), OPEN)), '(sometime-after (not (open)) (open))'),
    ],
)
def test_operators_with_numbers(constraint: Constraint, text: str) -> None:
    assert constraint_text(constraint) == text


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
