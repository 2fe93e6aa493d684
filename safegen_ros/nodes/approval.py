# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans that wait for an operator's word before they are executed."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import CallbackGroup, MutuallyExclusiveCallbackGroup
from rclpy.client import Client
from rclpy.node import Node

from safegen_msgs import msg
from safegen_msgs.action import ExecutePlan
from safegen_msgs.srv import Approve
from safegen_ros.errors import Canceled, ErrorCode, SafegenError
from safegen_ros.keys.authority import APPROVAL_S, Command, Role, sign
from safegen_ros.keys.key_pair import operator_key
from safegen_ros.record.signatures import ApprovalRecord, looked_at, shown_request
from safegen_ros.ros import conversions, qos
from safegen_ros.ros.calls import answer_of, check_sendable
from safegen_ros.ros.commands import signature_from_msg, signature_to_msg, stack_name
from safegen_ros.stages import GoalStage

if TYPE_CHECKING:
    from safegen_ros.nodes.base import SafegenNode
    from safegen_ros.nodes.served_goals import RunContext

PENDING, APPROVE = 'pending', 'approve'

MAX_WORDS = 1000
"""Longest name, reason and digest of who decides [characters]."""

_POLL_S = 0.05
"""How often a wait looks whether its goal was given up; an answer ends it at once [s]."""


def plan_digest(task: msg.Task, plan: msg.Plan, request: str = '', site: str = '') -> str:
    """SHA-256 of `plan_looked_at`, by which the plan is approved; 64 hexadecimal digits."""
    return sha256(plan_looked_at(task, plan, request, site).encode()).hexdigest()


def plan_looked_at(task: msg.Task, plan: msg.Plan, request: str, site: str) -> str:
    """What an operator looks at, as `looked_at` writes it."""
    steps = [
        [step.action, *step.arguments, *([a.action, *a.arguments] for a in step.beside)]
        for step in plan.steps
    ]
    return looked_at(task.domain, task.problem, task.format, steps, request, site)


def pending_digest(pending: msg.PendingPlan) -> str:
    """As `plan_digest`, of a plan that waits."""
    return plan_digest(pending.task, pending.plan, pending.request, pending.site)


@dataclass(slots=True)
class _Waiting:
    """A plan that waits, and the word of the operator once there is one."""

    plan: msg.PendingPlan
    answer: Approve.Request | None = None


