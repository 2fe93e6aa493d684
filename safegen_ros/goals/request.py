# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a user asks a stack for, and whether the world at the end of the run is as asked.

A request has the task, the cell, options of the goal and perhaps a plan. On the twin the last check
starts from the measured poses alone, not from the executor's reading of them. A symbolic cell has
no poses: what counts there are the facts of its world.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from safegen_msgs.action import ExecutePlan, PlanTask, RunTask
from safegen_msgs.msg import WorldState
from safegen_ros.client import Client, Goal, Options
from safegen_ros.errors import RobotError
from safegen_ros.goals.files import find_problem, in_order, read_action_task, read_text
from safegen_ros.pddl.facts import objects_of, recorded_fact
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.planning.levels import feedback_named, level_names
from safegen_ros.record.events import Event
from safegen_ros.record.run import AnswerRecord, TaskRecord, UnderstoodRecord
from safegen_ros.robot.arms.model import JOINT_NAMES
from safegen_ros.robot.cell.grounding import Tool, ground
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import Scene
from safegen_ros.ros import conversions
from safegen_ros.ros.conversions import pose_from_msg
from safegen_ros.tasks.pddl3.cells import CellChoice
from safegen_ros.tasks.pddl3.formats import WORDS
from safegen_ros.tasks.pddl3.task import Pddl3Task, conjuncts, load_task
from safegen_ros.tasks.task import ActionTask

CLIENT = 'client'
"""Source of a plan that a client sends."""

IN_WORDS = 'a request in words'
"""Source of a task that was asked for so."""


@dataclass(frozen=True, slots=True)
class TranslatedRequest:
    """A task that was asked for in words, as it is written down.

    Attributes:
        events: the answers of the model, and what was understood.
    """

    task: TaskRecord
    events: tuple[AnswerRecord | UnderstoodRecord, ...]

    @property
    def understood(self) -> UnderstoodRecord:
        """The reading, with its doubts."""
        return next(each for each in self.events if isinstance(each, UnderstoodRecord))

    @classmethod
    def of(
        cls,
        words: str,
        domain: str,
        asked: Options,
        result: PlanTask.Result,
        events: Iterable[Event],
    ) -> tuple[Pddl3Task, TranslatedRequest]:
        """The task that a request became, and what is written down of it.

        Args:
            domain: PDDL of its domain, or a name; empty for a built-in one.
            asked: the options of the goal that `result` and `events` are of.
        """
        task = load_task(result.problem, domain)
        names = (task.name, task.problem.domain.name)
        said = TaskRecord(
            names[0], IN_WORDS, names[1], domain, words, WORDS,
            constraints=asked.constraints, start=asked.start,
        )  # fmt: skip
        understood = UnderstoodRecord(
            *names, domain, result.problem, result.reading, result.question, result.reading_digest
        )
        answers = (each for each in events if isinstance(each, AnswerRecord))
        return task, cls(said, (*answers, understood))


@dataclass(frozen=True, slots=True)
class GoalRequest:
    """The task as it was given, and what goes with its goal.

    Attributes:
        task: what is in it, with the text as it is sent.
        domain_text: the domain as it is sent; empty for a built-in one.
        cell: what shall execute it; None where a stack is up already, which decides.
        plan: what to execute; None to have it planned.
        spoken: the words that the task was made of; None where there were none.
    """

    path: Path
    task: ActionTask
    domain_text: str
    options: Options
    cell: CellChoice | None = None
    plan: Plan | None = None
    spoken: TranslatedRequest | None = None

    @classmethod
    def read(
        cls,
        problem: Path,
        options: Options,
        domain: Path | None = None,
        read_as: str = '',
        format: str = '',
    ) -> GoalRequest:
        """Reads the files.

        Args:
            domain: file of the domain; None for the built-in one that the problem names.
            read_as: format of the problem's file; empty to derive it from its name.
            format: format in which the problem is sent; empty for that of the file.

        Raises:
            SafegenError: one of them cannot be used.
        """
        problem, domain = in_order(problem, domain)
        text = read_text(domain, 'domain') if domain else ''
        # Only the text changes: the end is compared with the problem as the file has it.
        task = read_action_task(problem, domain, format=read_as, sent_as=format)
        path = problem if task.problem is None else find_problem(problem)
        return cls(path, task, text, options)

    def start(
        self, client: Client, feedback: Callable[[RunTask.Feedback], None]
    ) -> Goal[RunTask.Result] | PlanExecution:
        """Sends the goal; returns when it is accepted."""
        text, format = self.task.problem_text, self.task.format
        if self.plan is None:
            return client.start_run(text, self.domain_text, self.options, feedback, format)

        def moved(message: ExecutePlan.Feedback) -> None:
            stage = RunTask.Feedback.EXECUTION
            feedback(RunTask.Feedback(stage=stage, execution=message.progress))

        budget = self.options.time_budget_s
        goal = client.start_execute(text, self.plan, self.domain_text, budget, moved, format)
        return PlanExecution(goal, self.plan)


