# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""No text of any message is too long or hides a character, and a refusal names its field."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator
from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import pytest
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.task import Future
from support.goals import WAIT_S
from support.stopping import Operator, stoppable_stack
from support.waiting import wait_until

from safegen_msgs import action, msg, srv
from safegen_msgs.action import ExecutePlan, PlanTask, RunTask
from safegen_msgs.msg import (
    Attempt,
    ExecutionProgress,
    Heartbeat,
    Observation,
    Plan,
    Replan,
    Step,
    StopState,
    Task,
    Verdict,
    WorldState,
)
from safegen_msgs.srv import Approve, GetWorld, MonitorStep, Operate, RehearsePlan, ValidatePlan
from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.client import Client, Options
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.keys.authority import Authority
from safegen_ros.nodes.approval import Approver, approval_record
from safegen_ros.paths import runs_dir, share_dir
from safegen_ros.pddl.plan import MAX_PLAN_TEXT
from safegen_ros.pddl.plan import Plan as Steps
from safegen_ros.pddl.sexpr import MAX_TEXT
from safegen_ros.record.journal import JOURNAL, load_journal
from safegen_ros.ros import qos, record_conversions
from safegen_ros.ros.calls import (
    MAX_ITEMS,
    MAX_NAME,
    check_sendable,
    check_texts,
    cleaned,
    wait_for,
)
from safegen_ros.ros.commands import CommandClient
from safegen_ros.ros.interfaces import COMMON, INTERFACES, Kind
from safegen_ros.ros.rclpy_compat import GoalClient
from safegen_ros.schema import plain


def _kinds() -> Iterator[Any]:
    parts = {msg: ('',), srv: ('Request', 'Response'), action: ('Goal', 'Result', 'Feedback')}
    for package, names in parts.items():
        for kind in vars(package).values():
            if isinstance(kind, type) and hasattr(kind, names[0] or '_TYPE_SUPPORT'):
                yield from (getattr(kind, name) if name else kind for name in names)


KINDS = tuple(_kinds())
"""Every message, and every part of a service or an action."""


def texts(message: Any, place: str = '') -> Iterator[tuple[Any, str, str]]:
    """Every text field: the message that has it, its name and its place.

    Each list gets one item, so that its fields are there.
    """
    for name, kind in message.get_fields_and_field_types().items():
        here = f'{place}.{name}' if place else name
        value = getattr(message, name)
        if kind == 'string':
            yield message, name, here
        elif hasattr(value, 'get_fields_and_field_types'):
            yield from texts(value, here)
        elif kind == 'sequence<string>':
            value.append('')
            yield value, '', f'{here}[0]'
        elif kind.startswith('sequence<') and '/' in kind:
            package, inner = kind[len('sequence<') : -1].split('/')
            value.append(getattr(importlib.import_module(f'{package}.msg'), inner)())
            yield from texts(value[0], f'{here}[0]')


def fill(holder: Any, name: str, text: str) -> None:
    """Sets one of the fields."""
    if name:
        setattr(holder, name, text)
    else:
        holder[0] = text


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
INCOMING = [kind for kind in KINDS if kind.__name__.endswith(('_Request', '_Goal'))]
HIDDEN = ('\0', '\ud800', '\x1b', '\x7f', '\x9b', '\u202e', '\u2028')
HIDING = 'a\x1b[2J\u202eb'


@pytest.mark.parametrize('kind', INCOMING, ids=lambda kind: kind.__name__)
def test_every_text_has_a_limit(kind: Any) -> None:
    message = kind()
    found = list(texts(message))
    assert found
    check_texts(message)
    for holder, name, place in found:
        if (kind, place) == (ValidatePlan.Request, 'plan'):
            continue  # too long a plan has a verdict of its own
        limit = MAX_TEXT if isinstance(holder, Task) and name != 'format' else MAX_NAME
        fill(holder, name, 'x' * limit)
        check_texts(message)
        fill(holder, name, 'x' * (limit + 1))
        with pytest.raises(SafegenError) as caught:
            check_texts(message)
        assert caught.value.code is ErrorCode.TASK_TOO_LARGE
        assert caught.value.message.startswith(f'{place}: {limit + 1:,} characters'), place
        fill(holder, name, '')


def test_every_text_is_known() -> None:
    """A field of another kind would need a case of its own here, and at the border."""
    kinds = {kind for each in KINDS for kind in each.get_fields_and_field_types().values()}
    assert {kind for kind in kinds if 'string' in kind} == {'string', 'sequence<string>'}
    assert len(KINDS) == len(set(KINDS)) > 40


def heard(message: Any) -> Any:
    """A message as whoever waits for it as an answer gets it."""
    answer: Future[Any] = Future()
    answer.set_result(message)
    return wait_for(answer, WAIT_S, 'nobody', ErrorCode.SERVER_LOST)


@pytest.mark.parametrize(
    'character',
    [pytest.param(c, marks=() if c == '\u202e' else pytest.mark.nightly) for c in HIDDEN],
)
@pytest.mark.parametrize('kind', KINDS, ids=lambda kind: kind.__name__)
def test_no_text_hides_a_character(kind: Any, character: str) -> None:
    message = kind()
    number, refusal = f'U+{ord(character):04X}', 'holds the character U'
    for holder, name, place in list(texts(message)):
        fill(holder, name, f'a{character}b\n\t')
        with pytest.raises(SafegenError, match=rf'^{re.escape(place)}: {refusal}') as why:
            check_sendable(message)
        assert number in why.value.message
        if (kind, place) != (ValidatePlan.Request, 'plan'):  # which has a verdict of its own
            with pytest.raises(SafegenError, match=refusal):
                check_texts(message)
        check_sendable(heard(message))
        assert (getattr(holder, name) if name else holder[0]) == f'a⟨{number}⟩b\n\t'
        assert deserialize_message(serialize_message(message), kind) == message
        fill(holder, name, 'für\r\n\tb1 ☺')
        check_sendable(message)


