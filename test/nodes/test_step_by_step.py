# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Blocks through the nodes step by step: not all in view, moved by others, approved of, stopped."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from support.blocks_small import LASTING_TEXT, THREE_TEXT
from support.goals import WAIT_S, Feedback
from support.kept_runs import assert_same_again
from support.one_process import Stack

from safegen_ros.cli.demo import run_goal
from safegen_ros.client import Options
from safegen_ros.errors import ErrorCode
from safegen_ros.goals.request import GoalRequest
from safegen_ros.nodes.approval import Approver
from safegen_ros.pddl.plan import Step
from safegen_ros.record.run_log import load_run
from safegen_ros.robot.cell.symbolic import SymbolicCell
from safegen_ros.ros import conversions
from safegen_ros.tasks.pddl3.task import load_task
from safegen_ros.verdict import Category

STEPS = Options(step_by_step=True, strategy='search')
HIDDEN = """
(define (problem hidden) (:domain blocksworld) (:objects a b c d)
  (:init (arm-empty) (on-table d) (on a d) (clear a) (on-table c) (on b c) (clear b)) (:goal (and)))
"""
"""How the blocks stand."""
BELIEVED = """
(define (problem believed) (:domain blocksworld) (:objects a b c d)
  (:init (arm-empty) (on-table c) (on a c) (clear a) (on-table d) (on b d) (clear b))
  (:goal (and (on a b) (on c d)))
  (:constraints (sometime-before (on c d) (holding a))))
"""
"""What the task says of them."""
UNLIKE_THREE = """
(define (problem unlike) (:domain blocksworld) (:objects a b c)
  (:init (arm-empty) (on-table b) (on a b) (clear a) (on-table c) (clear c)) (:goal (and)))
"""
"""How they stand otherwise than in `THREE_TEXT`."""


@pytest.fixture
def stack(in_process: Stack) -> Iterator[Stack]:
    yield in_process
    in_process.reset()
    in_process.executor.values.update(view='all', start_file='')


def texts(plan: object) -> list[str]:
    return [conversions.step_text(step) for step in plan.steps]


def test_a_task_is_worked_on_step_by_step(stack: Stack, folder: Path) -> None:
    feedback = Feedback()
    goal = stack.client.start_run(THREE_TEXT, '', STEPS, feedback)
    result = goal.result()
    assert ErrorCode(result.error_code) is ErrorCode.NONE, result.error_msg
    assert result.steps_done == len(result.plan.steps) == 4
    task = load_task(THREE_TEXT)
    assert task.verify('\n'.join(texts(result.plan))).ok
    assert Category(result.verdict.category) is Category.SUCCESS
    assert [seen.steps_done for seen in result.observations] == [0, 1, 2, 3, 4]
    [attempt] = result.attempts  # all went as foreseen: one plan was enough
    assert attempt.base == 0
    judged = [each.planning for each in feedback.seen if each.planning.phase == 'judged']
    assert [each.attempt_number for each in judged] == [1]
    kept = stack.kept(goal)
    assert kept.record.stepwise
    assert [goal.action for goal in kept.goals] == ['run_task', *['execute_plan'] * 5]
    assert [len(world.facts) > 0 for world in kept.record.worlds] == [True] * 5
    assert [step.step for step in kept.record.steps] == texts(result.plan)
    assert_same_again(kept.record, 2)


@pytest.mark.nightly
def test_no_whole_plan_is_made_for_what_is_out_of_view(stack: Stack, folder: Path) -> None:
    start = folder / 'hidden.pddl'
    start.write_text(HIDDEN, encoding='utf-8')
    stack.executor.values.update(view='above', start_file=str(start))
    whole = stack.client.run(BELIEVED, options=Options(strategy='search'))
    assert ErrorCode(whole.error_code) is ErrorCode.UNSUPPORTED_SCENE
    assert 'out of view' in whole.error_msg
    assert not whole.steps_done

    # Nobody knows below which top the third block is; below c it would break the constraint.
    start.write_text(UNLIKE_THREE, encoding='utf-8')
    for strategy in ('search', 'model,search'):
        whole = stack.client.run(THREE_TEXT, options=Options(strategy=strategy))
        assert ErrorCode(whole.error_code) is ErrorCode.UNSUPPORTED_SCENE, whole.error_msg
        assert 'b c is out of view' in whole.error_msg
    assert ErrorCode(stack.client.run(THREE_TEXT, options=STEPS).error_code) is ErrorCode.NONE


