# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Planners, prompts, choices and datasets of BoxNet3D."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from support.boxnet_planner import ScriptedPlanner

from safegen_ros.datasets.boxnet.draw import UNSOLVABLE, tasks
from safegen_ros.datasets.boxnet.recipe import blocks, load_recipe, scaled
from safegen_ros.datasets.boxnet.rows import check_row, compute_block, row_of
from safegen_ros.llm.backend import Sampling
from safegen_ros.robot.arms.known import FAMILIES
from safegen_ros.tasks.boxnet.answers import read_plan
from safegen_ros.tasks.boxnet.astar import NoPlan, certificate, plan_as_paper, proves
from safegen_ros.tasks.boxnet.decoding_mask import Admissible
from safegen_ros.tasks.boxnet.findings import Finding
from safegen_ros.tasks.boxnet.model import State, plan_json, step_json
from safegen_ros.tasks.boxnet.optimal import solve
from safegen_ros.tasks.boxnet.planner import FILTER, NEXT, PlannerOptions, plan_with_model
from safegen_ros.tasks.boxnet.prompts import full_prompt, step_prompt
from safegen_ros.tasks.boxnet.spatial.depth import ANALYTIC
from safegen_ros.tasks.boxnet.spatial.kinematic import KINEMATIC
from safegen_ros.tasks.boxnet.spatial.model import SpatialTask
from safegen_ros.tasks.boxnet.spatial.planning import Bounds
from safegen_ros.tasks.boxnet.spatial.prompts import example
from safegen_ros.tasks.boxnet.verifier import StepRules, judge, take_step, verify

RECIPE = Path(__file__).parents[4] / 'config' / 'boxnet' / 'paper3d.json'

arms = pytest.mark.parametrize('arm', FAMILIES)


def drawn(count: int, size: tuple[int, int], objects: int, arm: str = 'ur5e') -> list[SpatialTask]:
    found = list(islice(tasks(size, objects, 'planning', arm=arm), count))
    assert all(isinstance(task, SpatialTask) for task in found)
    return found  # type: ignore[return-value]


@pytest.mark.parametrize('depth', [ANALYTIC, KINEMATIC], ids=lambda depth: depth.name)
def test_plans_solve_their_tasks_by_the_rules_they_were_made_for(depth: StepRules) -> None:
    for task in drawn(3, (3, 2), 2):
        judged_by = replace(task, depth=depth)
        found = solve(judged_by)
        assert judge(judged_by, found.plan).verdict.ok
        assert len(found.plan) >= found.lower_bound


def test_the_plan_of_the_paper_planner_is_never_shorter_than_the_bound() -> None:
    found = 0
    for task in drawn(4, (3, 2), 2):
        plan = plan_as_paper(task)
        if plan is not None:
            found += 1
            assert judge(task, plan).verdict.ok
            assert len(plan) >= Bounds(task).of(task.start)
    assert found >= 2


def test_along_a_plan_the_bound_is_never_above_the_steps_that_are_left() -> None:
    for task in drawn(3, (3, 3), 2):
        bounds, plan = Bounds(task), solve(task).plan
        for done, state in enumerate(judge(task, plan).states):
            assert bounds.of(state) <= len(plan) - done
        assert bounds.of(task.start) > 0


def test_what_no_robot_can_hand_over_is_proved_unsolvable() -> None:
    task = next(tasks((3, 3), 1, 'planning', variant=UNSOLVABLE, arm='ur5e'))
    proof = certificate(task)
    assert proof is not None
    assert proves(proof, task)
    with pytest.raises(NoPlan, match='cannot be brought'):
        solve(task)


@arms
def test_the_worked_example_of_the_prompts_is_right_at_both_depths(arm: str) -> None:
    task, plan = example(arm)
    for depth in (ANALYTIC, KINEMATIC):
        assert judge(replace(task, depth=depth), plan).verdict.ok
    told = full_prompt(task)
    assert plan_json(plan) in told
    shown = told[told.index('```json\n[') + 8 :].split('```')[0]
    assert read_plan(shown, task.robots, task.form(task.start)).plan == plan
    assert '<observation>' in step_prompt(task)
    assert 'Move [' in step_prompt(task)


def test_the_numbers_in_the_rules_are_those_of_the_arms() -> None:
    assert '0.4 < d < 0.8' in full_prompt(example('ur5e')[0])
    told = full_prompt(example('mycobot_280')[0])
    assert '0.16 < d < 0.27' in told
    assert 'between 142 and 182 degrees' in told


def test_moves_to_choose_from_can_all_be_taken() -> None:
    task = drawn(1, (3, 3), 3)[0]
    admissible = Admissible(task)
    moves = admissible.moves(task.start)
    assert moves
    for move in moves:
        assert isinstance(take_step(task, task.start, (move,)), State)
    text = plan_json([tuple(moves)])
    kept = admissible.filtered_plan(read_plan(text, task.robots, task.form(task.start)).plan)
    assert kept
    assert verify(task, plan_json(kept)).fault is not None  # not solved yet, but never refused
    assert len(judge(task, kept).states) == len(kept) + 1


def test_rows_of_a_recipe_are_what_they_promise() -> None:
    recipe = scaled(load_recipe(RECIPE), 9)
    block = next(b for b in blocks(recipe.splits[1]) if b.rows and b.objects < 3)
    lines = compute_block(block, recipe.seed)
    assert lines == compute_block(block, recipe.seed)
    for line in lines.decode().splitlines():
        row = row_of(json.loads(line), 'test')
        assert isinstance(row.task, SpatialTask)
        check_row(row, block)


@pytest.mark.parametrize('depth', [ANALYTIC, KINEMATIC], ids=lambda depth: depth.name)
def test_a_model_plans_whole_and_step_by_step_inside_the_loop(depth: StepRules) -> None:
    task, plan = example('ur5e')
    task = replace(task, depth=depth)
    bad = '[{"Robot 0": "Move [1.65, 0.55], False", "Robot 1": "Move [1.65, 0.55], False"}]'
    answers = iter([bad, plan_json(plan)])
    backend = ScriptedPlanner(lambda messages, sampling: next(answers))
    done = plan_with_model(task, backend, Sampling(0.0), PlannerOptions(attempts=2))
    assert done.judged.verdict.ok
    assert 'Robot 0 and Robot 1 collide' in backend.asked[1][0][-1]['content']
    steps = iter(plan)
    backend = ScriptedPlanner(lambda messages, sampling: step_json(next(steps)))
    done = plan_with_model(task, backend, Sampling(0.0), PlannerOptions(mode=NEXT))
    assert done.judged.verdict.ok
    assert done.judged.plan == plan


def test_no_move_out_of_reach_or_into_a_collision_passes_the_filter() -> None:
    task, _ = example('ur5e')
    said = (
        '[{"Robot 0": "Move [0.55, 0.55], False", "Robot 1": "Move [0.55, 1.65], False"},'
        ' {"Robot 0": "Move [1.65, 0.55], True", "Robot 1": "Move [1.65, 0.55], False"}]'
    )
    backend = ScriptedPlanner(lambda messages, sampling: said)
    done = plan_with_model(task, backend, Sampling(0.0), PlannerOptions(shield=FILTER))
    assert done.judged.finding is Finding.INCOMPLETE
    assert done.judged.states[-1].objects[0] == (1_650_000, 550_000)
