# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tasks of other worlds through the nodes: many arms as a plan, a household step by step."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.goals import WAIT_S, Feedback
from support.kept_runs import assert_same_again
from support.one_process import Stack
from support.waiting import wait_until

from safegen_msgs.action import ExecutePlan
from safegen_msgs.msg import MonitorStatus, Task
from safegen_ros.client import Options
from safegen_ros.errors import ErrorCode
from safegen_ros.paths import data_path
from safegen_ros.record.replay import reexecute, why_not_executed
from safegen_ros.robot.cell.execution import ConcurrentStep
from safegen_ros.robot.scene import load_scene
from safegen_ros.ros import conversions, qos
from safegen_ros.tasks.boxnet import goal as world
from safegen_ros.tasks.boxnet.goal import BoxnetGoal
from safegen_ros.tasks.boxnet.model import State
from safegen_ros.tasks.household.episode import run_episode
from safegen_ros.tasks.household.runs import clean_task
from safegen_ros.tasks.household.scripted import GoalAgent
from safegen_ros.tasks.table import read_action_task
from safegen_ros.verdict import Category

MAP = data_path('examples/boxnet/hand_over.json').read_text(encoding='utf-8')
BY_MODEL = Options(strategy='model', max_attempts=3)
STEPS = Options(step_by_step=True)
CANDLE = 'fire-candle'


@pytest.fixture
def stack(in_process: Stack) -> Iterator[Stack]:
    in_process.server.requests.clear()
    yield in_process
    in_process.server.fault = ''
    in_process.reset()


def boxes(text: str = MAP) -> BoxnetGoal:
    task = read_action_task(text, format='boxnet')
    assert isinstance(task, BoxnetGoal)
    return task


def by_oracle(name: str) -> list[str]:
    """What the scripted agent, which knows the goals, answers on a task."""
    return [
        moment.text for moment in run_episode(clean_task(name), GoalAgent(careful=True)).moments
    ]


@pytest.mark.nightly
def test_many_arms_are_planned_for_proved_and_carried_out(stack: Stack, folder: Path) -> None:
    task = boxes()
    good = task.solve(WAIT_S)
    collides = good.replace('[2.75, 0.25] -> [1.25, 0.25]', '[2.75, 0.25] -> [1.75, 1.75]')
    stack.answer('no idea', collides, f'<think> hm </think>\n```json\n{good}\n```')
    heard: list[MonitorStatus] = []
    stack.client.node.create_subscription(
        MonitorStatus, 'validator/status', heard.append, qos.LATCHED
    )
    goal = stack.client.start_run(MAP, options=BY_MODEL, format='boxnet')
    result = goal.result()
    assert ErrorCode(result.error_code) is ErrorCode.NONE, result.error_msg
    verdicts = [Category(attempt.verdict.category) for attempt in result.attempts]
    assert verdicts == [Category.FORMAT_ERROR, Category.SAFETY_VIOLATION, Category.SUCCESS]
    told = [request['messages'][-1]['content'] for request in stack.server.requests]
    assert 'cannot be read' in told[1]
    assert 'Robot 0 and Robot 1 collide' in told[2]
    steps = conversions.steps_from_msg(result.plan)
    assert steps == task.steps_of(good)
    assert max(map(len, steps)) == 2
    assert result.steps_done == len(steps)
    ended = conversions.state_from_facts(result.final_state.facts)
    assert all(holds for _, holds in task.conditions(ended))
    wait_until(lambda: any(s.step == s.total == len(steps) for s in heard), 'the monitor')
    assert 'no two arms touch' in heard[-1].constraints

    kept = stack.kept(goal)
    assert_same_again(kept.record)
    assert not why_not_executed(kept.record)
    assert not reexecute(kept.record, load_scene()).differences


@pytest.mark.parametrize(
    ('text', 'format', 'options', 'code'),
    [
        (MAP, 'boxnet', Options(strategy='beam'), ErrorCode.UNKNOWN_STRATEGY),
        ('{}', 'boxnet', Options(), ErrorCode.BAD_PDDL),
        ('', 'boxnet', Options(), ErrorCode.EMPTY_TASK),
        ('no-such-task', 'household', STEPS, ErrorCode.BAD_PDDL),
        (CANDLE, 'household', Options(), ErrorCode.UNSUPPORTED_FEATURE),
        (MAP, 'box', Options(), ErrorCode.UNKNOWN_FORMAT),
    ],
)
def test_what_no_world_takes_is_refused(
    stack: Stack, text: str, format: str, options: Options, code: ErrorCode
) -> None:
    result = stack.client.run(text, options=options, format=format)
    assert ErrorCode(result.error_code) is code, result.error_msg
    assert not result.steps_done


def test_the_executor_takes_no_step_that_it_has_not_proved(stack: Stack) -> None:
    """Whoever sends them: a collision, a robot that there is not, and a joint step for one arm."""
    task = boxes()
    steps = task.steps_of(task.solve(WAIT_S))
    first, *rest = steps
    backwards = conversions.steps_to_msg([*rest, first])
    stranger = conversions.steps_to_msg([tuple(a._replace(action='fly') for a in first), *rest])
    for plan in (backwards, stranger):
        result = sent(stack, MAP, 'boxnet', plan)
        assert ErrorCode(result.error_code) is ErrorCode.PLAN_REFUSED
        assert not result.steps_done
    two = conversions.steps_to_msg([first])
    result = sent(stack, '(define (problem p) (:domain ferry) (:init) (:goal (and)))', '', two)
    assert ErrorCode(result.error_code) is ErrorCode.PLAN_REFUSED
    assert 'has one robot' in result.error_msg


