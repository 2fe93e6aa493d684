# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Formulas over facts mean the same however they are simplified."""

from __future__ import annotations

import random
from itertools import product

from hypothesis import given
from support import strategies

from safegen_ros.search.nnf import (
    FALSE,
    TRUE,
    NnfFormula,
    NnfFormulas,
    NnfJunction,
    NnfLiteral,
    conjuncts,
    holds,
    literals,
    variables,
)

SIZES = (2, 3, 4, 2)
STATES = list(product(*map(range, SIZES)))


def _formula(rng: random.Random, depth: int) -> NnfFormula:
    """A random formula that nothing has simplified."""
    if depth == 0 or rng.random() < 0.2:
        variable = rng.randrange(len(SIZES))
        return NnfLiteral(variable, rng.randrange(SIZES[variable]), rng.random() < 0.6)
    parts = tuple(_formula(rng, depth - 1) for _ in range(rng.randint(0, 4)))
    return NnfJunction(rng.random() < 0.5, parts)


def _simplified(logic: NnfFormulas, formula: NnfFormula) -> NnfFormula:
    if isinstance(formula, NnfLiteral):
        return logic.literal(*formula)
    return logic.join((_simplified(logic, part) for part in formula.parts), formula.conjunctive)


def _truth(formula: NnfFormula) -> list[bool]:
    return [holds(formula, state) for state in STATES]


@strategies.examples(300)
@given(strategies.SEEDS)
def test_nothing_changes_the_meaning(seed: int) -> None:
    rng, logic = random.Random(seed), NnfFormulas(SIZES)
    raw = _formula(rng, 3)
    formula = _simplified(logic, raw)
    truth = _truth(formula)
    assert truth == _truth(raw)
    assert _truth(logic.negate(formula)) == [not value for value in truth]
    if not any(truth) and not isinstance(formula, NnfJunction):
        raise AssertionError('a literal is false somewhere and true somewhere')
    facts = {variable: rng.randrange(SIZES[variable]) for variable in rng.sample(range(4), 2)}
    restricted = logic.restrict(formula, facts)
    assert variables(restricted).isdisjoint(facts)
    for state in STATES:
        if all(state[variable] == value for variable, value in facts.items()):
            assert holds(restricted, state) == holds(formula, state)
    cubes = logic.cubes(formula, 1000)
    assert cubes is not None
    assert _truth(NnfJunction(False, tuple(NnfJunction(True, cube) for cube in cubes))) == truth
    few = logic.cubes(formula, 3)
    assert few is None or few == cubes
    assert few is not None or len(cubes) > 3 or isinstance(formula, NnfJunction)
    assert _truth(logic.join(conjuncts(formula), True)) == truth
    assert set(literals(formula)) <= set(conjuncts(formula))


def test_literals_simplify_each_other() -> None:
    logic = NnfFormulas(SIZES)
    one, other = logic.literal(1, 0), logic.literal(1, 1)
    assert logic.both(one, other) == FALSE
    assert logic.either(logic.negate(one), logic.negate(other)) == TRUE
    assert logic.both(one, logic.negate(other)) == one
    assert logic.both(logic.negate(one), logic.negate(other)) == logic.literal(1, 2)
    assert logic.either(one, other) == logic.literal(1, 2, positive=False)
    assert logic.literal(0, 1, positive=False) == logic.literal(0, 0)
    clause = logic.either(one, logic.literal(2, 3))
    assert logic.both(clause, other) == logic.both(other, logic.literal(2, 3))
    assert logic.both(clause, clause) == clause
