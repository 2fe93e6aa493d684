# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Goals that nodes work on: request, result, and whether the goal goes on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Set
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from rclpy.action.server import ServerGoalHandle
from unique_identifier_msgs.msg import UUID

from safegen_msgs import msg
from safegen_msgs.action import ExecutePlan, PlanTask, RunTask
from safegen_ros.errors import Canceled, ErrorCode, SafegenError
from safegen_ros.nodes.base import SafegenNode, ServedGoal
from safegen_ros.planning.loop import Attempt
from safegen_ros.record.events import GoalEvent
from safegen_ros.ros import conversions, record_conversions
from safegen_ros.ros.watchdog import CURE, ENDED_BY_STOP, ProcessWatch, Rules, StopListener
from safegen_ros.stages import GoalStage
from safegen_ros.sync import Closing, PlanningDeadline

if TYPE_CHECKING:
    from safegen_ros.nodes.stop_server import StopServer

PlannerGoal = TypeVar('PlannerGoal', bound=PlanTask.Goal | RunTask.Goal)
PlannerResult = TypeVar('PlannerResult', bound=PlanTask.Result | RunTask.Result)


class GoalContext(ServedGoal[PlannerGoal, PlannerResult], Closing):
    """One goal of `plan_task` or `run_task`, with a watch of its client until it is closed.

    Args:
        result: of its action; filled in on the way.
        stop: knows of stops of the stack; one that comes ends the goal.

    Attributes:
        runs: whether to execute the plan.
        deadline: its time, cancelled by its client, by a stop or by the node.
        watched: the same time, cancelled too where the client is lost.
        spelling: of the names in its task, once that is read.
    """

    def __init__(
        self,
        node: SafegenNode,
        handle: ServerGoalHandle[PlannerGoal, PlannerResult, Any],
        result: PlannerResult,
        stop: StopListener,
    ) -> None:
        super().__init__(node, handle, result)
        self.runs = isinstance(self.request, RunTask.Goal)
        self._stop, self._stops = stop, stop.stops
        self._second_opinion = False
        self.spelling = conversions.AS_READ
        self._time(math.inf)
        rules = Rules(
            timeout_s=node.values['heartbeat_timeout'],
            optional=True,
            dropped='the client no longer waits for the goal',
            strict='the planner' if self.runs else '',
        )
        self._client = ProcessWatch(
            node.heartbeats, 'the client', lambda each: self.key in each.sent, rules
        )

    def close(self) -> None:
        """Ends the watch of the client."""
        self._client.close()

    def begin(self, default_s: float) -> None:
        """Starts the time of the goal; raises `SafegenError` where its budget is wrong."""
        timeout = ErrorCode.PLANNING_TIMEOUT
        self._time(conversions.budget_from_msg(self.request.time_budget, default_s, timeout))

    def _time(self, budget_s: float) -> None:
        self.deadline = PlanningDeadline(budget_s, self._cancelled)
        self.watched = self.deadline.with_cancelled(lambda: self._cancelled() or bool(self.lost))

    @property
    def plan(self) -> msg.Plan:
        """The plan that was found."""
        return self.result.plan

    @property
    def lost(self) -> str:
        """Why the client is lost, or cannot be told from a lost one; empty where it is not.

        One that has sent no heartbeat is lost only with a planner that was held up.
        """
        return self._client.lost

    @property
    def in_words(self) -> bool:
        """Whether the task is a request in plain words."""
        return self.request.task.format == msg.Task.WORDS

    @property
    def replans(self) -> int:
        """The number of replans of the task."""
        return len(self.result.replans) if isinstance(self.result, RunTask.Result) else 0

    def _cancelled(self) -> bool:
        return self.handle.is_cancel_requested or self._stopped or self._node.inactive.is_set()

    @property
    def _stopped(self) -> bool:
        return self._stop.stops != self._stops

    def explain(self, error: SafegenError) -> SafegenError:
        """As of `ServedGoal`, with a stop for its cause where there was one."""
        return self._stop.explain(error) if self._stopped else error

    @contextmanager
    def explained_loss(self) -> Iterator[None]:
        """Errors of the block say that the client was lost, where that has ended the work."""
        try:
            yield
        except SafegenError as error:
            if not self.lost or self.deadline.cancelled():
                raise
            raise Canceled(
                f'{self.lost}, and nothing more was planned or moved for it',
                ErrorCode.PLANNING_CANCELED,
            ) from error

    def sent(self, execution: UUID) -> None:
        """Writes down a goal of the executor, before it is sent."""
        self.note(GoalEvent('execute_plan', record_conversions.goal_id_text(execution)))

    def planning(self, progress: msg.PlanningProgress) -> None:
        """Reports the progress of planning to the client."""
        if self.runs:
            self.tell(GoalStage.PLANNING, planning=progress)
        else:
            self.publish(PlanTask.Feedback(progress=progress))

    def execution(self, progress: msg.ExecutionProgress) -> None:
        """Reports the progress of the execution to the client."""
        self.tell(GoalStage.EXECUTION, execution=progress)

    def tell(self, stage: GoalStage, **part: Any) -> None:
        """Reports to the client of `run_task` how far the goal is."""
        self.publish(RunTask.Feedback(stage=stage, **part))

    def judged(self, attempt: Attempt, second_opinion: bool, base: int = 0) -> msg.Attempt:
        """Takes an attempt into the result and the journal; returns it as a message.

        Args:
            second_opinion: whether VAL has judged it, too.
            base: steps that had been taken, where the task is worked on step by step.
        """
        number = len(self.result.attempts) + 1
        message = conversions.attempt_to_msg(attempt, number, self.replans, base, self.spelling)
        self.result.attempts = [*self.result.attempts, message]
        if second_opinion and not self._second_opinion:  # known with the first verdict
            self._second_opinion = True
            self.note(record_conversions.stack_event(self._node.values, self.request, True))
        self.note(record_conversions.attempt_record(message))
        return message

    def planned_for(self, seconds: float) -> None:
        """Adds time that planning took [s]."""
        self.result.planning_time = conversions.sum_of(
            self.result.planning_time, conversions.duration_to_msg(seconds)
        )


