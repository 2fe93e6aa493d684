# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A stack with operators' keys and site rules: a process without a key gets nothing done.

The nodes are processes of their own; the stranger is another one of the same computer.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from std_srvs.srv import Trigger
from support.blocks_small import THREE_TEXT as THREE
from support.goals import WAIT_S
from support.leading import StateCaller
from support.model_server import MODEL, ModelServer
from support.single_nodes import SingleNodes
from support.stopping import BY_SEARCH, THREE_PLAN
from support.waiting import wait_until

from safegen_msgs.action import ExecutePlan
from safegen_msgs.msg import Approval, Signature, StopState, Task
from safegen_msgs.srv import Approve, Operate
from safegen_ros.client import Client
from safegen_ros.errors import ErrorCode
from safegen_ros.keys import key_pair
from safegen_ros.keys.key_pair import new_key
from safegen_ros.nodes.approval import Approver, plan_digest
from safegen_ros.record.history import ListedRun, list_runs
from safegen_ros.record.signatures import signature_words
from safegen_ros.ros import conversions, qos
from safegen_ros.ros.calls import wait_for
from safegen_ros.ros.commands import CommandClient
from safegen_ros.ros.watchdog import StopListener
from safegen_ros.tasks.site import load_site

SITE = """
domains:
  blocksworld:
    objects: [a, b, c]
    constraints:
      - (always (not (on b c)))
approval: always
senders: [alice]
"""
AGAINST = THREE.replace('(and (on a b) (on c a))', '(and (on a b) (on b c))')


class Stack:
    """The nodes, a client with alice's key, and a stranger without any."""

    def __init__(self, nodes: SingleNodes, client: Client, stranger: Client, folder: Path) -> None:
        self.nodes, self.client, self.stranger, self.folder = nodes, client, stranger, folder

    def call(self, kind: Any, name: str, request: Any, client: Client | None = None) -> Any:
        client = client or self.stranger
        caller: Any = client.node.create_client(kind, name)
        assert caller.wait_for_service(WAIT_S)
        StateCaller(client, 'executor')
        return wait_for(caller.call_async(request), WAIT_S, name, ErrorCode.SERVER_LOST)

    def execute(self, client: Client, problem: str = THREE, **fields: Any) -> Any:
        goal = ExecutePlan.Goal(
            task=Task(problem=problem), plan=conversions.plan_to_msg(THREE_PLAN), **fields
        )
        goal.time_budget.sec = int(WAIT_S)
        return client._send('execute_plan', ExecutePlan, goal, lambda f: None).result()

    def run(self, problem: str = THREE) -> Any:
        return self.client.start_run(problem, options=BY_SEARCH)


