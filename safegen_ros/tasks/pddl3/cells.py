# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The cells that execute a PDDL task: that of the arm for blocks, and a symbolic one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.formulas import constraint_objects
from safegen_ros.pddl.model import Problem, State
from safegen_ros.pddl.moments import moment_of
from safegen_ros.robot.cell.execution import Cell, ConcurrentStep
from safegen_ros.robot.cell.grounding import initial_layout
from safegen_ros.robot.cell.settings import ALL, CELLS
from safegen_ros.robot.cell.symbolic import SymbolicCell, SymbolicSample
from safegen_ros.robot.cell.view import ViewedCell
from safegen_ros.robot.scene import load_scene
from safegen_ros.tasks.cells import SYMBOLIC, TWIN, USE_SYMBOLIC, CellSetup, OneRobot
from safegen_ros.tasks.pddl3.domains import require_same_actions

AUTO = 'auto'
BLOCKSWORLD = 'blocksworld'
"""The domain whose actions the arm executes."""


class RobotWithView(OneRobot):
    """A robot of whose blocks some may be out of view."""

    def __init__(self, viewed: ViewedCell) -> None:
        super().__init__(viewed)
        self.viewed = viewed

    @property
    def unseen(self) -> tuple[str, ...]:  # type: ignore[override]
        """The blocks that are out of view."""
        return self.viewed.unseen

    def expect_no_look(self) -> None:
        """See `ViewedCell.expect_no_look`."""
        self.viewed.expect_no_look()

    def look_of(self, name: str) -> Callable[[], None]:
        """A look at the tower of a block from the side."""
        return partial(self.viewed.look, name)


class SymbolicRobots(OneRobot):
    """A symbolic cell, whose robots may act at once where a plan says when."""

    def __init__(self, symbolic: SymbolicCell) -> None:
        super().__init__(symbolic)
        self._symbolic = symbolic

    def take(self, step: ConcurrentStep) -> None:
        """Takes one action, or lets a moment of the plan happen."""
        moment = moment_of(step)
        if moment is None:
            super().take(step)
        else:
            self._symbolic.happen(moment)


def cell_for(problem: Problem, setup: CellSetup, stands: State | None) -> OneRobot:
    """The cell for a problem: the arm where the executor has one, else a symbolic one.

    Args:
        stands: how the blocks stand; None for as the problem says.

    Raises:
        SafegenError: the arm does not do what the domain is about (`UNKNOWN_DOMAIN`), or a view is
            asked for of other things than blocks.
    """
    if setup.arm is None:
        return _symbolic(problem, setup, stands)
    try:
        require_same_actions(problem.domain, BLOCKSWORLD)
    except SafegenError as error:
        raise SafegenError(f'{error.message}, {USE_SYMBOLIC}', error.code) from error
    return _viewed(setup.arm, problem, setup, stands, setup.arm.home)


def _symbolic(problem: Problem, setup: CellSetup, stands: State | None) -> OneRobot:
    def sampled(sample: SymbolicSample) -> None:
        seen = sample.state
        if isinstance(robot, RobotWithView):
            seen = robot.viewed.believed(seen)
        setup.facts(sample.time, seen, robot.unseen)

    cell = SymbolicCell(
        problem,
        step_seconds=setup.step_seconds,
        real_time_factor=setup.real_time_factor,
        sample=sampled,
    )
    whole = setup.view == ALL and stands is None
    robot = SymbolicRobots(cell) if whole else _viewed(cell, problem, setup, stands, lambda: None)
    return robot


def _viewed(
    cell: Cell,
    problem: Problem,
    setup: CellSetup,
    stands: State | None,
    glance: Callable[[], None],
) -> OneRobot:
    """A cell as much of which is in view as the setup says."""
    if setup.view == ALL and stands is None:
        return OneRobot(cell)
    require_same_actions(problem.domain, BLOCKSWORLD)
    watched = constraint_objects(problem)
    return RobotWithView(ViewedCell(cell, setup.view, watched, stands, glance))


@dataclass(frozen=True, slots=True)
class CellChoice:
    """A cell, and why it is that one.

    Attributes:
        cell: one of `CELLS`.
        why: what the twin cannot show, or that somebody asked for it.
    """

    cell: str
    why: str

    @property
    def text(self) -> str:
        """The choice in a line for a person."""
        if self.cell == TWIN:
            return 'the MuJoCo twin of the arm'
        return f'symbolic, so nothing moves and nothing is measured: {self.why}'


def choose_cell(path: Path, problem: Problem, wanted: str = AUTO) -> CellChoice:
    """The cell for a task.

    Args:
        path: the problem's file, for messages.
        wanted: one of `CELLS`, or `AUTO`. Then it is the twin, unless the task has other
            actions or more blocks than the arm and its table. A state that contradicts itself does
            not rule out the arm: most likely it is a mistake.

    Raises:
        SafegenError: there is no such cell, or the twin cannot show the task.
    """
    if wanted not in (AUTO, *CELLS):
        raise SafegenError(
            f'--cell {wanted!r} is not a cell: use one of {AUTO} {" ".join(CELLS)}',
            ErrorCode.UNSUPPORTED_SCENE,
        )
    if wanted == SYMBOLIC:
        return CellChoice(SYMBOLIC, 'as you asked')
    scene = load_scene()
    name, count = problem.domain.name, len(problem.objects)
    try:
        require_same_actions(problem.domain, BLOCKSWORLD)
    except SafegenError as error:
        if wanted == AUTO:
            why = f'the arm executes {BLOCKSWORLD} only, and domain {name} has other actions'
            return CellChoice(SYMBOLIC, why)
        raise _refused(path, error) from error
    if wanted == AUTO and count > scene.max_blocks:
        why = f'the table takes {scene.max_blocks} blocks, and the task has {count}'
        return CellChoice(SYMBOLIC, why)
    try:
        initial_layout(scene, tuple(problem.objects), problem.init)
    except SafegenError as error:
        raise _refused(path, error) from error
    return CellChoice(TWIN, '')


def _refused(path: Path, error: SafegenError) -> SafegenError:
    cure = "or give '--cell symbolic', where nothing moves"
    return SafegenError(f'{path}: {error.message}, {cure}', error.code)
