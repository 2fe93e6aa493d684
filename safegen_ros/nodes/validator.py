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
from functools import partial

from rclpy.service import Service

from safegen_msgs.srv import ValidatePlan
from safegen_ros.errors import ErrorCode, PlanFormatError, SafegenError
from safegen_ros.nodes import conversions, qos
from safegen_ros.nodes.base import SafegenNode, run_node
from safegen_ros.nodes.diagnostics import SLOW_VERDICT_S, Latency
from safegen_ros.nodes.managed import AUTOSTART
from safegen_ros.nodes.monitoring import MonitorServer
from safegen_ros.nodes.parameters import Parameter
from safegen_ros.nodes.text_limits import check_texts
from safegen_ros.pddl.plan import parse_plan
from safegen_ros.verdict import Verdict
from safegen_ros.verify.second_opinion import verify_twice
from safegen_ros.verify.val import validate_binary
from safegen_ros.worlds.pddl3.task import Pddl3Task

PARAMETERS = (
    AUTOSTART,
    Parameter(
        'second_opinion',
        False,
        'Whether the validator VAL must agree with every verdict; a plan is refused where not.',
    ),
)
"""What may be set: it can make the node refuse more, and never less."""


class ValidatorNode(SafegenNode):
    """Verifies plans for other nodes."""

    def __init__(self) -> None:
        super().__init__('validator', PARAMETERS)
        self._service: Service | None = None
        self._monitor = MonitorServer(self, self._verdict)
        self._verdicts = Latency('verdicts', SLOW_VERDICT_S)
        self.diagnostics.add(self._verdicts.health)

    def configure(self) -> None:
        """Finds the other validator, where one is needed."""
        if self.values['second_opinion']:
            self.get_logger().info(f'every verdict needs the agreement of {validate_binary()}')

    def activate(self) -> None:
        """Offers the service, which stays there from now on, and refuses while inactive."""
        if self._service is None:
            self._service = self.create_service(
                ValidatePlan,
                'validate_plan',
                self._validate,
                qos_profile=qos.REQUESTS,
                callback_group=self.group,
            )
        self._monitor.activate()
        self.get_logger().info('ready to validate')

    def _validate(
        self, request: ValidatePlan.Request, response: ValidatePlan.Response
    ) -> ValidatePlan.Response:
        response.error_code = int(ErrorCode.UNKNOWN)
        try:
            if self.inactive.is_set():
                raise SafegenError(
                    f'the validator is {self.state}: activate it', ErrorCode.VALIDATOR_UNAVAILABLE
                )
            check_texts(request)
            task = conversions.task_from_msg(request.task)
            verdict = self._verdicts.timed(partial(self._verdict, task))(request.plan)
            response.verdict = conversions.verdict_to_msg(verdict)
            response.plan = conversions.plan_to_msg(parse_plan(request.plan))
            response.error_code = int(ErrorCode.NONE)
        except PlanFormatError:
            response.error_code = int(ErrorCode.NONE)  # a verdict, which is filled in
        except SafegenError as error:
            response.error_code, response.error_msg = int(error.code), error.message
        return response

    def _verdict(self, task: Pddl3Task, plan: str) -> Verdict:
        if self.values['second_opinion']:
            return verify_twice(task.problem, plan, validator=task.validator)
        return task.verify(plan)


def main() -> None:
    """Runs the node."""
    sys.exit(run_node(ValidatorNode))


if __name__ == '__main__':
    main()
