# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Steps for a task of any world, proved unchanged and executed in its cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from safegen_ros.pddl.model import State
from safegen_ros.planning.loop import Steps
from safegen_ros.robot.cell.execution import ConcurrentStep
from safegen_ros.tasks.cells import MultiRobotCell, refused
from safegen_ros.tasks.task import ActionTask, TaskMonitor
from safegen_ros.verdict import Verdict


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