def sent(stack: Stack, text: str, format: str, plan: Any, **fields: Any) -> Any:
    """The result of a goal of `execute_plan`."""
    goal = ExecutePlan.Goal(task=Task(problem=text, format=format), plan=plan, **fields)
    goal.time_budget.sec = int(WAIT_S)
    return stack.client._send('execute_plan', ExecutePlan, goal, lambda feedback: None).result()


def test_a_box_that_is_moved_away_is_planned_for_anew(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    """Somebody puts a box elsewhere behind the first step: what is left is planned and proved."""
    pushed: list[State] = []

    def push(state: State) -> State:
        if pushed:
            return state
        one, (_, y) = state.objects
        pushed.append(state)
        return replace(state, objects=(one, (2_250_000, y)))

    class Disturbed(world.BoxnetCell):
        def _effect(self, step: ConcurrentStep) -> Callable[[], None]:
            become = super()._effect(step)

            def then() -> None:
                become()
                self._state = push(self._state)

            return then

    monkeypatch.setattr(world, 'BoxnetCell', Disturbed)
    options = Options(strategy='search', max_replans=1)
    goal = stack.client.start_run(MAP, options=options, format='boxnet')
    result = goal.result()
    assert ErrorCode(result.error_code) is ErrorCode.NONE, result.error_msg
    [replan] = result.replans
    assert 'Object 1 is at [2.25, 0.25], not at [2.75, 0.25]' in replan.reason
    assert boxes(replan.task.problem).task.start.objects[1] == (2_250_000, 250_000)
    assert_same_again(stack.kept(goal).record)

    pushed.clear()
    result = stack.client.run(MAP, options=Options(strategy='search'), format='boxnet')
    assert ErrorCode(result.error_code) is ErrorCode.STATE_MISMATCH
    wait_until(lambda: bool(stack.planner._stop.reason), 'the planner to hear of the stop')
    result = stack.client.run(MAP, options=options, format='boxnet')
    assert ErrorCode(result.error_code) is ErrorCode.PLANNING_STOPPED


@pytest.mark.nightly
def test_a_model_moves_many_arms_step_by_step(stack: Stack, folder: Path) -> None:
    task = boxes()
    plan = json.loads(task.solve(WAIT_S))
    steps = [json.dumps(step) for step in plan]
    stack.answer('left', *steps)
    goal = stack.client.start_run(MAP, options=STEPS, format='boxnet')
    result = goal.result()
    assert ErrorCode(result.error_code) is ErrorCode.NONE, result.error_msg
    assert conversions.steps_from_msg(result.plan) == task.steps_of(json.dumps(plan))
    assert [attempt.base for attempt in result.attempts] == [0, 0, 1, 2, 3]
    assert [seen.steps_done for seen in result.observations] == [0, 1, 2, 3, 4]
    assert_same_again(stack.kept(goal).record)


def test_a_household_task_is_done_step_by_step(stack: Stack, folder: Path) -> None:
    """Nothing reaches the household but proved actions; the model is told what was wrong."""
    answers = by_oracle(CANDLE)
    lit = next(n for n, text in enumerate(answers) if 'turn on' in text)
    leave = json.dumps({'think': '', 'action': 'go to Shelf (1)'})
    stack.answer('nonsense', *answers[: lit + 1], leave, *answers[lit + 1 :])
    feedback = Feedback()
    goal = stack.client.start_run(CANDLE, '', STEPS, feedback, 'household')
    result = goal.result()
    assert ErrorCode(result.error_code) is ErrorCode.NONE, result.error_msg
    verdicts = [Category(attempt.verdict.category) for attempt in result.attempts]
    assert verdicts.count(Category.FORMAT_ERROR) == 1
    assert verdicts.count(Category.SAFETY_VIOLATION) == 1
    refused = result.attempts[verdicts.index(Category.SAFETY_VIOLATION)]
    assert refused.text == leave
    assert 'First: turn off Candle (1)' in refused.verdict.reason
    assert result.steps_done == len(result.plan.steps) == len(answers) - 1  # the last one ends it
    seen = [f.observation for f in feedback.seen if f.stage == 'observation']
    assert seen[0].text.startswith('In the room are')
    task = read_action_task(CANDLE, format='household')
    ended = conversions.state_from_facts(result.final_state.facts)
    assert all(holds for _, holds in task.conditions(ended))
    kept = stack.kept(goal)
    assert kept.record.worlds[-1].text
    assert_same_again(kept.record)


def test_an_action_that_breaks_a_constraint_is_refused_by_all(stack: Stack) -> None:
    """The executor and the validator refuse it by themselves, whoever asks."""
    texts = [json.loads(text)['action'] for text in by_oracle(CANDLE)]
    lit = next(n for n, text in enumerate(texts) if text.startswith('turn on'))
    text = json.dumps({'task': CANDLE, 'done': texts[: lit + 1]})
    task = read_action_task(text, format='household')
    leave = task.steps_of('go to Shelf (1)')
    plan = conversions.steps_to_msg(leave)
    result = sent(stack, text, 'household', plan, step_by_step=True)
    assert ErrorCode(result.error_code) is ErrorCode.PLAN_REFUSED
    assert 'SAFETY_VIOLATION' in result.error_msg
    answer = stack.client.validate(text, 'go to Shelf (1)', format='household', step_by_step=True)
    assert Category(answer.verdict.category) is Category.SAFETY_VIOLATION
    whole = stack.client.validate(text, 'go to Shelf (1)', format='household')
    assert Category(whole.verdict.category) is Category.FORMAT_ERROR
