# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The three nodes together: what moves was proved, and whatever goes wrong has a code."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from support.blocks_small import THREE_TEXT as THREE
from support.goals import WAIT_S, Endings, Feedback
from support.motion import Motion
from support.stopping import BY_SEARCH, LONG, LONG_PLAN, THREE_PLAN, Operator
from support.waiting import wait_until
from unique_identifier_msgs.msg import UUID

from safegen_msgs.action import ExecutePlan, RunTask
from safegen_msgs.msg import Task
from safegen_ros.client import Client, Options
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.robot.arms.mycobot_280 import MYCOBOT_280
from safegen_ros.ros import conversions
from safegen_ros.ros.calls import wait_for
from safegen_ros.ros.liveness import HeartbeatPublisher
from safegen_ros.ros.rclpy_compat import GoalClient
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.domains import builtin_domain_text
from safegen_ros.tasks.pddl3.task import Pddl3Task
from safegen_ros.verdict import Category

pytestmark = pytest.mark.usefixtures('calmed')
UNSOLVABLE = """
(define (problem impossible) (:domain blocksworld) (:objects a b c)
  (:init (arm-empty) (on-table a) (on-table b) (on-table c) (clear a) (clear b) (clear c))
  (:goal (and (on a b) (on b a))))
"""


def _moving(step: int) -> Callable[[Any], bool]:
    return lambda f: f.execution.phase == 'moving' and f.execution.step == step


def _send_raw(client: Client, kind: Any, name: str, goal: Any) -> Any:
    """The result of a goal that `Client` would not send."""
    # It is left to the client's end: to destroy it under a spinning executor ends that one.
    action = GoalClient(client.node, kind, name)
    assert action.wait_for_server(timeout_sec=WAIT_S)
    id = UUID(uuid=list(uuid4().bytes))
    with HeartbeatPublisher(client.node) as heartbeat:
        heartbeat.begin(id)
        return _answer(action, goal, id)


def _answer(action: GoalClient, goal: Any, id: UUID) -> Any:
    what, code = 'the server', ErrorCode.SERVER_LOST
    handle = wait_for(action.send_goal_async(goal, goal_uuid=id), WAIT_S, what, code)
    assert handle.accepted
    answer = wait_for(handle.get_result_async(), WAIT_S, what, code)
    assert answer.status == GoalStatus.STATUS_ABORTED
    return answer.result


def test_a_task_runs_from_goal_to_measured_goal(client: Client, motion: Motion) -> None:
    feedback = Feedback()
    result = client.run(THREE, options=Options(seed=3), on_feedback=feedback)

    assert result.error_code == ErrorCode.NONE, result.error_msg
    assert result.verdict.category == Category.SUCCESS
    assert {'(on a b)', '(on c a)'} <= set(result.final_state.facts)
    assert result.steps_done == len(result.plan.steps)

    def observed() -> list[int]:
        return [f.execution.step for f in feedback.seen if f.execution.phase == 'observed']

    wait_until(lambda: len(observed()) >= result.steps_done, 'what had to be sent twice')
    judged = [f.planning.attempt for f in feedback.seen if f.planning.phase == 'judged']
    assert [a.text for a in judged] == [a.text for a in result.attempts]
    assert result.plan.source == result.attempts[-1].source
    assert observed() == list(range(1, len(result.plan.steps) + 1))
    samples = motion.samples()
    assert len(samples) > 100
    motion.assert_ended_with(result)
    low, high = MYCOBOT_280.bounds[:, 0], MYCOBOT_280.bounds[:, 1]
    assert all((low <= q).all() and (q <= high).all() for _, q in samples)


@pytest.mark.parametrize(
    'plan',
    [
        '(unstack b2 b1)(putdown b2)(unstack b5 b3)(putdown b5)(unstack b3 b4)(putdown b3)'
        '(pickup b4)(stack b4 b3)(pickup b1)(stack b1 b4)',
        '(unstack b2 b1)',
        '(pickup b9)',
        '',
    ],
    ids=['breaks the constraint', 'falls short', 'names nothing', 'is empty'],
)
def test_a_plan_sent_by_hand_is_refused_before_anything_moves(
    client: Client, tower_order: Pddl3Task, motion: Motion, plan: str
) -> None:
    result = client.execute(tower_order.problem_text, parse_plan(plan))
    assert result.error_code == ErrorCode.PLAN_REFUSED
    assert result.verdict.category not in (Category.SUCCESS, Category.UNKNOWN)
    assert result.steps_done == 0
    motion.assert_none()