@pytest.mark.nightly
def test_a_world_that_differs_is_planned_for_anew(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody takes a block off behind the second step; the constraint still holds."""
    execute, disturbed = SymbolicCell.execute, []

    def helped(cell: SymbolicCell, action: str, arguments: tuple[str, ...]) -> None:
        execute(cell, action, arguments)
        if (action, *arguments) == ('stack', 'a', 'b') and not disturbed:
            disturbed.append(Step('unstack', ('a', 'b')))
            execute(cell, *disturbed[0])
            execute(cell, 'putdown', ('a',))

    monkeypatch.setattr(SymbolicCell, 'execute', helped)
    result = stack.client.run(THREE_TEXT, options=STEPS)
    assert ErrorCode(result.error_code) is ErrorCode.NONE, result.error_msg
    assert [attempt.base for attempt in result.attempts] == [0, 2]
    assert result.steps_done == 6
    assert {'(on a b)', '(on c a)'} <= set(result.final_state.facts)


def test_each_step_waits_for_the_word_of_an_operator(stack: Stack) -> None:
    approver = Approver(stack.client.node)
    options = Options(step_by_step=True, strategy='search', approval=True)
    goal = stack.client.start_run(THREE_TEXT, options=options)
    digests = set()
    for allowed in (True, False):
        pending = approver.wait(WAIT_S, '')
        while pending is not None and pending.digest in digests:  # the one before, still told
            pending = approver.wait(WAIT_S, '')
        assert pending is not None
        assert len(pending.plan.steps) == 1
        digests.add(pending.digest)
        assert approver.say(pending.digest, allowed, 'me', '', WAIT_S).success
    result = goal.result()
    assert ErrorCode(result.error_code) is ErrorCode.APPROVAL_REFUSED
    assert result.steps_done == 1


@pytest.mark.parametrize('how', ['cancel', 'stop'])
def test_a_goal_is_ended_between_its_steps(stack: Stack, how: str) -> None:
    feedback = Feedback(lambda f: f.stage == 'observation' and f.observation.steps_done == 2)
    options = Options(step_by_step=True, strategy='search', time_budget_s=600.0)
    goal = stack.client.start_run(LASTING_TEXT, '', options, feedback)
    feedback.wait()
    if how == 'stop':
        stack.operator.call('stop')
        codes = (ErrorCode.EXECUTION_STOPPED, ErrorCode.PLANNING_STOPPED)
        result = goal.result()
    else:
        codes = (ErrorCode.EXECUTION_CANCELED, ErrorCode.PLANNING_CANCELED)
        result = goal.cancel()
    assert ErrorCode(result.error_code) in codes
    assert 2 <= result.steps_done < 24


def test_the_steps_and_the_time_are_limited(stack: Stack) -> None:
    options = Options(step_by_step=True, strategy='search', max_steps=3)
    result = stack.client.run(THREE_TEXT, options=options)
    assert ErrorCode(result.error_code) is ErrorCode.ATTEMPTS_EXHAUSTED
    assert result.steps_done == 3
    impossible = THREE_TEXT.replace('(not (on c b))', '(not (on a b))')
    result = stack.client.run(impossible, options=STEPS)
    assert ErrorCode(result.error_code) is not ErrorCode.NONE
    assert not result.steps_done


@pytest.mark.nightly
def test_the_verb_shows_and_keeps_each_step(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `safegen run --step-by-step` leaves behind is enough to find its verdicts anew."""
    monkeypatch.setenv('SAFEGEN_RUNS_DIR', str(tmp_path / 'runs'))
    start, problem = tmp_path / 'hidden.pddl', tmp_path / 'believed.pddl'
    start.write_text(HIDDEN, encoding='utf-8')
    problem.write_text(BELIEVED, encoding='utf-8')
    stack.executor.values.update(view='above', start_file=str(start))
    screen, kept = io.StringIO(), list[Path]()
    asked = GoalRequest.read(problem, STEPS)
    status = run_goal(asked, '', Console(file=screen, width=200), done=kept.append)
    assert status == 0, screen.getvalue()
    for told in ('looked at a', 'out of view: a b c d', 'The symbolic world satisfies the goal'):
        assert told in screen.getvalue()
    record = load_run(kept[0]).record
    assert record.stepwise
    assert record.ok
    assert [world.look for world in record.worlds][:3] == ['', 'a', 'b']
    assert record.steps[0].step in ('(unstack a d)', '(unstack b c)')
    assert {'(on a b)', '(on c d)'} <= set(record.worlds[-1].facts)
    assert all(step.seconds is not None for step in record.steps)
    assert_same_again(record, 2)
