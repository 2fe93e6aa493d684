# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans with their reasons: what the comments say is true, and the plan stays the plan."""

from __future__ import annotations

import re
from random import Random

import pytest

from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import AtomFormula, conjuncts
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.pddl.writer import atom_text, formula_text
from safegen_ros.search.budget import Budget
from safegen_ros.search.in_process import solve_in_process
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.prompts.reasons import reasoned_text
from safegen_ros.tasks.pddl3.task import load_task


def split(comment: str) -> tuple[str, str]:
    """What a comment says that a step is for, and what it says that it needs."""
    aims, mark, needs = comment.partition(':')
    return (aims, needs) if mark else ('', aims)


TOWER = """
(define (problem tower) (:domain blocksworld) (:objects a b c)
  (:init (arm-empty) (on-table a) (on b a) (clear b) (on-table c) (clear c))
  (:goal (and (on a c) (on-table b))))
"""


def test_each_step_says_what_it_is_for_and_what_it_needs() -> None:
    task = load_task(TOWER)
    plan = parse_plan('(unstack b a) (putdown b) (pickup a) (stack a c)')
    assert reasoned_text(plan, task.problem) == (
        '; (on-table b) (holding b): (on b a) (clear b) (arm-empty)\n(unstack b a)\n'
        '; (on-table b): (holding b)\n(putdown b)\n'
        '; (on a c) (holding a): (clear a) (on-table a) (arm-empty)\n(pickup a)\n'
        '; (on a c): (clear c) (holding a)\n(stack a c)'
    )


def test_a_step_behind_the_goal_is_for_nothing_more() -> None:
    task = load_task(TOWER.replace('(and (on a c) (on-table b))', '(on b a)'))
    plan = parse_plan('(pickup c) (putdown c)')
    assert reasoned_text(plan, task.problem).startswith('; (clear c) (on-table c) (arm-empty)\n')


@pytest.mark.parametrize('name', sorted(kits()))
def test_what_is_said_is_true(name: str) -> None:
    kit = kits()[name]
    size = kit.checked({each.name: each.paper[0] for each in kit.parameters})
    for seed in range(5):
        text = kit.text(f't{seed}', kit.draw(Random(seed), size))  # no secret
        problem = load_task(text).problem
        plan = solve_in_process(problem, Budget(5.0, 1024.0)).plan
        told = reasoned_text(plan, problem)
        assert parse_plan(told) == plan
        table = AtomTable(problem)
        grounder, state = Grounder(problem, table), table.encode(problem.init)
        goal = {formula_text(p) for p in conjuncts(problem.goal) if isinstance(p, AtomFormula)}
        for comment, step in zip(told.splitlines()[::2], plan.steps, strict=True):
            aims, needs = (re.findall(r'\([^()]*\)', part) for part in split(comment))
            holds = {atom_text(atom) for atom in table.atoms(state)}
            after = grounder.ground(step).apply(state)
            assert {*needs} <= holds
            assert not aims or aims[0] in goal
            assert {*aims[-1:]} <= {atom_text(atom) for atom in table.atoms(after)} - holds
            state = after
