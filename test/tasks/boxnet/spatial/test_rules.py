# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The rules of BoxNet3D: named faults, and a second oracle that shares no code with them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.boxnet_planner import ScriptedPlanner
from support.strategies import examples

from safegen_ros.benchmarks.boxnet.spatial import random_state, random_step
from safegen_ros.datasets.boxnet.draw import UNSOLVABLE, tasks
from safegen_ros.datasets.boxnet.recipe import blocks, load_recipe, scaled
from safegen_ros.datasets.boxnet.rows import check_row, compute_block, row_of
from safegen_ros.llm.backend import Sampling
from safegen_ros.robot.arms import FAMILIES
from safegen_ros.tasks.boxnet.answers import read_plan
from safegen_ros.tasks.boxnet.astar import NoPlan, certificate, plan_as_paper, proves
from safegen_ros.tasks.boxnet.decoding_mask import Admissible
from safegen_ros.tasks.boxnet.findings import Fault, Finding
from safegen_ros.tasks.boxnet.geometry import UNIT
from safegen_ros.tasks.boxnet.model import BoxnetError, State, Step, plan_json, step_json
from safegen_ros.tasks.boxnet.optimal import solve
from safegen_ros.tasks.boxnet.planner import NEXT, PlannerOptions, plan_with_model
from safegen_ros.tasks.boxnet.prompts import plan_prompt
from safegen_ros.tasks.boxnet.reader import task_of
from safegen_ros.tasks.boxnet.spatial import SpatialTask
from safegen_ros.tasks.boxnet.spatial.depth import ANALYTIC
from safegen_ros.tasks.boxnet.spatial.kinematic import KINEMATIC
from safegen_ros.tasks.boxnet.spatial.planning import Bounds
from safegen_ros.tasks.boxnet.spatial.prompts import example
from safegen_ros.tasks.boxnet.verifier import StepRules, judge, take_step, verify, verify_step

TASK, PLAN = example()


def values(**changes: object) -> dict[str, object]:
    return json.loads(TASK.to_json()) | changes


def verdict(*steps: dict[str, str], task: SpatialTask = TASK) -> Fault:
    found = verify(task, json.dumps(steps))
    assert found.fault is not None
    return found.fault


def test_a_task_comes_back_from_its_json() -> None:
    again = task_of(TASK.to_json(), 'test')
    assert again == TASK
    assert isinstance(again, SpatialTask)


@pytest.mark.parametrize(
    ('changes', 'what'),
    [
        ({'arm': 'puma'}, "arm 'puma' is not known"),
        ({'arm': 7}, 'arm: must be a text'),
        ({'tips': [[1.3, 1.1], [2.33, 0.61]]}, 'out of reach of Robot 0'),
        ({'bases': [[1.0, 1.1], [2.2, 1.1]]}, 'at no joint of the grid'),
        ({'objects': [[0.55, 0.55], [0.6, 0.55]]}, 'keep them 0.1 m apart'),
        ({'tips': [[1.65, 0.61], [1.7, 0.61]]}, 'keep them 0.1 m apart'),
        ({'targets': [[2.75, 0.55], [1e9, 1.65]]}, 'far outside of every map'),
        ({'width': 99}, 'width is 99'),
    ],
)
def test_what_is_no_task_is_named(changes: dict[str, object], what: str) -> None:
    with pytest.raises(BoxnetError, match=what):
        task_of(json.dumps(values(**changes)), 'test')


@pytest.mark.parametrize(
    ('step', 'finding'),
    [
        ({'Robot 0': 'Move [0.55, 0.55], True'}, Finding.NOTHING_TO_CARRY),
        ({'Robot 7': 'Move [0.55, 0.55], False'}, Finding.UNKNOWN_ROBOT),
        ({'Robot 0': 'Move [nan, 0.55], False'}, Finding.UNPARSEABLE),
        ({'Robot 0': 'Move [1e5, 0.55], False'}, Finding.UNPARSEABLE),
        ({'Robot 0': 'Move [99999999, 0.55], False'}, Finding.UNPARSEABLE),
        ({'Robot 0': 'Move [0.55, 0.55]'}, Finding.UNPARSEABLE),
        ({'Robot 0': 'Move [2.75, 0.55], False'}, Finding.UNREACHABLE),
        ({'Robot 0': 'Move [1.2, 1.1], False'}, Finding.UNREACHABLE),
        ({'Robot 0': 'Move [2.33, 0.61], False'}, Finding.UNREACHABLE),
    ],
)
def test_bad_moves_have_names(step: dict[str, str], finding: Finding) -> None:
    assert verdict(step).finding is finding


