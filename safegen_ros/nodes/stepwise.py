# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A `run_task` goal in step mode: observe, choose, prove, execute one step, observe again.

Every step is a goal of the executor. It proves the step, and goes on only with what it has itself
said is left of the task, so that no constraint is lost between two steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from safegen_msgs import msg
from safegen_msgs.action import RunTask
from safegen_ros.errors import SafegenError
from safegen_ros.nodes.clients import RemoteExecutor, RemoteValidator
from safegen_ros.nodes.run_flow import Approving, approve
from safegen_ros.pddl.model import State
from safegen_ros.planning.loop import Attempt, Deadline, Verify
from safegen_ros.record.events import Event, StepEvent
from safegen_ros.robot.cell.execution import ConcurrentStep
from safegen_ros.ros import conversions, record_conversions
from safegen_ros.tasks.context import PlanningContext, StepwiseRun
from safegen_ros.tasks.pddl3.planning.stepwise import NotTaken

_OF_A_STEP = (msg.ExecutionProgress.MOVING, msg.ExecutionProgress.OBSERVED)


class Execute(Protocol):
    """Has a step executed by the executor node.

    Fills in the execution part of a scratch result whose plan it is; returns the executor's result,
    also where the world is not as proved. Raises as `RemoteExecutor.execute`.
    """

    def __call__(
        self,
        task: msg.Task,
        scratch: RunTask.Result,
        *,
        resume: bool,
        look: str,
        notify: Callable[[msg.ExecutionProgress], None],
    ) -> Any:
        """See above."""
        ...


@dataclass(frozen=True, slots=True)
class Told:
    """Who hears what happens.

    Attributes:
        note: of the journal.
        observed: told of each look at the world.
        progress: told of the progress of each step, numbered within the whole.
        approve: asked before a step is sent; raises where it is not allowed.
    """

    note: Callable[[Event], None]
    observed: Callable[[msg.Observation], None]
    progress: Callable[[msg.ExecutionProgress], None]
    approve: Callable[[msg.Task, msg.Plan], None]


class StepLink:
    """Takes steps through the executor, and keeps what was observed.

    Args:
        task: as it was sent.
        result: of the goal; plan, steps done, last state, times and observations are kept in it.
        execute: sends a step.
        told: who hears of it.
    """

    def __init__(
        self, task: msg.Task, result: RunTask.Result, execute: Execute, told: Told
    ) -> None:
        self._left = task
        self._result, self._execute, self._told = result, execute, told
        self._began = time.monotonic()
        self._begun = False

    @property
    def observed(self) -> State:
        """What was observed last; none before `begin`."""
        return conversions.state_from_facts(self._result.final_state.facts)

    @property
    def left(self) -> msg.Task:
        """What is left of the task, as the executor says it."""
        return self._left

    def unseen(self) -> frozenset[str]:
        """The objects that are out of view."""
        return frozenset(self._result.final_state.unseen)

    def begin(self) -> State:
        """Brings the cell into the initial state, and looks at it."""
        self._send(msg.Plan(), '')
        return self.observed

    def look(self, name: str) -> None:
        """Looks at the tower in which an object is believed to be."""
        below = {atom[2]: atom[1] for atom in self.observed if atom[0] == 'on'}
        while name in below:
            name = below[name]
        self._send(msg.Plan(), name)

    def take(self, step: ConcurrentStep, source: str) -> State:
        """Has a step proved, taken and looked at.

        Raises:
            NotTaken: the world had changed before, and is looked at again.
            SafegenError: it is not allowed, not proved, or fails.
        """
        plan = conversions.steps_to_msg([step], source)
        self._told.approve(self._left, plan)
        self._send(plan, '')
        return self.observed

    def _send(self, plan: msg.Plan, look: str) -> None:
        scratch, moved = RunTask.Result(plan=plan), False
        at, done = time.monotonic() - self._began, self._result.steps_done

        def progress(message: msg.ExecutionProgress) -> None:
            nonlocal moved
            moved = moved or message.phase == msg.ExecutionProgress.MOVING
            if self._begun and message.phase not in _OF_A_STEP:
                return  # the same for each step
            message.step, message.total = message.step + done, done + len(plan.steps)
            self._told.progress(message)

        try:
            answer = self._execute(
                self._left, scratch, resume=self._begun, look=look, notify=progress
            )
        except SafegenError:
            if moved:
                self._step(plan, at)
            self._result.final_state = scratch.final_state
            raise
        finally:
            self._result.execution_time = conversions.sum_of(
                self._result.execution_time, scratch.execution_time
            )
        self._begun, self._left = True, answer.remaining
        self._result.final_state = scratch.final_state
        if plan.steps and not answer.steps_done:
            self._note(msg.Step(), look, answer)
            raise NotTaken(answer.error_msg)
        if plan.steps:
            self._step(plan, at)
            self._result.steps_done += 1
        self._note(plan.steps[0] if plan.steps else msg.Step(), look, answer)

    def _step(self, plan: msg.Plan, at: float) -> None:
        """Keeps a step that was begun, `at` seconds after the start of the whole [s]."""
        text = conversions.step_text(plan.steps[0])
        self._told.note(StepEvent(len(self._result.plan.steps), text, at, plan.source))
        steps = [*self._result.plan.steps, plan.steps[0]]
        self._result.plan = msg.Plan(steps=steps, source=plan.source)

    def _note(self, step: msg.Step, look: str, answer: Any) -> None:
        world = self._result.final_state
        observation = msg.Observation(
            steps_done=self._result.steps_done,
            step=step,
            look=look,
            world=world,
            text=answer.observation,
        )
        at = time.monotonic() - self._began
        self._told.note(record_conversions.observed_event(observation, at))
        self._result.observations = [*self._result.observations, observation]
        self._told.observed(observation)


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

    def answered(attempt: Attempt) -> None:
        message = conversions.attempt_to_msg(attempt, base=result.steps_done)
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
