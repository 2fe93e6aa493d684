# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The planner node: asks the model, has every answer verified, and hands on what is proved.

Interfaces:
    action `plan_task` (safegen_msgs/action/PlanTask): a proved plan for a task. One in words is
        translated first, by both actions, and told in PDDL and canonical words before it is planned
        for.
    action `run_task` (safegen_msgs/action/RunTask): the same, then its execution; see `run_flow`,
        and `step_flow` for goals that are worked on step by step.
        Both share the places of `goals_at_once` and `goals_waiting`; further goals end at
        once, and so does `run_task` while the stack is stopped. A stop ends the goals of both.
    topic `~/attempts` (safegen_msgs/msg/Attempt): every attempt with its verdict.
    topic `~/plan` (safegen_msgs/msg/Plan, latched): the last plan that was proved.
    topic `~/pending`, service `~/approve`: see `ApprovalGate`.
    client of services `validate_plan` and `rehearse_plan`, and of action `execute_plan`, to whose
        goals it lists on topic `heartbeat`; listens to topic `stopped`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from safegen_msgs import msg
from safegen_msgs.action import PlanTask, RunTask
from safegen_ros.errors import Canceled, ErrorCode, SafegenError
from safegen_ros.llm.backend import Backend
from safegen_ros.nodes.approval import ApprovalGate
from safegen_ros.nodes.base import SafegenNode
from safegen_ros.nodes.clients import CurrentWorld, RemoteExecutor, RemoteValidator
from safegen_ros.nodes.models import LazyModels, open_model, sampling_of
from safegen_ros.nodes.planner_parameters import PARAMETERS
from safegen_ros.nodes.rehearsal import RemoteRehearsal
from safegen_ros.nodes.run_flow import Approving, AttemptLog, RunParts, Teller, is_words, run_task
from safegen_ros.nodes.running import run_node
from safegen_ros.nodes.site_rules import BoundTasks
from safegen_ros.nodes.stepwise import StepParts, run_step_by_step
from safegen_ros.nodes.translation import TranslationCallbacks, Translator
from safegen_ros.planning.goal_queue import GoalQueue
from safegen_ros.planning.levels import feedback_named, level_names
from safegen_ros.planning.loop import SEARCH, Deadline, plan_with_levels
from safegen_ros.record.events import GoalEvent, UnboundEvent
from safegen_ros.ros import (
    conversions,
    diagnostics,
    qos,
    record_conversions,
)
from safegen_ros.ros.diagnostics import SLOW_VERDICT_S, Health, Latency
from safegen_ros.ros.rclpy_compat import GoalServer
from safegen_ros.ros.stop_listener import StopListener
from safegen_ros.ros.watchdog import ClientWatches
from safegen_ros.tasks.context import PlanningContext
from safegen_ros.tasks.pddl3.prompts.styles import InstructStyle, PromptStyle
from safegen_ros.tasks.table import open_models

_TIMEOUT = ErrorCode.PLANNING_TIMEOUT


