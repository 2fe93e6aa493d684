# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The contract of a world: how its tasks are read, planned for, proved, executed and watched.

A world is a folder here and a line of `table`. PDDL is one of them, with its own domains and
formats. A world describes its states by ground atoms. A step is one action, or the simultaneous
actions of several robots. No code outside this room asks to which world a task belongs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.model import Problem, State
from safegen_ros.planning.loop import Level, Steps
from safegen_ros.robot.cell.execution import ConcurrentStep, Monitor
from safegen_ros.tasks.cells import (
    SYMBOLIC,
    USE_SYMBOLIC,
    CellSetup,
    MultiRobotCell,
    refused,
)
from safegen_ros.tasks.context import PlanningContext, StepAnswer, StepOutcome, StepwiseRun
from safegen_ros.verdict import Verdict
from safegen_ros.verify.monitors import Status


class TaskMonitor(Monitor, Protocol):
    """Follows the observed states of one execution, and says where the whole stands."""

    def standings(self) -> tuple[tuple[str, Status], ...]:
        """Each constraint as text, and its status in the last observed state."""
        ...

    def remaining(self) -> object | None:
        """The rest of the task from the last observed state on, as `ActionTask.rest` takes it.

        None where that cannot be said.
        """
        ...


class ActionTask(Protocol):
    """A task of some world, as its text says it."""

    @property
    def name(self) -> str:
        """The name of the task."""
        ...

    @property
    def world(self) -> str:
        """Its world; for a PDDL task, the name of its domain."""
        ...

    @property
    def format(self) -> str:
        """What its text is written in."""
        ...

    @property
    def rest_format(self) -> str:
        """What the rest of the task is written in; empty for PDDL."""
        ...

    @property
    def problem_text(self) -> str:
        """The text, as it was sent."""
        ...

    @property
    def pddl(self) -> str:
        """The same as a PDDL problem; empty where it is that already, or cannot be said so."""
        ...

    @property
    def problem(self) -> Problem | None:
        """The PDDL problem; None for other worlds.

        Only a task with one is bound by rules of a site, rehearsed on the twin of the arm, and
        begun from the last known world.
        """
        ...

    @property
    def objects(self) -> Sequence[str]:
        """What atoms and actions may name."""
        ...

    @property
    def init(self) -> State:
        """The initial state."""
        ...

    def levels(self, context: PlanningContext) -> Sequence[Level]:
        """The planners of whole plans to try, in order.

        Raises:
            SafegenError: the goal names one that the world has not (`UNKNOWN_STRATEGY`), or there
                is none (`UNSUPPORTED_FEATURE`).
        """
        ...

    def verify(self, answer: str, *, step_by_step: bool = False) -> Verdict:
        """The verdict on the text of a plan.

        Args:
            step_by_step: whether it is one step, or none, of a task that is worked on step by step.
                It must apply and leave all constraints satisfiable, and need not reach the goal.
        """
        ...

    def second_opinion(self, answer: str) -> Verdict:
        """The verdict on a whole plan that another validator agrees with; `UNKNOWN` where not."""
        ...

    def steps_of(self, answer: str, *, step_by_step: bool = False) -> Steps:
        """The steps in such a text; none where it cannot be read."""
        ...

    def answer_of(self, steps: Steps, *, step_by_step: bool = False) -> str:
        """The text of steps, as `verify` reads it.

        Raises:
            SafegenError: they are not steps of this world (`PLAN_REFUSED`).
        """
        ...

    def monitor(self, steps: Steps, *, step_by_step: bool = False) -> TaskMonitor:
        """What watches an execution of steps that are proved."""
        ...

    def rest(self, remaining: object) -> tuple[str, str]:
        """The rest of the task, from its monitor: the domain's text and the problem's."""
        ...

    def conditions(self, state: State) -> tuple[tuple[str, bool], ...]:
        """Each part of the goal as text, and whether it holds in a state."""
        ...

    def summary(self) -> tuple[tuple[str, str], ...]:
        """Lines about it for a person, each with its title."""
        ...

    def cell(self, setup: CellSetup) -> MultiRobotCell:
        """The cell that executes it.

        Raises:
            SafegenError: the executor's cell does not do what the task is about
                (`UNSUPPORTED_SCENE`, or `UNKNOWN_DOMAIN`).
        """
        ...

    def play(self, run: StepwiseRun) -> StepOutcome:
        """Works on the task step by step until it is done, given up, or the steps are used up.

        Raises:
            SafegenError: the model does not answer, the executor fails, or the world plans for its
                tasks as a whole (`UNSUPPORTED_FEATURE`).
        """
        ...

    def replay(self, answers: Sequence[str], notify: Callable[[StepAnswer], None]) -> Verdict:
        """The result of the answers of a chat model in a separate world."""
        ...


