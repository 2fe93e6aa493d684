# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The cells that execute steps of one robot or of several, and the data of an executor for one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.model import State
from safegen_ros.robot.cell.execution import Cell, ConcurrentStep
from safegen_ros.sync import LatchedStop

if TYPE_CHECKING:  # it needs numpy, which no proof does
    from safegen_ros.robot.pose import Pose

SYMBOLIC, TWIN = 'symbolic', 'twin'


USE_SYMBOLIC = 'or start the stack with cell:=symbolic, where nothing moves'
"""The cure for a task that the arm cannot execute."""


def refused(message: str) -> SafegenError:
    """The error of steps of another world."""
    return SafegenError(message, ErrorCode.PLAN_REFUSED)


class MultiRobotCell(ABC):
    """Executes steps in which several robots may act; parts that few cells have are empty here."""

    unseen: Sequence[str] = ()
    """The objects that are out of view."""

    @abstractmethod
    def prepare(self, objects: Sequence[str], init: State) -> None:
        """Brings the cell into the initial state of a task, or raises."""

    @abstractmethod
    def take(self, step: ConcurrentStep) -> None:
        """Executes one step, or raises."""

    @abstractmethod
    def observe(self) -> State:
        """The atoms that are observed to hold, or raises."""

    @abstractmethod
    def stop(self) -> None:
        """Ends all motion at once, from any thread, and latches."""

    @abstractmethod
    def reset_stop(self) -> None:
        """Allows motion again."""

    def expect_no_look(self) -> None:  # noqa: B027  # most cells see all
        """Called before a whole plan, between whose steps nothing is looked at."""

    def look_of(self, name: str) -> Callable[[], None]:
        """A look at an object that is out of view; raises where the cell has none."""
        raise refused(
            f'there is nothing to look at for {name[:40]!a}: a look is a goal without a step, '
            'which resumes a task that is worked on step by step with blocks'
        )

    def start(self) -> State | None:
        """The possible start of a goal: the observed atoms; None if they are not a whole state."""
        return None

    def words(self) -> str:
        """The view now, where the world describes it in words."""
        return ''

    def poses(self) -> Mapping[str, Pose]:
        """Where the objects of a cell with its own motions are measured."""
        return {}

    def close(self) -> None:  # noqa: B027  # most have nothing to end
        """Ends a cell that was made for one task."""


class ArmCell(Cell, Protocol):
    """The cell of an arm, or of its twin."""

    def home(self) -> None:
        """Moves the arm out of the way."""
        ...


def _no_facts(time: float, state: State, unseen: Sequence[str]) -> None: ...


def _no_poses(time: float, joints: Mapping[str, float], poses: Mapping[str, Pose]) -> None: ...


@dataclass(frozen=True, slots=True)
class CellSetup:
    """What an executor has for a task: its kind of cell, how fast, and who watches.

    Attributes:
        step_seconds: simulated time of a symbolic step [s].
        real_time_factor: simulated seconds per second of the wall clock [1]; 0 for at once.
        facts: called with the simulated time [s], the atoms, and the objects out of view, when a
            symbolic cell is prepared and after each step.
        kind: `SYMBOLIC`, `TWIN`, or the name of a real arm.
        arm: the cell of the arm or of its twin; None for a symbolic one.
        look: called with the simulated time [s], joints [rad] and poses of a cell of several arms.
        view: which blocks are in view, one of `robot.cell.settings.VIEWS`.
        start_file: problem whose initial state is how the blocks stand; empty for that of the task.
    """

    step_seconds: float = 0.0
    real_time_factor: float = 0.0
    facts: Callable[[float, State, Sequence[str]], None] = _no_facts
    kind: str = SYMBOLIC
    arm: ArmCell | None = None
    look: Callable[[float, Mapping[str, float], Mapping[str, Pose]], None] = _no_poses
    view: str = 'all'
    start_file: str = ''


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

    def start(self) -> State | None:
        """What the cell observes."""
        return self.observe()

    def stop(self) -> None:
        """Stops the cell."""
        self.cell.stop()

    def reset_stop(self) -> None:
        """Allows motion again."""
        self.cell.reset_stop()


class PacedCell(LatchedStop, MultiRobotCell):
    """A cell in which nothing moves: a step takes its time, and shows at the end of it."""

    def __init__(self, setup: CellSetup) -> None:
        super().__init__('the cell')
        self._setup = setup
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

    def _show(self) -> None:
        self._setup.facts(self._time, self.observe(), ())


def poses_in(cell: MultiRobotCell | None, arm: Posed | None) -> Mapping[str, Pose]:
    """Where the objects are measured, in a separate cell or by the arm; empty without poses."""
    own = {} if cell is None else cell.poses()
    return own or ({} if arm is None else arm.poses())