def test_a_robot_that_is_named_twice_is_refused() -> None:
    twice = '[{"Robot 0": "Move [0.55, 0.55], False", "Robot 0": "Move [0.55, 1.65], False"}]'
    assert verify(TASK, twice).finding is Finding.REPEATED_ROBOT


def test_the_comma_and_the_word_may_be_left_out() -> None:
    step = '{"Robot 0": "Move [0.55, 0.55] False", "Robot 1": "[2.75, 1.65], False"}'
    assert verify_step(TASK, TASK.start, step).verdict.ok


def test_two_arms_at_one_point_collide_there() -> None:
    fault = verdict({'Robot 0': 'Move [1.65, 0.55], False', 'Robot 1': 'Move [1.65, 0.55], False'})
    assert (fault.finding, fault.robots) == (Finding.ROBOT_COLLISION, (0, 1))
    assert fault.point is not None
    assert [float(value) for value in fault.point] == pytest.approx([1.65, 0.55], abs=0.06)


def test_an_arm_that_does_nothing_is_in_the_way() -> None:
    fault = verdict(
        {'Robot 0': 'Move [1.65, 0.55], False'}, {'Robot 1': 'Move [1.65, 0.55], False'}
    )
    assert (fault.finding, fault.step) == (Finding.ROBOT_COLLISION, 1)
    assert 'Robot 0 does nothing' in fault.reason


def test_an_arm_must_not_pass_over_a_box() -> None:
    state = State(
        ((550_000, 1_650_000), TASK.start.tips[1]), ((322_183, 1_100_000), (2_750_000, 1_650_000))
    )
    step = (TASK.move(0, state.tips[0], (550_000, 550_000), False),)
    found = take_step(TASK, state, step)
    assert isinstance(found, Fault)
    assert (found.finding, found.robots, found.objects) == (
        Finding.ROBOT_OBJECT_COLLISION, (0,), (0,)
    )  # fmt: skip


def test_a_box_is_taken_along_from_nearby_and_ends_at_the_tip() -> None:
    near = State(((610_000, 550_000), TASK.start.tips[1]), TASK.start.objects)
    found = take_step(TASK, near, (TASK.move(0, near.tips[0], (1_650_000, 550_000), True),))
    assert isinstance(found, State)
    assert found.objects[0] == (1_650_000, 550_000)
    far = State(((650_000, 550_000), TASK.start.tips[1]), TASK.start.objects)
    found = take_step(TASK, far, (TASK.move(0, far.tips[0], (1_650_000, 550_000), True),))
    assert isinstance(found, Fault)
    assert found.finding is Finding.NOTHING_TO_CARRY


def test_links_meet_where_tips_do_not() -> None:
    """Two tips far enough apart for the rules, whose wrists are not."""
    tips = (1_400_000, 500_000), (2_330_000, 610_000)
    state = State(tips, ((550_000, 1_650_000), (2_750_000, 1_650_000)))
    step = (TASK.move(1, tips[1], (1_500_000, 750_000), False),)
    assert isinstance(take_step(TASK, state, step), State)
    found = take_step(replace(TASK, rules=KINEMATIC), state, step)
    assert isinstance(found, Fault)
    assert found.robots == (1, 0)
    assert 'the second wrist of Robot 1 meets the forearm of Robot 0' in found.reason


# An independent oracle: points 2 mm apart along arcs that it computes itself, all pairs.

STEP_M, UNDECIDED_M = 0.002, 0.004


def arcs(task: SpatialTask, robot: int, start: tuple[int, int], end: tuple[int, int]) -> list:
    base = np.array(task.bases[robot]) / UNIT
    (r0, a0), (r1, a1) = (
        (math.hypot(*(np.array(p) / UNIT - base)), math.atan2(*(np.array(p) / UNIT - base)[::-1]))
        for p in (start, end)
    )
    turn = (a1 - a0 + math.pi) % (2 * math.pi) - math.pi
    turned = [math.pi, -math.pi] if abs(abs(turn) - math.pi) < 1e-9 else [turn]
    found = []
    for each in turned:
        count = max(2, int((abs(each) * max(r0, r1) + abs(r1 - r0)) / STEP_M) + 1)
        share = np.linspace(0, 1, count)
        radius, angle = r0 + share * (r1 - r0), a0 + share * each
        found.append(base + np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1))
    return found


