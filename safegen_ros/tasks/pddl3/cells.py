# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The cells that execute a PDDL task: that of the arm for blocks, and a symbolic one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from safegen_ros.errors import SafegenError
from safegen_ros.pddl.formulas import constraint_objects
from safegen_ros.pddl.model import Problem, State
from safegen_ros.pddl.moments import moment_of
from safegen_ros.robot.cell.execution import Cell, ConcurrentStep
from safegen_ros.robot.cell.settings import ALL
from safegen_ros.robot.cell.symbolic import SymbolicCell, SymbolicSample
from safegen_ros.robot.cell.view import ViewedCell
from safegen_ros.tasks.cells import USE_SYMBOLIC, CellSetup, OneRobot
from safegen_ros.tasks.pddl3.domains import require_same_actions

BLOCKSWORLD = 'blocksworld'


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