class PlannerNode(SafegenNode):
    """Plans with a language model; never without the validator."""

    AFTER = ('validator', 'executor')

    def __init__(self) -> None:
        super().__init__('planner', PARAMETERS)
        self._style: PromptStyle | None = None
        self._backend: Backend | None = None
        self._translator: Translator | None = None
        self._models: LazyModels | None = None
        self._validator = RemoteValidator(self)
        self._stop = StopListener(self)
        self._executor_client = RemoteExecutor(self)
        self._current = CurrentWorld(self)
        self._rehearsals = RemoteRehearsal(self)
        self._client_watches = ClientWatches(self.heartbeats)
        self._bound = BoundTasks(self.site, self.get_logger().info)
        self._approvals = ApprovalGate(self, self.group)
        self._attempts = self.create_publisher(msg.Attempt, '~/attempts', qos.EVENTS)
        self._plans = self.create_publisher(msg.Plan, '~/plan', qos.LATCHED)
        self._servers: list[GoalServer] = []
        self._verdicts = Latency('verdicts', SLOW_VERDICT_S)
        self.diagnostics.add(
            self.goals_health,
            self._model_health,
            self._validator.health,
            self._verdicts.health,
        )

    def configure(self) -> None:
        """Opens the model."""
        self.load_site()
        self._bound = BoundTasks(self.site, self.get_logger().info)
        values = self.values
        self.journal.open(values['journal'])
        level_names(values['strategy'])  # what they name is there, or the node is not configured
        feedback_named(values['feedback'])
        self.goals = GoalQueue(values['goals_at_once'], values['goals_waiting'])
        self._validator.timeout_s = values['validator_timeout']
        self._executor_client.set_timeout(values['heartbeat_timeout'])
        self._style, self._backend = open_model(values)
        self._translator = Translator(values, self._style, self._backend)
        self._models = LazyModels(values)
        open_models(values, self._models)

    def activate(self) -> None:
        """Offers the actions, which stay there from now on, and reject while inactive."""
        if not self._servers:
            self._servers = [
                self.serve(PlanTask, 'plan_task', self._plan_task),
                self.serve(RunTask, 'run_task', self._run_task),
            ]
        self.get_logger().info(f'ready to plan with {self.values["model"]}')

    def hardware(self) -> str:
        """The model, for the diagnostics."""
        return str(self.values.get('model', ''))

    def _model_health(self) -> Health:
        if self._backend is None:
            return Health('model', diagnostics.WARN, 'not open: configure the node')
        return Health('model', diagnostics.OK, f'{self.values["model"]} is open')

    def cleanup(self) -> None:
        """Lets go of the model."""
        for model in (self._models, self._translator, self._backend):
            if model is not None:
                model.close()
        self._style = self._backend = self._translator = self._models = None
        self.journal.close()

    def room_for(self, goal: object) -> None:
        """A goal that moves nothing finds room beside those that are only executed."""
        self.goals.enter(beside_aside=isinstance(goal, PlanTask.Goal))

    def _plan_task(self, goal_handle: Any) -> PlanTask.Result:
        result = PlanTask.Result()

        def notify(progress: msg.PlanningProgress) -> None:
            goal_handle.publish_feedback(PlanTask.Feedback(progress=progress))

        def work(deadline: Deadline) -> None:
            goal = goal_handle.request
            if goal.translate_only and goal.task.format != msg.Task.WORDS:
                raise SafegenError(
                    'translate_only is for tasks in words: leave it out, or send format words',
                    ErrorCode.UNKNOWN_FORMAT,
                )
            self._plan(goal_handle, goal.task, result, deadline, notify)

        return self._serve_goal(goal_handle, 'plan_task', result, work)

    def _run_task(self, goal_handle: Any) -> RunTask.Result:
        result = RunTask.Result()

        def planning(progress: msg.PlanningProgress) -> None:
            feedback = RunTask.Feedback(stage=RunTask.Feedback.PLANNING, planning=progress)
            goal_handle.publish_feedback(feedback)

        def execution(progress: msg.ExecutionProgress) -> None:
            feedback = RunTask.Feedback(stage=RunTask.Feedback.EXECUTION, execution=progress)
            goal_handle.publish_feedback(feedback)

        def work(deadline: Deadline) -> None:
            if goal_handle.request.accept_reading and not is_words(goal_handle.request):
                raise SafegenError(
                    'accept_reading is for tasks in words: leave it out, or send format words',
                    ErrorCode.UNKNOWN_FORMAT,
                )

            def plan(task: msg.Task) -> msg.Task:
                replans = len(result.replans)
                return self._plan(goal_handle, task, result, deadline, planning, replans)

            def send(task: msg.Task, filled: RunTask.Result, **how: Any) -> Any:
                return self._executor_client.execute(
                    task,
                    filled,
                    approval=self._approvals.given(task, filled.plan),
                    sent=lambda id: self.journal.note(
                        goal_handle, GoalEvent('execute_plan', record_conversions.goal_id_text(id))
                    ),
                    client_lost=lambda: bool(self._client_watches.lost(goal_handle)),
                    deadline=deadline.start + deadline.seconds,
                    cancelled=deadline.cancelled,
                    from_current=goal.from_current and not how['resume'],
                    **how,
                )

            goal = goal_handle.request
            self.commands.sender_of('run_task', goal_handle)
            sent = goal.task
            if goal.from_current:
                sent = self._current.task(sent, deadline.cancelled)

            def execute(task: msg.Task, replan: bool, resume: bool) -> None:
                send(task, result, notify=execution, replan=replan, resume=resume)

            approval = {
                'gate': self._approvals,
                'approval_s': self.values['approval_timeout'],
                'cancelled': lambda: (
                    deadline.cancelled() or bool(self._client_watches.lost(goal_handle))
                ),
            }
            if goal.step_by_step:
                asking = Approving(**approval)
                sent = self._bound.message(sent)
                return self._step_by_step(goal_handle, sent, result, deadline, send, asking)
            parts = RunParts(
                plan=plan,
                execute=execute,
                executor=self._executor_client,
                replans=lambda replan: self.journal.note(
                    goal_handle, record_conversions.replan_record(replan)
                ),
                **approval,
            )
            run_task(goal_handle, sent, result, deadline, parts)

        return self._serve_goal(goal_handle, 'run_task', result, work)

    def _step_by_step(
        self,
        goal_handle: Any,
        task: msg.Task,
        result: RunTask.Result,
        deadline: Deadline,
        send: Callable[..., Any],
        asking: Approving,
    ) -> None:
        """Works on a goal one proved step after the other."""
        watched = deadline.with_cancelled(asking.cancelled)
        parts = StepParts(
            planning=self._planning(goal_handle.request),
            most_steps=goal_handle.request.max_steps or self.values['max_steps'],
            validator=self._validator,
            executor=self._executor_client,
            execute=partial(send, step_by_step=True),
            turn=lambda: self.goals.turn(watched),
            asking=asking,
            note=partial(self.journal.note, goal_handle),
            attempt=self._attempts.publish,
        )
        run_step_by_step(goal_handle, task, result, deadline, parts)

    def _planning(self, goal: Any) -> PlanningContext:
        """What worlds plan with; raises `SafegenError` where no model is open."""
        if self._backend is None or self._style is None or self._models is None:
            raise SafegenError(f'the planner is {self.state}: configure it')
        return PlanningContext(
            self.values,
            goal,
            self._backend,
            self._style,
            sampling_of(self.values, goal),
            isinstance(self._style, InstructStyle),
            self._models,
        )

    def _serve_goal(
        self,
        goal_handle: Any,
        action: str,
        result: Any,
        work: Callable[[Deadline], None],
    ) -> Any:
        """Does the work of a goal; the time that it waits for its turn is its own."""
        stops = self._stop.stops

        def stopped() -> bool:
            return self._stop.stops != stops

        def cancelled() -> bool:
            return goal_handle.is_cancel_requested or stopped() or self.inactive.is_set()

        def explain(error: SafegenError) -> SafegenError:
            return self._stop.explain(error) if stopped() else error

        try:
            budget = conversions.budget_from_msg(
                goal_handle.request.time_budget, self.values['time_budget'], _TIMEOUT
            )
            fault = None
        except SafegenError as error:
            fault, budget = error, math.inf
        deadline = Deadline(budget, cancelled)

        def timed() -> tuple[ErrorCode, str]:
            if fault is not None:
                raise fault
            # What moves nothing may be planned while the stack is stopped.
            if action == 'run_task' and (reason := self._stop.reason):
                raise SafegenError(f'the stack is stopped: {reason}', ErrorCode.PLANNING_STOPPED)
            work(deadline)
            return ErrorCode.NONE, ''

        def begin() -> None:
            asked = record_conversions.stack_event(self.values, goal_handle.request)
            stepwise = getattr(goal_handle.request, 'step_by_step', False)
            self.journal.begin(goal_handle, action, asked, stepwise=stepwise)

        with self._client_watches.watching(goal_handle, self.values['heartbeat_timeout']):
            return self.serve_goal(
                goal_handle, result, timed, explain, begin=begin, plan=lambda: result.plan
            )

    def _plan(
        self,
        goal_handle: Any,
        task: msg.Task,
        result: Any,
        deadline: Deadline,
        notify: Callable[[msg.PlanningProgress], None],
        replan: int = 0,
    ) -> msg.Task:
        """Fills in the planning part of a result; raises when there is no proved plan.

        Returns:
            The task that was planned for: another one where it came in words.
        """

        def waits(position: int) -> None:
            detail = f'{position} in the line of goals'
            notify(msg.PlanningProgress(phase=msg.PlanningProgress.WAITING, detail=detail))

        def cancelled() -> bool:
            return deadline.cancelled() or bool(self._client_watches.lost(goal_handle))

        try:
            watched = deadline.with_cancelled(cancelled)
            with self.goals.turn(watched, waits):
                if task.format == msg.Task.WORDS:
                    task = self._translate(goal_handle, task, result, watched, notify)
                if not replan:
                    if unbound := self._bound.unbound(task):
                        self.journal.note(goal_handle, UnboundEvent(unbound))
                    task = self._bound.message(task)
                goal = goal_handle.request
                if isinstance(goal, RunTask.Goal) or not goal.translate_only:
                    self._plan_in_turn(
                        goal_handle, task, result, deadline, cancelled, notify, replan
                    )
            return task
        except SafegenError as error:
            lost = self._client_watches.lost(goal_handle)
            if not lost or deadline.cancelled():
                raise
            raise Canceled(
                f'{lost}, and nothing was planned or moved for it any more',
                ErrorCode.PLANNING_CANCELED,
            ) from error

    def _translate(
        self,
        goal_handle: Any,
        task: msg.Task,
        result: Any,
        deadline: Deadline,
        notify: Callable[[msg.PlanningProgress], None],
    ) -> msg.Task:
        """The task in PDDL that words mean; its client and its journal know it by then."""
        if self._translator is None:
            raise SafegenError(f'the planner is {self.state}: configure it')
        heard = TranslationCallbacks(lambda record: self.journal.note(goal_handle, record), notify)
        return self._translator.fill_in(task, goal_handle.request, result, deadline, heard)

    def _plan_in_turn(
        self,
        goal_handle: Any,
        sent: msg.Task,
        result: Any,
        deadline: Deadline,
        cancelled: Callable[[], bool],
        notify: Callable[[msg.PlanningProgress], None],
        replan: int,
    ) -> None:
        goal, before = goal_handle.request, list(result.attempts)
        task = conversions.task_from_msg(sent)
        levels = task.levels(self._planning(goal))
        attempts = sum(level.attempts for level in levels if level.name != SEARCH)
        note = partial(self.journal.note, goal_handle)
        asked = record_conversions.stack_event(self.values, goal, True)
        log = AttemptLog(note, self._attempts.publish, self._validator, asked)
        tell = Teller(len(before), replan, attempts, log, notify)
        verify = self._verdicts.timed(self._validator.verify(sent, cancelled))
        is_run = isinstance(goal, RunTask.Goal)
        as_it_is = replan > 0 or (is_run and goal.from_current)
        rehearse = self._rehearsals.of(sent, as_it_is, cancelled)
        outcome = plan_with_levels(
            levels, verify, deadline.left_s, cancelled=cancelled, notify=tell,
            # What is not to be executed needs no arm.
            rehearse=rehearse if is_run and task.problem is not None else None,
            read=task.steps_of,
        )  # fmt: skip
        result.attempts = [*before, *map(tell.message, outcome.attempts)]
        result.verdict = conversions.verdict_to_msg(outcome.verdict)
        seconds = conversions.duration_to_msg(outcome.seconds)
        result.planning_time = conversions.sum_of(result.planning_time, seconds)
        if outcome.plan is None:
            raise SafegenError(outcome.message, outcome.error_code)
        proved = outcome.attempts[-1]
        result.plan = conversions.steps_to_msg(proved.steps, proved.source)
        self._plans.publish(result.plan)


def main() -> None:
    """Runs the node."""
    sys.exit(run_node(PlannerNode))


if __name__ == '__main__':
    main()