class ApprovalGate:
    """Lets a plan through when an operator has approved of just this plan for just this task.

    Interfaces:
        topic `~/pending` (safegen_msgs/msg/PendingPlan, latched): the plan that waits longest.
        service `~/approve` (safegen_msgs/srv/Approve): the word about a plan that waits.

    Args:
        group: callback group of the service.
    """

    def __init__(self, node: SafegenNode, group: CallbackGroup) -> None:
        self._node = node
        self._given: dict[str, msg.Approval] = {}
        self._changed = threading.Condition()
        self._line: list[_Waiting] = []
        self._publisher = node.create_publisher(msg.PendingPlan, f'~/{PENDING}', qos.LATCHED)
        self._service = node.create_service(
            Approve, f'~/{APPROVE}', self._serve, callback_group=group
        )
        self._publish()

    def approve(self, goal: RunContext, task: msg.Task, plan: msg.Plan) -> None:
        """Waits for an operator to approve a plan, where the goal or the site asks for that.

        A request in plain words whose reading was not accepted needs it, too: the first approval of
        a plan is that of the reading. Who has approved is in the result of the goal.

        Raises:
            SafegenError: the plan is refused (`APPROVAL_REFUSED`), there was no word in time
                (`APPROVAL_TIMEOUT`), or the answer could not be written down (`JOURNAL_FAILED`).
            Canceled: the goal was given up, or its client is lost.
        """
        asked, result = goal.request, goal.result
        unread = goal.in_words and not asked.accept_reading and not result.approved_by
        if not (asked.approval or self.always) and not unread:
            return
        default_s, late = self._node.values['approval_timeout'], ErrorCode.APPROVAL_TIMEOUT
        patience_s = conversions.budget_from_msg(asked.approval_timeout, default_s, late)
        # The wait is a part of the goal's time.
        timeout_s = max(min(patience_s, goal.deadline.left_s), 0.0)
        pending = msg.PendingPlan(
            goal_id=goal.id,
            request=shown_request(asked.task.problem, result.question)
            if goal.in_words
            else asked.task.request,
            task=task,
            plan=plan,
            verdict=result.verdict,
            replans=goal.replans,
        )
        result.approved_by = ''
        with goal.explained_loss():
            result.approved_by = self._wait(goal, pending, timeout_s)

    def _wait(self, goal: RunContext, plan: msg.PendingPlan, timeout_s: float) -> str:
        """Who has approved; digest and end of the plan are filled in."""
        plan.site, plan.nonce = self._node.site.digest, self._node.commands.authority.nonce()
        plan.digest = pending_digest(plan)
        plan.expires = conversions.time_to_msg(time.time_ns() + int(timeout_s * 1e9))
        end = time.monotonic() + timeout_s
        waiting, cancelled = _Waiting(plan), goal.watched.cancelled
        with self._changed:
            self._line.append(waiting)
            try:
                self._publish()
                goal.tell(GoalStage.APPROVAL, pending=plan)
                while waiting.answer is None and not cancelled() and time.monotonic() < end:
                    self._changed.wait(_POLL_S)
            finally:
                self._line.remove(waiting)
                self._publish()
        if cancelled():
            raise Canceled(
                'cancelled while the plan waited for approval; nothing was executed',
                ErrorCode.PLANNING_CANCELED,
            )
        if waiting.answer is not None:
            about = plan_looked_at(plan.task, plan.plan, plan.request, plan.site)
            goal.note(approval_record(self._node, waiting.answer, about))
        answer = _approved(waiting.answer, timeout_s, self.always)
        answer.request = plan.request
        self._given[plan_digest(plan.task, plan.plan)] = answer
        return answer.by

    @property
    def always(self) -> bool:
        """Whether the site wants every plan approved, whatever its goal says."""
        return self._node.site.approve_always

    def given(self, task: msg.Task, plan: msg.Plan) -> msg.Approval:
        """The approval of a plan, for the executor; an empty one where there is none.

        It is handed out once.
        """
        return self._given.pop(plan_digest(task, plan), msg.Approval())

    def _serve(self, request: Approve.Request, response: Approve.Response) -> Approve.Response:
        words = max(len(request.by), len(request.reason), len(request.digest))
        if words > MAX_WORDS:
            response.message = (
                f'{words:,} characters of name, reason or digest: give at most {MAX_WORDS:,}'
            )
            return response
        try:
            check_sendable(request)
        except SafegenError as error:
            response.message = error.message
            return response
        with self._changed:
            open_ones = [each for each in self._line if each.answer is None]
            found = [each for each in open_ones if each.plan.digest == request.digest]
            if found and (refusal := self._unauthorized(request, found[0].plan)):
                response.message = refusal
            elif found:
                found[0].answer = request
                self._changed.notify_all()
                response.success = True
                response.message = 'approved' if request.approve else 'refused'
            elif open_ones:
                response.message = (
                    f'no plan of digest {request.digest[:64]!a} waits: look at the one that does, '
                    f'{open_ones[0].plan.digest}'
                )
            else:
                response.message = 'no plan waits for approval'
        return response

    def _unauthorized(self, request: Approve.Request, plan: msg.PendingPlan) -> str:
        """Why an answer does not count; empty where it does, and is by its signer then."""
        commands = self._node.commands
        if not commands.required:
            request.signature = msg.Signature()
            return ''
        command = approval_command(self._node, request.digest, request.approve, request.reason)
        signature = signature_from_msg(request.signature)
        try:
            request.by = commands.authority.check(
                command, signature, Role.OPERATOR, nonce=plan.nonce
            )
        except SafegenError as error:
            self._node.get_logger().warning(f'an answer to a plan was refused: {error.message}')
            return error.message
        return ''

    def _publish(self) -> None:
        """Publishes what waits; the lock is held, so that the last state is the last message."""
        self._publisher.publish(self._line[0].plan if self._line else msg.PendingPlan())


def _approved(answer: Approve.Request | None, timeout_s: float, always: bool) -> msg.Approval:
    if answer is None:
        other = ', or send it without approval' if not always else ''
        why = ', which the site wants for every plan' if always else ''
        raise SafegenError(
            f'no approval within {timeout_s:.3g} s{why}, and nothing was executed: allow more '
            f'time{other}',
            ErrorCode.APPROVAL_TIMEOUT,
        )
    by = answer.by or 'an operator'
    if not answer.approve:
        reason = f' ({answer.reason})' if answer.reason else ''
        raise SafegenError(f'{by} refused the plan{reason}', ErrorCode.APPROVAL_REFUSED)
    return msg.Approval(
        digest=answer.digest, by=by, reason=answer.reason, signature=answer.signature
    )


def approval_record(
    node: SafegenNode, answer: Approve.Request | msg.Approval, about: str
) -> ApprovalRecord:
    """An answer about a plan for the journal, with its signature.

    Args:
        answer: an operator's, or the approval that the planner has made of it.
        about: as `plan_looked_at`.
    """
    signature = answer.signature
    return ApprovalRecord(
        approved=isinstance(answer, msg.Approval) or answer.approve,
        digest=answer.digest,
        by=answer.by or 'an operator',
        reason=answer.reason,
        stack=stack_name(node),
        public=node.commands.authority.public_key(signature.key),
        nonce=signature.nonce,
        time=signature.time,
        signature=bytes(signature.value).hex(),
        about=about,
    )


