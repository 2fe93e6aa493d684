# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How the planner asks the executor to rehearse a plan."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.client import Client

from safegen_msgs import msg
from safegen_msgs.srv import RehearsePlan
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.nodes.base import SafegenNode
from safegen_ros.planning.loop import Rehearse, Steps
from safegen_ros.robot.cell.settings import REHEARSAL_S
from safegen_ros.ros import conversions, qos
from safegen_ros.ros.calls import answer_of
from safegen_ros.ros.liveness import NodeInstance
from safegen_ros.ros.watchdog import ACTIVE, ProcessWatch, Rules
from safegen_ros.verdict import Verdict

SERVICE = 'rehearse_plan'

_GRACE_S = 5.0
"""How long after its own limit the answer of a rehearsal may come [s]."""

_SILENCE_S = 10.0
"""Longest time without a heartbeat of the executor while it rehearses; nothing moves then [s]."""


class RemoteRehearsal:
    """The planner's side."""

    def __init__(self, node: SafegenNode) -> None:
        self._client: Client[RehearsePlan.Request, RehearsePlan.Response] = node.create_client(
            RehearsePlan, SERVICE, qos_profile=qos.REQUESTS, callback_group=node.group
        )
        self._heartbeats = node.heartbeats

    def of(self, task: msg.Task, resume: bool, cancelled: Callable[[], bool]) -> Rehearse:
        """What the planning loop has to ask about a proved plan.

        It raises `SafegenError` where there is no verdict: `EXECUTOR_UNAVAILABLE`, or that of the
        executor.
        """

        def ask(steps: Steps, verdict: Verdict) -> Verdict:
            if not self._client.service_is_ready():
                return verdict  # the executor, when it comes, rehearses before it moves anything
            request = RehearsePlan.Request(
                task=task, plan=conversions.steps_to_msg(steps), resume=resume
            )
            answer = self._answer(request, cancelled)
            if answer.error_code != int(ErrorCode.NONE):
                raise SafegenError(
                    f'the plan cannot be rehearsed: {answer.error_msg}',
                    ErrorCode(answer.error_code),
                )
            return conversions.verdict_from_msg(answer.verdict) if answer.rehearsed else verdict

        return ask

    def _answer(
        self, request: RehearsePlan.Request, cancelled: Callable[[], bool]
    ) -> RehearsePlan.Response:
        """The answer of an executor that is active all the while."""
        executor = self._heartbeats.full_name('executor')

        def active(instance: NodeInstance) -> bool:
            return instance.node == executor and instance.state == ACTIVE

        rules = Rules(timeout_s=_SILENCE_S, dropped='the executor is not active')
        with ProcessWatch(self._heartbeats, 'the executor', active, rules) as watch:
            return answer_of(
                self._client,
                request,
                REHEARSAL_S + _GRACE_S,
                'the rehearsal of the executor',
                ErrorCode.EXECUTOR_UNAVAILABLE,
                lambda: cancelled() or bool(watch.lost),
            )
