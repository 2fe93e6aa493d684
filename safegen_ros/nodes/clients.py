# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Requests of planner and executor to the other nodes: every wait is bounded, silence refuses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rclpy.client import Client
from unique_identifier_msgs.msg import UUID

from safegen_msgs import msg
from safegen_msgs.action import ExecutePlan
from safegen_msgs.srv import GetWorld, MonitorStep, RehearsePlan, ValidatePlan
from safegen_ros.errors import Canceled, ErrorCode, SafegenError
from safegen_ros.nodes.admission import require_same_site
from safegen_ros.nodes.base import SafegenNode
from safegen_ros.pddl.facts import objects_of
from safegen_ros.pddl.model import State
from safegen_ros.planning.loop import Rehearse, Steps
from safegen_ros.robot.cell.execution import Watch
from safegen_ros.robot.cell.settings import REHEARSAL_S
from safegen_ros.ros import conversions, diagnostics, qos
from safegen_ros.ros.calls import answer_of, check_sendable, wait_for
from safegen_ros.ros.diagnostics import Health
from safegen_ros.ros.liveness import NodeInstance
from safegen_ros.ros.watchdog import ACTIVE, ProcessWatch, Rules
from safegen_ros.verdict import Verdict

CONNECT_TIMEOUT_S = 10.0
"""How long another node may take to accept a request [s]."""

_OF_TASK = (
    *(code for code in ErrorCode if 100 <= code < 200),
    ErrorCode.PLAN_REFUSED,
    ErrorCode.SITE_REFUSED,
)
"""Answers of a working validator without a verdict."""


class RemoteValidator:
    """Verdicts from the validator node.

    Attributes:
        timeout_s: longest wait for a verdict [s].
        second_opinion: whether the last verdict needed the agreement of VAL.
    """

    def __init__(self, node: SafegenNode) -> None:
        self._node = node
        self._client: Client[ValidatePlan.Request, ValidatePlan.Response] = node.create_client(
            ValidatePlan, 'validate_plan', qos_profile=qos.REQUESTS, callback_group=node.group
        )
        self.timeout_s = 10.0
        self.second_opinion = False

    def health(self) -> Health:
        """Whether the validator is there; nothing is planned without it."""
        if self._client.service_is_ready():
            return Health('validator', diagnostics.OK, 'is there')
        return Health('validator', diagnostics.ERROR, 'is not there: start it')

    def verify(
        self, task: msg.Task, cancelled: Callable[[], bool], step_by_step: bool = False
    ) -> Callable[[str], Verdict]:
        """A function that asks for the verdict on one plan text after the other.

        With `step_by_step` each is one step of a task that is worked on so. It raises
        `SafegenError` when no verdict comes: with the validator's own code where it says that
        the task is at fault, else with `VALIDATOR_UNAVAILABLE`.
        """

        def ask(text: str) -> Verdict:
            if not self._client.wait_for_service(timeout_sec=CONNECT_TIMEOUT_S):
                raise SafegenError(
                    'the validator node is not there: start it, nothing moves without it',
                    ErrorCode.VALIDATOR_UNAVAILABLE,
                )
            answer = answer_of(
                self._client,
                ValidatePlan.Request(task=task, plan=text, step_by_step=step_by_step),
                self.timeout_s,
                'the validator',
                ErrorCode.VALIDATOR_UNAVAILABLE,
                cancelled,
            )
            if answer.error_code != int(ErrorCode.NONE):
                raise _no_verdict(answer)
            require_same_site(answer.site, self._node.site)
            self.second_opinion = answer.second_opinion
            return conversions.verdict_from_msg(answer.verdict)

        return ask


def _no_verdict(answer: ValidatePlan.Response) -> SafegenError:
    """What an answer of the validator without a verdict means."""
    # Its other codes say that the validator is at fault, whatever they are.
    of_task = answer.error_code in _OF_TASK
    code = ErrorCode(answer.error_code) if of_task else ErrorCode.VALIDATOR_UNAVAILABLE
    said = 'gives no verdict' if of_task else 'failed'
    return SafegenError(f'the validator {said}: {answer.error_msg}', code)


