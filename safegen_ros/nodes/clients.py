# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The planner's clients of the other nodes: every wait is bounded, every silence is a refusal."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from action_msgs.msg import GoalStatus
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.client import Client
from unique_identifier_msgs.msg import UUID

from safegen_msgs import msg
from safegen_msgs.action import ExecutePlan, RunTask
from safegen_msgs.srv import GetWorld, ValidatePlan
from safegen_ros.errors import Canceled, ErrorCode, SafegenError
from safegen_ros.keys.key_pair import installation_key
from safegen_ros.nodes.base import SafegenNode
from safegen_ros.nodes.goal_context import RunContext
from safegen_ros.nodes.site_rules import require_same_site
from safegen_ros.pddl.facts import objects_of
from safegen_ros.ros import conversions, diagnostics, qos
from safegen_ros.ros.actions import Ended, GoalSender, SentGoal
from safegen_ros.ros.calls import answer_of, wait_for
from safegen_ros.ros.commands import sign_goal
from safegen_ros.ros.diagnostics import Health
from safegen_ros.sync import Places, PlanningDeadline
from safegen_ros.verdict import Verdict

CONNECT_TIMEOUT_S = 10.0
"""How long another node may take to accept a request [s]."""

_OF_TASK = (
    *(code for code in ErrorCode if 100 <= code < 200),
    ErrorCode.PLAN_REFUSED,
    ErrorCode.SITE_REFUSED,
)
"""Answers of a working validator without a verdict."""

_UNAVAILABLE = ErrorCode.EXECUTOR_UNAVAILABLE

STOP_TIMEOUT_S = 5.0
"""How long the executor may take to report a cancelled goal [s]."""


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


class NotAsProved(SafegenError):
    """The world is not as proved, and the rest of the task can be planned again.

    Args:
        steps_done: steps of the plan that were executed and observed.
    """

    def __init__(self, message: str, remaining: msg.Task, steps_done: int) -> None:
        super().__init__(message, ErrorCode.STATE_MISMATCH)
        self.remaining = remaining
        self.steps_done = steps_done


