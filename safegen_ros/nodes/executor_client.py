# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The planner's goals of the executor: a whole plan, or one proved step of a task after the other.

In step mode it observes, chooses, proves and executes one step, and observes again. Every step is a
goal of the executor, which proves it and goes on only with its own remaining task, so that no
constraint is lost between two steps.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from action_msgs.msg import GoalStatus
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from unique_identifier_msgs.msg import UUID

from safegen_msgs import msg
from safegen_msgs.action import ExecutePlan, RunTask
from safegen_ros.errors import Canceled, ErrorCode, SafegenError
from safegen_ros.keys.key_pair import installation_key
from safegen_ros.nodes.approval import ApprovalGate
from safegen_ros.nodes.base import SafegenNode
from safegen_ros.nodes.served_goals import RunContext
from safegen_ros.pddl.model import State
from safegen_ros.record.events import StepEvent
from safegen_ros.robot.cell.execution import ConcurrentStep
from safegen_ros.ros import conversions, record_conversions
from safegen_ros.ros.actions import Ended, GoalSender, SentGoal, sign_goal
from safegen_ros.ros.calls import wait_for
from safegen_ros.stages import ExecutionPhase, GoalStage
from safegen_ros.sync import Places, PlanningDeadline
from safegen_ros.tasks.pddl3.planning.stepwise import NotTaken

_UNAVAILABLE = ErrorCode.EXECUTOR_UNAVAILABLE

STOP_TIMEOUT_S = 5.0
"""How long the executor may take to report a cancelled goal [s]."""


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