def oracle(task: SpatialTask, state: State, step: Step) -> bool | None:
    """Whether the rules allow a step; None where it is too close to call."""
    reach = [math.hypot(*(np.subtract(m.end, task.bases[m.robot]) / UNIT)) for m in step]
    if any(min(abs(d - 0.4), abs(d - 0.8)) < 1e-5 for d in reach):
        return None
    if not all(0.4 < d < 0.8 for d in reach):
        return False
    carried = {}
    for m in step:
        near = [math.dist(m.start, p) / UNIT for p in state.objects]
        if m.carry:
            if min(near) >= 0.1:
                return False
            carried[m.robot] = near.index(min(near))
    ways = [[]]
    for m in step:
        ways = [[*w, arc] for w in ways for arc in arcs(task, m.robot, m.start, m.end)]
    idle = [r for r in range(len(task.bases)) if r not in {m.robot for m in step}]
    tips = [np.array([state.tips[r]]) / UNIT for r in idle]
    best = -math.inf
    for chosen in ways:
        gaps = [math.inf]
        for at, (m, way) in enumerate(zip(step, chosen, strict=True)):
            solid = [*chosen[at + 1 :], *tips]
            solid += [
                np.array([p]) / UNIT
                for index, p in enumerate(state.objects)
                if index not in carried.values()
                and min(math.dist(m.start, p), math.dist(m.end, p)) / UNIT >= 0.1
            ]
            for other in solid:
                gaps.append(np.linalg.norm(way[:, None] - other[None], axis=-1).min())
        best = max(best, min(gaps))
    after = list(state.objects)
    for m in step:
        if m.robot in carried:
            after[carried[m.robot]] = m.end
    if carried:
        pairs = [math.dist(p, q) / UNIT for n, p in enumerate(after) for q in after[:n]]
        best = min([best, *pairs])
    moved = [m for m in step if m.carry]
    for n, one in enumerate(moved):
        for other in moved[:n]:
            share = np.linspace(0, 1, 1001)[:, None]
            p, q = (
                np.array(m.start) / UNIT + share * np.subtract(m.end, m.start) / UNIT
                for m in (one, other)
            )
            line = np.linalg.norm(p[:, None] - q[None], axis=-1).min()
            if line < UNDECIDED_M:
                return None if best >= 0.1 - UNDECIDED_M else False
    return None if abs(best - 0.1) < UNDECIDED_M else bool(best > 0.1)


@given(st.integers(0, 10**9))
@examples(40)
def test_the_rules_agree_with_an_oracle_of_its_own(seed: int) -> None:
    random = Random(seed)
    size, objects = (random.randint(2, 4), random.randint(2, 4)), random.randint(1, 3)
    task = next(tasks(size, objects, str(seed), arm='ur5e'))
    assert isinstance(task, SpatialTask)
    state = random_state(task, random)
    if state is None:
        return
    step = random_step(task, state, random)
    wanted = oracle(task, state, step)
    if wanted is not None:
        assert isinstance(take_step(task, state, step), State) == wanted


@given(st.text(max_size=60))
@examples(50)
def test_any_value_gets_a_verdict(text: str) -> None:
    assert not verify(TASK, json.dumps([{'Robot 0': text}])).verdict.ok


RECIPE = Path(__file__).parents[4] / 'config' / 'boxnet' / 'paper3d.json'

arms = pytest.mark.parametrize('arm', FAMILIES)


def drawn(count: int, size: tuple[int, int], objects: int, arm: str = 'ur5e') -> list[SpatialTask]:
    found = list(islice(tasks(size, objects, 'planning', arm=arm), count))
    assert all(isinstance(task, SpatialTask) for task in found)
    return found  # type: ignore[return-value]


@pytest.mark.parametrize('depth', [ANALYTIC, KINEMATIC], ids=lambda depth: depth.name)
def test_plans_solve_their_tasks_by_the_rules_they_were_made_for(depth: StepRules) -> None:
    for task in drawn(3, (3, 2), 2):
        judged_by = replace(task, rules=depth)
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
        assert judge(replace(task, rules=depth), plan).verdict.ok
    told = plan_prompt(task, whole=True)
    assert plan_json(plan) in told
    shown = told[told.index('```json\n[') + 8 :].split('```')[0]
    assert read_plan(shown, task.robots, task.form(task.start)).plan == plan
    assert '<observation>' in plan_prompt(task, whole=False)
    assert 'Move [' in plan_prompt(task, whole=False)


def test_the_numbers_in_the_rules_are_those_of_the_arms() -> None:
    assert '0.4 < d < 0.8' in plan_prompt(example('ur5e')[0], whole=True)
    told = plan_prompt(example('mycobot_280')[0], whole=True)
    assert '0.16 < d < 0.27' in told
    assert 'between 142 and 182 degrees' in told


def test_moves_to_choose_from_can_all_be_taken() -> None:
    task = drawn(1, (3, 3), 3)[0]
    admissible = Admissible(task)
    moves = [move for move, may in admissible.weighed(task.start, ()) if may]
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
    task = replace(task, rules=depth)
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
