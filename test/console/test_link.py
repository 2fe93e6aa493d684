# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the console hears of goals and of nodes that are gone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from action_msgs.msg import GoalStatus
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from safegen_msgs import msg
from safegen_msgs.action import ExecutePlan, PlanTask, RunTask
from safegen_ros.console.link import NODES, StackLink
from safegen_ros.console.state import ConsoleState, GoalView, Pending
from safegen_ros.errors import ErrorCode
from safegen_ros.record.events import EndEvent, TaskEvent
from safegen_ros.record.run import TaskRecord
from safegen_ros.ros.liveness import HeartbeatMonitor
from safegen_ros.verdict import Category, Verdict

ID = '7' * 32
BEGUN = TaskEvent('a run', '2026-01-31T14:25:00+00:00', TaskRecord('p', 'me', '', '', ''))
ENDED = EndEvent(ErrorCode.STATE_MISMATCH, 'it fell')


class _Service:
    """Stands for the client of a service; what is asked is answered when a test says so."""

    def __init__(self) -> None:
        self.answers: list[Any] = []

    def call_async(self, request: Any) -> Any:
        self.answers.append(Future())
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
    """A link to that node, with its state."""

    def __init__(self) -> None:
        self.node, self.state = _Node(), ConsoleState()
        client: Any = SimpleNamespace(node=self.node, heartbeats=HeartbeatMonitor(self.node))
        self.link = StackLink(client, self.state)

    @property
    def goal(self) -> GoalView:
        goal = self.state.snapshot.goal
        assert goal is not None
        return goal


@pytest.fixture
def console() -> _Console:
    return _Console()


def test_a_goal_is_not_lost_before_its_node_has_answered(console: _Console) -> None:
    pending = Pending(ID, 'd', (), Verdict(Category.SUCCESS), 0.0)
    console.link._event('planner', ID, BEGUN)
    console.state.set(pending=pending)
    console.link.refresh()
    assert console.state.snapshot.nodes == dict.fromkeys(NODES, '')
    assert console.goal.running
    assert console.state.snapshot.waits

    console.node.there.discard('planner')
    console.link.refresh()
    assert console.goal.code is ErrorCode.SERVER_LOST
    assert console.state.snapshot.pending is None


def test_who_is_asked_is_told_by_the_feedback_of_both_actions(console: _Console) -> None:
    console.link._event('planner', ID, BEGUN)
    asked = msg.PlanningProgress(phase='verifying', attempt_number=2)
    uuid = UUID(uuid=list(bytes.fromhex(ID)))
    told = PlanTask.Impl.FeedbackMessage(goal_id=uuid)
    told.feedback.progress = asked
    console.link._asked(told)
    assert (console.goal.stage, console.goal.attempt) == ('verifying', 2)
    run = RunTask.Impl.FeedbackMessage(goal_id=uuid)
    run.feedback.stage, run.feedback.planning.phase = RunTask.Feedback.PLANNING, 'searching'
    console.link._asked(run)
    assert console.goal.stage == 'searching'


def test_the_last_look_of_an_execution_is_shown_when_it_has_ended(console: _Console) -> None:
    results = console.node.services['execute_plan/_action/get_result']
    console.link._event('planner', ID, ENDED)
    assert not results.answers
    console.link._event('executor', ID, ENDED)
    (answer,) = results.answers
    response = ExecutePlan.Impl.GetResultService.Response(status=GoalStatus.STATUS_ABORTED)
    response.result.final_state.objects = [msg.ObjectPose(name='a')]
    answer.set_result(response)
    console.link._last_seen(answer)  # whose callbacks are run by an executor
    assert [*console.state.snapshot.look.poses] == ['a']
