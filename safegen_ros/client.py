# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A blocking client for scripts: sends goals, shows progress, and never waits for ever.

Example:
    >>> with Client() as client:
    ...     result = client.run(Path('problem.pddl').read_text())
    ...     print(result.error_msg or result.plan)
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import rclpy
from action_msgs.msg import GoalStatus
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from unique_identifier_msgs.msg import UUID

from safegen_msgs import msg
from safegen_msgs.action import ExecutePlan, PlanTask, RunTask
from safegen_msgs.srv import ValidatePlan
from safegen_ros.bringup import use_stack_discovery
from safegen_ros.closing import Closing
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.goal_options import Options, check_budget
from safegen_ros.nodes import conversions, qos
from safegen_ros.nodes.asking import answer_of
from safegen_ros.nodes.base import cancel_if_left, wait_for
from safegen_ros.nodes.goal_client import GoalClient
from safegen_ros.nodes.heartbeat import HeartbeatPublisher
from safegen_ros.nodes.managed import StateClient, destroy_actions
from safegen_ros.nodes.stopping import StopListener
from safegen_ros.pddl.plan import Plan

CONNECT_TIMEOUT_S = 10.0
"""How long a server may take to appear and to accept a goal [s]."""

STATE_TIMEOUT_S = 1.0
"""How long a node that rejected a goal may take to tell its state [s]."""

GRACE_S = 5.0
"""How long after its time budget a goal's result may come [s]."""

SILENCE_S = 6.0
"""For how long a server may say nothing of a goal under way [s]."""

CANCEL_TIMEOUT_S = 15.0
"""How long a cancelled goal may take to end [s]."""


