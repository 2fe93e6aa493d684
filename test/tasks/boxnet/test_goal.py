# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A map as a task of the stack: steps as actions, states as atoms, and the watch over both."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import examples

from safegen_ros.datasets.boxnet.draw import tasks
from safegen_ros.errors import Canceled, ErrorCode, RobotError, SafegenError
from safegen_ros.paths import data_path
from safegen_ros.pddl.plan import Step
from safegen_ros.robot.cell.execution import carry_out
from safegen_ros.tasks.boxnet.atoms import atoms, state_of
from safegen_ros.tasks.boxnet.goal import BoxnetGoal
from safegen_ros.tasks.boxnet.prompts import EXAMPLE, EXAMPLE_PLAN
from safegen_ros.tasks.boxnet.verifier import judge, verify
from safegen_ros.tasks.cells import CellSetup
from safegen_ros.tasks.context import StepAnswer
from safegen_ros.tasks.table import read_action_task
from safegen_ros.tasks.task import WorldJob
from safegen_ros.verdict import Category

GOAL = BoxnetGoal(EXAMPLE, EXAMPLE.to_json())
STEPS = GOAL.steps_of(EXAMPLE_PLAN)


@pytest.mark.parametrize('flat', [True, False])
def test_a_search_ends_with_its_time_and_when_it_is_cancelled(flat: bool) -> None:
    path = data_path(f'examples/boxnet/{"" if flat else "ur5e_"}hand_over.json')
    goal = read_action_task(path.read_text(encoding='utf-8'), format='boxnet')
    assert isinstance(goal, BoxnetGoal)
    for seconds, cancelled in ((0.0, lambda: False), (60.0, lambda: True)):
        with pytest.raises(Canceled, match='was given up'):
            goal.solve(seconds, cancelled)
    assert goal.verify(goal.solve(60.0)).ok


@examples(10)
@given(st.integers(0, 10_000))
def test_a_plan_as_actions_is_the_same_plan(seed: int) -> None:
    task = next(tasks((3, 2), 2, f'goal {seed}'))
    goal = BoxnetGoal(task, task.to_json())
    text = goal.solve(10.0)
    steps = goal.steps_of(text)
    again = goal.answer_of(steps)
    assert goal.steps_of(again) == steps
    assert goal.verify(again) == goal.verify(text)
    judged = judge(task, verify(task, text).plan)
    assert all(state_of(task, atoms(state)) == state for state in judged.states)
    cell = goal.cell(CellSetup())
    outcome = carry_out(WorldJob(goal, steps, cell, goal.monitor(steps)), time_budget_s=60.0)
    assert outcome.error_code is ErrorCode.NONE
    assert state_of(task, cell.observe()) == judged.states[-1]
    assert all(holds for _, holds in goal.conditions(cell.observe()))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(['move', 'carry', 'fly', '']),
            st.lists(
                st.sampled_from(['robot0', 'robot9', '0.25', '-1', 'nan', '1e9', 'x']), max_size=6
            ),
        ),
        max_size=3,
    )
)
def test_any_actions_are_a_verdict_or_a_refusal(said: list[tuple[str, list[str]]]) -> None:
    step = tuple(Step(name, tuple(arguments)) for name, arguments in said)
    cell, told = GOAL.cell(CellSetup(facts=lambda time, state, unseen: told.append(time))), []
    try:
        job = WorldJob(GOAL, (step,), cell, GOAL.monitor((step,)))
    except SafegenError as refused:
        code = refused.code
    else:
        code = carry_out(job, time_budget_s=60.0).error_code
    assert code is ErrorCode.PLAN_REFUSED
    assert not told


@pytest.mark.parametrize(
    ('plan', 'category'),
    [
        (STEPS, Category.SUCCESS),
        (STEPS[:2], Category.GOAL_NOT_SATISFIED),
        (STEPS[1:], Category.PRECONDITION_VIOLATION),
        ((STEPS[0] + STEPS[0][:1], *STEPS[1:]), Category.UNKNOWN),  # one robot moves twice
    ],
)
def test_a_plan_that_is_not_proved_moves_nothing(plan: tuple, category: Category) -> None:
    told: list[float] = []
    cell = GOAL.cell(CellSetup(facts=lambda time, state, unseen: told.append(time)))
    job = WorldJob(GOAL, plan, cell, GOAL.monitor(STEPS))
    outcome = carry_out(job, time_budget_s=60.0)
    assert outcome.verdict.category is category
    assert (outcome.error_code is ErrorCode.NONE) == (category is Category.SUCCESS)
    assert bool(told) == outcome.verdict.ok


def test_one_step_need_not_reach_the_goal_but_has_to_be_right() -> None:
    first = GOAL.answer_of(STEPS[:1], step_by_step=True)
    assert GOAL.verify(first, step_by_step=True).ok
    assert GOAL.verify('', step_by_step=True).ok
    late = GOAL.answer_of(STEPS[1:2], step_by_step=True)
    assert GOAL.verify(late, step_by_step=True).category is Category.PRECONDITION_VIOLATION
    with pytest.raises(SafegenError, match='send the next'):
        GOAL.answer_of(STEPS[:2], step_by_step=True)


def test_the_monitor_says_which_arm_is_where() -> None:
    monitor = GOAL.monitor(STEPS)
    monitor.look(GOAL.init)
    state = judge(EXAMPLE, verify(EXAMPLE, EXAMPLE_PLAN).plan).states[1]
    tips = (EXAMPLE.start.tips[0], *state.tips[1:])
    with pytest.raises(RobotError, match=r'the tip of Robot 0 is at \[1.25, 1.25\], not at'):
        monitor.look(atoms(replace(state, tips=tips)))
    rest = monitor.remaining()
    assert rest is not None
    domain, text = GOAL.rest(rest)
    assert not domain
    assert BoxnetGoal(rest, text).init == atoms(replace(state, tips=tips))


def test_two_boxes_at_one_place_are_worse_than_a_difference() -> None:
    monitor = GOAL.monitor(STEPS)
    monitor.look(GOAL.init)
    one = EXAMPLE.start.objects[0]
    with pytest.raises(RobotError) as caught:
        monitor.look(atoms(replace(EXAMPLE.start, objects=(one, one))))
    assert caught.value.code is ErrorCode.MONITOR_VIOLATION
    assert monitor.remaining() is None
    assert {status.value for _, status in monitor.standings()} == {'violated'}


@pytest.mark.parametrize(
    'observed', [frozenset(), GOAL.init - {min(GOAL.init)}, GOAL.init | {('x',)}]
)
def test_what_is_no_state_is_no_observation(observed: frozenset) -> None:
    with pytest.raises(RobotError) as caught:
        GOAL.monitor(STEPS).look(observed)
    assert caught.value.code is ErrorCode.STATE_MISMATCH


def test_answers_that_were_given_lead_to_the_same_end() -> None:
    answers = ['no', *(GOAL.answer_of((step,), step_by_step=True) for step in STEPS)]
    told: list[StepAnswer] = []
    verdict = GOAL.replay(answers, told.append)
    assert verdict.ok
    assert [each.verdict.ok for each in told] == [False, True, True, True, True]
    assert tuple(step for each in told for step in each.steps) == STEPS
    assert GOAL.replay(answers[:3], told.append).category is Category.GOAL_NOT_SATISFIED
