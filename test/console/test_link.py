# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the console makes of statuses that come before, behind or instead of what they belong to."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from action_msgs.msg import GoalInfo, GoalStatus, GoalStatusArray
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from safegen_msgs.action import RunTask
from safegen_ros.console.link import NODES, Link
from safegen_ros.console.state import RUN, ConsoleState, GoalView, Pending
from safegen_ros.errors import ErrorCode
from safegen_ros.ros.liveness import HeartbeatMonitor
from safegen_ros.verdict import Category, Verdict

ID = '7' * 32
OURS = GoalView(ID, RUN, ours=True)
LOST = RunTask.Impl.GetResultService.Response(
    status=GoalStatus.STATUS_ABORTED,
    result=RunTask.Result(error_code=int(ErrorCode.UNSOLVABLE), error_msg='it cannot be done'),
)


class _Service:
    """Stands for the client of a service; what is asked is answered when a test says so."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.asked: Callable[[], None] = lambda: None

    def call_async(self, request: Any) -> Any:
        self.answers.append(Future())
        self.asked()
        return self.answers[-1]


class _Node:
    """Stands for the node of the client; `there` has the names of the nodes in its graph."""

    def __init__(self) -> None:
        self.there = set(NODES)
        self.services: dict[str, _Service] = {}

    def create_subscription(self, *_: Any, **more: Any) -> None:
        """What is heard is told to the link by the test."""

    def create_client(self, kind: Any, name: str, **more: Any) -> _Service:
        return self.services.setdefault(name, _Service())

    def get_namespace(self) -> str:
        return '/'

    def count_publishers(self, topic: str) -> int:
        return int(topic.split('/')[0] in self.there)


class _Console:
    """A link to that node, with its state and the goals that were begun by others."""

    def __init__(self) -> None:
        self.node, self.state = _Node(), ConsoleState()
        self.begun: list[str] = []
        client: Any = SimpleNamespace(node=self.node, heartbeats=HeartbeatMonitor(self.node))
        self.link = Link(client, self.state, self.begun.append)
        self.results = self.node.services[f'{RUN}/_action/get_result']

    @property
    def goal(self) -> GoalView:
        goal = self.state.snapshot.goal
        assert goal is not None
        return goal

    def status(self, status: int) -> None:
        goal = GoalInfo(goal_id=UUID(uuid=list(bytes.fromhex(ID))))
        told = GoalStatusArray(status_list=[GoalStatus(goal_info=goal, status=status)])
        self.link._statuses(RUN, told)

    def answer(self, response: Any) -> None:
        """Answers the one question for a result."""
        (answer,) = self.results.answers
        answer.set_result(response)
        self.link._result(ID, answer)  # whose callbacks are run by an executor


@pytest.fixture
def console() -> _Console:
    return _Console()


def test_a_goal_is_not_lost_before_its_node_has_answered(console: _Console) -> None:
    pending = Pending(ID, 'd', (), Verdict(Category.SUCCESS), 0.0, 0)
    console.status(GoalStatus.STATUS_EXECUTING)
    console.state.set(pending=pending)
    console.link.refresh()
    assert console.state.snapshot.nodes == dict.fromkeys(NODES, '')
    assert console.goal.running
    assert console.state.snapshot.waits

    console.node.there.discard('planner')
    console.link.refresh()
    assert console.goal.code is ErrorCode.SERVER_LOST
    assert console.state.snapshot.pending is None


def test_an_own_goal_is_shown_as_such_when_its_status_comes_at_the_same_time(
    console: _Console,
) -> None:
    console.results.asked = lambda: console.link.announce(OURS)
    console.status(GoalStatus.STATUS_EXECUTING)
    assert console.goal.ours
    assert not console.link._ours


@pytest.mark.parametrize('announced_first', [True, False])
def test_an_own_goal_that_is_over_with_its_first_status_is_shown_with_its_end(
    console: _Console, announced_first: bool
) -> None:
    if announced_first:
        console.link.announce(OURS)
    console.status(GoalStatus.STATUS_ABORTED)
    console.status(GoalStatus.STATUS_ABORTED)
    if not announced_first:
        console.link.announce(OURS)
    assert console.goal == OURS
    console.answer(LOST)
    assert (console.goal.code, console.goal.message) == (ErrorCode.UNSOLVABLE, 'it cannot be done')
    assert console.begun == []
    assert console.state.snapshot.others == 0


def test_a_goal_of_somebody_else_that_was_over_before_is_not_shown(console: _Console) -> None:
    console.status(GoalStatus.STATUS_SUCCEEDED)
    assert console.state.snapshot.goal is None
    assert console.results.answers == []
