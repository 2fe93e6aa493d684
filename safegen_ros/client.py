# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A blocking client for scripts: sends goals, shows progress, and never waits for ever.

Example:
    >>> with Client() as client:
    ...     result = client.run(Path('problem.pddl').read_text())
    ...     print(result.error_msg, *[step.action for step in result.plan.steps])
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import rclpy
from action_msgs.msg import GoalStatus
from rclpy.client import Client as ServiceClient
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.type_support import Action
from unique_identifier_msgs.msg import UUID

from safegen_msgs import msg
from safegen_msgs.action import ExecutePlan, PlanTask, RunTask
from safegen_msgs.srv import ValidatePlan
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.goal_options import Options, check_budget
from safegen_ros.ros import qos
from safegen_ros.ros.actions import (
    CONNECT_TIMEOUT_S,
    GoalSender,
    NotThere,
    Result,
    SentGoal,
    sign_goal,
)
from safegen_ros.ros.calls import answer_of, check_sendable, wait_for
from safegen_ros.ros.liveness import HeartbeatMonitor, HeartbeatPublisher, why_missing
from safegen_ros.ros.rclpy_compat import destroy_actions
from safegen_ros.ros.stack_state import use_stack_discovery
from safegen_ros.sync import Closing

if TYPE_CHECKING:
    from safegen_ros.pddl.plan import Plan

__all__ = ['Client', 'Goal', 'Options']

_PlanningGoal = TypeVar('_PlanningGoal', PlanTask.Goal, RunTask.Goal)

GRACE_S = 5.0
"""How long after its time budget a goal's result may come [s]."""

SILENCE_S = 6.0
"""Longest time without a heartbeat of the node that works on a goal [s]."""

CANCEL_TIMEOUT_S = 15.0
"""How long a cancelled goal may take to end [s]."""


class Goal(Generic[Result]):
    """A goal that was accepted; made by `Client`."""

    def __init__(
        self, name: str, sent: SentGoal[Result], deadline: float, alive: Callable[[], str | None]
    ) -> None:
        self._name = name
        self._sent = sent
        self._deadline = deadline
        self._alive = alive

    def result(self) -> Result:
        """Waits for the end; `error_code` of the result says how it went.

        Raises:
            SafegenError: no server is left to answer (`SERVER_LOST`), or no answer came in time
                (`DEADLINE_EXCEEDED`).
            KeyboardInterrupt: Ctrl-C; the goal has then been cancelled.
        """

        def lost() -> str:
            return self._alive() or self._sent.lost

        left = max(self._deadline - time.monotonic(), 0.0)
        late = ErrorCode.DEADLINE_EXCEEDED
        try:
            return self._waited(left, late, lambda: bool(lost()))
        except KeyboardInterrupt:
            self.cancel()
            raise
        except SafegenError as error:
            # No server may go on for a client that has stopped listening.
            if reason := lost():
                self._sent.abandon()
                self._sent.close()
                raise SafegenError(
                    f'{reason}: the goal is lost; look at the cell before the next one',
                    ErrorCode.SERVER_LOST,
                ) from error
            self._sent.cancel()
            raise SafegenError(
                f'{error.message}, and was cancelled: look at the cell before the next one',
                late,
            ) from error

    def cancel(self) -> Result:
        """Cancels the goal and returns its result; what moved has then stopped.

        Raises:
            SafegenError: `SERVER_LOST`, when the goal does not end.
        """
        self._sent.cancel()
        return self._waited(CANCEL_TIMEOUT_S, ErrorCode.SERVER_LOST, lambda: bool(self._sent.lost))

    def _waited(self, timeout_s: float, code: ErrorCode, given_up: Callable[[], bool]) -> Result:
        """Waits for the result, for which a failure without a reason must not read as success."""
        answer = wait_for(self._sent.future, timeout_s, self._what, code, given_up=given_up)
        succeeded = answer.status == GoalStatus.STATUS_SUCCEEDED
        if succeeded != (answer.result.error_code == ErrorCode.NONE):
            raise SafegenError(
                f'{self._what} ended with status {answer.status} and error code '
                f'{answer.result.error_code}, which contradict each other: see the log of the node'
            )
        return answer.result

    @property
    def id(self) -> str:
        """The goal's id, 32 hexadecimal digits."""
        return bytes(self._sent.id.uuid).hex()

    @property
    def status(self) -> int:
        """The goal's `action_msgs/GoalStatus`: of its result, or else as the topic has told."""
        future = self._sent.future
        answer = future.result() if future.done() else None
        return int((self._sent.handle if answer is None else answer).status)

    @property
    def _what(self) -> str:
        return f'the goal of action {self._name}'


