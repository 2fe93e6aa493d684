# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The planner node: asks the model, has every answer verified, and hands on proved plans.

Interfaces:
    action `plan_task` (safegen_msgs/action/PlanTask): a proved plan for a task. One in words is
        translated first, by both actions, and told in PDDL and canonical words before it is planned
        for.
    action `run_task` (safegen_msgs/action/RunTask): the same, then its execution; step by step
        by `StepLink`.
        Both share the places of `goals_at_once` and `goals_waiting`; further goals end at
        once, and so does `run_task` while the stack is stopped. A stop ends the goals of both.
    topic `~/attempts` (safegen_msgs/msg/Attempt): every attempt with its verdict.
    topic `~/plan` (safegen_msgs/msg/Plan, latched): the last plan that was proved.
    topic `~/pending`, service `~/approve`: see `ApprovalGate`.
    client of services `validate_plan` and `rehearse_plan`, and of action `execute_plan`, to whose
        goals it lists on topic `heartbeat`; listens to topic `stopped`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from rclpy.action.server import ServerGoalHandle

from safegen_msgs import msg
from safegen_msgs.action import PlanTask, RunTask
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.llm.backend import Backend
from safegen_ros.node_parameters import PLANNER
from safegen_ros.nodes.approval import ApprovalGate
from safegen_ros.nodes.base import SafegenNode
from safegen_ros.nodes.clients import CurrentWorld, RemoteRehearsal, RemoteValidator
from safegen_ros.nodes.executor_client import NotAsProved, RemoteExecutor, StepLink
from safegen_ros.nodes.running import run_node
from safegen_ros.nodes.served_goals import (
    GoalContext,
    PlanContext,
    PlannerGoal,
    PlannerResult,
    RunContext,
)
from safegen_ros.nodes.translation import LazyModels, ModelProbe, Translator, open_model
from safegen_ros.planning.levels import feedback_named, level_names
from safegen_ros.planning.loop import SEARCH, Attempt, Progress, Verify, plan_with_levels
from safegen_ros.record.events import PassedEvent, UnboundEvent
from safegen_ros.ros import conversions, diagnostics, qos, record_conversions
from safegen_ros.ros.diagnostics import SLOW_VERDICT_S, Health, Latency
from safegen_ros.ros.rclpy_compat import GoalServer
from safegen_ros.ros.watchdog import StopListener
from safegen_ros.stages import GoalStage, PlanningPhase
from safegen_ros.sync import GoalQueue
from safegen_ros.tasks.context import PlanningContext, StepwiseRun, sampling_of
from safegen_ros.tasks.pddl3.prompts.styles import InstructStyle, PromptStyle
from safegen_ros.tasks.table import open_models


