# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The verbs of an operator at the command line, with a stack and without one."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from rclpy.node import Node
from std_srvs.srv import Trigger
from support.command_line import CommandLine
from support.goals import WAIT_S, Feedback
from support.stopping import BY_SEARCH, LONG, Operator, execution, stoppable_stack
from support.waiting import wait_until

from safegen_ros.bringup.supervisor import Supervisor
from safegen_ros.cli import operator, stack_status
from safegen_ros.client import Client
from safegen_ros.errors import ErrorCode
from safegen_ros.nodes import stop_socket
from safegen_ros.nodes.release_store import RELEASED, STOPPED, ReleaseStore
from safegen_ros.ros.commands import CommandClient
from safegen_ros.ros.liveness import HeartbeatPublisher
from safegen_ros.ros.stack_state import nobody_listens, read_state


@pytest.fixture(scope='module')
def stack(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    """Its arm takes longer than any number of commands."""
    folder = tmp_path_factory.mktemp('stack')
    with stoppable_stack(ros_domain, folder, real_time_factor=0.4) as running:
        yield running


def test_the_verbs_of_an_operator(
    stack: Supervisor, client: Client, monkeypatch: pytest.MonkeyPatch, safegen: CommandLine
) -> None:
    monkeypatch.setenv('SAFEGEN_STATE_DIR', str(stack.log_dir))  # which has the socket
    feedback = Feedback(execution('moving'))
    goal = client.start_run(LONG, options=BY_SEARCH, on_feedback=feedback)
    feedback.wait()
    code, out, _ = safegen('status', '--json')
    told = json.loads(out)
    assert (code, told['up'], told['stop']['stopped'], told['untold']) == (0, True, False, [])
    assert [(node['name'], node['state']) for node in told['nodes']] == [
        (name, 'active') for name in ('/validator', '/executor', '/planner')
    ]
    under_way = {each['action']: each['status'] for each in told['goals']}
    assert under_way == {'run_task': 'running', 'execute_plan': 'running'}
    code, _, error = safegen('arm', 'release')
    assert (code, 'a goal is running' in error) == (1, True)

    code, out, _ = safegen('stop')
    assert (code, out) == (0, 'stopped\n')
    assert ErrorCode(goal.result().error_code) is ErrorCode.EXECUTION_STOPPED
    code, out, _ = safegen('status')
    assert code == 0
    assert 'STOPPED since ' in out
    assert 'safegen stop was called' in out
    assert 'no goal is under way' in out
    code, _, error = safegen('arm', 'release')
    assert (code, 'the stack is stopped' in error) == (1, True)
    assert safegen('reset')[:2] == (0, 'Reset. New goals are accepted.\n')
    assert json.loads(safegen('reset', '--json')[1]) == {
        'success': True, 'message': 'it was not stopped',
    }  # fmt: skip


def test_a_server_that_never_had_a_goal_says_so_at_once(
    client: Client, safegen: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that tells nothing is no server without a goal."""
    told = json.loads(safegen('status', '--json')[1])
    assert (told['goals'], told['untold']) == ([], [])
    monkeypatch.setitem(stack_status._ACTIONS, 'dance', 'planner')
    monkeypatch.setattr(stack_status, 'LATCHED_S', 0.1)
    code, out, _ = safegen('status')
    assert code == 0
    assert 'goals of dance: not known, as its server does not answer' in out
    assert 'no goal is under way' not in out


def test_status_asks_for_a_second_process_of_a_name(
    stack: Supervisor, client: Client, safegen: CommandLine
) -> None:
    """Planner and executor have heard it before `safegen status` begins to listen."""
    second = Node('validator', context=client.node.context)
    asked = CommandClient(client.node, 'planner')
    with HeartbeatPublisher(second, lambda: 'active'):
        wait_until(lambda: 'as /validator' in asked.ask(WAIT_S).message, 'the second validator')
        code, out, _ = safegen('status')
        assert (code, 'NOT READY: two processes of one name' in out) == (1, True)
        assert '2 processes run as /validator: end all but one' in out
    second.destroy_node()


@pytest.mark.nightly
def test_the_verbs_where_no_stack_is(
    stack: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, safegen: CommandLine
) -> None:
    for name in ('SAFEGEN_STATE_DIR', 'SAFEGEN_RUNTIME_DIR'):
        monkeypatch.setenv(name, str(tmp_path))
    for module in (operator, stack_status):
        monkeypatch.setattr(module, 'DISCOVERY_S', 2.0)
    nowhere = ['--namespace', 'nowhere']
    code, _, error = safegen('arm', 'release', *nowhere)
    assert (code, 'no executor answers' in error) == (1, True)
    assert 'executors are in namespace /: use --namespace' in error
    code, out, _ = safegen('status', *nowhere)
    assert (code, 'no node is there (executors are in namespace /: use' in out) == (1, True)
    code, out, _ = safegen('status', *nowhere, '--json')
    assert (code, json.loads(out)['stop']) == (1, None)
    code, _, error = safegen('approve', *nowhere)
    assert (code, 'no planner answers in namespace /nowhere' in error) == (1, True)
    assert "start the stack with 'safegen up sim'" in error
    assert 'nothing was ever stopped' in safegen('reset', *nowhere)[1]
    code, _, error = safegen('stop', *nowhere)
    assert code == 1
    assert 'no executor answers in namespace /nowhere' in error
    assert 'the stop is stored' in error
    with ReleaseStore(stack.domain, '/nowhere') as store:
        assert store.read().state == STOPPED
        code, out, _ = safegen('reset', *nowhere)
        assert (code, 'a simulated cell may move again' in out) == (0, True)
        assert (store.read().state, store.read().arm) == (RELEASED, False)
        assert 'no stop was left' in safegen('reset', *nowhere)[1]


def test_on_a_machine_without_nodes_the_verbs_answer_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, safegen: CommandLine
) -> None:
    """A socket at a port of the domain, or a network that may have nodes, makes them look."""
    monkeypatch.setenv('ROS_DOMAIN_ID', '100')  # which no test run takes
    monkeypatch.setenv('SAFEGEN_STATE_DIR', str(tmp_path))
    for module in ('cli.approval', 'client', 'cli.stack_status'):
        monkeypatch.setattr(f'safegen_ros.{module}.Client', None)
    assert 'no node is there' in safegen('status')[1]
    assert 'nothing was ever stopped' in safegen('reset')[1]
    assert 'the stop is stored' in safegen('stop')[2]
    assert "start it with 'safegen up sim'" in safegen('approve')[2]
    assert "start it with 'safegen up sim'" in safegen('run', 'examples/tower_order.pddl')[2]
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'SUBNET')
    assert not nobody_listens(100)
    monkeypatch.undo()
    with socket.socket(type=socket.SOCK_DGRAM) as taken:
        taken.bind(('127.0.0.1', 7400 + 250 * 100 + 10))
        assert not nobody_listens(100)


def test_a_stop_that_another_process_answers_reaches_the_executor(
    stack: Supervisor, client: Client, monkeypatch: pytest.MonkeyPatch, safegen: CommandLine
) -> None:
    def serve(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success, response.message = True, 'stopped'
        return response

    client.node.create_service(Trigger, 'not_the_stop', serve)
    caller = client.node.create_client(Trigger, 'not_the_stop')
    assert caller.wait_for_service(WAIT_S)
    with monkeypatch.context() as patch:
        patch.setenv('SAFEGEN_STATE_DIR', str(stack.log_dir))
        patch.setattr(Node, 'create_client', lambda *arguments: caller)
        patch.setattr(stop_socket, 'stop_at', lambda path, timeout_s: None)
        code, _, error = safegen('stop')
    assert (code, 'another process answers in its place' in error) == (1, True)
    assert 'the stop is stored' in error
    Operator(client).wait_stopped('safegen stop was called')
    assert safegen('reset')[0] == 0


def test_a_reset_leaves_a_stack_alone_that_it_cannot_see(
    stack: Supervisor, client: Client, monkeypatch: pytest.MonkeyPatch, safegen: CommandLine
) -> None:
    """As with other settings of discovery, or while the executor hangs."""
    assert safegen('stop')[0] == 0
    monkeypatch.setenv('SAFEGEN_STATE_DIR', str(stack.log_dir))
    monkeypatch.setattr(operator, '_call', lambda place, command: (None, ''))
    code, _, error = safegen('reset')
    assert code == 1
    assert f'a stack runs in namespace / of ROS_DOMAIN_ID {stack.domain} (process ' in error
    # One that was not started by `safegen up`.
    monkeypatch.setattr(operator, 'is_held', lambda domain, place: False)
    code, _, error = safegen('reset')
    assert (code, 'runs (process ' in error, 'nothing is reset' in error) == (1, True, True)
    with ReleaseStore(stack.domain, '/') as store:
        assert store.read().reason == 'the service stop was called'
    monkeypatch.undo()
    assert safegen('reset')[0] == 0


@pytest.mark.nightly
def test_a_frozen_executor_that_was_stopped_meanwhile_does_not_go_on(
    stack: Supervisor, client: Client, monkeypatch: pytest.MonkeyPatch, safegen: CommandLine
) -> None:
    feedback = Feedback(execution('moving'))
    goal = client.start_run(LONG, options=BY_SEARCH, on_feedback=feedback)
    feedback.wait()
    state = read_state(stack.domain)
    assert state is not None
    pid = state.nodes['/executor']
    monkeypatch.setenv('SAFEGEN_STATE_DIR', str(stack.log_dir))
    for module in (stop_socket, operator):
        monkeypatch.setattr(module, 'ANSWER_S', 0.5)
    monkeypatch.setattr(operator, 'DISCOVERY_S', 1.0)  # in which nobody finds a frozen one
    os.killpg(pid, signal.SIGSTOP)
    try:
        code, _, error = safegen('stop')
        assert (code, 'the stop is stored' in error) == (1, True)
    finally:
        os.killpg(pid, signal.SIGCONT)
    # The planner may have given the executor up before.
    ended = (ErrorCode.EXECUTION_STOPPED, ErrorCode.EXECUTOR_UNAVAILABLE)
    assert ErrorCode(goal.result().error_code) in ended
    monkeypatch.undo()
    wait_until(lambda: 'STOPPED since' in safegen('status')[1], 'the stop')
    assert 'no goal is under way' in safegen('status')[1]
    assert safegen('reset')[0] == 0
