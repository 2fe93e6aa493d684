# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Every text of every message that comes in has a limit, and the error names its field."""

from __future__ import annotations

from typing import Any

import pytest
from support.goals import WAIT_S
from support.message_texts import fill, texts
from support.stopping import Operator
from support.waiting import wait_until

from safegen_msgs.action import ExecutePlan, PlanTask, RunTask
from safegen_msgs.msg import Heartbeat, Plan, Step, StopState, Verdict, WorldState
from safegen_msgs.srv import Approve, GetWorld, MonitorStep, Operate, RehearsePlan, ValidatePlan
from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.client import Client
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.paths import runs_dir, share_dir
from safegen_ros.pddl.plan import MAX_PLAN_TEXT
from safegen_ros.pddl.sexpr import MAX_TEXT
from safegen_ros.record.journal import JOURNAL, load_journal
from safegen_ros.ros import qos
from safegen_ros.ros.calls import wait_for
from safegen_ros.ros.message_limits import MAX_ITEMS, MAX_NAME, check_sendable, check_texts
from safegen_ros.ros.rclpy_compat import GoalClient

SERVICES = {
    'planner/approve': Approve,
    'get_world': GetWorld,
    'executor/operate': Operate,
    'rehearse_plan': RehearsePlan,
    'monitor_step': MonitorStep,
    'planner/operate': Operate,
    'validate_plan': ValidatePlan,
    'validator/operate': Operate,
}
ACTIONS = {'plan_task': PlanTask, 'run_task': RunTask, 'execute_plan': ExecutePlan}
INCOMING = (
    *dict.fromkeys(each.Request for each in SERVICES.values()),
    *(each.Goal for each in ACTIONS.values()),
    WorldState,
)


LONG = {f'task.{name}' for name in ('domain', 'problem', 'constraints', 'start', 'request')}


@pytest.mark.parametrize('kind', INCOMING, ids=lambda kind: kind.__name__)
def test_every_text_has_a_limit(kind: Any) -> None:
    message = kind()
    found = list(texts(message))
    assert found
    check_texts(message)
    for holder, name, place in found:
        if (kind, place) == (ValidatePlan.Request, 'plan'):
            continue  # too long a plan has a verdict of its own
        limit = MAX_TEXT if place in LONG else MAX_NAME
        fill(holder, name, 'x' * limit)
        check_texts(message)
        fill(holder, name, 'x' * (limit + 1))
        with pytest.raises(SafegenError) as caught:
            check_texts(message)
        assert caught.value.code is ErrorCode.TASK_TOO_LARGE
        assert caught.value.message.startswith(f'{place}: {limit + 1:,} characters'), place
        fill(holder, name, '')


@pytest.mark.parametrize('character', ['\0', '\ud800', '\x1b', '\x9b', '\u202e', '\u2028'])
@pytest.mark.parametrize('kind', INCOMING, ids=lambda kind: kind.__name__)
def test_no_text_hides_a_character(kind: Any, character: str) -> None:
    message = kind()
    for holder, name, place in list(texts(message)):
        fill(holder, name, f'a{character}b\n\t')
        with pytest.raises(
            SafegenError, match=f'holds the character U.{ord(character):04X}'
        ) as why:
            check_sendable(message)
        assert why.value.message.startswith(f'{place}: ')
        if (kind, place) != (ValidatePlan.Request, 'plan'):  # which has a verdict of its own
            with pytest.raises(SafegenError, match='holds the character'):
                check_texts(message)
        fill(holder, name, 'für\n\tb1')
        check_sendable(message)


def test_lists_have_a_limit() -> None:
    goal = ExecutePlan.Goal(plan=Plan(steps=[Step()] * (MAX_ITEMS + 1)))
    with pytest.raises(SafegenError, match=r'^plan.steps: 100,001 items') as caught:
        check_texts(goal)
    assert caught.value.code is ErrorCode.TASK_TOO_LARGE


def test_the_limits_are_those_of_the_documentation() -> None:
    text = (share_dir() / 'docs' / 'security.md').read_text(encoding='utf-8')
    for limit in (MAX_TEXT, MAX_PLAN_TEXT, MAX_NAME, MAX_ITEMS):
        assert f'{limit:,} ' in text.replace('\n', ' ')


HIDING = 'a\x1b[2J\u202eb'


def refused(answer: Any) -> bool:
    """Whether an answer says no."""
    if hasattr(answer, 'status'):
        return not answer.status.ok
    return bool(getattr(answer, 'error_code', 0)) or not getattr(answer, 'success', True)


def test_no_hidden_character_passes_a_running_node(client: Client, stack: Supervisor) -> None:
    """Each text of each request, one by one; NUL and lone surrogates are not sent by rclpy."""

    def active() -> set[bytes]:
        return {each.id for each in client.heartbeats.instances() if each.state == 'active'}

    wait_until(lambda: len(active()) == 3, 'the nodes')
    nodes = active()
    for name, kind in SERVICES.items():
        caller: Any = client.node.create_client(kind, name)
        assert caller.wait_for_service(WAIT_S)
        request = kind.Request()
        for holder, field, place in list(texts(request)):
            fill(holder, field, HIDING)
            answer = wait_for(caller.call_async(request), WAIT_S, place, ErrorCode.SERVER_LOST)
            assert refused(answer) or answer.verdict.category == Verdict.FORMAT_ERROR, (name, place)
            fill(holder, field, '')
    for name, kind in ACTIONS.items():
        sender = GoalClient(client.node, kind, name)
        assert sender.wait_for_server(WAIT_S)
        goal = kind.Goal()
        for holder, field, place in list(texts(goal)):
            fill(holder, field, HIDING)
            sent = wait_for(sender.send_goal_async(goal), WAIT_S, place, ErrorCode.SERVER_LOST)
            done = wait_for(sent.get_result_async(), WAIT_S, place, ErrorCode.SERVER_LOST)
            assert refused(done.result), (name, place)
            fill(holder, field, '')
    stop = client.node.create_publisher(StopState, 'stopped', qos.LATCHED)
    stop.publish(StopState(stopped=True, reason=HIDING))
    beat = client.node.create_publisher(Heartbeat, 'heartbeat', qos.HEARTBEATS_OUT)
    beat.publish(Heartbeat(node=HIDING, state=HIDING))
    operator = Operator(client)
    operator.wait_stopped('a')
    stop.publish(StopState())
    operator.reset()
    assert active() == nodes
    written = repr([load_journal(path) for path in runs_dir().glob(f'nodes/*/*/{JOURNAL}')])
    assert 'U+001B' in written
    assert '\\x1b' not in written
    assert '\\u202e' not in written
    assert b'\x1b' not in stack.log_file.read_bytes()
