# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A stop ends every goal in every phase, nothing moves afterwards, and only a reset ends it.

The model is at a server that writes no plan: a node that loads one takes seconds to start.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from action_msgs.msg import GoalStatus
from support.command_line import CommandLine
from support.goals import WAIT_S, Endings, Feedback
from support.motion import Motion
from support.stopping import (
    BY_SEARCH,
    ENDLESS,
    LONG,
    LONG_PLAN,
    PICK,
    Operator,
    execution,
    stoppable_stack,
)

from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.client import Client, Goal
from safegen_ros.errors import ErrorCode
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.ros.watchdog import StopListener

pytestmark = pytest.mark.usefixtures('calmed')


@pytest.fixture(scope='module')
def stack(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    with stoppable_stack(ros_domain, tmp_path_factory.mktemp('stack')) as running:
        yield running


PLANNED, EXECUTED = ErrorCode.PLANNING_STOPPED, ErrorCode.EXECUTION_STOPPED


def _generating(client: Client, feedback: Feedback) -> Goal:
    return client.start_run(LONG, options=ENDLESS, on_feedback=feedback)


def _holding(client: Client, feedback: Feedback) -> Goal:
    return client.start_execute(LONG, LONG_PLAN, on_feedback=feedback)


MOMENTS: dict[str, tuple[Any, Callable[[Any], bool], ErrorCode]] = {
    'generating': (_generating, lambda f: f.planning.phase == 'generating', PLANNED),
    'holding a block, a plan by hand': (
        _holding, lambda f: (f.progress.phase, f.progress.step) == ('moving', 1), EXECUTED,
    ),
}  # fmt: skip


@pytest.mark.parametrize(('send', 'reached', 'code'), MOMENTS.values(), ids=MOMENTS)
def test_a_stop_ends_the_goal_and_holds_until_the_reset(
    client: Client,
    motion: Motion,
    endings: Endings,
    operator: Operator,
    send: Callable[[Client, Feedback], Goal],
    reached: Callable[[Any], bool],
    code: ErrorCode,
) -> None:
    feedback = Feedback(reached)
    goal = send(client, feedback)
    feedback.wait()
    answer = operator.call('stop')
    assert (answer.success, answer.message) == (True, 'stopped')
    result = goal.result()
    assert ErrorCode(result.error_code) is code, result.error_msg
    assert 'the service stop was called' in result.error_msg
    assert goal.status == GoalStatus.STATUS_ABORTED
    operator.wait_stopped('the service stop was called')
    operator.assert_nothing_is_taken()

    operator.reset()
    if code is PLANNED:
        motion.assert_none()
    else:
        assert endings.of(goal) == GoalStatus.STATUS_ABORTED
        assert result.steps_done < len(LONG_PLAN)
        if result.final_state.objects:
            motion.assert_ended_with(result)
        else:
            motion.assert_at_rest()
    again = client.execute(PICK, parse_plan('(pickup a)'))
    assert ErrorCode(again.error_code) is ErrorCode.NONE, again.error_msg


def test_a_stop_without_a_goal_latches_and_planning_alone_goes_on(
    client: Client, motion: Motion, operator: Operator
) -> None:
    assert operator.call('stop').success
    assert 'was stopped already' in operator.call('stop').message
    operator.wait_stopped('the service stop was called')
    planned = client.plan(LONG, options=BY_SEARCH)
    assert ErrorCode(planned.error_code) is ErrorCode.NONE, planned.error_msg
    with Client() as late:
        told = StopListener(late.node).wait(WAIT_S)
        assert told is not None
        assert told.stopped
    operator.assert_nothing_is_taken()
    operator.reset()
    assert operator.call('reset').message == 'it was not stopped'
    motion.assert_none()


def test_a_goal_that_its_client_no_longer_waits_for_stops_the_arm(
    client: Client, operator: Operator
) -> None:
    feedback = Feedback(execution('moving'))
    goal = client.start_run(LONG, options=BY_SEARCH, on_feedback=feedback)
    feedback.wait()
    goal._sent.abandon()
    operator.wait_stopped('the sender of the goal no longer waits for it')
    assert ErrorCode(goal.result().error_code) is ErrorCode.EXECUTION_STOPPED
    operator.reset()


@pytest.mark.nightly
def test_an_operator_has_the_tool_let_go(client: Client, safegen: CommandLine) -> None:
    held = client.execute(PICK, parse_plan('(pickup a)'))
    assert ErrorCode(held.error_code) is ErrorCode.NONE, held.error_msg
    assert safegen('release')[:2] == (0, 'the pump is off; what it held is let go\n')
    assert 'done: the pump is off; what it held is let go' in safegen('runs', 'show', 'last')[1]
    assert 'released: the pump is off; what it held is let go' in safegen('runs', 'list')[1]
    assert json.loads(safegen('release', '--json')[1]) == {
        'success': True, 'message': 'the pump is off; it was not known to hold',
    }  # fmt: skip
    again = client.execute(PICK, parse_plan('(pickup a)'))
    assert ErrorCode(again.error_code) is ErrorCode.NONE, again.error_msg
