# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A goal of the executor: its plan, and what ends it."""

from __future__ import annotations

from collections.abc import Set
from typing import Any, TypeAlias

from rclpy.action.server import ServerGoalHandle

from safegen_msgs.action import ExecutePlan
from safegen_msgs.msg import Plan
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.nodes.base import SafegenNode, ServedGoal
from safegen_ros.nodes.stop_server import ENDED_BY_STOP, StopServer
from safegen_ros.ros import record_conversions
from safegen_ros.ros.stop_listener import CURE

ExecutionHandle: TypeAlias = ServerGoalHandle[ExecutePlan.Goal, ExecutePlan.Result, Any]


class ExecutionGoal(ServedGoal[ExecutePlan.Goal, ExecutePlan.Result]):
    """A goal of `execute_plan`.

    Args:
        stop: of the executor; a stop that comes ends the goal.
        cancels: keys of the goals that are to be cancelled.
    """

    def __init__(
        self, node: SafegenNode, handle: ExecutionHandle, stop: StopServer, cancels: Set[bytes]
    ) -> None:
        super().__init__(node, handle, ExecutePlan.Result())
        self._stop, self._stops, self._cancels = stop, stop.state.count, cancels
        self._plan = record_conversions.sent_plan(self.request.plan)

    @property
    def plan(self) -> Plan:
        """The plan that came."""
        return self._plan

    def cancelled(self) -> bool:
        """Whether the goal has to end."""
        return self.key in self._cancels or self._stopped or self._node.inactive.is_set()

    @property
    def _stopped(self) -> bool:
        """Whether the stack is stopped, or was since the goal came, even if it has been reset."""
        stop = self._stop.state
        return stop.stopped or stop.count != self._stops

    def explain(self, error: SafegenError) -> SafegenError:
        """As of `ServedGoal`, with a stop for its cause where there was one."""
        if error.code not in ENDED_BY_STOP or not self._stopped:
            return error
        reason = self._stop.state.reason or 'it has been reset since'
        return SafegenError(
            f'the stack was stopped: {reason}; the execution has ended: {CURE}',
            ErrorCode.EXECUTION_STOPPED,
        )
