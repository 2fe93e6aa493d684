# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The planner node: asks the model, has every answer verified, and hands on what is proved.

Interfaces:
    action `plan_task` (safegen_msgs/action/PlanTask): a proved plan for a task.
    action `run_task` (safegen_msgs/action/RunTask): the same, then its execution.
        Both share the places of `goals_at_once` and `goals_waiting`; further goals are rejected,
        and so is `run_task` while the stack is stopped. A stop ends the goals of both.
    topic `~/attempts` (safegen_msgs/msg/Attempt): every attempt with its verdict.
    topic `~/plan` (safegen_msgs/msg/Plan, latched): the last plan that was proved.
    client of service `validate_plan` and of action `execute_plan`, to whose goals it gives signs of
        life on topic `heartbeat`; listens to topic `stopped`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

from rclpy.action import ActionServer

from safegen_msgs import msg
from safegen_msgs.action import PlanTask, RunTask
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.llm.backend import Backend, Sampling
from safegen_ros.llm.model_names import named_model
from safegen_ros.llm.open_backend import open_backend
from safegen_ros.llm.openai_client import KEY_ENV, Patience
from safegen_ros.nodes import conversions, qos
from safegen_ros.nodes.base import RESULT_TIMEOUT_S, SafegenNode, run_node
from safegen_ros.nodes.managed import AUTOSTART
from safegen_ros.nodes.parameters import Parameter
from safegen_ros.nodes.remote import RemoteExecutor, RemoteValidator
from safegen_ros.nodes.stop_latch import CURE
from safegen_ros.nodes.stopping import StopListener
from safegen_ros.paths import data_path
from safegen_ros.planning.feedback import DIAGNOSIS, FEEDBACK, feedback_named
from safegen_ros.planning.goal_queue import GoalQueue
from safegen_ros.planning.hierarchy.complexity import thresholds_of
from safegen_ros.planning.levels import DEFAULT, LEVELS, level_names
from safegen_ros.planning.loop import SEARCH, Deadline, Level, Progress, plan_with_levels
from safegen_ros.planning.proposer import ModelProposer
from safegen_ros.planning.retry import Temperatures
from safegen_ros.planning.strategy import levels_of
from safegen_ros.search.solve import solve
from safegen_ros.worlds.pddl3.prompts.styles import PromptStyle, style_of
from safegen_ros.worlds.pddl3.task import Pddl3Task

PARAMETERS = (
    AUTOSTART,
    Parameter(
        'model',
        'models/safegen-mini',
        'folder of a transformers model; a relative one is looked up in the working directory, '
        'then in the data folder of the package. Or http://HOST:PORT/v1#MODEL for a server, or '
        'vllm:FOLDER',
    ),
    Parameter('prompts', '', 'model folder by which a server is asked; empty: by chat, in PDDL'),
    Parameter('device', 'auto', 'of a folder: cpu, cuda, or auto for a GPU when there is one'),
    Parameter('four_bit', False, 'whether the weights of a folder are loaded in 4 bits, on CUDA'),
    Parameter('api_key_env', KEY_ENV, 'name of the environment variable with the key of a server'),
    Parameter('server_tries', 5, 'how often a server that is down or busy is asked [1]', 1, 100),
    Parameter('server_silence', 60.0, 'longest silence of a server [s]', 0.1, 3600.0),
    Parameter(
        'strategy',
        DEFAULT,
        f'who is asked for a plan, in order, for goals that do not say: {", ".join(LEVELS)}',
    ),
    Parameter(
        'simple_objects',
        0,
        'most objects of a task that is not left to the level hierarchy [1]; 0: as many as the '
        'shipped model was trained on, by domain',
        0,
        10_000,
    ),
    Parameter(
        'simple_open_goals',
        0,
        'most open goals of such a task [1]; 0: as the shipped model was trained on',
        0,
        10_000,
    ),
    Parameter(
        'simple_steps',
        0,
        'most steps of a relaxed plan for such a task, about two thirds of a real one [1]; 0: as '
        'the shipped model was trained on',
        0,
        10_000,
    ),
    Parameter('max_attempts', 5, 'attempts of the level model per goal [1]', 1, 100),
    Parameter(
        'feedback',
        DIAGNOSIS,
        f'what a retry is told of a refused plan, for goals that do not say: {" ".join(FEEDBACK)}',
    ),
    Parameter('temperature', 0.6, 'sampling temperature [1]; 0 is greedy', 0.0, 2.0),
    Parameter('temperature_step', 0.1, 'how much hotter each later attempt is [1]', 0.0, 2.0),
    Parameter('temperature_max', 1.0, 'where the temperature stops rising [1]', 0.0, 2.0),
    Parameter('top_p', 0.9, 'nucleus sampling: probability mass kept [1]', 0.01, 1.0),
    Parameter('max_new_tokens', 1024, 'longest answer [tokens]', 1, 32768),
    Parameter('seed', 0, 'seed of sampling, for goals that carry none', 0, 2**31 - 1),
    Parameter('search_fallback', True, 'whether the search planner may answer, where it is asked'),
    Parameter('goals_at_once', 1, 'goals that are planned together, in one batch [1]', 1, 64),
    Parameter('goals_waiting', 0, 'goals that may wait beside them; more are rejected', 0, 1024),
    Parameter('time_budget', 300.0, 'for goals that carry no time budget [s]', 1.0, 86400.0),
    Parameter('validator_timeout', 10.0, 'longest wait for a verdict [s]', 0.1, 600.0),
)


