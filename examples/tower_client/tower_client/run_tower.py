# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A node that sends one task to the action `run_task`, and ends with its result.

Start a stack with `safegen up sim`, then

    ros2 run tower_client run_tower --ros-args -p problem_file:=examples/tower_order.pddl

or, where there is no `ros2`, with `PYTHONPATH=examples/tower_client` and

    .venv/bin/python -m tower_client.run_tower --ros-args -p problem_file:=examples/tower_order.pddl
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rclpy
from action_msgs.msg import GoalStatus
from lifecycle_msgs.srv import GetState
from rclpy.action import ActionClient
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from safegen_msgs.action import RunTask
from safegen_msgs.msg import PlanningProgress, Verdict

ANSWER_S = 10.0
"""How long a server may take to be found, and to accept a goal [s]."""

ASK_AGAIN_S = 1.0
"""After how long a question that was not answered is asked again [s]."""

GRACE_S = 5.0
"""How long after its time budget, or after a cancel, the result of a goal may come [s]."""


class TowerClient(Node):
    """Sends one goal and logs what becomes of it."""

    def __init__(self) -> None:
        super().__init__('tower_client')
        self._problem = Path(self.declare_parameter('problem_file', '').value)
        self._budget_s = float(self.declare_parameter('time_budget', 120.0).value)
        self._client = ActionClient(self, RunTask, 'run_task')
        # Younger than the client of the action, for `_answers_arrive`.
        self._planner = self.create_client(GetState, 'planner/get_state')
        self._interrupted = False

    def interrupt(self, *_: object) -> None:
        """Has the goal cancelled; for the signal of Ctrl-C."""
        self._interrupted = True

    def run(self) -> int:
        """Has the task done; returns the exit status, 0 for success."""
        log = self.get_logger()
        if not (self._wait(self._client.server_is_ready, ANSWER_S) and self._answers_arrive()):
            if not self._interrupted:
                log.error("there is no action run_task: start the stack with 'safegen up sim'")
            return 1
        if not self._problem.is_file():
            log.error(f'there is no file {self._problem}: give one (-p problem_file:=FILE)')
            return 1
        goal = RunTask.Goal()
        goal.task.problem = self._problem.read_text(encoding='utf-8')
        goal.time_budget.sec = int(self._budget_s)
        sent = self._client.send_goal_async(goal, self._feedback)
        # Not to be interrupted: only with its handle can a goal be cancelled.
        if not self._wait(sent.done, ANSWER_S, heed=False) or not sent.result().accepted:
            log.error('the goal was not accepted: another one is running')
            return 1
        handle = sent.result()
        ended = handle.get_result_async()
        in_time = self._wait(ended.done, self._budget_s + GRACE_S)
        if not in_time:
            log.warning('cancelling')
            handle.cancel_goal_async()
            in_time = self._wait(ended.done, GRACE_S, heed=False)
        if not in_time:  # the server was killed: nobody answers then, and this side has to notice
            log.error('no result came: look at the cell before the next goal')
            return 1
        return self._told(ended.result())

    def _answers_arrive(self) -> bool:
        """Asks the planner for its state until it is told, which does no harm as a goal would.

        A server counts as there before its answers arrive here. Clients become known to it in the
        order in which they were made, so one that this client hears is heard by the older one too.
        """
        deadline = time.monotonic() + ANSWER_S
        while time.monotonic() < deadline and not self._interrupted:
            if self._wait(self._planner.call_async(GetState.Request()).done, ASK_AGAIN_S):
                return True
        return False

    def _wait(self, done: Callable[[], bool], timeout_s: float, heed: bool = True) -> bool:
        """Spins until it is done; False when that is not in time [s], or Ctrl-C comes first."""
        deadline = time.monotonic() + timeout_s
        while not done():
            if time.monotonic() > deadline or (heed and self._interrupted):
                return False
            rclpy.spin_once(self, timeout_sec=0.1)
        return True

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
    # Not by KeyboardInterrupt: raised while rclpy reads a message, it is lost there.
    signal.signal(signal.SIGINT, node.interrupt)
    try:
        status = node.run()
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    sys.exit(status)


if __name__ == '__main__':
    main()