OTHER_ACTIONS = builtin_domain_text('blocksworld').replace('(clear ?underob) (holding', '(holding')


@pytest.mark.parametrize(
    ('problem', 'domain', 'code', 'text'),
    [
        (THREE.replace('(on c a)', '(on c z)'), '', ErrorCode.BAD_PDDL, "'z'"),
        ('; ' + 'x' * 10_000_000, '', ErrorCode.TASK_TOO_LARGE, 'limit'),
        (THREE, OTHER_ACTIONS, ErrorCode.UNSUPPORTED_SCENE, "'stack'"),
    ],
    ids=['undeclared object', '10 MB', 'other actions'],
)
def test_bad_input_has_its_code_and_nothing_moves(
    client: Client, motion: Motion, problem: str, domain: str, code: ErrorCode, text: str
) -> None:
    result = client.run(problem, domain)
    assert ErrorCode(result.error_code) is code, result.error_msg
    assert text in result.error_msg
    motion.assert_none()


def test_a_goal_that_cannot_be_reached_is_proved_so(client: Client, motion: Motion) -> None:
    strategy = 'model, search'
    result = client.run(UNSOLVABLE, options=Options(max_attempts=1, strategy=strategy))
    assert ErrorCode(result.error_code) is ErrorCode.UNSOLVABLE
    motion.assert_none()
    options = Options(max_attempts=2, search_fallback=False, strategy=strategy)
    result = client.run(UNSOLVABLE, options=options)
    assert ErrorCode(result.error_code) is ErrorCode.ATTEMPTS_EXHAUSTED
    assert len(result.attempts) == 2
    motion.assert_none()


@pytest.mark.parametrize('strategy', ['shield, beam', 'beam', 'search'])
def test_a_goal_says_who_is_asked_and_is_told_who_answered(client: Client, strategy: str) -> None:
    feedback = Feedback()
    options = Options(strategy=strategy, feedback='category', search_fallback='search' in strategy)
    result = client.plan(THREE, options=options, on_feedback=feedback)
    assert ErrorCode(result.error_code) is ErrorCode.NONE, result.error_msg
    sources = [attempt.source for attempt in result.attempts]
    assert sources[0].split()[0] == strategy.split(',')[0]
    assert {source.split()[0] for source in sources} <= {*strategy.split(', ')}
    assert result.plan.source == sources[-1]
    assert result.verdict.category == Category.SUCCESS
    assert {f.progress.source for f in feedback.seen} >= {*sources}


@pytest.mark.parametrize('wrong', [{'strategy': 'model, luck'}, {'feedback': 'praise'}])
def test_who_is_not_there_cannot_be_asked(client: Client, wrong: dict[str, str]) -> None:
    result = client.plan(THREE, options=Options(**wrong))
    assert ErrorCode(result.error_code) is ErrorCode.UNKNOWN_STRATEGY
    assert ('luck' in result.error_msg) or ('praise' in result.error_msg)


EXECUTION = (ErrorCode.EXECUTION_CANCELED,)


CANCELS = {
    # The next thing after this verdict is the hand-over to the executor.
    'judged, proved': ('planning', (ErrorCode.PLANNING_CANCELED, *EXECUTION)),
    'preparing': ('execution', EXECUTION),
    'moving': ('execution', EXECUTION),
}


@pytest.mark.parametrize('moment', list(CANCELS))
def test_cancel_in_every_phase_ends_the_goal_as_cancelled(
    client: Client, motion: Motion, endings: Endings, operator: Operator, moment: str
) -> None:
    stage, codes = CANCELS[moment]
    phase = moment.split()[0].rstrip(',')
    feedback = Feedback(lambda f: f.stage == stage and getattr(f, stage).phase == phase)
    goal = client.start_run(LONG, options=BY_SEARCH, on_feedback=feedback)
    feedback.wait()
    result = goal.cancel()
    assert ErrorCode(result.error_code) in codes, result.error_msg
    assert goal.status == endings.of(goal) == GoalStatus.STATUS_CANCELED
    assert result.steps_done < len(LONG_PLAN)
    assert operator.listener.reason == ''  # a cancel is not a stop
    if result.final_state.facts:
        motion.assert_ended_with(result)
    else:
        motion.samples()  # which asks for the next goal