class OtherWorld:
    """Base of tasks that are not PDDL problems: the parts that such a world need not have."""

    format = ''
    problem = None
    pddl = ''

    @property
    def rest_format(self) -> str:
        """The format of the task."""
        return self.format

    def levels(self, context: PlanningContext) -> Sequence[Level]:
        """None: the task is worked on step by step."""
        raise SafegenError(
            f'a task in format {self.format} is worked on step by step: send it so',
            ErrorCode.UNSUPPORTED_FEATURE,
        )

    def second_opinion(self, answer: str) -> Verdict:
        """None: VAL judges PDDL plans."""
        return Verdict(reason=f'VAL has no opinion on a task in format {self.format}')

    def play(self, run: StepwiseRun) -> StepOutcome:
        """Refused: the task is planned as a whole."""
        raise self._whole()

    def replay(self, answers: Sequence[str], notify: Callable[[StepAnswer], None]) -> Verdict:
        """Refused likewise."""
        raise self._whole()

    def _whole(self) -> SafegenError:
        return SafegenError(
            f'a task in format {self.format} is planned as a whole: leave out step_by_step',
            ErrorCode.UNSUPPORTED_FEATURE,
        )

    def require_symbolic(self, setup: CellSetup) -> None:
        """Raises where the executor has an arm, which does nothing for such a task."""
        if setup.kind != SYMBOLIC:
            raise SafegenError(
                f'a task in format {self.format} is not for the arm of this cell: {USE_SYMBOLIC}',
                ErrorCode.UNSUPPORTED_SCENE,
            )


@dataclass(frozen=True)
class WorldJob:
    """Steps for a task of any world, in its cell.

    Attributes:
        steps: from anybody.
        step_by_step: whether it is one step, or none, of a task worked on step by step.
        glance: the work before the world is first looked at.
        start: instead of the preparation of the cell, where that is in the initial state already.
    """

    task: ActionTask
    steps: Steps
    cell: MultiRobotCell
    monitor: TaskMonitor
    step_by_step: bool = False
    glance: Callable[[], None] = lambda: None
    start: Callable[[], None] | None = None

    def verify(self) -> Verdict:
        """The world's verdict on the steps."""
        return prove(self.task, self.steps, self.step_by_step)

    def prepare(self) -> None:
        """Brings the cell into the initial state of the task; raises as the cell does."""
        if self.start is not None:
            self.start()
            return
        self.cell.prepare(self.task.objects, self.task.init)

    def take(self, step: ConcurrentStep) -> None:
        """Executes one step; raises as the cell does."""
        self.cell.take(step)

    def observe(self) -> State:
        """What the cell observes; a look that was asked for comes first."""
        if not self.monitor.looks:
            self.glance()
        return self.cell.observe()

    def remaining(self) -> object | None:
        """The rest of the task behind the last observation."""
        return self.monitor.remaining()


def job_of(
    task: ActionTask,
    steps: Steps,
    cell: MultiRobotCell,
    *,
    step_by_step: bool = False,
    look: str = '',
    resume: bool = False,
) -> WorldJob:
    """What an execution of a goal does.

    Raises:
        SafegenError: it asks for a look at what cannot be looked at (`PLAN_REFUSED`).
    """
    if not step_by_step:
        cell.expect_no_look()
    monitor = task.monitor(steps, step_by_step=step_by_step)
    job = WorldJob(task, steps, cell, monitor, step_by_step)
    if not look:
        return job
    if steps or not step_by_step or not resume:
        return replace(job, glance=MultiRobotCell.look_of(cell, look))
    return replace(job, glance=cell.look_of(look))


def prove(
    task: ActionTask,
    steps: Steps,
    step_by_step: bool = False,
    verify: Callable[[str], Verdict] | None = None,
) -> Verdict:
    """The verdict on steps as they are, from anybody.

    Args:
        step_by_step: as of `ActionTask.verify`.
        verify: whose verdict on their text it is; None for that of the task.

    Raises:
        SafegenError: they are not steps of this world (`PLAN_REFUSED`).
    """
    answer = task.answer_of(steps, step_by_step=step_by_step)
    judge = verify or partial(task.verify, step_by_step=step_by_step)
    verdict = judge(answer)
    read = task.steps_of(answer, step_by_step=step_by_step)
    if verdict.ok and [sorted(step) for step in read] != [sorted(step) for step in steps]:
        # The proved steps have to be the executed ones.
        if task.problem is not None and task.problem.timed:
            raise refused(
                'the steps are not all that happens in the plan: its timed initial literals are '
                'steps, too: send the steps that validate_plan returns'
            )
        raise refused('the steps say more than a plan of their world can: give each robot one move')
    return verdict