class Goal:
    """A goal that was accepted; made by `Client`."""

    def __init__(
        self,
        name: str,
        client: GoalClient,
        handle: Any,
        deadline: float,
        alive: Callable[[], str | None],
        ended: Callable[[], None],
    ) -> None:
        self._name = name
        self._client = client
        self._handle = handle
        self._deadline = deadline
        self._alive = alive
        self._ended = ended
        self._silence = client.silence_of(handle.goal_id)
        self._future = handle.get_result_async()
        self._future.add_done_callback(lambda _: ended())

    def result(self) -> Any:
        """Waits for the end; `error_code` of the result says how it went.

        Raises:
            SafegenError: there is nobody left to answer (`SERVER_LOST`), or no answer came in
                time (`DEADLINE_EXCEEDED`).
            KeyboardInterrupt: Ctrl-C; the goal has then been cancelled.
        """
        gone: list[str] = []
        absent = self._client.absence()

        def lost() -> bool:
            reason = self._alive()
            if reason is None and absent():
                reason = f'the server of action {self._name} is gone'
            if reason is None and self._silence.seconds() > SILENCE_S:
                reason = (
                    f'the server of action {self._name} is gone, hangs or was started anew, as it '
                    f'has said nothing of the goal for {SILENCE_S:g} s'
                )
            if reason is not None:
                gone.append(reason)
            return bool(gone)

        left = max(self._deadline - time.monotonic(), 0.0)
        late = ErrorCode.DEADLINE_EXCEEDED
        try:
            return self._checked(wait_for(self._future, left, self._what, late, given_up=lost))
        except KeyboardInterrupt:
            self.cancel()
            raise
        except SafegenError as error:
            # Whoever is still there must not go on for a client that has stopped listening.
            self._ended()
            self._handle.cancel_goal_async()
            if gone:
                raise SafegenError(
                    f'{gone[0]}: the goal is lost; look at the cell before the next one',
                    ErrorCode.SERVER_LOST,
                ) from error
            raise SafegenError(
                f'{error.message}, and was told to cancel: look at the cell before the next one',
                late,
            ) from error

    def cancel(self) -> Any:
        """Cancels the goal and returns its result; what moved has then stopped.

        Raises:
            SafegenError: `SERVER_LOST`, when the goal does not end.
        """
        self._handle.cancel_goal_async()
        lost = ErrorCode.SERVER_LOST
        return self._checked(wait_for(self._future, CANCEL_TIMEOUT_S, self._what, lost))

    def _checked(self, answer: Any) -> Any:
        """The result of an answer; one that failed without a reason must not read as success."""
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
        return bytes(self._handle.goal_id.uuid).hex()

    @property
    def status(self) -> int:
        """The goal's `action_msgs/GoalStatus`: of its result, or else as the topic has told."""
        answer = self._future.result() if self._future.done() else None
        return int((self._handle if answer is None else answer).status)

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
        self._actions: dict[str, GoalClient] = {}
        self._opening = threading.Lock()
        self._stop: StopListener | None = None
        self._states: dict[str, StateClient] = {}
        self._heartbeat = HeartbeatPublisher(self.node)
        self._thread = threading.Thread(target=self._spin, name='safegen_client', daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        try:
            self._executor.spin()
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
        on_feedback: Callable[[Any], None] = lambda feedback: None,
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
            SafegenError: also when there is no server (`SERVER_LOST`) or the goal is not accepted
                (`GOAL_REJECTED`).
        """
        return self.start_run(problem, domain, options, on_feedback, format).result()

    def start_run(
        self,
        problem: str,
        domain: str = '',
        options: Options | None = None,
        on_feedback: Callable[[Any], None] = lambda feedback: None,
        format: str = '',
    ) -> Goal:
        """As `run`, but returns as soon as the goal is accepted."""
        task = msg.Task(domain=domain, problem=problem, format=format)
        goal = _planning_goal(RunTask.Goal(), task, options or Options())
        return self._send('run_task', RunTask, goal, on_feedback)

    def plan(
        self,
        problem: str,
        domain: str = '',
        options: Options | None = None,
        on_feedback: Callable[[Any], None] = lambda feedback: None,
        format: str = '',
    ) -> PlanTask.Result:
        """Plans and proves a task without executing it; as `run` otherwise."""
        return self.start_plan(problem, domain, options, on_feedback, format).result()

    def start_plan(
        self,
        problem: str,
        domain: str = '',
        options: Options | None = None,
        on_feedback: Callable[[Any], None] = lambda feedback: None,
        format: str = '',
    ) -> Goal:
        """As `plan`, but returns as soon as the goal is accepted."""
        task = msg.Task(domain=domain, problem=problem, format=format)
        goal = _planning_goal(PlanTask.Goal(), task, options or Options())
        return self._send('plan_task', PlanTask, goal, on_feedback)

    def execute(
        self,
        problem: str,
        plan: Plan,
        domain: str = '',
        time_budget_s: float = 120.0,
        on_feedback: Callable[[Any], None] = lambda feedback: None,
        format: str = '',
        from_current: bool = False,
    ) -> ExecutePlan.Result:
        """Sends a plan to the executor, which verifies it first; as `run` otherwise."""
        return self.start_execute(
            problem, plan, domain, time_budget_s, on_feedback, format, from_current
        ).result()

    def start_execute(
        self,
        problem: str,
        plan: Plan,
        domain: str = '',
        time_budget_s: float = 120.0,
        on_feedback: Callable[[Any], None] = lambda feedback: None,
        format: str = '',
        from_current: bool = False,
    ) -> Goal:
        """As `execute`, but returns as soon as the goal is accepted."""
        check_budget(time_budget_s)
        goal = ExecutePlan.Goal(
            task=msg.Task(domain=domain, problem=problem, format=format),
            plan=conversions.plan_to_msg(plan, 'client'),
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
        client: Any = self.node.create_client(
            ValidatePlan, 'validate_plan', qos_profile=qos.REQUESTS
        )
        if not client.wait_for_service(timeout_sec=CONNECT_TIMEOUT_S):
            raise self._not_there('service validate_plan')
        task = msg.Task(domain=domain, problem=problem, format=format)
        request = ValidatePlan.Request(task=task, plan=plan, step_by_step=step_by_step)
        lost = ErrorCode.SERVER_LOST
        return answer_of(client, request, CONNECT_TIMEOUT_S, 'the validator', lost)

    def _send(self, name: str, kind: Any, goal: Any, on_feedback: Callable[[Any], None]) -> Goal:
        with self._opening:  # goals may be sent by several threads
            client = self._actions.get(name) or GoalClient(self.node, kind, name)
            self._actions[name] = client
        if not client.wait_for_server(timeout_sec=CONNECT_TIMEOUT_S):
            raise self._not_there(f'action {name}')
        id = UUID(uuid=list(uuid.uuid4().bytes))
        self._heartbeat.begin(id)
        try:
            sent = client.send_goal_async(
                goal, lambda message: on_feedback(message.feedback), goal_uuid=id
            )
            with cancel_if_left(sent):
                handle = wait_for(sent, CONNECT_TIMEOUT_S, f'action {name}', ErrorCode.SERVER_LOST)
        except BaseException:
            self._heartbeat.end(id)
            raise
        if not handle.accepted:
            self._heartbeat.end(id)
            raise SafegenError(
                f'action {name} rejected the goal: {self._why_rejected(name)}',
                ErrorCode.GOAL_REJECTED,
            )
        budget = conversions.duration_from_msg(goal.time_budget)
        deadline = time.monotonic() + budget + GRACE_S
        return Goal(name, client, handle, deadline, self._reason, lambda: self._heartbeat.end(id))

    def _why_rejected(self, name: str) -> str:
        node = 'executor' if name == 'execute_plan' else 'planner'
        if node not in self._states:
            self._states[node] = StateClient(self.node, node)
        state = self._states[node].wait(STATE_TIMEOUT_S)
        if state not in ('', 'active'):
            return f"the {node} is {state}: activate it ('ros2 lifecycle set {node} activate')"
        if name == 'plan_task':  # which moves nothing, so that it may run while all is stopped
            return 'another goal is running; wait or cancel it'
        if self._stop is None:
            self._stop = StopListener(self.node)
        return self._stop.why_rejected()

    def _not_there(self, what: str) -> SafegenError:
        return SafegenError(
            f'{what} is not there after {CONNECT_TIMEOUT_S:g} s: start the stack with '
            "'safegen up sim', in the same ROS_DOMAIN_ID",
            ErrorCode.SERVER_LOST,
        )

    def close(self) -> None:
        """Ends the client and the goals that it has not seen the end of; safe to call twice."""
        self._closed.set()
        self._heartbeat.close()
        self._executor.shutdown(timeout_sec=2.0)
        self._thread.join(timeout=2.0)  # before the context goes, which it still uses
        if self._context.ok():
            # With its node a participant leaves the domain now, and not with the garbage.
            destroy_actions(self.node)
            self.node.destroy_node()
        rclpy.try_shutdown(context=self._context)


def _planning_goal(goal: Any, task: msg.Task, options: Options) -> Any:
    task.constraints, task.start = options.constraints, options.start
    goal.task = task
    goal.time_budget = conversions.duration_to_msg(options.time_budget_s)
    goal.max_attempts = options.max_attempts
    goal.search_fallback = options.search_fallback
    goal.seed = options.seed
    goal.strategy = options.strategy
    goal.feedback = options.feedback
    if isinstance(goal, PlanTask.Goal):
        goal.translate_only = options.translate_only
    else:
        goal.max_replans = options.max_replans
        goal.approval, goal.accept_reading = options.approval, options.accept_reading
        goal.approval_timeout = conversions.duration_to_msg(options.approval_timeout_s)
        goal.step_by_step, goal.max_steps = options.step_by_step, options.max_steps
        goal.from_current = options.from_current
    return goal
