# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Conditions mean the same before an action, negated, and where some atoms are known."""

from __future__ import annotations

import random

from hypothesis import given, settings
from support import exhaustive, strategies

from safegen_ros.pddl.bits import AtomTable, Condition, compile_test, condition
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import Problem
from safegen_ros.search.rules import assume, follows, negation, regress


def _drawn(seed: int) -> tuple[random.Random, Problem, AtomTable, Condition]:
    rng = random.Random(seed)
    problem = exhaustive.problem_of(seed)
    table = AtomTable(problem)
    formula = strategies.formula(rng, problem.domain, problem.objects)
    return rng, problem, table, condition(formula, table)


@settings(strategies.SUITE, max_examples=150)
@given(strategies.SEEDS)
def test_regression_tells_before_an_action_what_holds_after_it(seed: int) -> None:
    rng, problem, table, formula = _drawn(seed)
    after = compile_test(formula)
    for action in Grounder(problem, table).all_actions()[:20]:
        before = compile_test(regress(formula, action))
        for _ in range(10):
            state = rng.getrandbits(len(table))
            assert before(state) == after(action.apply(state))


@settings(strategies.SUITE, max_examples=150)
@given(strategies.SEEDS)
def test_negations_and_assumptions(seed: int) -> None:
    rng, _, table, formula = _drawn(seed)
    holds, fails = compile_test(formula), compile_test(negation(formula))
    for _ in range(20):
        state, known = rng.getrandbits(len(table) + 1), rng.getrandbits(len(table) + 1)
        assert holds(state) != fails(state)
        true, false = state & known, ~state & known
        simpler = assume(formula, true, false)
        assert not simpler.mask & known
        assert compile_test(simpler)(state) == holds(state)
        assert holds(state) or not follows(formula, true, false)