@pytest.fixture(scope='module')
def stack(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp('stack')
    (folder / 'site.yaml').write_text(SITE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('SAFEGEN_STATE_DIR', str(folder / 'alice'))
        alice = new_key(key_pair.keys_dir() / 'alice.key')
        bob = new_key(folder / 'bob.key')
        (folder / 'operators').write_text(
            f'alice operator,sender,engineer {alice.public.text}\nbob sender {bob.public.text}\n'
        )
        with ModelServer() as server:
            values = {
                'model': f'{server.url}#{MODEL}',
                'cell': 'symbolic',
                'site_file': folder / 'site.yaml',
                'operators_file': folder / 'operators',
            }
            with SingleNodes(ros_domain, folder, values) as nodes, Client() as client:
                patch.setenv('SAFEGEN_STATE_DIR', str(folder / 'stranger'))
                with Client() as stranger:
                    found = Stack(nodes, client, stranger, folder)
                    nodes.mend(client)
                    yield found


def use_keys_of(stack: Stack, monkeypatch: pytest.MonkeyPatch, user: str) -> None:
    monkeypatch.setenv('SAFEGEN_STATE_DIR', str(stack.folder / user))


@pytest.fixture(autouse=True)
def as_alice(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    use_keys_of(stack, monkeypatch, 'alice')


def test_a_stranger_gets_no_goal_executed(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    use_keys_of(stack, monkeypatch, 'stranger')
    digest = load_site(stack.folder / 'site.yaml').digest
    plan, task = conversions.plan_to_msg(THREE_PLAN), Task(problem=THREE)
    forged = Approval(digest=plan_digest(task, plan, digest), by='alice')
    for fields in (
        {},
        {'approval': forged},
        {'signature': Signature(key='alice', time=time.time_ns(), value=[7] * 64)},
        {'signature': Signature(key='installation', time=time.time_ns(), value=[7] * 64)},
    ):
        result = stack.execute(stack.stranger, **fields)
        assert ErrorCode(result.error_code) is ErrorCode.NOT_AUTHORIZED, result.error_msg
        assert result.steps_done == 0
    result = stack.stranger.run(THREE, options=BY_SEARCH)
    assert ErrorCode(result.error_code) is ErrorCode.NOT_AUTHORIZED, result.error_msg
    assert 'must be signed' in result.error_msg
    assert not result.attempts


def test_a_sender_needs_the_approval_of_the_site_for_a_plan_of_his_own(stack: Stack) -> None:
    result = stack.execute(stack.client)
    assert ErrorCode(result.error_code) is ErrorCode.APPROVAL_REFUSED, result.error_msg
    assert result.steps_done == 0


def test_a_stranger_approves_nothing_and_an_operator_does(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    approver, strange = Approver(stack.client.node), Approver(stack.stranger.node)
    goal = stack.run()
    pending = approver.wait(WAIT_S)
    assert pending is not None
    use_keys_of(stack, monkeypatch, 'stranger')
    answer = strange.say(pending.digest, True, 'alice', '', WAIT_S)
    assert (answer.success, 'must be signed' in answer.message) == (False, True)
    forged = Approve.Request(digest=pending.digest, approve=True, by='alice')
    forged.signature = Signature(
        key='alice', nonce=pending.nonce, time=time.time_ns(), value=[1] * 64
    )
    answer = stack.call(Approve, 'planner/approve', forged)
    assert (answer.success, 'not one of alice' in answer.message) == (False, True)
    use_keys_of(stack, monkeypatch, 'alice')
    answer = approver.say(pending.digest, True, 'somebody else', 'looks fine', WAIT_S)
    assert answer.success, answer.message
    result = goal.result()
    assert ErrorCode(result.error_code) is ErrorCode.NONE, result.error_msg
    assert (result.steps_done, result.approved_by) == (4, 'alice')
    monkeypatch.setenv('SAFEGEN_STATE_DIR', str(stack.folder))  # of the nodes
    kept = next(run.kept for run in list_runs(stack.nodes.runs) if run.kept and _is(run, goal))
    (approval,) = kept.record.approvals  # planner and executor wrote the same
    assert (approval.by, approval.reason, approval.verified) == ('alice', 'looks fine', True)
    assert approval.digest == pending.digest
    assert approval.public in (stack.folder / 'operators').read_text()
    assert kept.record.site == load_site(stack.folder / 'site.yaml').digest
    assert len(kept.signers) > 1
    assert signature_words(kept.signers)[1].endswith(', whole')


def _is(run: ListedRun, goal: Any) -> bool:
    return bool(run.kept) and run.kept.goals[0].id == goal.id


@pytest.mark.parametrize(
    ('command', 'told'),
    [('blocks_set_up', 'nothing to confirm'), ('release', 'a symbolic cell has no tool')],
)
def test_a_stranger_commands_no_executor(stack: Stack, command: str, told: str) -> None:
    for kind, name, request in (
        (Trigger, command, Trigger.Request()),
        (Operate, 'executor/operate', Operate.Request(command=command)),
    ):
        answer = stack.call(kind, name, request)
        assert (answer.success, 'must be signed' in answer.message) == (False, True)
    answer = CommandClient(stack.client.node, 'executor').do(command, timeout_s=WAIT_S)
    assert told in answer.message


def test_an_approval_that_was_seen_on_the_wire_counts_once(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bob may send goals; he has heard how alice approved of the same plan."""
    approver = Approver(stack.client.node)
    heard: list[Any] = []
    say = approver._client.call_async
    monkeypatch.setattr(
        approver._client, 'call_async', lambda request: (heard.append(request), say(request))[1]
    )
    goal = stack.run()
    pending = approver.wait(WAIT_S)
    assert approver.say(pending.digest, True, '', '', WAIT_S).success
    assert ErrorCode(goal.result().error_code) is ErrorCode.NONE
    seen = next(each for each in heard if each.digest)
    again = Approval(digest=seen.digest, by='alice', signature=seen.signature)
    goal = ExecutePlan.Goal(task=pending.task, plan=pending.plan, approval=again)
    goal.time_budget.sec = int(WAIT_S)
    result = stack.client._send('execute_plan', ExecutePlan, goal, lambda f: None).result()
    assert ErrorCode(result.error_code) is ErrorCode.NOT_AUTHORIZED, result.error_msg
    assert 'used before' in result.error_msg


def test_only_senders_of_the_site_send(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(key_pair.OPERATOR_KEY_ENV, str(stack.folder / 'bob.key'))
    with Client() as bob:
        result = bob.run(THREE, options=BY_SEARCH)
    assert ErrorCode(result.error_code) is ErrorCode.SITE_REFUSED, result.error_msg
    assert 'bob is not among the senders' in result.error_msg


def test_a_goal_against_the_rules_of_the_site_is_refused_by_name(stack: Stack) -> None:
    result = stack.run(AGAINST).result()
    assert ErrorCode(result.error_code) is ErrorCode.SITE_REFUSED, result.error_msg
    assert 'site.yaml:6:9' in result.error_msg
    assert '(always (not (on b c)))' in result.error_msg


def test_anybody_stops_and_only_an_operator_resets(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = StopListener(stack.client.node)
    assert stack.call(Trigger, 'stop', Trigger.Request()).success
    wait_until(lambda: heard.reason, 'a stop')
    spoof = stack.stranger.node.create_publisher(StopState, 'stopped', qos.LATCHED)
    wait_until(lambda: spoof.get_subscription_count() > 1, 'listeners')
    for count in range(100, 110):
        spoof.publish(StopState(stopped=False, reason='', count=count))
        answer = stack.call(Trigger, 'reset', Trigger.Request())
        assert (answer.success, 'must be signed' in answer.message) == (False, True)
    stack.stranger.node.destroy_publisher(spoof)
    forged = Operate.Request(command='reset', signature=Signature(key='alice', value=[1] * 64))
    assert not stack.call(Operate, 'executor/operate', forged).success
    use_keys_of(stack, monkeypatch, 'stranger')
    answer = CommandClient(stack.stranger.node, 'executor').do('reset', timeout_s=WAIT_S)
    assert (answer.success, 'must be signed' in answer.message) == (False, True)
    use_keys_of(stack, monkeypatch, 'alice')
    # Whatever strangers said on the topic, the executor is stopped.
    result = stack.execute(stack.client)
    assert ErrorCode(result.error_code) is ErrorCode.EXECUTION_STOPPED, result.error_msg
    commands = CommandClient(stack.client.node, 'executor')
    assert commands.do('reset', timeout_s=WAIT_S).success


@pytest.mark.parametrize('node', ['validator', 'executor', 'planner'])
def test_a_stranger_weakens_no_node(stack: Stack, node: str) -> None:
    def lead(number: int) -> bool:
        request = ChangeState.Request(transition=Transition(id=number))
        return bool(stack.call(ChangeState, f'{node}/change_state', request).success)

    def set_parameter(name: str, value: ParameterValue) -> Any:
        request = SetParameters.Request(parameters=[Parameter(name=name, value=value)])
        return stack.call(SetParameters, f'{node}/set_parameters', request).results[0]

    text = ParameterType.PARAMETER_STRING
    assert lead(Transition.TRANSITION_DEACTIVATE)
    assert lead(Transition.TRANSITION_CLEANUP)
    for name in ('site_file', 'operators_file'):
        done = set_parameter(name, ParameterValue(type=text, string_value=''))
        assert not done.successful
    flag = ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=False)
    done = set_parameter('autostart', flag)
    assert (done.successful, 'must be signed' in done.reason) == (False, True)
    assert not lead(Transition.TRANSITION_CONFIGURE)
    commands = CommandClient(stack.client.node, node)
    changed = json.dumps({'autostart': True})
    assert commands.do('set_parameters', changed, timeout_s=WAIT_S).success
    fixed = commands.do('set_parameters', json.dumps({'site_file': ''}), timeout_s=WAIT_S)
    assert not fixed.success
    assert commands.do('configure', timeout_s=WAIT_S).success
    assert not lead(Transition.TRANSITION_ACTIVATE)
    answer = commands.do('activate', timeout_s=WAIT_S)
    assert answer.success, answer.message
    assert StateCaller(stack.client, node).state == 'active'


@pytest.mark.nightly
def test_a_validator_with_another_site_file_moves_nothing(stack: Stack) -> None:
    """The last one here: it leaves a stack that refuses."""
    site = stack.folder / 'site.yaml'
    site.write_text(SITE + '# changed\n')
    stack.nodes.kill('validator', signal.SIGINT)
    stack.nodes.mend(stack.client)
    result = stack.run().result()
    assert ErrorCode(result.error_code) is ErrorCode.SITE_REFUSED, result.error_msg
    assert 'has changed since it was loaded' in result.error_msg
    site.write_text(SITE)
    result = stack.run().result()
    assert ErrorCode(result.error_code) is ErrorCode.SITE_REFUSED, result.error_msg
    assert 'the validator has loaded the site file of digest' in result.error_msg