class PlannerNode(SafegenNode):
    """Plans with a language model; never without the validator."""

    AFTER = ('validator', 'executor')

    def __init__(self) -> None:
        super().__init__('planner', PARAMETERS)
        self._style: PromptStyle | None = None
        self._backend: Backend | None = None
        self._validator = RemoteValidator(self)
        self._stop = StopListener(self)
        self._executor_client = RemoteExecutor(self, self._stop)
        self._attempts = self.create_publisher(msg.Attempt, '~/attempts', qos.EVENTS)
        self._plans = self.create_publisher(msg.Plan, '~/plan', qos.LATCHED)
        self._servers: list[ActionServer] = []

    def configure(self) -> None:
        """Opens the model."""
        values = self.values
        level_names(values['strategy'])  # what they name is there, or the node is not configured
        feedback_named(values['feedback'])
        self.goals = GoalQueue(values['goals_at_once'], values['goals_waiting'])
        self._validator.timeout_s = values['validator_timeout']
        self._style, self._backend = _open(values)

    def activate(self) -> None:
        """Offers the actions, which stay there from now on, and reject while inactive."""
        if not self._servers:
            self._servers = [
                self._serve(PlanTask, 'plan_task', self._plan_task),
                self._serve(RunTask, 'run_task', self._run_task),
            ]
        self.get_logger().info(f'ready to plan with {self.values["model"]}')

    def cleanup(self) -> None:
        """Lets go of the model."""
        if self._backend is not None:
            self._backend.close()
        self._style = self._backend = None

    def refusal(self, goal: object) -> str:
        """No goal that would move the arm is taken while the stack is stopped."""
        reason = self._stop.reason if isinstance(goal, RunTask.Goal) else ''
        return f'the stack is stopped: {reason}' if reason else ''

    def _serve(self, kind: Any, name: str, execute: Callable[[Any], Any]) -> ActionServer:
        return ActionServer(
            self,
            kind,
            name,
            execute,
            callback_group=self.group,
            goal_callback=self.accept_if_room,
            cancel_callback=self.accept_cancel,
            feedback_pub_qos_profile=qos.EVENTS,
            result_timeout=RESULT_TIMEOUT_S,
        )

    def _plan_task(self, goal_handle: Any) -> PlanTask.Result:
        result = PlanTask.Result()

        def notify(progress: msg.PlanningProgress) -> None:
            goal_handle.publish_feedback(PlanTask.Feedback(progress=progress))

        def work(deadline: Deadline) -> None:
            self._plan(goal_handle, result, deadline, notify)

        return self._serve_goal(goal_handle, result, work, notify)

    def _run_task(self, goal_handle: Any) -> RunTask.Result:
        result = RunTask.Result()

        def planning(progress: msg.PlanningProgress) -> None:
            feedback = RunTask.Feedback(stage=RunTask.Feedback.PLANNING, planning=progress)
            goal_handle.publish_feedback(feedback)

        def execution(progress: msg.ExecutionProgress) -> None:
            feedback = RunTask.Feedback(stage=RunTask.Feedback.EXECUTION, execution=progress)
            goal_handle.publish_feedback(feedback)

        def work(deadline: Deadline) -> None:
            self._plan(goal_handle, result, deadline, planning)
            self._executor_client.execute(
                goal_handle.request.task,
                result,
                deadline=deadline.start + deadline.seconds,
                notify=execution,
                cancelled=deadline.cancelled,
            )

        return self._serve_goal(goal_handle, result, work, planning)

    def _serve_goal(
        self,
        goal_handle: Any,
        result: Any,
        work: Callable[[Deadline], None],
        notify: Callable[[msg.PlanningProgress], None],
    ) -> Any:
        """Does the work of a goal when it is its turn; the time that it waits is its own."""
        stops = self._stop.stops

        def stopped() -> bool:
            return self._stop.stops != stops

        def cancelled() -> bool:
            return goal_handle.is_cancel_requested or stopped() or self.inactive.is_set()

        def explain(error: SafegenError) -> SafegenError:
            # What the executor says is about the stop already, or about something worse.
            if not stopped() or 400 <= error.code < 500:
                return error
            reason = self._stop.reason or CURE
            return SafegenError(
                f'the stack was stopped, and nothing moves for this goal: {reason}',
                ErrorCode.PLANNING_STOPPED,
            )

        try:
            fault, budget = None, self._budget(goal_handle.request)
        except SafegenError as error:
            fault, budget = error, math.inf
        deadline = Deadline(budget, cancelled)

        def turn() -> tuple[ErrorCode, str]:
            if fault is not None:
                raise fault
            work(deadline)
            return ErrorCode.NONE, ''

        def waits(position: int) -> None:
            detail = f'{position} in the line of goals'
            notify(msg.PlanningProgress(phase=msg.PlanningProgress.WAITING, detail=detail))

        return self.serve_goal(goal_handle, result, deadline, turn, waits, explain)

    def _plan(
        self,
        goal_handle: Any,
        result: Any,
        deadline: Deadline,
        notify: Callable[[msg.PlanningProgress], None],
    ) -> None:
        """Fills in the planning part of a result; raises when there is no proved plan."""
        goal = goal_handle.request
        task = conversions.task_from_msg(goal.task)
        levels = self._levels(task, goal)
        attempts = sum(level.attempts for level in levels if level.name != SEARCH)

        def tell(progress: Progress) -> None:
            message = msg.PlanningProgress(
                phase=progress.phase,
                source=progress.source,
                attempt_number=min(progress.number, 255),
                max_attempts=min(attempts, 255),
                detail=progress.detail,
            )
            if progress.attempt is not None:
                message.attempt = conversions.attempt_to_msg(progress.attempt)
                self._attempts.publish(message.attempt)
            notify(message)

        cancelled = deadline.cancelled
        verify = self._validator.verify(goal.task, cancelled)
        outcome = plan_with_levels(
            levels, verify, deadline.left_s, cancelled=cancelled, notify=tell
        )
        result.attempts = [conversions.attempt_to_msg(a) for a in outcome.attempts]
        result.verdict = conversions.verdict_to_msg(outcome.verdict)
        result.planning_time = conversions.duration_to_msg(outcome.seconds)
        if outcome.plan is None:
            raise SafegenError(outcome.message, outcome.error_code)
        result.plan = conversions.plan_to_msg(outcome.plan, outcome.attempts[-1].source)
        self._plans.publish(result.plan)

    def _levels(self, task: Pddl3Task, goal: Any) -> tuple[Level, ...]:
        """Who is asked for a plan; raises `SafegenError` where the goal names what there is not."""
        values = self.values
        if self._backend is None or self._style is None:
            raise SafegenError(f'the planner is {self.state}: configure it')
        sampling = Sampling(
            temperature=values['temperature'],
            top_p=values['top_p'],
            max_new_tokens=values['max_new_tokens'],
            seed=goal.seed or values['seed'],
        )
        proposer = ModelProposer(
            task,
            self._backend,
            self._style,
            sampling,
            Temperatures(
                values['temperature'], values['temperature_step'], values['temperature_max']
            ),
            goal.feedback or values['feedback'],
            thresholds_of(
                task.problem.domain.name,
                values['simple_objects'],
                values['simple_open_goals'],
                values['simple_steps'],
            ),
        )
        fallback = goal.search_fallback and values['search_fallback']
        return levels_of(
            goal.strategy or values['strategy'],
            proposer,
            (lambda left, stop: solve(task.problem, time_limit_s=left, cancelled=stop).plan)
            if fallback
            else None,
            goal.max_attempts or values['max_attempts'],
        )

    def _budget(self, goal: Any) -> float:
        return conversions.budget_from_msg(
            goal.time_budget, self.values['time_budget'], ErrorCode.PLANNING_TIMEOUT
        )


def _open(values: dict[str, Any]) -> tuple[PromptStyle, Backend]:
    """The model that the parameters name, and how it is asked.

    Raises:
        SafegenError: it cannot be opened.
    """
    name = named_model(values['model'])
    style = style_of(str(data_path(values['prompts'])) if values['prompts'] else name)
    return style, open_backend(
        name,
        device=values['device'],
        four_bit=values['four_bit'],
        batch=values['goals_at_once'],
        key_env=values['api_key_env'],
        patience=Patience(silence_s=values['server_silence'], tries=values['server_tries']),
    )


def main() -> None:
    """Runs the node."""
    sys.exit(run_node(PlannerNode))


if __name__ == '__main__':
    main()
