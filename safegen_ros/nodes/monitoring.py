# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The run-time monitor: the validator judges what the executor observes, before that goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from rclpy.client import Client
from std_srvs.srv import Trigger
from unique_identifier_msgs.msg import UUID

from safegen_msgs import msg
from safegen_msgs.action import ExecutePlan
from safegen_msgs.srv import MonitorStep
from safegen_ros.errors import Canceled, ErrorCode, SafegenError
from safegen_ros.nodes.admission import require_same_site
from safegen_ros.nodes.base import SafegenNode
from safegen_ros.pddl.model import State
from safegen_ros.planning.loop import Steps
from safegen_ros.robot.cell.execution import Watch
from safegen_ros.ros import conversions, qos
from safegen_ros.ros.calls import check_sendable, check_texts, wait_for
from safegen_ros.ros.watchdog import StopListener
from safegen_ros.tasks.task import ActionTask, TaskMonitor, prove
from safegen_ros.verdict import Verdict

SERVICE = 'monitor_step'

STOP_S = 0.5
"""How long the executor may take to stop the stack itself, once it has the order [s]."""

OFF_THE_PROOF = (
    ErrorCode.STATE_MISMATCH, ErrorCode.MONITOR_VIOLATION, ErrorCode.GOAL_MISMATCH
)  # fmt: skip
"""The observed world differs from the proof: the stack is stopped."""


def may_replan(error: ErrorCode, replan: bool) -> bool:
    """Whether a goal that ends so may be planned again: a broken constraint never may."""
    return replan and error is ErrorCode.STATE_MISMATCH


_AWAY = ErrorCode.VALIDATOR_UNAVAILABLE


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
        self._node.offer(MonitorStep, SERVICE, self._serve)

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


class MonitorClient:
    """The executor's side: no observation counts before the validator has judged it, too.

    Attributes:
        timeout_s: longest wait for an answer [s].
    """

    def __init__(self, node: SafegenNode) -> None:
        self._node = node
        self._client: Client[MonitorStep.Request, MonitorStep.Response] = node.create_client(
            MonitorStep, SERVICE, callback_group=node.group
        )
        self.timeout_s = 4.0

    def watch(
        self, goal_id: UUID, goal: ExecutePlan.Goal, steps: Steps, cancelled: Callable[[], bool]
    ) -> Watch:
        """What `execute_plan` of the robot asks about each observation.

        Args:
            goal_id: of the goal, a `unique_identifier_msgs/UUID`.
            cancelled: ends a wait.

        It raises `SafegenError`, with `VALIDATOR_UNAVAILABLE` where there is no validator or no
        answer in time; with another code it is what the validator has found.
        """
        return _Watch(self, goal_id, goal, steps, cancelled)

    def ask(
        self, request: MonitorStep.Request, cancelled: Callable[[], bool]
    ) -> Callable[[], None]:
        """Sends a request; the returned function waits for the answer, and raises as `watch`."""
        if not self._client.wait_for_service(timeout_sec=self.timeout_s):
            raise SafegenError(
                'the validator node is not there: start it, nothing moves without it', _AWAY
            )
        sent = self._client.call_async(request)

        def answer() -> MonitorStep.Response:
            try:
                return wait_for(sent, self.timeout_s, 'the validator', _AWAY, given_up=cancelled)
            finally:
                self._client.remove_pending_request(sent)

        return lambda: self._take(answer, cancelled)

    def begin(self, request: MonitorStep.Request, cancelled: Callable[[], bool]) -> None:
        """Sends the request that begins, and waits for the answer; raises as `watch` says."""
        check_sendable(request)
        self.ask(request, cancelled)()

    def _take(
        self, answered: Callable[[], MonitorStep.Response], cancelled: Callable[[], bool]
    ) -> None:
        try:
            answer = answered()
        except SafegenError as error:
            if cancelled():
                raise Canceled('execution was stopped', ErrorCode.EXECUTION_CANCELED) from error
            raise SafegenError(
                f'the validator did not answer for {self.timeout_s:g} s while a plan was executed',
                _AWAY,
            ) from error
        require_same_site(answer.status.site, self._node.site)
        if not answer.status.ok:
            code = conversions.code_from_msg(answer.status.error_code)
            reason = answer.status.reason or 'the validator gives no reason'
            raise SafegenError(reason, ErrorCode.UNKNOWN if code is ErrorCode.NONE else code)


@dataclass(frozen=True, slots=True)
class _Watch:
    """See `MonitorClient.watch`."""

    client: MonitorClient
    goal_id: UUID
    goal: ExecutePlan.Goal
    steps: Steps
    cancelled: Callable[[], bool]

    def begin(self) -> None:
        """Has the validator watch the execution, which it does only with its own proof."""
        request = MonitorStep.Request(
            goal_id=self.goal_id,
            begin=True,
            task=self.goal.task,
            plan=conversions.steps_to_msg(self.steps),
            replan=self.goal.replan,
            step_by_step=self.goal.step_by_step,
        )
        self.client.begin(request, self.cancelled)

    def look(self, steps: int, observed: State) -> Callable[[], None]:
        """Sends the observations to the validator."""
        facts = conversions.facts_of(observed)
        request = MonitorStep.Request(goal_id=self.goal_id, step=steps, facts=facts)
        return self.client.ask(request, self.cancelled)
