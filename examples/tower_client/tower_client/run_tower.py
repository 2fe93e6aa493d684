# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A node that sends one task to the action `run_task`, and ends with its result.

Start a stack with `safegen up sim`, then

    ros2 run tower_client run_tower --ros-args -p problem_file:=examples/tower_order.pddl
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import rclpy
from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from safegen_msgs.action import RunTask
from safegen_msgs.msg import PlanningProgress, Verdict

ANSWER_S = 10.0
"""How long a server may take to be found, and to accept a goal [s]."""

GRACE_S = 5.0
"""How long after its time budget, or after a cancel, the result of a goal may come [s]."""


class TowerClient(Node):
    """Sends one goal and logs what becomes of it."""

    def __init__(self) -> None:
        super().__init__('tower_client')
        self._problem = Path(self.declare_parameter('problem_file', '').value)
        self._budget_s = float(self.declare_parameter('time_budget', 120.0).value)
        self._client = ActionClient(self, RunTask, 'run_task')

    def run(self) -> int:
        """Has the task done; returns the exit status, 0 for success."""
        log = self.get_logger()
        if not self._client.wait_for_server(timeout_sec=ANSWER_S):
            log.error("there is no action run_task: start the stack with 'safegen up sim'")
            return 1
        goal = RunTask.Goal()
        goal.task.problem = self._problem.read_text(encoding='utf-8')
        goal.time_budget.sec = int(self._budget_s)
        handle = self._await(self._client.send_goal_async(goal, self._feedback), ANSWER_S)
        if handle is None or not handle.accepted:
            log.error('the goal was not accepted: another one is running')
            return 1
        ended = handle.get_result_async()
        try:
            answer = self._await(ended, self._budget_s + GRACE_S)
        except KeyboardInterrupt:
            log.warning('cancelling')
            handle.cancel_goal_async()
            answer = self._await(ended, GRACE_S)
        if (
            answer is None
        ):  # the server was killed: nobody answers then, and this side has to notice
            handle.cancel_goal_async()
            log.error('no result came: look at the cell before the next goal')
            return 1
        return self._told(answer)

    def _await(self, future: Future, timeout_s: float) -> Any:
        """What a future brings; None when it does not come in time."""
        rclpy.spin_until_future_complete(self, future, timeout_sec=timeout_s)
        return future.result() if future.done() else None

    def _feedback(self, message: Any) -> None:
        feedback = message.feedback
        if feedback.stage == RunTask.Feedback.PLANNING:
            if feedback.planning.phase == PlanningProgress.JUDGED:
                attempt = feedback.planning.attempt
                proved = attempt.verdict.category == Verdict.SUCCESS
                found = 'proved' if proved else attempt.verdict.reason
                self.get_logger().info(f'attempt {attempt.number} by {attempt.source}: {found}')
        else:
            progress = feedback.execution
            self.get_logger().info(f'{progress.phase} {progress.step}/{progress.total}')

    def _told(self, answer: Any) -> int:
        result, log = answer.result, self.get_logger()
        if answer.status == GoalStatus.STATUS_SUCCEEDED:
            log.info(f'the goal is reached in {result.steps_done} steps')
            return 0
        cancelled = answer.status == GoalStatus.STATUS_CANCELED
        log.error(f'{"cancelled" if cancelled else "failed"}: {result.error_msg}')
        return 1


def main() -> None:
    """Runs the node."""
    # Ctrl-C shall cancel the goal, for which the connections have to live a little longer.
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = TowerClient()
    try:
        status = node.run()
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    sys.exit(status)


if __name__ == '__main__':
    main()