class RemoteExecutor:
    """Executions by the executor node."""

    def __init__(self, node: SafegenNode) -> None:
        # A separate group, so that feedback is handed on in the order in which it came.
        group = MutuallyExclusiveCallbackGroup()
        self._sender: GoalSender[ExecutePlan.Goal, ExecutePlan.Result, ExecutePlan.Feedback]
        self._sender = GoalSender(
            node,
            node.heartbeat,
            node.heartbeats,
            ExecutePlan,
            'execute_plan',
            'executor',
            timeout_s=4.0,
            group=group,
        )
        self._node = node
        self._line = Places(1)

    def set_timeout(self, timeout_s: float) -> None:
        """Sets the longest silence of the executor while it works on a goal [s]."""
        self._sender.timeout_s = timeout_s

    @contextmanager
    def turn(self, deadline: PlanningDeadline) -> Iterator[None]:
        """Waits until no other goal of this node is executed; its own may be inside of the block.

        A goal that comes here is done with planning, and leaves its room there to others.

        Raises:
            SafegenError: it was cancelled (`PLANNING_CANCELED`) or too late (`PLANNING_TIMEOUT`).
        """

        def check() -> None:
            if deadline.cancelled():
                raise Canceled('cancelled before the execution', ErrorCode.PLANNING_CANCELED)
            if deadline.left_s <= 0:
                raise SafegenError(
                    'the time budget was over before the execution; nothing was executed: give '
                    'the goal more',
                    ErrorCode.PLANNING_TIMEOUT,
                )

        with self._node.goals.aside(), self._line.place(check):
            yield

    def execute(
        self,
        goal: RunContext,
        task: msg.Task,
        result: RunTask.Result,
        approval: msg.Approval,
        *,
        notify: Callable[[msg.ExecutionProgress], None],
        replan: bool = False,
        resume: bool = False,
        step_by_step: bool = False,
        look: str = '',
    ) -> ExecutePlan.Result:
        """Has `result.plan` executed and fills in the execution part of the result.

        The arm is stopped where the goal is cancelled, and where its client is lost: the heartbeat
        no longer lists the goal then.

        Args:
            goal: whose plan it is; its journal has the id before the executor does.
            result: a result with its plan, that of the goal or one of a step.
            approval: of the plan, for the executor; an empty one without an approval.
            replan: whether the caller plans again where the world is not as proved.
            resume: whether the task is the rest of the execution before.
            step_by_step: whether it is a step, or none, of a task worked on step by step; then a
                world that is not as proved is a result as any other.
            look: the object to look at, where there is no step.

        Returns:
            The result of the executor.

        Raises:
            SafegenError: with the executor's code, or `EXECUTOR_UNAVAILABLE`.
            NotAsProved: only with `replan`.
        """
        request = ExecutePlan.Goal(
            task=task,
            plan=result.plan,
            replan=replan or step_by_step,
            resume=resume,
            from_current=goal.request.from_current and not resume,
            step_by_step=step_by_step,
            look=look,
            approval=approval,
        )
        left = goal.deadline.left_s
        with goal.explained_loss():
            if goal.watched.cancelled():
                raise Canceled('cancelled before the execution', ErrorCode.PLANNING_CANCELED)
        if left <= 0:
            raise SafegenError(
                'planning took the whole time budget; nothing was executed: give the goal more',
                ErrorCode.PLANNING_TIMEOUT,
            )
        request.time_budget = conversions.duration_to_msg(left)
        execution = UUID(uuid=list(uuid.uuid4().bytes))
        if self._node.commands.required:
            sign_goal(self._node, installation_key(), 'execute_plan', request, execution)
        goal.sent(execution)
        answer = self._answer(goal, request, execution, result, notify)
        done = answer.result
        result.verdict = done.verdict
        result.steps_done += done.steps_done
        result.final_state = done.final_state
        result.execution_time = conversions.sum_of(result.execution_time, done.execution_time)
        if step_by_step and done.remaining.problem:
            return done
        if replan and done.remaining.problem:
            raise NotAsProved(done.error_msg, done.remaining, done.steps_done)
        if done.error_code != int(ErrorCode.NONE):
            raise SafegenError(done.error_msg, conversions.code_from_msg(done.error_code))
        if answer.status != GoalStatus.STATUS_SUCCEEDED:
            raise SafegenError('the executor ended the goal without success', _UNAVAILABLE)
        return done

    def _answer(
        self,
        goal: RunContext,
        request: ExecutePlan.Goal,
        execution: UUID,
        result: RunTask.Result,
        notify: Callable[[msg.ExecutionProgress], None],
    ) -> Ended[ExecutePlan.Result]:
        """The executor's answer to a goal; see `execute`. A cancelled one is awaited, too."""
        observed, cancelled = 0, goal.deadline.cancelled

        def progress(feedback: ExecutePlan.Feedback) -> None:
            nonlocal observed
            if feedback.progress.phase == msg.ExecutionProgress.OBSERVED:
                observed = feedback.progress.step
            notify(feedback.progress)

        try:
            sent_goal = self._sender.send(request, progress, execution)
        except SafegenError as error:
            raise SafegenError(
                f'the executor does not accept the plan: {error.message}', _UNAVAILABLE
            ) from error
        with sent_goal:

            def gone() -> bool:
                return bool(sent_goal.lost) or (
                    self._node.inactive.is_set() and not self._node.heartbeats.instances('executor')
                )

            def given_up() -> bool:
                if goal.lost:
                    sent_goal.abandon()
                return gone() or cancelled()

            try:
                # The executor keeps the deadline itself; the extra time is for its answer.
                return self._waited(sent_goal, goal.deadline.left_s + STOP_TIMEOUT_S, given_up)
            except SafegenError as error:
                try:
                    if cancelled() and not gone():
                        sent_goal.cancel()
                        return self._waited(sent_goal, STOP_TIMEOUT_S, gone)
                except SafegenError:
                    pass
                sent_goal.abandon()
                result.steps_done += observed
                reason = sent_goal.lost or ('the executor is gone' if gone() else error.message)
                raise SafegenError(
                    f'{reason} while it executed the plan, of which {observed} steps are known to '
                    'be done: look at the cell before the next goal',
                    _UNAVAILABLE,
                ) from error

    def _waited(
        self, sent: SentGoal[ExecutePlan.Result], timeout_s: float, given_up: Callable[[], bool]
    ) -> Ended[ExecutePlan.Result]:
        return wait_for(sent.future, timeout_s, 'the executor', _UNAVAILABLE, given_up=given_up)


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