PlanContext: TypeAlias = GoalContext[PlanTask.Goal, PlanTask.Result]
RunContext: TypeAlias = GoalContext[RunTask.Goal, RunTask.Result]


ExecutionHandle: TypeAlias = ServerGoalHandle[ExecutePlan.Goal, ExecutePlan.Result, Any]


class ExecutionGoal(ServedGoal[ExecutePlan.Goal, ExecutePlan.Result]):
    """A goal of `execute_plan`.

    Args:
        stop: of the executor; a stop that comes ends the goal.
        cancels: keys of the goals that are to be cancelled.
    """

    def __init__(
        self, node: SafegenNode, handle: ExecutionHandle, stop: StopServer, cancels: Set[bytes]
    ) -> None:
        super().__init__(node, handle, ExecutePlan.Result())
        self._stop, self._stops, self._cancels = stop, stop.state.count, cancels
        self._plan = record_conversions.sent_plan(self.request.plan)

    @property
    def plan(self) -> msg.Plan:
        """The plan that came."""
        return self._plan

    def cancelled(self) -> bool:
        """Whether the goal has to end."""
        return self.key in self._cancels or self._stopped or self._node.inactive.is_set()

    @property
    def _stopped(self) -> bool:
        """Whether the stack is stopped, or was since the goal came, even if it has been reset."""
        stop = self._stop.state
        return stop.stopped or stop.count != self._stops

    def explain(self, error: SafegenError) -> SafegenError:
        """As of `ServedGoal`, with a stop for its cause where there was one."""
        if error.code not in ENDED_BY_STOP or not self._stopped:
            return error
        reason = self._stop.state.reason or 'it has been reset since'
        return SafegenError(
            f'the stack was stopped ({reason}); {CURE}', ErrorCode.EXECUTION_STOPPED
        )
