# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the relaxed task says is never too much: nothing is called out of reach that is not."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from support import exhaustive, strategies
from support.strategies import three_blocks

from safegen_ros.pddl.bits import AtomTable, Condition, compile_test, condition
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import Problem
from safegen_ros.search.budget import Budget, Unsolvable
from safegen_ros.search.cuts import Consumables, CutFinder
from safegen_ros.search.heuristic import Landmarks, RelaxedPlanner
from safegen_ros.search.relaxation import Relaxation
from safegen_ros.search.rules import assume, follows, negation, regress
from safegen_ros.search.task import SearchTask


def _relaxed(problem: Problem) -> tuple[SearchTask, Relaxation, Budget]:
    budget = Budget(60.0, 500.0)
    task = SearchTask(problem, budget)
    return task, Relaxation(task, budget), budget


@strategies.examples(100)
@given(strategies.SEEDS)
def test_estimates_in_every_situation(seed: int) -> None:
    """Cuts never count too many actions, and no situation with a plan is given up."""
    try:
        task, relaxation, budget = _relaxed(exhaustive.drawn(seed))
    except Unsolvable:
        return
    space = exhaustive.explore(task.problem, 300, task.table)
    supplies = Consumables(task, relaxation)
    planner = RelaxedPlanner(relaxation, supplies, budget)
    finder = CutFinder(relaxation, supplies, budget)
    nodes = list(space.distances)
    random.Random(seed).shuffle(nodes)
    for state, standing in nodes:
        facts = relaxation.facts(state, standing)
        estimate, cuts = planner.estimate(facts), finder.find(facts, ())
        assert (estimate is None) == (cuts is None)
        to_go = space.to_go.get((state, standing))
        if to_go is not None:
            assert estimate is not None
            assert cuts is not None
            assert len(cuts) <= to_go
        if estimate is not None:
            applicable = [a.applicable(state) for a in task.actions]
            assert all(applicable[n] for n in range(len(applicable)) if estimate.helpful >> n & 1)


@strategies.examples(100)
@given(strategies.SEEDS)
def test_every_plan_meets_every_landmark(seed: int) -> None:
    try:
        task, relaxation, budget = _relaxed(exhaustive.drawn(seed))
    except Unsolvable:
        return
    facts = relaxation.facts(task.init, task.start)
    landmarks = Landmarks(relaxation, facts, budget)
    space = exhaustive.explore(task.problem, 1_000, task.table)
    if space.shortest is None:
        return
    state, standing = task.init, task.start
    accepted = landmarks.accept(0, facts)
    # Of a disjunction, each part may be reached at no cost; a window is no landmark.
    told = {each.operator for each in task.problem.constraints}
    sure = task.problem.domain.name == 'blocksworld' and 'hold-during' not in told
    for left in range(space.shortest, 0, -1):
        if sure:
            assert landmarks.count(accepted, relaxation.facts(state, standing)) > 0
        state, standing = next(
            node
            for number, action in enumerate(task.actions)
            if action.applicable(state)
            and space.to_go.get(node := task.follow(number, state, standing)) == left - 1
        )
        accepted = landmarks.accept(accepted, relaxation.facts(state, standing))
    assert landmarks.count(accepted, relaxation.facts(state, standing)) == 0


def test_actions_that_always_break_a_constraint_are_impossible() -> None:
    task, relaxation, _ = _relaxed(three_blocks('(on a b)', '(always (not (on-table c)))'))
    steps = [str(task.actions[number].step) for number in relaxation.impossible]
    assert steps == ['(putdown c)']


@pytest.mark.parametrize(
    ('constraints', 'length'),
    [
        ('(and)', 2),
        ('(sometime (on b a))', 5),
        ('(sometime-before (on a c) (on b a))', 5),
        ('(always (not (and (holding a) (on c b))))', 3),
        ('(at end (holding b))', 4),
        ('(within 9 (on b a))', 8),  # three of its actions have to come in time
        ('(sometime-after (on a c) (holding b))', 4),
        ('(always-within 3 (on a c) (holding b))', 4),
    ],
)
def test_relaxed_plans_see_what_a_constraint_asks_for(constraints: str, length: int) -> None:
    task, relaxation, budget = _relaxed(three_blocks('(on a c)', constraints))
    facts = relaxation.facts(task.init, task.start)
    estimate = RelaxedPlanner(relaxation, Consumables(task, relaxation), budget).estimate(facts)
    assert estimate is not None
    assert estimate.length == length


@pytest.mark.parametrize(
    'constraints',
    [
        '(sometime-before (on a c) (and (on a c) (clear b)))',
        '(and (sometime-before (on a c) (holding b)) (sometime-before (holding b) (on a c)))',
        '(always (not (holding a)))',
        '(and (sometime-after (on a c) (on c a)) (always (not (on c a))))',
    ],
)
def test_some_contradictions_are_seen_without_search(constraints: str) -> None:
    task, relaxation, budget = _relaxed(three_blocks('(on a c)', constraints))
    facts = relaxation.facts(task.init, task.start)
    assert RelaxedPlanner(relaxation, Consumables(task, relaxation), budget).estimate(facts) is None
    assert CutFinder(relaxation, Consumables(task, relaxation), budget).find(facts, ()) is None


def _drawn_condition(seed: int) -> tuple[random.Random, Problem, AtomTable, Condition]:
    rng = random.Random(seed)
    problem = strategies.toggles(rng)
    table = AtomTable(problem)
    formula = strategies.formula(rng, problem.domain, problem.objects)
    return rng, problem, table, condition(formula, table)


@strategies.examples(150)
@given(strategies.SEEDS)
def test_regression_tells_before_an_action_what_holds_after_it(seed: int) -> None:
    rng, problem, table, formula = _drawn_condition(seed)
    after = compile_test(formula)
    for action in Grounder(problem, table).all_actions()[:20]:
        before = compile_test(regress(formula, action))
        for _ in range(10):
            state = rng.getrandbits(len(table))
            assert before(state) == after(action.apply(state))


@strategies.examples(150)
@given(strategies.SEEDS)
def test_negations_and_assumptions(seed: int) -> None:
    rng, _, table, formula = _drawn_condition(seed)
    holds, fails = compile_test(formula), compile_test(negation(formula))
    for _ in range(20):
        state, known = rng.getrandbits(len(table) + 1), rng.getrandbits(len(table) + 1)
        assert holds(state) != fails(state)
        true, false = state & known, ~state & known
        simpler = assume(formula, true, false)
        assert not simpler.mask & known
        assert compile_test(simpler)(state) == holds(state)
        assert holds(state) or not follows(formula, true, false)