ANSWER_S = 10.0
"""How long the executor may take to report the world [s]; a camera has to be waited for."""


class CurrentWorld:
    """Asks the executor for the last known world."""

    def __init__(self, node: SafegenNode) -> None:
        self._client: Client[GetWorld.Request, GetWorld.Response] = node.create_client(
            GetWorld, 'get_world', qos_profile=qos.REQUESTS, callback_group=node.group
        )

    def task(self, task: msg.Task, cancelled: Callable[[], bool]) -> msg.Task:
        """The same task with the last known world as its initial state.

        Raises:
            SafegenError: it is not a PDDL task (`UNSUPPORTED_FEATURE`), its objects are not
                those of the world, or the world is not known (`STATE_MISMATCH`).
        """
        if task.format == msg.Task.WORDS:
            raise SafegenError(
                'from_current is for a task in PDDL: send the problem that the words were '
                'understood as',
                ErrorCode.UNSUPPORTED_FEATURE,
            )
        read = conversions.task_from_msg(task)
        problem = read.problem
        if problem is None:
            raise SafegenError(
                f'from_current is for a task in PDDL, not in format {task.format}: leave it out',
                ErrorCode.UNSUPPORTED_FEATURE,
            )
        state = conversions.state_from_facts(self._facts(tuple(problem.objects), cancelled))
        there = {name for atom in state for name in objects_of(atom)}
        differ = sorted(there ^ set(problem.objects))
        if differ:
            raise SafegenError(
                f'the objects of the task are not those of the last known world: '
                f'{" ".join(differ)} only here or only there: name just the objects of the world',
                ErrorCode.STATE_MISMATCH,
            )
        return conversions.remaining_to_msg(replace(problem, init=state), read)

    def _facts(self, objects: Sequence[str], cancelled: Callable[[], bool]) -> list[str]:
        unavailable = ErrorCode.EXECUTOR_UNAVAILABLE
        if not self._client.wait_for_service(timeout_sec=ANSWER_S):
            raise SafegenError('the executor node is not there: start it', unavailable)
        answer = answer_of(
            self._client,
            GetWorld.Request(objects=list(objects)),
            ANSWER_S,
            'the executor',
            unavailable,
            cancelled,
        )
        if answer.error_code != int(ErrorCode.NONE):
            code = conversions.code_from_msg(answer.error_code)
            raise SafegenError(answer.error_msg, code)
        return list(answer.world.facts)


_GRACE_S = 5.0
"""How long after its own limit the answer of a rehearsal may come [s]."""

_SILENCE_S = 10.0
"""Longest time without a heartbeat of the executor while it rehearses; nothing moves then [s]."""


class RemoteRehearsal:
    """The planner's side."""

    def __init__(self, node: SafegenNode) -> None:
        self._client: Client[RehearsePlan.Request, RehearsePlan.Response] = node.create_client(
            RehearsePlan, 'rehearse_plan', qos_profile=qos.REQUESTS, callback_group=node.group
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


MONITOR = 'monitor_step'
"""The service by which the validator watches an execution."""


class MonitorClient:
    """The executor's side: no observation counts before the validator has judged it, too.

    Attributes:
        timeout_s: longest wait for an answer [s].
    """

    def __init__(self, node: SafegenNode) -> None:
        self._node = node
        self._client: Client[MonitorStep.Request, MonitorStep.Response] = node.create_client(
            MonitorStep, MONITOR, callback_group=node.group
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
                'the validator node is not there: start it, nothing moves without it',
                ErrorCode.VALIDATOR_UNAVAILABLE,
            )
        sent = self._client.call_async(request)

        def answer() -> MonitorStep.Response:
            try:
                return wait_for(
                    sent,
                    self.timeout_s,
                    'the validator',
                    ErrorCode.VALIDATOR_UNAVAILABLE,
                    given_up=cancelled,
                )
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
                ErrorCode.VALIDATOR_UNAVAILABLE,
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