def check_goal_options(options: Options) -> None:
    """Raises `SafegenError` where a goal names a strategy or a feedback that there is not."""
    if options.strategy:
        level_names(options.strategy)
    if options.feedback:
        feedback_named(options.feedback)


class PlanExecution:
    """A goal of `execute_plan` that answers as one of `run_task` does, without the planning."""

    def __init__(self, goal: Goal[ExecutePlan.Result], plan: Plan) -> None:
        self._goal = goal
        self._plan = plan

    @property
    def id(self) -> str:
        """As `Goal.id`."""
        return self._goal.id

    def result(self) -> RunTask.Result:
        """As `Goal.result`."""
        return self._answer(self._goal.result())

    def cancel(self) -> RunTask.Result:
        """As `Goal.cancel`."""
        return self._answer(self._goal.cancel())

    def _answer(self, result: ExecutePlan.Result) -> RunTask.Result:
        return RunTask.Result(
            error_code=result.error_code,
            error_msg=result.error_msg,
            plan=conversions.plan_to_msg(self._plan, CLIENT),
            verdict=result.verdict,
            steps_done=result.steps_done,
            final_state=result.final_state,
            execution_time=result.execution_time,
        )


@dataclass(frozen=True, slots=True)
class GoalCheck:
    """Whether the goal holds in the world at the end.

    Attributes:
        poses: measured pose of each block; none for a symbolic cell.
        conjuncts: each part of the goal with whether it was observed to hold.
        problem: why the observation makes no state at all; empty when it does.
    """

    poses: dict[str, Pose]
    conjuncts: tuple[tuple[str, bool], ...]
    problem: str = ''

    @property
    def reached(self) -> bool:
        """Whether every part of the goal was observed to hold."""
        return not self.problem and all(held for _, held in self.conjuncts)


def check_goal(
    problem: Problem, world: WorldState, joints: Sequence[float], scene: Scene
) -> GoalCheck:
    """Compares measured poses with the goal.

    Args:
        world: only its poses are used.
        joints: measured joint angles of the same moment, shape (6,) [rad]. Empty when they did not
            arrive, which is a problem: they show whether the arm holds a block.
    """
    poses = {item.name: pose_from_msg(item.pose) for item in world.objects}
    missing = sorted(set(problem.objects) - set(poses))
    if missing:
        return GoalCheck(poses, (), f'no pose was measured for {" ".join(missing)}')
    if len(joints) != len(JOINT_NAMES) or not all(map(math.isfinite, joints)):
        return GoalCheck(poses, (), 'the joints of the last moment did not arrive')
    # A block counts as held where the tool would hold one: it is taken to be on.
    tool = Tool(scene.held_centre(np.asarray(joints, dtype=np.float64)), on=True)
    try:
        state = ground(poses, tool, scene.block_size)
    except RobotError as error:
        return GoalCheck(poses, (), error.message)
    return GoalCheck(poses, conjuncts(problem, state))


def check_facts(task: ActionTask, world: WorldState) -> GoalCheck:
    """Compares the facts that an executor has observed with the goal of a task of any world.

    Args:
        world: only its facts are used.
    """
    atoms = frozenset(map(recorded_fact, world.facts))
    problem = task.problem
    if problem is None:
        return GoalCheck({}, task.conditions(atoms))
    unknown = sorted({name for atom in atoms for name in objects_of(atom)} - set(problem.objects))
    if unknown:
        return GoalCheck({}, (), f'the facts name {" ".join(unknown)}, which the task has not')
    if world.objects:
        return GoalCheck({}, (), 'the world has poses, which no symbolic cell can have measured')
    return GoalCheck({}, conjuncts(problem, atoms))
