# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Each gap of rclpy that is closed here, with what goes wrong where it is not."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import rclpy
from action_msgs.msg import GoalStatus, GoalStatusArray
from rclpy.action import CancelResponse
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import Trigger
from support.waiting import wait_until
from unique_identifier_msgs.msg import UUID

from safegen_msgs.action import PlanTask
from safegen_msgs.msg import PlanningProgress
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.ros import rclpy_compat
from safegen_ros.ros.calls import wait_for
from safegen_ros.ros.rclpy_compat import (
    GoalClient,
    GoalServer,
    await_canceling,
    await_discovery_of_clients,
    destroy_actions,
    destroy_lifecycle,
    finish_callbacks,
    lifecycle_state,
)

WAIT_S = 30.0
WINDOW_S = 0.5
"""How long the sender is held where rclpy has given up its lock: an answer takes about 1 ms."""


@contextmanager
def _spinning(name: str) -> Iterator[Node]:
    with _held_up(name) as node:
        executor = SingleThreadedExecutor(context=node.context)
        executor.add_node(node)

        def spin() -> None:
            with suppress(ExternalShutdownException):
                executor.spin()

        thread = threading.Thread(target=spin)
        thread.start()
        try:
            yield node
        finally:
            executor.shutdown()
            thread.join()


@contextmanager
def _held_up(name: str) -> Iterator[Node]:
    """A node for which nothing is read."""
    context = Context()
    rclpy.init(context=context)
    node = Node(name, context=context)
    try:
        yield node
    finally:
        # Else it stays until it is garbage, and the next server of its name may not count as ready.
        destroy_actions(node)
        node.destroy_node()
        rclpy.try_shutdown(context=context)


@contextmanager
def _asked(
    work: Callable[[Any], PlanTask.Result], **callbacks: Any
) -> Iterator[tuple[GoalServer, Node, GoalClient]]:
    """A server that does this work, its node, and a client that has found it."""
    with _spinning('server') as node, _spinning('client') as asking:
        server = GoalServer(node, PlanTask, 'plan_task', work, **callbacks)
        client = GoalClient(asking, PlanTask, 'plan_task')
        assert client.wait_for_server(timeout_sec=WAIT_S)
        yield server, node, client


class _Held(dict[Any, Any]):
    """What rclpy writes to between its two futures, made slow."""

    def __setitem__(self, key: Any, value: Any) -> None:
        threading.Event().wait(WINDOW_S)
        super().__setitem__(key, value)


def _until_matched(server: Node) -> None:
    """Waits until the server knows who wants its feedback; what is published before is lost."""
    wait_until(lambda: bool(server.count_subscribers('plan_task/_action/feedback')), 'the client')


def _first_handle(client: GoalClient, hear: Callable[[Any], None]) -> Any:
    """Sends a goal until an acceptance comes.

    A server that has not yet found who wants its answer, which nothing tells, loses the first one.
    """
    for _ in range(3):
        sent = client.send_goal_async(PlanTask.Goal(), hear)
        try:
            return wait_for(sent, WAIT_S / 3, 'the acceptance', ErrorCode.SERVER_LOST)
        except SafegenError:
            continue
    raise AssertionError('no goal was accepted')


def _succeed(goal_handle: Any) -> PlanTask.Result:
    goal_handle.succeed()
    return PlanTask.Result()


@pytest.mark.usefixtures('ros_domain')
def test_an_answer_that_comes_while_the_goal_is_being_sent_is_not_lost() -> None:
    with _asked(_succeed) as (_, _, client):
        client._feedback_callbacks = _Held()
        sent = client.send_goal_async(PlanTask.Goal(), lambda feedback: None)
        handle = wait_for(sent, WAIT_S, 'the acceptance', ErrorCode.SERVER_LOST)
        assert handle.accepted
        wait_for(handle.get_result_async(), WAIT_S, 'the result', ErrorCode.SERVER_LOST)


BURST = 200


