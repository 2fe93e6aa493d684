# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is told about goals: their feedback, and the statuses that they end with."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from action_msgs.msg import GoalStatus, GoalStatusArray
from rclpy.qos import qos_profile_action_status_default

from safegen_ros.client import Client, Goal
from support.waiting import wait_until

WAIT_S = 60.0
TERMINAL = (GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED)


class Endings:
    """The statuses that the servers publish, by goal."""

    def __init__(self, client: Client) -> None:
        self._news = threading.Condition()
        self._seen: dict[bytes, list[int]] = {}
        for action in ('run_task', 'execute_plan'):
            client.node.create_subscription(
                GoalStatusArray,
                f'{action}/_action/status',
                self._take,
                qos_profile_action_status_default,
            )

    def _take(self, message: GoalStatusArray) -> None:
        with self._news:
            for goal in message.status_list:
                seen = self._seen.setdefault(bytes(goal.goal_info.goal_id.uuid), [])
                if seen[-1:] != [goal.status]:
                    seen.append(goal.status)
            self._news.notify_all()

    def of(self, goal: Goal) -> int:
        """The one terminal status of a goal that has ended."""
        seen = self._seen.setdefault(bytes.fromhex(goal.id), [])
        with self._news:
            assert self._news.wait_for(lambda: seen[-1:] and seen[-1] in TERMINAL, WAIT_S)
            return seen[-1]

    def assert_one_each(self) -> None:
        """No goal has had two terminal states, or left one again."""
        for seen in self._seen.values():
            assert not set(seen[:-1]) & set(TERMINAL), seen


class Feedback:
    """Collects feedback and sets an event when a condition becomes true."""

    def __init__(self, condition: Callable[[Any], bool] = lambda feedback: False) -> None:
        self.seen: list[Any] = []
        self.reached = threading.Event()
        self._condition = condition

    def __call__(self, feedback: Any) -> None:
        self.seen.append(feedback)
        if self._condition(feedback):
            self.reached.set()

    def wait(self) -> None:
        """Waits for the condition; where it does not come, tells what did."""
        assert self.reached.wait(WAIT_S), f'{len(self.seen)} came, and last {self.seen[-3:]}'

    def comes(self, goal: Goal) -> bool:
        """Waits for the condition or the end of the goal, and tells whether it came."""
        wait_until(lambda: self.reached.is_set() or goal._future.done(), 'feedback or the end')
        return self.reached.is_set()
