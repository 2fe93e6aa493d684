# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A `run_task` goal that is worked on step by step: observe, choose, prove, take, observe again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from safegen_msgs import msg
from safegen_msgs.action import RunTask
from safegen_ros.nodes.remote import RemoteExecutor, RemoteValidator
from safegen_ros.nodes.run_flow import Approving, approve
from safegen_ros.nodes.step_link import Execute, StepLink, Told
from safegen_ros.planning.loop import Attempt, Deadline, Verify
from safegen_ros.record.events import Event
from safegen_ros.ros import conversions, record_conversions
from safegen_ros.tasks.context import PlanningContext, Steps, StepwiseRun


@dataclass(frozen=True, slots=True)
class StepParts:
    """What a planner node does for a goal.

    Attributes:
        planning: what the world plans with.
        most_steps: that are taken or asked for.
        validator: whose verdict each plan needs.
        executor: whose turn is kept from the first look to the last.
        execute: sends a step to it.
        turn: lets a goal ask the model, in the order of the goals.
        asking: where steps wait for an operator's word, and whether the goal is given up.
        note: of the journal.
        attempt: told of each attempt, beside the client.
    """

    planning: PlanningContext
    most_steps: int
    validator: RemoteValidator
    executor: RemoteExecutor
    execute: Execute
    turn: Callable[[], AbstractContextManager[None]]
    asking: Approving
    note: Callable[[Event], None]
    attempt: Callable[[msg.Attempt], None]


def run_step_by_step(
    goal_handle: Any, sent: msg.Task, result: RunTask.Result, deadline: Deadline, parts: StepParts
) -> None:
    """Brings a goal for a task to its end, and fills in its result on the way.

    Raises:
        SafegenError: with what ended it.
    """
    task = conversions.task_from_msg(sent)

    def observed(observation: msg.Observation) -> None:
        goal_handle.publish_feedback(
            RunTask.Feedback(stage=RunTask.Feedback.OBSERVATION, observation=observation)
        )

    def progress(message: msg.ExecutionProgress) -> None:
        feedback = RunTask.Feedback(stage=RunTask.Feedback.EXECUTION, execution=message)
        goal_handle.publish_feedback(feedback)

    def approved(task: msg.Task, plan: msg.Plan) -> None:
        step = RunTask.Result(plan=plan)
        approve(goal_handle, task, step, deadline, parts.asking)
        result.approved_by = step.approved_by

    told_of = Told(parts.note, observed, progress, approved)
    link = StepLink(sent, result, parts.execute, told_of)

    def answered(attempt: Attempt, steps: Steps) -> None:
        message = conversions.attempt_to_msg(attempt, steps, base=result.steps_done)
        parts.note(record_conversions.attempt_record(message))
        result.attempts = [*result.attempts, message]
        seconds = conversions.duration_to_msg(attempt.seconds)
        result.planning_time = conversions.sum_of(result.planning_time, seconds)
        parts.attempt(message)
        planning = msg.PlanningProgress(
            phase=msg.PlanningProgress.JUDGED,
            source=message.source,
            attempt_number=min(message.number, 255),
            attempt=message,
        )
        goal_handle.publish_feedback(
            RunTask.Feedback(stage=RunTask.Feedback.PLANNING, planning=planning)
        )

    def prove(rest: object) -> Verify:
        left = conversions.remaining_to_msg(rest, task)
        return parts.validator.verify(left, parts.asking.cancelled)

    run = StepwiseRun(
        parts.planning, link, answered, prove, parts.most_steps,
        lambda: deadline.left_s, parts.asking.cancelled, parts.turn,
    )  # fmt: skip
    with parts.executor.turn(deadline.with_cancelled(parts.asking.cancelled)):
        outcome = task.play(run)
    result.verdict = conversions.verdict_to_msg(outcome.verdict)
    if outcome.error is not None:
        raise outcome.error