def _burst(goal_handle: Any) -> PlanTask.Result:
    """Many words and the result at once, as a cell answers that takes no time for a step."""
    for number in range(BURST):
        progress = PlanningProgress(phase='judged', detail=str(number))
        goal_handle.publish_feedback(PlanTask.Feedback(progress=progress))
    goal_handle.succeed()
    return PlanTask.Result()


@pytest.mark.usefixtures('ros_domain')
def test_feedback_that_is_overtaken_by_the_result_is_heard_in_order() -> None:
    heard: list[int] = []
    complete = threading.Event()

    def hear(message: Any) -> None:
        heard.append(int(message.feedback.progress.detail))
        if len(heard) % BURST == 0:
            complete.set()

    with _asked(_burst) as (_, node, client):
        _until_matched(node)
        first = _first_handle(client, lambda feedback: None).get_result_async()
        wait_for(first, WAIT_S, 'the first result', ErrorCode.SERVER_LOST)
        open_before = len(client._futures)
        for _ in range(2):
            complete.clear()
            sent = client.send_goal_async(PlanTask.Goal(), hear)
            handle = wait_for(sent, WAIT_S, 'the acceptance', ErrorCode.SERVER_LOST)
            result = handle.get_result_async()
            wait_for(result, WAIT_S, 'the result', ErrorCode.SERVER_LOST)
            assert complete.wait(WAIT_S), f'{len(heard)} of {BURST} were heard'
        wait_until(lambda: len(client._futures) <= open_before, 'nothing left of the goals')
    assert heard == [*range(BURST)] * 2


@pytest.mark.usefixtures('ros_domain')
def test_what_is_here_before_the_result_is_heard_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that was held up finds all at once, and is given one of each kind."""
    goal, heard = bytes(range(16)), list[str]()

    def said(word: str) -> Any:
        message = PlanTask.Impl.FeedbackMessage()
        message.goal_id.uuid = list(goal)
        message.feedback.progress.detail = word
        return message

    unread = [said('second'), said('third')]
    handle = SimpleNamespace(take_feedback=lambda kind: unread.pop(0) if unread else None)
    with _held_up('client') as node:
        client = GoalClient(node, PlanTask, 'plan_task')
        client._feedback_callbacks[goal] = lambda m: heard.append(m.feedback.progress.detail)
        result: Any = Future()
        result.add_done_callback(lambda _: heard.append('result'))
        client._pending_result_requests[1] = result
        with monkeypatch.context() as patch:
            patch.setattr(client, '_client_handle', handle)
            asyncio.run(client.execute({'result': (1, 'it'), 'feedback': said('first')}))
    assert heard == ['first', 'second', 'third', 'result']


@pytest.mark.usefixtures('ros_domain')
def test_a_server_is_there_when_its_status_has_arrived() -> None:
    """By then the connections for its answers are made, too; rclpy looks at those of requests."""
    with _spinning('server') as server, _held_up('client') as node:
        client = GoalClient(node, PlanTask, 'plan_task')
        GoalServer(server, PlanTask, 'plan_task', _succeed)
        wait_until(client.server_is_ready, 'the connections for requests')
        assert not client.wait_for_server(timeout_sec=0.05)
        asyncio.run(client.execute({'status': GoalStatusArray()}))
        assert client.wait_for_server(timeout_sec=WAIT_S)


@pytest.mark.usefixtures('ros_domain')
def test_an_executor_may_look_at_a_client_as_soon_as_it_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with _spinning('client') as node:
        add = node.add_waitable
        looked: list[object] = []

        def add_and_look(waitable: Any) -> None:
            add(waitable)
            looked.append(waitable.get_num_entities())

        monkeypatch.setattr(node, 'add_waitable', add_and_look)
        GoalClient(node, PlanTask, 'plan_task')
        assert looked


@pytest.mark.usefixtures('ros_domain')
def test_the_work_of_a_goal_begins_while_the_executor_is_busy() -> None:
    """In rclpy it is a task of the executor."""
    begun, free = threading.Event(), threading.Event()

    def work(goal_handle: Any) -> PlanTask.Result:
        begun.set()
        return _succeed(goal_handle)

    def accepted(goal_handle: Any) -> None:
        goal_handle.execute()
        assert begun.wait(WAIT_S)  # the only thread of the executor is in this callback
        free.set()

    with _asked(work, handle_accepted_callback=accepted) as (server, _, client):
        handle = _first_handle(client, lambda feedback: None)
        wait_for(handle.get_result_async(), WAIT_S, 'the result', ErrorCode.SERVER_LOST)
        assert free.is_set()
        server.join(WAIT_S)
        assert server.open_goals() == []


@pytest.mark.usefixtures('ros_domain')
def test_a_goal_whose_acceptance_cannot_be_sent_is_none_of_the_open_goals() -> None:
    """rclpy keeps it as accepted for ever."""
    goal = PlanTask.Impl.SendGoalService.Request()
    goal.goal_id.uuid = list(range(16))
    with _held_up('server') as node:
        server = GoalServer(node, PlanTask, 'plan_task', _succeed)
        gone: Any = None  # nobody to send the acceptance to
        asyncio.run(server._execute_goal_request((gone, goal)))
        assert server._goal_handles[bytes(range(16))].is_active
        assert server.open_goals() == []


READER_OUT_OF_REACH = """<dds xmlns="http://www.eprosima.com"><profiles>
<data_reader profile_name="client"><qos><partition><names><name>elsewhere</name></names></partition>
</qos></data_reader></profiles></dds>"""
"""The client's requests arrive at the service, which never finds the reader of the answers."""

