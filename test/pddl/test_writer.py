# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is written reads back as the same domain and problem."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from itertools import product

import strategies
from hypothesis import given, settings

from safegen_ros.pddl.formulas import substitute
from safegen_ros.pddl.model import Constraint, Domain, Problem
from safegen_ros.pddl.reader import read_domain, read_problem
from safegen_ros.pddl.writer import constraint_text, domain_text, names_text, problem_text


@settings(strategies.SUITE, max_examples=300)
@given(strategies.SEEDS)
def test_a_random_task_reads_back(seed: int) -> None:
    problem = strategies.toggles(random.Random(seed))
    domain = read_domain(domain_text(problem.domain))
    assert domain == problem.domain
    assert read_problem(problem_text(problem), domain) == problem


@settings(strategies.SUITE, max_examples=60)
@given(strategies.SEEDS)
def test_blocksworld_reads_back(seed: int) -> None:
    problem = strategies.blocks(random.Random(seed), 5)
    assert read_domain(domain_text(problem.domain)) == strategies.BLOCKSWORLD
    assert read_problem(problem_text(problem), strategies.BLOCKSWORLD) == problem


def _tree(
    rng: random.Random, problem: Problem, names: Mapping[str, str], depth: int
) -> tuple[str, list[Constraint]]:
    """The text of a constraint tree, and what it means for these objects."""
    kind = rng.randrange(3) if depth else 0
    if kind == 0:
        found = strategies.constraint(rng, problem.domain, names)
        return constraint_text(found, bool(problem.domain.types)), [found]
    if kind == 1:
        parts = [_tree(rng, problem, names, depth - 1) for _ in range(rng.randrange(4))]
        text = f'(and {" ".join(text for text, _ in parts)})'
        return text, [c for _, meant in parts for c in meant]
    variables = strategies.quantified(rng, problem.domain)
    text, meant = _tree(rng, problem, {**names, **dict(variables)}, depth - 1)
    listed = ' '.join(f'{name} - {kind}' for name, kind in variables)
    objects = problem.objects_by_type()
    written = [
        replace(c, arguments=tuple(substitute(f, binding) for f in c.arguments))
        for values in product(*(objects[kind] for _, kind in variables))
        for binding in [dict(zip([name for name, _ in variables], values, strict=True))]
        for c in meant
    ]
    return f'(forall ({listed}) {text})', written


@settings(strategies.SUITE, max_examples=200)
@given(strategies.SEEDS)
def test_nested_constraints_mean_their_ground_ones(seed: int) -> None:
    rng = random.Random(seed)
    problem = strategies.toggles(rng)
    text, meant = _tree(rng, problem, problem.objects, 3)
    bare = problem_text(replace(problem, constraints=()))
    read = read_problem(bare.rstrip()[:-1] + f'(:constraints {text}))', problem.domain)
    assert read.constraints == tuple(dict.fromkeys(meant))
    assert read_problem(problem_text(read), problem.domain) == read


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
