# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The validator node: the verdict on a plan, as a service, and the watch over its execution.

Interfaces:
    service `validate_plan` (safegen_msgs/srv/ValidatePlan): a task and a plan text in, a verdict
    out. A task that cannot be read has an error code and an `UNKNOWN` verdict. Where a second
    opinion is asked for and does not agree, the verdict is `UNKNOWN` too, which never executes.
    service `monitor_step`, topic `~/status`, client of `stop`: see `MonitorServer`.
"""

from __future__ import annotations

import sys

from safegen_msgs.srv import ValidatePlan
from safegen_ros.errors import ErrorCode
from safegen_ros.node_parameters import VALIDATOR
from safegen_ros.nodes.base import SafegenNode
from safegen_ros.nodes.monitoring import MonitorServer
from safegen_ros.nodes.running import run_node
from safegen_ros.ros import conversions
from safegen_ros.ros.diagnostics import SLOW_VERDICT_S, Latency
from safegen_ros.tasks.task import ActionTask
from safegen_ros.verdict import Verdict
from safegen_ros.verify.val import validate_binary


class ValidatorNode(SafegenNode):
    """Verifies plans for other nodes."""

    UNAVAILABLE = ErrorCode.VALIDATOR_UNAVAILABLE

    def __init__(self) -> None:
        super().__init__('validator', VALIDATOR)
        self._monitor = MonitorServer(self, self._verdict)
        self._verdicts = Latency('verdicts', SLOW_VERDICT_S)
        self.diagnostics.add(self._verdicts.health)

    def configure(self) -> None:
        """Finds the other validator, where one is needed."""
        self.load_site()
        if self.values['second_opinion']:
            self.get_logger().info(f'every verdict needs the agreement of {validate_binary()}')

    def activate(self) -> None:
        """Offers the services."""
        self.offer(ValidatePlan, 'validate_plan', self._validate)
        self._monitor.activate()
        self.get_logger().info('ready to validate')

    def _validate(
        self, request: ValidatePlan.Request, response: ValidatePlan.Response
    ) -> ValidatePlan.Response:
        response.site = self.site.digest

        def work() -> None:
            task = self.bound.task(request.task)
            by_itself = request.step_by_step

            def judge(plan: str) -> Verdict:
                return self._verdict(task, plan, by_itself)

            verdict = self._verdicts.timed(judge)(request.plan)
            response.second_opinion = self.values['second_opinion']
            response.verdict = conversions.verdict_to_msg(verdict)
            steps = task.steps_of(request.plan, step_by_step=by_itself)
            response.plan = conversions.steps_to_msg(steps, spelling=conversions.spelling_of(task))

        return self.answered(request, response, work)

    def _verdict(self, task: ActionTask, plan: str, step_by_step: bool) -> Verdict:
        if not self.values['second_opinion']:
            return task.verify(plan, step_by_step=step_by_step)
        if step_by_step:
            return Verdict(
                reason='VAL has no opinion on a single step, only on whole plans: send the goal '
                'without step_by_step, or set second_opinion of the validator to false'
            )
        return task.second_opinion(plan)


def main() -> None:
    """Runs the node."""
    sys.exit(run_node(ValidatorNode))


if __name__ == '__main__':
    main()