@pytest.mark.nightly
def test_the_time_budget_stops_the_arm(client: Client, motion: Motion) -> None:
    result = client.execute(LONG, LONG_PLAN, time_budget_s=4.0)
    assert ErrorCode(result.error_code) is ErrorCode.EXECUTION_TIMEOUT
    assert result.steps_done < len(LONG_PLAN)
    if result.final_state.facts:
        motion.assert_ended_with(result)
    else:
        motion.assert_at_rest()


@pytest.mark.parametrize(
    'budget', [Duration(sec=-1), Duration(sec=-1, nanosec=999_999_999), Duration(nanosec=1)]
)
def test_a_time_budget_that_is_over_moves_nothing(
    client: Client, motion: Motion, budget: Duration
) -> None:
    task = Task(problem=THREE)
    plan = conversions.plan_to_msg(THREE_PLAN)
    goal = ExecutePlan.Goal(task=task, plan=plan, time_budget=budget)
    result = _send_raw(client, ExecutePlan, 'execute_plan', goal)
    assert ErrorCode(result.error_code) is ErrorCode.EXECUTION_TIMEOUT
    assert result.steps_done == 0
    result = _send_raw(client, RunTask, 'run_task', RunTask.Goal(task=task, time_budget=budget))
    assert ErrorCode(result.error_code) is ErrorCode.PLANNING_TIMEOUT
    motion.assert_none()


@pytest.mark.parametrize('budget', [0.0, -1.0, float('nan'), 86401.0])
def test_a_plan_with_a_senseless_time_budget_is_not_sent(
    client: Client, motion: Motion, budget: float
) -> None:
    with pytest.raises(SafegenError) as caught:
        client.execute(THREE, THREE_PLAN, time_budget_s=budget)
    assert caught.value.code is ErrorCode.GOAL_REJECTED
    motion.assert_none()


def test_a_second_goal_ends_at_once_while_one_runs(client: Client) -> None:
    feedback = Feedback(_moving(0))
    goal = client.start_run(LONG, options=BY_SEARCH, on_feedback=feedback)
    feedback.wait()
    for second in (client.run(THREE), client.execute(THREE, Plan())):
        assert ErrorCode(second.error_code) is ErrorCode.QUEUE_FULL, second.error_msg
    goal.cancel()


def test_the_validator_answers_for_itself(client: Client, tower_order: Pddl3Task) -> None:
    good = client.validate(tower_order.problem_text, str(solve(tower_order.problem).plan))
    assert (good.error_code, good.verdict.category) == (ErrorCode.NONE, Category.SUCCESS)
    prose = client.validate(tower_order.problem_text, 'First I unstack b2.')
    assert (prose.error_code, prose.verdict.category) == (ErrorCode.NONE, Category.FORMAT_ERROR)
    bad = client.validate('(define', '')
    assert (bad.error_code, bad.verdict.category) == (ErrorCode.BAD_PDDL, Category.UNKNOWN)


def test_a_client_validates_from_several_threads_with_one_ros_client(client: Client) -> None:
    client.validate(THREE, str(THREE_PLAN))
    before = len(list(client.node.clients))
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda _: client.validate(THREE, str(THREE_PLAN)), range(20)))
    assert [answer.error_code for answer in answers] == [ErrorCode.NONE] * 20
    assert len(list(client.node.clients)) == before


@pytest.mark.nightly
def test_goals_of_several_threads_are_sent_by_one_client(ros_domain: int, client: Client) -> None:
    with Client() as other, ThreadPoolExecutor(4) as threads:
        results = list(threads.map(lambda _: other.plan('(define'), range(8)))
        assert len(other._senders) == 1
    codes = {ErrorCode(result.error_code) for result in results}
    assert codes <= {ErrorCode.BAD_PDDL, ErrorCode.QUEUE_FULL}
    assert ErrorCode.BAD_PDDL in codes