class PlannerNode(SafegenNode):
    """Plans with a language model; never without the validator."""

    AFTER = ('validator', 'executor')

    def __init__(self) -> None:
        super().__init__('planner', PLANNER)
        self._style: PromptStyle | None = None
        self._backend: Backend | None = None
        self._probe: ModelProbe | None = None
        self._translator: Translator | None = None
        self._models: LazyModels | None = None
        self._validator = RemoteValidator(self)
        self._stop = StopListener(self)
        self._executor_client = RemoteExecutor(self)
        self._current = CurrentWorld(self)
        self._rehearsals = RemoteRehearsal(self)
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
        values = self.values
        self.journal.open(values['journal'])
        level_names(values['strategy'])  # what they name is there, or the node is not configured
        feedback_named(values['feedback'])
        self.goals = GoalQueue(values['goals_at_once'], values['goals_waiting'])
        self._validator.timeout_s = values['validator_timeout']
        self._executor_client.set_timeout(values['heartbeat_timeout'])
        self._style, self._backend = open_model(values)
        self._probe = ModelProbe(self._backend, self.get_logger().warning)
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
        if self._backend is None or self._probe is None:
            return Health('model', diagnostics.WARN, 'not open: configure the node')
        if fault := self._probe.fault:
            return Health('model', diagnostics.ERROR, fault)
        if fault is None:
            return Health('model', diagnostics.WARN, 'no answer yet')
        last, values = self._backend.last, dict[str, object]()
        if last is not None:
            values = {
                'tokens of the last answer': last.completion_tokens,
                'tokens of its prompt': last.prompt_tokens,
                'first token [s]': f'{last.first_token_s:.3f}',
                'whole answer [s]': f'{last.seconds:.3f}',
            }
        return Health('model', diagnostics.OK, f'{self.values["model"]} is open', values)

    def cleanup(self) -> None:
        """Lets go of the model."""
        for model in (self._probe, self._models, self._translator, self._backend):
            if model is not None:
                model.close()
        self._style = self._backend = self._probe = self._translator = self._models = None
        self.journal.close()

    def room_for(self, goal: object) -> None:
        """A goal that moves nothing finds room beside those that are only executed."""
        self.goals.enter(beside_aside=isinstance(goal, PlanTask.Goal))

    def _plan_task(
        self, handle: ServerGoalHandle[PlanTask.Goal, PlanTask.Result, Any]
    ) -> PlanTask.Result:
        def work(goal: PlanContext) -> None:
            if goal.request.translate_only and not goal.in_words:
                raise SafegenError(
                    'translate_only is for tasks in words: leave it out, or send format words',
                    ErrorCode.UNKNOWN_FORMAT,
                )
            self._plan(goal, goal.request.task)

        return self._serve_goal(handle, 'plan_task', PlanTask.Result(), work)

    def _run_task(
        self, handle: ServerGoalHandle[RunTask.Goal, RunTask.Result, Any]
    ) -> RunTask.Result:
        def work(goal: RunContext) -> None:
            # What moves nothing may be planned while the stack is stopped.
            if reason := self._stop.reason:
                raise SafegenError(reason, ErrorCode.PLANNING_STOPPED)
            if goal.request.accept_reading and not goal.in_words:
                raise SafegenError(
                    'accept_reading is for tasks in words: leave it out, or send format words',
                    ErrorCode.UNKNOWN_FORMAT,
                )
            self.commands.sender_of('run_task', handle)
            task = goal.request.task
            if goal.request.from_current:
                task = self._current.task(task, goal.deadline.cancelled)
            if goal.request.step_by_step:
                self._run_step_by_step(goal, self.bound.message(task))
            else:
                self._run(goal, task)

        return self._serve_goal(handle, 'run_task', RunTask.Result(), work)

    def _serve_goal(
        self,
        handle: ServerGoalHandle[PlannerGoal, PlannerResult, Any],
        action: str,
        result: PlannerResult,
        work: Callable[[GoalContext[PlannerGoal, PlannerResult]], None],
    ) -> PlannerResult:
        """Does the work of a goal; the time that it waits for its turn is its own."""

        def begin() -> None:
            asked = record_conversions.stack_event(self.values, handle.request)
            stepwise = getattr(handle.request, 'step_by_step', False)
            self.journal.begin(handle, action, asked, stepwise=stepwise)

        with GoalContext(self, handle, result, self._stop) as goal:

            def timed() -> None:
                goal.begin(self.values['time_budget'])
                work(goal)

            return self.serve_goal(goal, begin, timed)

    def _planning(self, goal: GoalContext[Any, Any]) -> PlanningContext:
        """What worlds plan with; raises `SafegenError` where no model is open."""
        if self._backend is None or self._style is None or self._models is None:
            raise SafegenError(f'the planner is {self.state}: configure it')
        return PlanningContext(
            self.values,
            goal.request,
            self._backend,
            self._style,
            sampling_of(self.values, goal.request),
            isinstance(self._style, InstructStyle),
            self._models,
        )

    def _run(self, goal: RunContext, task: msg.Task) -> None:
        """Plans, has the plan approved and executed; plans again where the world differs."""
        task, resume = self._plan(goal, task), False
        self._approvals.approve(goal, task, goal.result.plan)
        with self._executor_client.turn(goal.watched):
            while True:
                try:
                    self._executor_client.execute(
                        goal, task, goal.result, self._approvals.given(task, goal.result.plan),
                        replan=goal.replans < goal.request.max_replans, resume=resume,
                        notify=goal.execution,
                    )  # fmt: skip
                    return
                except NotAsProved as error:
                    task, resume = error.remaining, True
                    self._replan(goal, error)
                    self._approvals.approve(goal, task, goal.result.plan)

    def _replan(self, goal: RunContext, error: NotAsProved) -> None:
        replan = msg.Replan(
            number=goal.replans + 1,
            reason=error.message,
            plan=goal.result.plan,
            steps_done=error.steps_done,
            task=error.remaining,
        )
        goal.result.replans = [*goal.result.replans, replan]
        goal.result.plan = msg.Plan()  # which is not a plan for the rest
        goal.note(record_conversions.replan_record(replan))
        goal.tell(GoalStage.REPLANNING, replan=replan)
        try:
            self._plan(goal, replan.task)
        except SafegenError as failed:
            raise SafegenError(
                f'{failed.message} (this was a replan after: {error.message})', failed.code
            ) from failed

    def _plan(self, goal: GoalContext[Any, Any], task: msg.Task) -> msg.Task:
        """Fills in the planning part of the result; raises when there is no proved plan.

        Returns:
            The task that was planned for: another one where it came in words.
        """

        def waits(position: int) -> None:
            detail = f'{position} in the line of goals'
            goal.planning(msg.PlanningProgress(phase=PlanningPhase.WAITING, detail=detail))

        with goal.explained_loss(), self.goals.turn(goal.watched, waits):
            if task.format == msg.Task.WORDS:
                if self._translator is None:
                    raise SafegenError(f'the planner is {self.state}: configure it')
                task = self._translator.translate(goal, task)
            if not goal.replans:
                if unbound := self.bound.unbound(task):
                    goal.note(UnboundEvent(unbound))
                task = self.bound.message(task)
            if goal.runs or not goal.request.translate_only:
                self._plan_in_turn(goal, task)
        return task

    def _plan_in_turn(self, goal: GoalContext[Any, Any], sent: msg.Task) -> None:
        task = conversions.task_from_msg(sent)
        goal.spelling = conversions.spelling_of(task)
        levels = task.levels(self._planning(goal))
        attempts = sum(level.attempts for level in levels if level.name != SEARCH)
        cancelled = goal.watched.cancelled

        def notify(progress: Progress) -> None:
            if progress.detail:
                goal.note(PassedEvent(progress.detail))
            message = msg.PlanningProgress(
                phase=progress.phase,
                source=progress.source,
                attempt_number=min(progress.number, 255),
                max_attempts=min(attempts, 255),
                detail=progress.detail,
            )
            if progress.attempt is not None:
                message.attempt = self._judged(goal, progress.attempt)
            goal.planning(message)

        as_it_is = goal.replans > 0 or (goal.runs and goal.request.from_current)
        outcome = plan_with_levels(
            levels,
            self._verdicts.timed(self._validator.verify(sent, cancelled)),
            goal.deadline.left_s,
            cancelled=cancelled,
            notify=notify,
            # What is not to be executed needs no arm.
            rehearse=self._rehearsals.of(sent, as_it_is, cancelled)
            if goal.runs and task.problem is not None
            else None,
            read=task.steps_of,
        )
        goal.result.verdict = conversions.verdict_to_msg(outcome.verdict)
        goal.planned_for(outcome.seconds)
        if outcome.plan is None:
            raise SafegenError(outcome.message, outcome.error_code)
        proved = outcome.attempts[-1]
        goal.result.plan = conversions.steps_to_msg(proved.steps, proved.source, goal.spelling)
        self._plans.publish(goal.result.plan)

    def _judged(self, goal: GoalContext[Any, Any], attempt: Attempt, base: int = 0) -> msg.Attempt:
        """Takes an attempt with its verdict, and publishes it."""
        message = goal.judged(attempt, self._validator.second_opinion, base)
        self._attempts.publish(message)
        return message

    def _run_step_by_step(self, goal: RunContext, sent: msg.Task) -> None:
        """Works on a goal one proved step after the other."""
        task = conversions.task_from_msg(sent)
        goal.spelling = conversions.spelling_of(task)
        link = StepLink(goal, sent, self._executor_client, self._approvals)

        def answered(attempt: Attempt) -> None:
            message = self._judged(goal, attempt, goal.result.steps_done)
            goal.planned_for(attempt.seconds)
            progress = msg.PlanningProgress(
                phase=PlanningPhase.JUDGED,
                source=message.source,
                attempt_number=min(message.number, 255),
                attempt=message,
            )
            goal.planning(progress)

        def prove(rest: object) -> Verify:
            left = conversions.remaining_to_msg(rest, task)
            return self._validator.verify(left, goal.watched.cancelled)

        run = StepwiseRun(
            self._planning(goal),
            link,
            answered,
            prove,
            goal.request.max_steps or self.values['max_steps'],
            lambda: goal.deadline.left_s,
            goal.watched.cancelled,
            lambda: self.goals.turn(goal.watched),
        )
        with self._executor_client.turn(goal.watched):
            outcome = task.play(run)
        goal.result.verdict = conversions.verdict_to_msg(outcome.verdict)
        if outcome.error is not None:
            raise outcome.error


def main() -> None:
    """Runs the node."""
    sys.exit(run_node(PlannerNode))


if __name__ == '__main__':
    main()