ASKING = """
import rclpy
from std_srvs.srv import Trigger
rclpy.init()
node = rclpy.create_node('asking')
client = node.create_client(Trigger, 'ask')
while True:
    client.call_async(Trigger.Request())
    rclpy.spin_once(node, timeout_sec=0.1)
"""


def test_an_answer_is_sent_until_its_client_is_discovered(
    ros_domain: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rclpy_compat, 'DISCOVERY_TIMEOUT_S', 0.35)
    (tmp_path / 'profiles.xml').write_text(READER_OUT_OF_REACH, encoding='utf-8')
    environment = {
        **os.environ,
        'RMW_FASTRTPS_USE_QOS_FROM_XML': '1',
        'FASTDDS_DEFAULT_PROFILES_FILE': str(tmp_path / 'profiles.xml'),
    }
    sent: list[str] = []
    with _spinning('server') as node:
        service = node.create_service(Trigger, 'ask', lambda request, response: response)
        send = service.send_response

        def noted(*arguments: Any) -> None:
            try:
                send(*arguments)
            except SystemError:
                sent.append('dropped')
                raise
            sent.append('sent')

        monkeypatch.setattr(service, 'send_response', noted)
        await_discovery_of_clients(service)
        with subprocess.Popen([sys.executable, '-c', ASKING], env=environment) as asking:
            wait_until(lambda: sent, 'a request')
            asking.kill()
            client = node.create_client(Trigger, 'ask')
            assert client.wait_for_service(timeout_sec=WAIT_S)
            wait_for(client.call_async(Trigger.Request()), WAIT_S, 'it', ErrorCode.SERVER_LOST)
    assert sent[:2] == ['dropped', 'dropped'], 'one answer is tried again, and given up in the end'


@pytest.mark.usefixtures('ros_domain')
def test_a_goal_is_cancelled_whose_acceptance_is_not_known() -> None:
    cancelled = threading.Event()

    def work(goal_handle: Any) -> PlanTask.Result:
        wait_until(lambda: goal_handle.is_cancel_requested, 'the cancel')
        cancelled.set()
        goal_handle.canceled()
        return PlanTask.Result()

    goal_id = UUID(uuid=list(range(16)))
    with _asked(work, cancel_callback=lambda _: CancelResponse.ACCEPT) as (_, _, client):
        client.send_goal_async(PlanTask.Goal(), goal_uuid=goal_id)

        def ended() -> bool:
            client.cancel(goal_id)
            return cancelled.is_set()

        wait_until(ended, 'the goal to end')


