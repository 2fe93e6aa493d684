# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a plan does not need is left out, and what constraints need is kept."""

from __future__ import annotations

from hypothesis import given, settings
from support import exhaustive, strategies
from support.plans import make_plan

from safegen_ros.pddl.plan import Plan
from safegen_ros.pddl.reader import read_problem
from safegen_ros.search.best_first import GreedySearch
from safegen_ros.search.budget import Budget
from safegen_ros.search.in_process import shortened
from safegen_ros.search.relaxation import Relaxation
from safegen_ros.search.task import SearchTask
from safegen_ros.verify.validator import verify

TEXT = """(define (problem small) (:domain blocksworld) (:objects a b c)
  (:init (arm-empty) (on-table a) (on-table b) (on c b) (clear a) (clear c))
  (:goal (on a c)) (:constraints {}))"""
DETOUR = [
    ('unstack', 'c', 'b'), ('putdown', 'c'), ('pickup', 'b'), ('putdown', 'b'), ('pickup', 'c'),
    ('stack', 'c', 'b'), ('pickup', 'a'), ('stack', 'a', 'c'),
]  # fmt: skip


def _shortened(constraints: str) -> list[tuple[str, ...]]:
    task = SearchTask(
        read_problem(TEXT.format(constraints), strategies.BLOCKSWORLD), Budget(60.0, 500.0)
    )
    numbers = {action.step: number for number, action in enumerate(task.actions)}
    kept = shortened(task, [numbers[step] for step in make_plan(DETOUR).steps])
    plan = Plan(tuple(task.actions[number].step for number in kept))
    assert verify(task.problem, plan).ok
    return [(step.action, *step.arguments) for step in plan.steps]


def test_detours_are_left_out() -> None:
    assert _shortened('(and)') == DETOUR[-2:]


def test_a_detour_that_a_constraint_asks_for_is_kept() -> None:
    assert _shortened('(sometime (holding b))') == [*DETOUR[:4], *DETOUR[-2:]]
    assert _shortened('(sometime (on-table c))') == [*DETOUR[:2], *DETOUR[-2:]]


@settings(strategies.SUITE, max_examples=60)
@given(strategies.SEEDS)
def test_what_is_left_is_a_plan(seed: int) -> None:
    problem = exhaustive.solvable_problem(seed)
    budget = Budget(60.0, 500.0)
    task = SearchTask(problem, budget)
    found = GreedySearch(task, Relaxation(task, budget), budget).plan()
    kept = shortened(task, found)
    assert len(kept) <= len(found)
    assert verify(problem, Plan(tuple(task.actions[number].step for number in kept))).ok