def approval_command(node: Node, digest: str, approve: bool, reason: str) -> Command:
    """What an operator signs about a plan."""
    return Command(stack_name(node), 'approve' if approve else 'refuse', digest, reason)


class ExecutionGate:
    """Whether a goal of `execute_plan` is from one who may send it, and approved if need be."""

    def __init__(self, node: SafegenNode) -> None:
        self._node = node

    def check(self, goal_handle: ServerGoalHandle[ExecutePlan.Goal, Any, Any]) -> None:
        """Raises `SafegenError` (`NOT_AUTHORIZED`, `SITE_REFUSED` or `APPROVAL_REFUSED`)."""
        node, goal = self._node, goal_handle.request
        node.commands.sender_of('execute_plan', goal_handle)
        if node.site.approve_always and goal.plan.steps:
            self._check_approval(goal_handle)

    def _check_approval(self, goal_handle: ServerGoalHandle[ExecutePlan.Goal, Any, Any]) -> None:
        goal, node = goal_handle.request, self._node
        approval = goal.approval
        digest = plan_digest(goal.task, goal.plan, approval.request, node.site.digest)
        if approval.digest != digest or not approval.by:
            raise SafegenError(
                'the site wants every plan approved, and this one is not: send the goal to '
                'run_task, which asks an operator',
                ErrorCode.APPROVAL_REFUSED,
            )
        if node.commands.required:
            signature = signature_from_msg(approval.signature)
            node.commands.authority.check(
                approval_command(node, digest, True, approval.reason),
                signature,
                Role.OPERATOR,
                nonce=signature.nonce,
                fresh_s=APPROVAL_S,
            )
        about = plan_looked_at(goal.task, goal.plan, approval.request, node.site.digest)
        node.journal.note(goal_handle, approval_record(node, approval, about))


class Approver:
    """The operator's side: hears which plan waits, and says the word about it.

    Args:
        node: of the operator; its executor must be spinning elsewhere.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._news = threading.Condition()
        self._pending: msg.PendingPlan | None = None
        # A separate group, so that plans are taken in the order in which they came.
        group = MutuallyExclusiveCallbackGroup()
        node.create_subscription(
            msg.PendingPlan, f'planner/{PENDING}', self._take, qos.LATCHED, callback_group=group
        )
        self._client: Client[Approve.Request, Approve.Response] = node.create_client(
            Approve, f'planner/{APPROVE}', callback_group=group
        )

    @property
    def connected(self) -> bool:
        """Whether a planner is there."""
        return bool(self._client.service_is_ready())

    def wait(self, timeout_s: float, digest: str = '') -> msg.PendingPlan | None:
        """The plan that waits.

        Args:
            timeout_s: how long it may take to be told [s].
            digest: of the plan that is meant, or how that begins; empty for any.

        Returns:
            None where no such plan waits, or no planner reports one.

        Raises:
            SafegenError: the digest is not that of the plan that came with it.
        """

        def found() -> bool:
            waiting = self._pending.digest if self._pending is not None else ''
            return bool(waiting) and waiting.startswith(digest)

        with self._news:
            if not self._news.wait_for(found, timeout_s):
                return None
            pending = self._pending
        if pending is not None and pending.digest != pending_digest(pending):
            raise SafegenError(
                f'the plan that waits is not that of digest {pending.digest[:64]!a}: refuse it',
                ErrorCode.PLAN_REFUSED,
            )
        return pending

    def say(
        self, digest: str, approve: bool, by: str, reason: str, timeout_s: float
    ) -> Approve.Response:
        """Allows or refuses a plan; see `Approve.srv`.

        Raises:
            SafegenError: no planner answers within the time [s] (`SERVER_LOST`).
        """
        lost = ErrorCode.SERVER_LOST
        if not self._client.wait_for_service(timeout_sec=timeout_s):
            raise SafegenError('no planner answers: start the stack', lost)
        request = Approve.Request(digest=digest, approve=approve, by=by, reason=reason)
        pending, pair = self._pending, operator_key()
        if pair is not None and pending is not None and pending.digest == digest:
            command = approval_command(self._node, digest, approve, reason)
            request.signature = signature_to_msg(sign(pair, command, pending.nonce))
        answer: Approve.Response = answer_of(self._client, request, timeout_s, 'the planner', lost)
        return answer

    def _take(self, message: msg.PendingPlan) -> None:
        with self._news:
            self._pending = message
            self._news.notify_all()