class Client(Closing):
    """Talks to a running stack, for one thread or for several.

    The client sends heartbeats that list its open goals, so that the stack ends them when this
    process has ended, hangs, or is cut off.

    Args:
        namespace: where the nodes are.
        alive: asked while waiting; a string says why the stack is gone, which ends the wait.
    """

    def __init__(self, namespace: str = '', alive: Callable[[], str | None] = lambda: None) -> None:
        self._alive = alive
        self._failure: Exception | None = None
        self._closed = threading.Event()
        use_stack_discovery()
        self._context = Context()
        # The caller keeps its own Ctrl-C: it means "cancel the goal", not "drop everything".
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self.node = Node('safegen_client', namespace=namespace, context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self.heartbeats = HeartbeatMonitor(self.node)
        self._heartbeat = HeartbeatPublisher(self.node, then=self.heartbeats.look)
        self._lock = threading.Lock()
        self._senders: dict[str, GoalSender[Any, Any, Any]] = {}
        self._validator: ServiceClient[ValidatePlan.Request, ValidatePlan.Response] | None = None
        self._thread = threading.Thread(target=self._spin, name='safegen_client', daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        try:
            while not self._closed.is_set():
                self._executor.spin_once()
        except ExternalShutdownException:
            return
        except Exception as error:
            if self._closed.is_set():
                return  # rclpy's last task may find that its executor is gone
            # An error in the caller's own callback must not leave the caller waiting.
            self._failure = error
            raise

    def _reason(self) -> str | None:
        """Why there is nothing to wait for any more, if that is so."""
        if self._failure is not None:
            return f'the client has failed: {self._failure!r}'
        return self._alive()

    def run(
        self,
        problem: str,
        domain: str = '',
        options: Options | None = None,
        on_feedback: Callable[[RunTask.Feedback], None] = lambda feedback: None,
        format: str = '',
    ) -> RunTask.Result:
        """Plans, proves and executes a task, and waits for the end as `Goal.result` does.

        Args:
            problem: text of the problem.
            domain: PDDL of its domain; empty for a built-in one.
            options: time budget, attempts and the rest.
            on_feedback: called with each `RunTask.Feedback`, in another thread.
            format: what the problem is written in: pddl (also when empty), json, english, or words
                for a request that the planner's model translates; the domain may be a name then.

        Raises:
            SafegenError: also when there is no server (`SERVER_LOST`). A goal that the server does
                not take has a result with the reason, such as `QUEUE_FULL`.
        """
        return self.start_run(problem, domain, options, on_feedback, format).result()

    def start_run(
        self,
        problem: str,
        domain: str = '',
        options: Options | None = None,
        on_feedback: Callable[[RunTask.Feedback], None] = lambda feedback: None,
        format: str = '',
    ) -> Goal[RunTask.Result]:
        """As `run`, but returns as soon as the goal is accepted."""
        goal = _planning_goal(RunTask.Goal(), problem, domain, options, format)
        return self._send('run_task', RunTask, goal, on_feedback)

    def plan(
        self,
        problem: str,
        domain: str = '',
        options: Options | None = None,
        on_feedback: Callable[[PlanTask.Feedback], None] = lambda feedback: None,
        format: str = '',
    ) -> PlanTask.Result:
        """Plans and proves a task without executing it; as `run` otherwise."""
        return self.start_plan(problem, domain, options, on_feedback, format).result()

    def start_plan(
        self,
        problem: str,
        domain: str = '',
        options: Options | None = None,
        on_feedback: Callable[[PlanTask.Feedback], None] = lambda feedback: None,
        format: str = '',
    ) -> Goal[PlanTask.Result]:
        """As `plan`, but returns as soon as the goal is accepted."""
        goal = _planning_goal(PlanTask.Goal(), problem, domain, options, format)
        return self._send('plan_task', PlanTask, goal, on_feedback)

    def execute(
        self,
        problem: str,
        plan: Plan | msg.Plan,
        domain: str = '',
        time_budget_s: float = 120.0,
        on_feedback: Callable[[ExecutePlan.Feedback], None] = lambda feedback: None,
        format: str = '',
        from_current: bool = False,
    ) -> ExecutePlan.Result:
        """Sends a plan to the executor, which verifies it first; as `run` otherwise.

        Args:
            plan: of `parse_plan`, or as `plan` has returned it.

        Raises:
            TypeError: it is neither.
        """
        return self.start_execute(
            problem, plan, domain, time_budget_s, on_feedback, format, from_current
        ).result()

    def start_execute(
        self,
        problem: str,
        plan: Plan | msg.Plan,
        domain: str = '',
        time_budget_s: float = 120.0,
        on_feedback: Callable[[ExecutePlan.Feedback], None] = lambda feedback: None,
        format: str = '',
        from_current: bool = False,
    ) -> Goal[ExecutePlan.Result]:
        """As `execute`, but returns as soon as the goal is accepted."""
        from safegen_ros.ros import conversions

        check_budget(time_budget_s)
        task = msg.Task(domain=domain, problem=problem, format=format)
        goal = ExecutePlan.Goal(
            task=task,
            plan=_plan_message(plan, task),
            time_budget=conversions.duration_to_msg(time_budget_s),
            from_current=from_current,
        )
        return self._send('execute_plan', ExecutePlan, goal, on_feedback)

    def validate(
        self,
        problem: str,
        plan: str,
        domain: str = '',
        format: str = '',
        step_by_step: bool = False,
    ) -> ValidatePlan.Response:
        """The validator's verdict on the text of a plan, or of one step; raises as `run` does."""
        task = msg.Task(domain=domain, problem=problem, format=format)
        request = ValidatePlan.Request(task=task, plan=plan, step_by_step=step_by_step)
        check_sendable(request)
        with self._lock:
            self._validator = self._validator or self.node.create_client(
                ValidatePlan, 'validate_plan', qos_profile=qos.REQUESTS
            )
            client = self._validator
        if not client.wait_for_service(timeout_sec=CONNECT_TIMEOUT_S):
            raise self._not_there('service validate_plan', 'validator')
        lost = ErrorCode.SERVER_LOST
        return answer_of(client, request, CONNECT_TIMEOUT_S, 'the validator', lost)

    def _send(
        self, name: str, kind: type[Action], goal: Any, on_feedback: Callable[[Any], None]
    ) -> Goal[Any]:
        from safegen_ros.keys.key_pair import operator_key
        from safegen_ros.ros.conversions import seconds_of

        server = 'executor' if name == 'execute_plan' else 'planner'
        with self._lock:
            if name not in self._senders:
                self._senders[name] = GoalSender(
                    self.node, self._heartbeat, self.heartbeats, kind, name, server, SILENCE_S
                )
            sender = self._senders[name]
        try:
            id = UUID(uuid=list(uuid.uuid4().bytes))
            sign_goal(self.node, operator_key(), name, goal, id)
            sent = sender.send(goal, on_feedback, id)
        except NotThere:
            raise self._not_there(f'action {name}', server) from None
        budget = seconds_of(goal.time_budget)
        return Goal(name, sent, time.monotonic() + budget + GRACE_S, self._reason)

    def _not_there(self, what: str, node: str) -> SafegenError:
        why = why_missing(self.node, self.heartbeats, node)
        return SafegenError(
            f'{what} is not there after {CONNECT_TIMEOUT_S:g} s: {why}', ErrorCode.SERVER_LOST
        )

    def close(self) -> None:
        """Ends the client and the goals that it has not seen the end of; safe to call twice."""
        self._closed.set()
        self._heartbeat.close()
        self._executor.wake()
        # Before its executor and its context go: `shutdown` takes from a thread that is about to
        # wait what would wake it up.
        self._thread.join(timeout=2.0)
        self._executor.shutdown()
        if self._context.ok():
            # With its node a participant leaves the domain now, and not with the garbage.
            destroy_actions(self.node)
            self.node.destroy_node()
        rclpy.try_shutdown(context=self._context)


def _plan_message(plan: Plan | msg.Plan, task: msg.Task) -> msg.Plan:
    from safegen_ros.pddl.plan import Plan
    from safegen_ros.ros.conversions import plan_to_msg

    if isinstance(plan, msg.Plan):  # as it is: the executor refuses what it cannot read
        return plan
    if isinstance(plan, Plan):
        return plan_to_msg(plan, 'client', task)
    raise TypeError(
        f'a plan is expected, and not {type(plan).__name__}: read a text with '
        'safegen_ros.api.parse_plan, or give the plan of a result'
    )


def _planning_goal(
    goal: _PlanningGoal, problem: str, domain: str, options: Options | None, format: str
) -> _PlanningGoal:
    from safegen_ros.ros.conversions import duration_to_msg

    task, options = msg.Task(domain=domain, problem=problem, format=format), options or Options()
    for each in fields(options):
        name, value = each.name.removesuffix('_s'), getattr(options, each.name)
        if name != each.name:
            value = duration_to_msg(value)
        for part in (goal, task):
            if hasattr(part, name):
                setattr(part, name, value)
    goal.task = task
    return goal
