# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A `run_task` goal: plan, approval, execution; planned again where the world differs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from safegen_msgs import msg
from safegen_msgs.action import RunTask
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.nodes.approval import ApprovalGate
from safegen_ros.nodes.clients import NotAsProved, RemoteExecutor, RemoteValidator
from safegen_ros.planning.loop import Attempt, Deadline, Progress
from safegen_ros.record.events import PassedEvent
from safegen_ros.ros import conversions, record_conversions


class AttemptLog:
    """Writes the attempts of a planning into the journal, then publishes them.

    Args:
        note: writes a record into the journal of the goal.
        publish: on the topic of attempts.
        validator: that judges the attempts.
        asked: record of the goal that says that VAL judges, too.
    """

    def __init__(
        self,
        note: Callable[[Any], None],
        publish: Callable[[msg.Attempt], None],
        validator: RemoteValidator,
        asked: Any,
    ) -> None:
        self._note, self._publish = note, publish
        self._validator, self._asked = validator, asked
        self._noted = False

    def judged(self, attempt: msg.Attempt) -> None:
        """Takes an attempt with its verdict."""
        if self._validator.second_opinion and not self._noted:  # known with the first verdict
            self._noted = True
            self._note(self._asked)
        self._note(record_conversions.attempt_record(attempt))
        self._publish(attempt)

    def passed(self, reason: str) -> None:
        """Takes the reason why the next planner is asked."""
        self._note(PassedEvent(reason))


@dataclass(frozen=True, slots=True)
class Teller:
    """Called with the progress of one planning.

    Attributes:
        before: attempts of its goal for earlier plans.
        replan: number of the replan.
        attempts: most that there will be, without the search.
        log: writes each attempt down first; what it raises ends the planning.
        notify: gets the feedback of the goal.
    """

    before: int
    replan: int
    attempts: int
    log: AttemptLog
    notify: Callable[[msg.PlanningProgress], None]

    def message(self, attempt: Attempt) -> msg.Attempt:
        """An attempt with the steps that were read from it."""
        return conversions.attempt_to_msg(attempt, self.before, self.replan)

    def __call__(self, progress: Progress) -> None:
        """Tells it."""
        if progress.detail:
            self.log.passed(progress.detail)
        message = msg.PlanningProgress(
            phase=progress.phase,
            source=progress.source,
            attempt_number=min(progress.number, 255),
            max_attempts=min(self.attempts, 255),
            detail=progress.detail,
        )
        if progress.attempt is not None:
            message.attempt = self.message(progress.attempt)
            self.log.judged(message.attempt)
        self.notify(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Approving:
    """Where plans wait for an operator's word.

    Attributes:
        gate: where they wait.
        approval_s: how long, for goals that do not say [s].
        cancelled: whether the goal is given up.
    """

    gate: ApprovalGate
    approval_s: float
    cancelled: Callable[[], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunParts(Approving):
    """What a planner node does for a goal.

    Attributes:
        plan: fills in the planning part of the result for a task, or raises; returns the task that
            the plan is for, which is another one where it came in words.
        execute: has the plan of the result executed for a task; told whether it may be planned for
            anew, and whether it goes on in the world as it is. Raises `NotAsProved` where it may.
        executor: whose turn is kept from the first execution to the last.
        replans: told each `Replan` before anything is planned for it.
    """

    plan: Callable[[msg.Task], msg.Task]
    execute: Callable[[msg.Task, bool, bool], None]
    executor: RemoteExecutor
    replans: Callable[[msg.Replan], None]


def run_task(
    goal_handle: Any, task: msg.Task, result: RunTask.Result, deadline: Deadline, parts: RunParts
) -> None:
    """Brings a goal for a task to its end, and fills in its result on the way.

    Raises:
        SafegenError: with what ended it.
    """
    goal = goal_handle.request
    task, resume = parts.plan(task), False
    approve(goal_handle, task, result, deadline, parts)
    with parts.executor.turn(deadline.with_cancelled(parts.cancelled)):
        while True:
            may_replan = len(result.replans) < goal.max_replans
            try:
                return parts.execute(task, may_replan, resume)
            except NotAsProved as error:
                task, resume = error.remaining, True
                _replan(goal_handle, error, result, parts)
                approve(goal_handle, task, result, deadline, parts)


def _replan(goal_handle: Any, error: NotAsProved, result: RunTask.Result, parts: RunParts) -> None:
    replan = msg.Replan(
        number=len(result.replans) + 1,
        reason=error.message,
        plan=result.plan,
        steps_done=error.steps_done,
        task=error.remaining,
    )
    result.replans = [*result.replans, replan]
    result.plan = msg.Plan()  # which is no plan for what is left
    parts.replans(replan)
    goal_handle.publish_feedback(RunTask.Feedback(stage=RunTask.Feedback.REPLANNING, replan=replan))
    try:
        parts.plan(replan.task)
    except SafegenError as failed:
        raise SafegenError(
            f'{failed.message} (it was planned for anew, as {error.message})', failed.code
        ) from failed


def is_words(goal: Any) -> bool:
    """Whether the task of a goal is a request in plain words."""
    return bool(goal.task.format == msg.Task.WORDS)


def approve(
    goal_handle: Any, task: msg.Task, result: RunTask.Result, deadline: Deadline, parts: Approving
) -> None:
    """Waits for an operator to approve the plan of a result, where its goal asks for that.

    A request in plain words whose reading nobody accepted asks for it, too: the first approval of
    a plan is that of the reading.

    Raises:
        SafegenError: it is refused, or nobody says anything in time.
        Canceled: the goal was given up.
    """
    goal = goal_handle.request
    unread = is_words(goal) and not goal.accept_reading and not result.approved_by
    if not (goal.approval or parts.gate.always) and not unread:
        return
    asked = conversions.budget_from_msg(
        goal.approval_timeout, parts.approval_s, ErrorCode.APPROVAL_TIMEOUT
    )

    def notify(pending: msg.PendingPlan) -> None:
        feedback = RunTask.Feedback(stage=RunTask.Feedback.APPROVAL, pending=pending)
        goal_handle.publish_feedback(feedback)

    result.approved_by = ''
    pending = msg.PendingPlan(
        goal_id=goal_handle.goal_id,
        request=goal.task.problem if is_words(goal) else goal.task.request,
        task=task,
        plan=result.plan,
        verdict=result.verdict,
        replans=len(result.replans),
    )
    # It is a part of the goal's time.
    timeout_s = max(min(asked, deadline.left_s), 0.0)
    result.approved_by = parts.gate.wait(pending, timeout_s, parts.cancelled, notify)
