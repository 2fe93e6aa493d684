# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A `run_task` goal in step mode: observe, choose, prove, execute one step, observe again.

Every step is a goal of the executor. It proves the step, and goes on only with its own remaining
task, so that no constraint is lost between two steps.
"""

from __future__ import annotations

import time

from safegen_msgs import msg
from safegen_msgs.action import ExecutePlan, RunTask
from safegen_ros.errors import SafegenError
from safegen_ros.nodes.approval import ApprovalGate
from safegen_ros.nodes.clients import RemoteExecutor
from safegen_ros.nodes.goal_context import RunContext
from safegen_ros.pddl.model import State
from safegen_ros.record.events import StepEvent
from safegen_ros.robot.cell.execution import ConcurrentStep
from safegen_ros.ros import conversions, record_conversions
from safegen_ros.stages import ExecutionPhase, GoalStage
from safegen_ros.tasks.pddl3.planning.stepwise import NotTaken

_OF_A_STEP = (ExecutionPhase.MOVING, ExecutionPhase.OBSERVED)


class StepLink:
    """Takes steps through the executor, and keeps the observations.

    Args:
        goal: plan, steps done, last state, times and observations are kept in its result.
        task: as the executor is to prove it.
        gate: where steps wait for an operator's approval.
    """

    def __init__(
        self, goal: RunContext, task: msg.Task, executor: RemoteExecutor, gate: ApprovalGate
    ) -> None:
        self._goal, self._result, self._left = goal, goal.result, task
        self._executor, self._gate = executor, gate
        self._began = time.monotonic()
        self._begun = False

    @property
    def observed(self) -> State:
        """The last observation; none before `begin`."""
        return conversions.state_from_facts(self._result.final_state.facts)

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
        plan = conversions.steps_to_msg([step], source, self._goal.spelling)
        self._gate.approve(self._goal, self._left, plan)
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
            self._goal.execution(message)

        try:
            answer = self._executor.execute(
                self._goal, self._left, scratch, self._gate.given(self._left, plan),
                notify=progress, resume=self._begun, step_by_step=True, look=look,
            )  # fmt: skip
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
        self._goal.note(StepEvent(len(self._result.plan.steps), text, at, plan.source))
        steps = [*self._result.plan.steps, plan.steps[0]]
        self._result.plan = msg.Plan(steps=steps, source=plan.source)

    def _note(self, step: msg.Step, look: str, answer: ExecutePlan.Result) -> None:
        world = self._result.final_state
        observation = msg.Observation(
            steps_done=self._result.steps_done,
            step=step,
            look=look,
            world=world,
            text=answer.observation,
        )
        at = time.monotonic() - self._began
        self._goal.note(record_conversions.observed_event(observation, at))
        self._result.observations = [*self._result.observations, observation]
        self._goal.tell(GoalStage.OBSERVATION, observation=observation)
