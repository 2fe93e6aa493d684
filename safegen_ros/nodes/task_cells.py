# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which cell of an executor carries out a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, runtime_checkable

from safegen_msgs.action import ExecutePlan
from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.paths import data_path
from safegen_ros.pddl.model import State, constraint_objects
from safegen_ros.record.run import SYMBOLIC, TWIN
from safegen_ros.robot.cell.blocks import BlocksworldCell
from safegen_ros.robot.cell.execution import Cell
from safegen_ros.robot.cell.symbolic import SymbolicCell, SymbolicSample
from safegen_ros.robot.cell.view import ALL, VIEWS, ViewedCell
from safegen_ros.robot.pose import Pose
from safegen_ros.ros.parameters import Parameter
from safegen_ros.tasks.boxnet.goal import BoxnetGoal
from safegen_ros.tasks.job import OneRobot, WorldJob
from safegen_ros.tasks.pddl3.domains import require_same_actions
from safegen_ros.tasks.pddl3.files import load_files
from safegen_ros.tasks.pddl3.task import Pddl3Task
from safegen_ros.tasks.task import (
    ActionTask,
    CellTask,
    JointCell,
    Pace,
    Steps,
    TellingCell,
    refused,
)

PARAMETERS = (
    Parameter(
        'view',
        ALL,
        'which blocks are in view: all; or from above, of each tower the top one until it is '
        'looked at',
        choices=VIEWS,
    ),
    Parameter(
        'start_file',
        '',
        'PDDL problem whose initial state is how the blocks of a simulated cell stand, whatever a '
        'task says; empty: as the task says',
    ),
)

BLOCKSWORLD = 'blocksworld'

Facts = Callable[[float, State, Sequence[str]], None]
"""Told the simulated time [s], the atoms that hold, and the objects that are out of view."""

Look = Callable[[float, Mapping[str, float], Mapping[str, Pose]], Any]
"""Told the simulated time [s], the joints by name [rad], and the poses by name."""

_SYMBOLIC = 'or start the stack with cell:=symbolic, where nothing moves'


def cell_for(
    task: ActionTask,
    arm: BlocksworldCell | None,
    values: Mapping[str, Any],
    facts: Facts,
    look: Look,
) -> JointCell:
    """The cell for a task.

    Args:
        task: what is to be carried out.
        arm: the cell of the arm, or of its twin; None where the executor has a symbolic one.
        values: of the executor's parameters.
        facts: told what holds in a cell without an arm.
        look: told what is measured in a cell with several.

    Raises:
        SafegenError: the arm does not do what the task is about (`UNSUPPORTED_SCENE`, or
            `UNKNOWN_DOMAIN`).
    """
    if not isinstance(task, Pddl3Task):
        return _own_cell(task, values, facts, look)
    if arm is None:
        return _symbolic(task, values, facts)
    try:
        require_same_actions(task.problem.domain, BLOCKSWORLD)
    except SafegenError as error:
        raise SafegenError(f'{error.message}, {_SYMBOLIC}', error.code) from error
    return OneRobot(_viewed(arm, task, values, arm.home))


def job_of(goal: ExecutePlan.Goal, task: ActionTask, steps: Steps, cell: JointCell) -> WorldJob:
    """What an execution of a goal does.

    Raises:
        SafegenError: it asks for a look at what cannot be looked at (`PLAN_REFUSED`).
    """
    by_itself = goal.step_by_step
    job = WorldJob(task, steps, cell, task.monitor(steps, step_by_step=by_itself), by_itself)
    viewed = cell.cell if isinstance(cell, OneRobot) else None
    if not by_itself and isinstance(viewed, ViewedCell):
        viewed.expect_no_look()
    if not goal.look:
        return job
    if steps or not by_itself or not goal.resume or not isinstance(viewed, ViewedCell):
        raise refused(
            f'there is nothing to look at for {goal.look[:40]!a}: a look is a goal without a step, '
            'which resumes a task that is worked on step by step with blocks'
        )
    return replace(job, glance=partial(viewed.look, goal.look))


def unseen_in(cell: JointCell | None) -> tuple[str, ...]:
    """The objects that are out of view in a cell."""
    viewed = cell.cell if isinstance(cell, OneRobot) else None
    return viewed.unseen if isinstance(viewed, ViewedCell) else ()


def poses_in(cell: JointCell | None, arm: BlocksworldCell | None) -> Mapping[str, Pose]:
    """Where the things in a cell are measured; nothing where it has no poses."""
    if isinstance(cell, _Posed):
        return cell.poses()
    return {} if arm is None else arm.poses()


def let_go(cell: JointCell | None) -> None:
    """Ends a cell that was made for one task; that of the arm stays."""
    if isinstance(cell, _Posed):
        cell.close()


@runtime_checkable
class _Posed(JointCell, Protocol):
    """A cell of a task, whose things have poses."""

    def poses(self) -> Mapping[str, Pose]:
        """Where they are measured now."""
        ...

    def close(self) -> None:
        """Ends the cell."""
        ...


def words_of(cell: JointCell | None) -> str:
    """What is seen in a cell, where its world tells that in words; else empty."""
    return cell.words() if isinstance(cell, TellingCell) else ''


def _symbolic(task: Pddl3Task, values: Mapping[str, Any], facts: Facts) -> OneRobot:
    def sampled(sample: SymbolicSample) -> None:
        seen = viewed.believed(sample.state) if isinstance(viewed, ViewedCell) else sample.state
        facts(sample.time, seen, unseen_in(joint))

    cell = SymbolicCell(
        task.problem,
        step_seconds=values['step_seconds'],
        real_time_factor=values['real_time_factor'],
        sample=sampled,
    )
    viewed = _viewed(cell, task, values, lambda: None)
    joint = OneRobot(viewed)
    return joint


def _viewed(
    cell: Cell, task: Pddl3Task, values: Mapping[str, Any], glance: Callable[[], None]
) -> Cell:
    """A cell as much of which is in view as the parameters say."""
    start = values['start_file']
    if values['view'] == ALL and not start:
        return cell
    require_same_actions(task.problem.domain, BLOCKSWORLD)
    stands = load_files(data_path(start)).problem.init if start else None
    watched = constraint_objects(task.problem)
    return ViewedCell(cell, values['view'], watched, stands, glance)


def _own_cell(task: ActionTask, values: Mapping[str, Any], facts: Facts, look: Look) -> JointCell:
    factor = values['real_time_factor']
    if values['cell'] == TWIN and isinstance(task, BoxnetGoal):
        # MuJoCo is needed for nothing else here.
        from safegen_ros.cells.box_twin import BoxTwin
        from safegen_ros.tasks.boxnet.spatial.model import SpatialTask

        if isinstance(task.task, SpatialTask):
            return BoxTwin(task.task, factor, look)
    if values['cell'] != SYMBOLIC:
        raise SafegenError(
            f'a task in format {task.format} is not for the arm of this cell: {_SYMBOLIC}',
            ErrorCode.UNSUPPORTED_SCENE,
        )
    if not isinstance(task, CellTask):
        raise TypeError(f'{task.format} has no cell')
    pace = Pace(values['step_seconds'], factor, lambda time, state: facts(time, state, ()))
    return task.cell(pace)
