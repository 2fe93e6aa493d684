# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A `run_task` goal that is worked on step by step: observe, choose, prove, take, observe again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, cast

from safegen_msgs import msg
from safegen_msgs.action import RunTask
from safegen_ros.errors import Canceled, ErrorCode, SafegenError
from safegen_ros.llm.backend import Backend
from safegen_ros.nodes.levels import levels_for, require_chat, sampling_of
from safegen_ros.nodes.remote import RemoteExecutor, RemoteValidator
from safegen_ros.nodes.run_flow import Approving, approve
from safegen_ros.nodes.step_link import Execute, StepLink, Told
from safegen_ros.pddl.model import Problem, State
from safegen_ros.pddl.plan import Step
from safegen_ros.planning.feedback import feedback_named
from safegen_ros.planning.loop import MODEL, Attempt, Deadline, Level, Verify
from safegen_ros.record.events import Event
from safegen_ros.robot.cell.job import JointStep
from safegen_ros.ros import conversions
from safegen_ros.ros import record_conversions as told
from safegen_ros.tasks.pddl3.planning.replan import PlannedSteps
from safegen_ros.tasks.pddl3.planning.stepwise import Ending, Limits, Moment, run_stepwise
from safegen_ros.tasks.pddl3.prompts.styles import PromptStyle
from safegen_ros.tasks.pddl3.task import Pddl3Task
from safegen_ros.tasks.task import Asking, Chosen, StepTask
from safegen_ros.verdict import Category


@dataclass(frozen=True, slots=True)
class StepParts:
    """What a planner node does for a goal.

    Attributes:
        values: of the node's parameters.
        backend: the model.
        style: how it is asked.
        validator: whose verdict each plan needs.
        executor: whose turn is kept from the first look to the last.
        execute: sends a step to it.
        turn: lets a goal ask the model, in the order of the goals.
        asking: where steps wait for an operator's word, and whether the goal is given up.
        note: of the journal.
        attempt: told of each attempt, beside the client.
    """

    values: Mapping[str, Any]
    backend: Backend
    style: PromptStyle
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
    run = _Run(goal_handle, result, deadline, parts, link)
    with parts.executor.turn(deadline.with_cancelled(parts.asking.cancelled)):
        if isinstance(task, Pddl3Task):
            run.pddl(task)
        elif isinstance(task, StepTask):
            run.world(task)
        else:
            raise SafegenError(
                f'a task in format {task.format} is planned as a whole: leave out step_by_step',
                ErrorCode.UNSUPPORTED_FEATURE,
            )


class _Run:
    """The state of one call of `run_step_by_step`."""

    def __init__(
        self,
        goal_handle: Any,
        result: RunTask.Result,
        deadline: Deadline,
        parts: StepParts,
        link: StepLink,
    ) -> None:
        self._handle, self._result = goal_handle, result
        self._goal = goal_handle.request
        self._deadline, self._parts, self._link = deadline, parts, link
        self._failed: SafegenError | None = None

    @property
    def _most_steps(self) -> int:
        return int(self._goal.max_steps or self._parts.values['max_steps'])

    def pddl(self, task: Pddl3Task) -> None:
        """Works on a PDDL task: each step is the first of a plan proved from what is seen."""
        parts, link, begun = self._parts, self._link, False

        def rest_of(problem: Problem) -> msg.Task:
            return conversions.remaining_to_msg(problem, task)

        def levels(problem: Problem) -> Sequence[Level]:
            rest = cast(Pddl3Task, conversions.task_from_msg(rest_of(problem)))
            return levels_for(rest, self._goal, parts.values, parts.backend, parts.style)

        def prove(problem: Problem) -> Verify:
            return parts.validator.verify(rest_of(problem), parts.asking.cancelled)

        def told_of(attempt: Attempt) -> None:
            self._tell(attempt, tuple((step,) for step in attempt.plan.steps))

        steps = PlannedSteps(levels, self._deadline.left_s, told_of, prove)

        def observe() -> State:
            nonlocal begun
            if not begun:
                begun = True
                return self._kept(link.begin)
            return link.observed

        def act(step: Step) -> None:
            self._kept(lambda: link.take((step,), steps.source))

        def choose(moment: Moment, cancelled: Callable[[], bool]) -> Step | None:
            with parts.turn():
                return steps(moment, cancelled)

        limits = Limits(self._most_steps, self._deadline.left_s)
        outcome = run_stepwise(
            task.problem, observe, act, choose, limits, cancelled=parts.asking.cancelled, sight=link
        )
        self._result.verdict = conversions.verdict_to_msg(outcome.verdict)
        if outcome.ending is Ending.CANCELED:
            raise self._failed or Canceled(outcome.message, ErrorCode.PLANNING_CANCELED)
        if outcome.error_code is not ErrorCode.NONE:
            raise SafegenError(outcome.message, outcome.error_code)

    def world(self, task: StepTask) -> None:
        """Works on a task of a world that asks a model by itself, step by step."""
        parts, goal = self._parts, self._goal
        require_chat(parts.values['model'], parts.style)
        show = feedback_named(goal.feedback or parts.values['feedback'])
        sampling = sampling_of(parts.values, goal)
        ask = Asking(parts.backend, sampling, show, self._over)
        answered = 0

        def chosen(answer: Chosen) -> None:
            nonlocal answered
            answered += 1
            attempt = Attempt(answered, MODEL, answer.text, answer.verdict, answer.seconds)
            self._tell(attempt, answer.steps)

        with parts.turn():
            verdict = task.play(ask, self._link, chosen, self._most_steps)
        self._result.verdict = conversions.verdict_to_msg(verdict)
        if verdict.ok:
            return
        broken = verdict.category is Category.SAFETY_VIOLATION and verdict.broken
        code = ErrorCode.MONITOR_VIOLATION if broken else ErrorCode.ATTEMPTS_EXHAUSTED
        raise SafegenError(f'{verdict.category.name}: {verdict.reason}', code)

    def _over(self) -> bool:
        return self._parts.asking.cancelled() or self._deadline.left_s <= 0

    def _kept(self, work: Callable[[], State]) -> State:
        """What work of the link returns; what it raises is kept, for how the goal ended."""
        try:
            return work()
        except SafegenError as error:
            self._failed = error
            raise

    def _tell(self, attempt: Attempt, steps: Sequence[JointStep]) -> None:
        message = conversions.attempt_to_msg(attempt, tuple(steps), base=self._result.steps_done)
        self._parts.note(told.attempt_record(message))
        self._result.attempts = [*self._result.attempts, message]
        seconds = conversions.duration_to_msg(attempt.seconds)
        self._result.planning_time = conversions.sum_of(self._result.planning_time, seconds)
        self._parts.attempt(message)
        progress = msg.PlanningProgress(
            phase=msg.PlanningProgress.JUDGED,
            source=message.source,
            attempt_number=min(message.number, 255),
            attempt=message,
        )
        self._handle.publish_feedback(
            RunTask.Feedback(stage=RunTask.Feedback.PLANNING, planning=progress)
        )