@pytest.mark.usefixtures('ros_domain')
def test_a_goal_can_be_canceled_when_its_cancel_callback_has_ended_its_work() -> None:
    """rclpy changes the state of the goal after the callback."""
    asked = threading.Event()

    def cancel(goal_handle: Any) -> CancelResponse:
        asked.set()
        threading.Event().wait(WINDOW_S)
        return CancelResponse.ACCEPT

    def work(goal_handle: Any) -> PlanTask.Result:
        assert asked.wait(WAIT_S)
        assert not goal_handle.is_cancel_requested
        await_canceling(goal_handle)
        goal_handle.canceled()
        return PlanTask.Result()

    with _asked(work, cancel_callback=cancel) as (_, _, client):
        handle = _first_handle(client, lambda feedback: None)
        result = handle.get_result_async()
        handle.cancel_goal_async()
        answer = wait_for(result, WAIT_S, 'the result', ErrorCode.SERVER_LOST)
        assert answer.status == GoalStatus.STATUS_CANCELED


@pytest.mark.usefixtures('ros_domain')
def test_a_destroyed_node_leaves_the_graph() -> None:
    """rclpy leaves its actions, and with them the node, until they are garbage."""
    with _held_up('watcher') as watcher:
        node = Node('leaver', context=watcher.context)
        kept = [
            GoalServer(node, PlanTask, 'plan_task', _succeed),
            GoalClient(node, PlanTask, 'plan_task'),
        ]
        wait_until(lambda: 'leaver' in watcher.get_node_names(), 'the node')
        destroy_actions(node)
        node.destroy_node()
        wait_until(lambda: 'leaver' not in watcher.get_node_names(), 'the end of the node')
        assert kept


@pytest.mark.usefixtures('ros_domain')
def test_callbacks_that_have_not_begun_are_finished_before_their_executor_goes() -> None:
    begun: list[int] = []
    with _held_up('node') as node:
        executor = MultiThreadedExecutor(num_threads=2, context=node.context)
        for number in range(4):
            executor.create_task(lambda number: (time.sleep(0.1), begun.append(number)), number)
        for _ in range(4):
            executor.spin_once()
        finish_callbacks(executor)
        assert sorted(begun) == [0, 1, 2, 3]
        executor.shutdown()


def test_the_workarounds_are_for_the_installed_version() -> None:
    """With another one each test above says whether its gap is still there."""
    assert importlib.metadata.version('rclpy').startswith('9.1.')


@contextmanager
def _lifecycle_node() -> Iterator[LifecycleNode]:
    context = Context()
    rclpy.init(context=context)
    node = LifecycleNode('managed', context=context)
    try:
        yield node
    finally:
        node.destroy_node()
        destroy_lifecycle(node)
        rclpy.try_shutdown(context=context)


@pytest.mark.usefixtures('ros_domain')
def test_the_state_of_a_lifecycle_node_has_no_public_call() -> None:
    with _lifecycle_node() as node:
        assert not [name for name in dir(node) if 'state' in name and name[0] != '_']
        assert lifecycle_state(node) == (1, 'unconfigured')
        node.trigger_configure()
        assert lifecycle_state(node) == (2, 'inactive')


@pytest.mark.usefixtures('ros_domain')
def test_a_destroyed_lifecycle_node_stays_in_the_graph_until_its_state_machine_goes() -> None:
    with _held_up('watcher') as watcher, _lifecycle_node() as node:

        def there() -> bool:
            return 'managed' in watcher.get_node_names()

        wait_until(there, 'the node in the graph')
        node.destroy_node()
        threading.Event().wait(WINDOW_S)  # the loss of a node takes about 10 ms
        assert there()
        destroy_lifecycle(node)
        wait_until(lambda: not there(), 'the end of the node')
