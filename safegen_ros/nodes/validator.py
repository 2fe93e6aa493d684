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
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from rclpy.client import Client
from std_srvs.srv import Trigger

from safegen_msgs import msg
from safegen_msgs.srv import MonitorStep, ValidatePlan
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.node_parameters import VALIDATOR
from safegen_ros.nodes.base import SafegenNode
from safegen_ros.nodes.clients import MONITOR
from safegen_ros.nodes.running import run_node
from safegen_ros.ros import conversions, qos
from safegen_ros.ros.calls import check_texts
from safegen_ros.ros.diagnostics import SLOW_VERDICT_S, Latency
from safegen_ros.ros.watchdog import StopListener
from safegen_ros.tasks.task import ActionTask, TaskMonitor, prove
from safegen_ros.verdict import Verdict
from safegen_ros.verify.run_monitor import may_replan
from safegen_ros.verify.val import validate_binary

STOP_S = 0.5
"""How long the executor may take to stop the stack itself, once it has the order [s]."""

OFF_THE_PROOF = (
    ErrorCode.STATE_MISMATCH, ErrorCode.MONITOR_VIOLATION, ErrorCode.GOAL_MISMATCH
)  # fmt: skip
"""The observed world differs from the proof: the stack is stopped."""


@dataclass(slots=True)
class _Run:
    """An execution that is watched."""

    begun: MonitorStep.Request
    goal: bytes
    total: int
    replan: bool
    monitor: TaskMonitor


class MonitorServer:
    """Watches one execution after the other.

    Interfaces:
        service `monitor_step` (safegen_msgs/srv/MonitorStep): the executor's observations.
        topic `~/status` (safegen_msgs/msg/MonitorStatus, latched): the verdict on the last one.
        client of service `stop`, which is called if the executor has not stopped itself.

    Args:
        verdict: its verdict on the text of a plan, or of a single step.
    """

    def __init__(
        self, node: SafegenNode, verdict: Callable[[ActionTask, str, bool], Verdict]
    ) -> None:
        self._node = node
        self._verdict = verdict
        self._lock = threading.Lock()
        self._run: _Run | None = None
        self._status = node.create_publisher(msg.MonitorStatus, '~/status', qos.LATCHED)
        self._stop: Client[Trigger.Request, Trigger.Response] = node.create_client(
            Trigger, 'stop', callback_group=node.group
        )
        self._stopped = StopListener(node)

    def activate(self) -> None:
        """Offers the service."""
        self._node.offer(MonitorStep, MONITOR, self._serve)

    def _serve(
        self, request: MonitorStep.Request, response: MonitorStep.Response
    ) -> MonitorStep.Response:
        status = msg.MonitorStatus(goal_id=request.goal_id, step=request.step)
        status.site = self._node.site.digest
        stops = self._stopped.stops
        with self._lock:
            run = None
            try:
                check_texts(request)
                run = self._begin(request) if request.begin else self._known(request)
                status.total = run.total
                if not request.begin:
                    run.monitor.look(conversions.state_from_facts(request.facts))
                    if request.step == run.total:
                        run.monitor.finish()
                code = ErrorCode.NONE
            except SafegenError as error:
                code, status.reason = error.code, error.message
            except Exception as error:  # the answer must not read as one that says ok
                code, status.reason = self._node.unexpected(error)
            if run is not None and not request.begin:
                self._node.bound.keep_rest(run.begun.task, run.monitor)
            status.ok, status.error_code = code is ErrorCode.NONE, int(code)
            if run is not None:
                status.constraints = [text for text, _ in run.monitor.standings()]
                status.standings = [standing.value for _, standing in run.monitor.standings()]
            status.stamp = conversions.time_to_msg(time.time_ns())
            self._status.publish(status)
        if run is not None and code in OFF_THE_PROOF and not may_replan(code, run.replan):
            self._node.get_logger().error(f'{code.name}: {status.reason}')
            threading.Thread(target=self._make_sure, args=(stops,), name='stop').start()
        response.status = status
        return response

    def _begin(self, request: MonitorStep.Request) -> _Run:
        self._node.require_active()
        if self._run is not None and self._run.begun == request:
            return self._run  # asked twice, as an answer may be lost: it goes on as it is
        self._run = None
        task = self._node.bound.task(request.task)
        steps, by_itself = conversions.steps_from_msg(request.plan), request.step_by_step
        verdict = prove(
            task, steps, by_itself, lambda answer: self._verdict(task, answer, by_itself)
        )
        if not verdict.ok:
            raise SafegenError(
                f'the plan is refused: {verdict.category.name}: {verdict.reason}',
                ErrorCode.PLAN_REFUSED,
            )
        goal = bytes(request.goal_id.uuid)
        monitor = task.monitor(steps, step_by_step=by_itself)
        self._run = _Run(request, goal, len(steps), request.replan, monitor)
        return self._run

    def _known(self, request: MonitorStep.Request) -> _Run:
        run = self._run
        if run is None or run.goal != bytes(request.goal_id.uuid):
            raise _unwatched('the validator has not seen the beginning of this execution')
        if request.step != run.monitor.looks or request.step > run.total:
            raise _unwatched(
                f'the observation of step {request.step} does not follow that of step '
                f'{run.monitor.looks - 1}'
            )
        self._node.require_active()
        return run

    def _make_sure(self, stops: int) -> None:
        """Stops the stack, unless the executor does so within `STOP_S`, as it should."""
        deadline, pause = time.monotonic() + STOP_S, threading.Event()
        while time.monotonic() < deadline:
            if self._stopped.stops != stops or self._stopped.reason:
                return
            pause.wait(0.01)
        self._stop.call_async(Trigger.Request())


def _unwatched(reason: str) -> SafegenError:
    return SafegenError(reason, ErrorCode.VALIDATOR_UNAVAILABLE)


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