ASKED: Any = SimpleNamespace(
    context=SimpleNamespace(get_domain_id=lambda: 1),
    get_namespace=lambda: '/',
    commands=SimpleNamespace(authority=Authority({}, None)),
)
RECORDS: dict[Any, Any] = {
    Approve.Request: lambda answer: approval_record(ASKED, answer, ''),
    Attempt: record_conversions.attempt_record,
    ExecutePlan.Result: lambda result: record_conversions.result_event(result, Plan()),
    ExecutionProgress: lambda progress: record_conversions.progress_event(progress, 0.0),
    Observation: lambda seen: record_conversions.observed_event(seen, 0.0),
    Plan: record_conversions.plan_event,
    PlanTask.Result: lambda result: record_conversions.result_event(result, result.plan),
    Replan: record_conversions.replan_record,
    RunTask.Result: lambda result: record_conversions.result_event(result, result.plan),
    Task: lambda task: record_conversions.received_task(task, 'a client'),
    WorldState: record_conversions.block_records,
}
"""What is written down of messages."""


@pytest.mark.parametrize('kind', RECORDS, ids=lambda kind: kind.__name__)
def test_no_text_is_written_down_raw(kind: Any) -> None:
    message = kind()
    for character in HIDDEN:
        for holder, name, _ in list(texts(message)):
            fill(holder, name, f'a{character}b')
        written = json.dumps(plain(RECORDS[kind](message)), ensure_ascii=False)
        assert f'U+{ord(character):04X}' in written
        assert character not in written


def test_lists_have_a_limit() -> None:
    goal = ExecutePlan.Goal(plan=Plan(steps=[Step()] * (MAX_ITEMS + 1)))
    with pytest.raises(SafegenError, match=r'^plan.steps: 100,001 items') as caught:
        check_texts(goal)
    assert caught.value.code is ErrorCode.TASK_TOO_LARGE


def test_the_limits_are_those_of_the_documentation() -> None:
    text = (share_dir() / 'docs' / 'security.md').read_text(encoding='utf-8')
    for limit in (MAX_TEXT, MAX_PLAN_TEXT, MAX_NAME, MAX_ITEMS):
        assert f'{limit:,} ' in text.replace('\n', ' ')


def refused(answer: Any) -> bool:
    """Whether an answer says no."""
    if hasattr(answer, 'status'):
        return not answer.status.ok
    return bool(getattr(answer, 'error_code', 0)) or not getattr(answer, 'success', True)


@pytest.fixture(scope='module')
def stack(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    with stoppable_stack(ros_domain, tmp_path_factory.mktemp('stack')) as running:
        yield running


def published(client: Client) -> list[Any]:
    """Every message that the nodes of the stack publish from now on."""
    heard: list[Any] = []
    profile = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)
    for node, interfaces in INTERFACES.items():
        for each in (*interfaces, *COMMON):
            if each.kind is Kind.PUBLISHER:
                package, _, name = each.type.split('/')
                kind = getattr(importlib.import_module(f'{package}.msg'), name)
                topic = each.full_name(client.node.get_namespace(), node)
                client.node.create_subscription(kind, topic, heard.append, profile)
    return heard


@pytest.mark.nightly
def test_whoever_sends_a_text_is_told_its_field(client: Client) -> None:
    approver, commands = Approver(client.node), CommandClient(client.node, 'executor')
    sent = {
        'task.problem': (client.plan, client.run, lambda text: client.validate(text, '(a)')),
        'plan': (lambda text: client.validate('(define)', text),),
        'task.constraints': (lambda text: client.plan('(a)', options=Options(constraints=text)),),
        'task.domain': (lambda text: client.execute('(define)', Steps(()), text),),
        'digest': (lambda text: approver.say(text, True, '', '', WAIT_S),),
        'by': (lambda text: approver.say('', True, text, '', WAIT_S),),
        'reason': (lambda text: approver.say('', True, '', text, WAIT_S),),
        'command': (lambda text: commands.do(text, timeout_s=WAIT_S),),
        'argument': (lambda text: commands.do('reset', text, timeout_s=WAIT_S),),
    }
    for place, senders in sent.items():
        for send in senders:
            for character in HIDDEN:
                with pytest.raises(SafegenError, match=rf'^{re.escape(place)}: holds the char'):
                    send(f'a{character}b')


@pytest.mark.nightly
def test_no_hidden_character_passes_a_running_node(client: Client, stack: Supervisor) -> None:
    """Each text of each request, one by one; NUL and lone surrogates are not sent by rclpy."""
    messages = published(client)

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
    ours = (StopState(stopped=True, reason=HIDING), Heartbeat(node=HIDING, state=HIDING))
    stop.publish(ours[0])
    client.node.create_publisher(Heartbeat, 'heartbeat', qos.HEARTBEATS_OUT).publish(ours[1])
    operator = Operator(client)
    operator.wait_stopped('a')
    stop.publish(StopState())
    operator.reset()
    assert active() == nodes
    assert len({type(message) for message in messages}) > 5
    assert [each for each in messages if cleaned(deepcopy(each)) != each and each not in ours] == []
    written = repr([load_journal(path) for path in runs_dir().glob(f'nodes/*/*/{JOURNAL}')])
    assert 'U+001B' in written
    assert '\\x1b' not in written
    assert '\\u202e' not in written
    assert b'\x1b' not in stack.log_file.read_bytes()
