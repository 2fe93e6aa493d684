# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Steps for a task of any world, proved as they are and carried out in its cell."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from safegen_ros.errors import Canceled, ErrorCode
from safegen_ros.pddl.model import State
from safegen_ros.robot.cell.execution import Cell
from safegen_ros.robot.cell.job import ConcurrentStep
from safegen_ros.robot.pose import Pose
from safegen_ros.tasks.task import (
    ActionTask,
    CellSetup,
    MultiRobotCell,
    Steps,
    TaskMonitor,
    refused,
)
from safegen_ros.verdict import Verdict


class Posed(Protocol):
    """The cell of an arm, or of its twin."""

    def poses(self) -> Mapping[str, Pose]:
        """Where the blocks are measured now."""
        ...


class OneRobot(MultiRobotCell):
    """A cell whose one robot takes one action after the other."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell

    def prepare(self, objects: Sequence[str], init: State) -> None:
        """Prepares the cell."""
        self.cell.prepare(objects, init)

    def take(self, step: ConcurrentStep) -> None:
        """Has the robot do the one action of a step; raises as the cell, and for several."""
        if len(step) != 1:
            raise refused(f'a step has {len(step)} actions, and this cell has one robot')
        self.cell.execute(*step[0])

    def observe(self) -> State:
        """What the cell observes."""
        return self.cell.observe()

    def stop(self) -> None:
        """Stops the cell."""
        self.cell.stop()

    def reset_stop(self) -> None:
        """Allows motion again."""
        self.cell.reset_stop()


class PacedCell(MultiRobotCell):
    """A cell in which nothing moves: a step takes its time, and shows at the end of it."""

    def __init__(self, setup: CellSetup) -> None:
        self._setup = setup
        self._stopped = threading.Event()
        self._time = 0.0

    def take(self, step: ConcurrentStep) -> None:
        """Does one step.

        Raises:
            RobotError: it cannot be done from here (`STATE_MISMATCH`).
            Canceled: the cell was stopped; nothing has happened then.
        """
        self._check_ready()
        become = self._effect(step)
        factor = self._setup.real_time_factor
        self._stopped.wait(self._setup.step_seconds / factor if factor else 0.0)
        self._check_ready()
        self._time += self._setup.step_seconds
        become()
        self._show()

    @abstractmethod
    def _effect(self, step: ConcurrentStep) -> Callable[[], None]:
        """What a step does to the world; raises `RobotError` where it cannot be done."""

    def stop(self) -> None:
        """Ends the step under way, from any thread, and latches."""
        self._stopped.set()

    def reset_stop(self) -> None:
        """Allows steps again."""
        self._stopped.clear()

    def _show(self) -> None:
        self._setup.facts(self._time, self.observe(), ())

    def _check_ready(self) -> None:
        if self._stopped.is_set():
            raise Canceled(
                'the cell was stopped: reset the stop to go on', ErrorCode.EXECUTION_CANCELED
            )


@dataclass(frozen=True)
class WorldJob:
    """Steps for a task of any world, in its cell.

    Attributes:
        task: what they are for.
        steps: from anybody.
        cell: what carries them out.
        monitor: judges what is observed.
        step_by_step: whether it is one step, or none, of a task worked on step by step.
        glance: what is done before the world is looked at first.
        start: in place of the preparation of the cell, where that is in the initial state already.
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
        """Carries out one step; raises as the cell does."""
        self.cell.take(step)

    def observe(self) -> State:
        """What the cell observes; a look that was asked for comes first."""
        if not self.monitor.looks:
            self.glance()
        return self.cell.observe()

    def remaining(self) -> object | None:
        """What is left of the task behind what was observed last."""
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


def poses_in(cell: MultiRobotCell | None, arm: Posed | None) -> Mapping[str, Pose]:
    """Where the objects are measured, in a cell of its own or by the arm; empty without poses."""
    own = {} if cell is None else cell.poses()
    return own or ({} if arm is None else arm.poses())


def prove(
    task: ActionTask,
    steps: Steps,
    step_by_step: bool = False,
    verify: Callable[[str], Verdict] | None = None,
) -> Verdict:
    """The verdict on steps as they are, from anybody.

    Args:
        task: what they are for.
        steps: the steps.
        step_by_step: as of `ActionTask.verify`.
        verify: whose verdict on their text it is; None for that of the task.

    Raises:
        SafegenError: they are no steps of this world (`PLAN_REFUSED`).
    """
    answer = task.answer_of(steps, step_by_step=step_by_step)
    judge = verify or partial(task.verify, step_by_step=step_by_step)
    verdict = judge(answer)
    read = task.steps_of(answer, step_by_step=step_by_step)
    if verdict.ok and [sorted(step) for step in read] != [sorted(step) for step in steps]:
        # What is proved has to be what is done.
        raise refused('the steps say more than a plan of their world can: give each robot one move')
    return verdict
