# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A map of BoxNet as a task of the stack: planned for, proved, executed and watched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from safegen_ros.errors import ErrorCode, RobotError, SafegenError
from safegen_ros.llm.backend import never
from safegen_ros.pddl.model import State as Atoms
from safegen_ros.planning.loop import Level, Steps
from safegen_ros.robot.cell.execution import ConcurrentStep
from safegen_ros.tasks.boxnet.atoms import actions, atoms, moves, short_name, state_of
from safegen_ros.tasks.boxnet.geometry import point_text
from safegen_ros.tasks.boxnet.levels import levels, play, replay, search
from safegen_ros.tasks.boxnet.model import (
    BoxnetError,
    Plan,
    State,
    Task,
    object_name,
    plan_json,
    robot_name,
    step_json,
)
from safegen_ros.tasks.boxnet.prompts import style_of
from safegen_ros.tasks.boxnet.reader import task_of
from safegen_ros.tasks.boxnet.verifier import CONSTRAINTS, take_step, verify, verify_step
from safegen_ros.tasks.cells import TWIN, CellSetup, MultiRobotCell, PacedCell, refused
from safegen_ros.tasks.context import (
    ModelOpener,
    PlanningContext,
    StepAnswer,
    StepOutcome,
    StepwiseRun,
)
from safegen_ros.tasks.table import twin_cell
from safegen_ros.tasks.task import OtherWorld
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify.monitors import Status

BOXNET = 'boxnet'


def read_goal(text: str, source: str) -> BoxnetGoal:
    """The task in a JSON text.

    Raises:
        BoxnetError: the text is not a task.
    """
    if not text.strip():
        raise SafegenError(f'{source}: is empty: send a map in JSON', ErrorCode.EMPTY_TASK)
    return BoxnetGoal(task_of(text, source), text)


def open_model(values: Mapping[str, Any], models: ModelOpener) -> None:
    """Opens the model that parameter `arms_model` names; raises where it is not for maps."""
    models.opened(values['arms_model'], style_of)


@dataclass(frozen=True)
class BoxnetGoal(OtherWorld):
    """A map as an `ActionTask`."""

    task: Task
    problem_text: str

    world = format = BOXNET

    @property
    def name(self) -> str:
        """The name of the task."""
        return self.task.id

    @cached_property
    def objects(self) -> tuple[str, ...]:
        """Robots and objects, as atoms name them."""
        robots = (short_name(robot_name(n)) for n in range(len(self.task.bases)))
        return (*robots, *(short_name(object_name(n)) for n in range(len(self.task.targets))))

    @cached_property
    def init(self) -> Atoms:
        """The atoms of the first state."""
        return atoms(self.task.start)

    def verify(self, answer: str, *, step_by_step: bool = False) -> Verdict:
        """The verdict of the verifier of the world; see `ActionTask.verify`."""
        if step_by_step and not answer.strip():
            return Verdict(Category.SUCCESS, 'nothing is done', -1, 0)
        found = Verdict()
        for task in self.task.judges:
            judged = verify_step(task, task.start, answer) if step_by_step else verify(task, answer)
            found = judged.verdict
            if not found.ok:
                break
        return found

    def steps_of(self, answer: str, *, step_by_step: bool = False) -> Steps:
        """The steps in an answer; none where it cannot be read."""
        if not step_by_step:
            return tuple(map(actions, verify(self.task, answer).plan))
        return tuple(map(actions, verify_step(self.task, self.task.start, answer).plan))

    def answer_of(self, steps: Steps, *, step_by_step: bool = False) -> str:
        """The JSON of steps; raises `SafegenError` for steps of unknown robots."""
        plan = self._plan(steps)
        if not step_by_step:
            return plan_json(plan)
        if len(plan) > 1:
            raise refused(f'{len(plan)} steps were sent instead of one: send the next')
        return step_json(plan[0]) if plan else ''

    def _plan(self, steps: Steps) -> Plan:
        return tuple(moves(self.task, step) for step in steps)

    def monitor(self, steps: Steps, *, step_by_step: bool = False) -> BoxnetMonitor:
        """Compares the measured state with the expected one."""
        return BoxnetMonitor(self.task, self._plan(steps), step_by_step)

    def rest(self, remaining: object) -> tuple[str, str]:
        """No domain, and the map from where its robots and objects are."""
        if not isinstance(remaining, Task):
            raise TypeError(f'{remaining!r} is not a map')
        return '', remaining.to_json()

    def conditions(self, state: Atoms) -> tuple[tuple[str, bool], ...]:
        """Whether each object is at its target."""
        wanted = atoms(State((), self.task.targets))
        return tuple((f'({" ".join(atom)})', atom in state) for atom in sorted(wanted))

    def summary(self) -> tuple[tuple[str, str], ...]:
        """The map, its robots and where the objects go."""
        task = self.task
        bases = ', '.join(map(point_text, task.bases))
        ways = zip(task.start.objects, task.targets, strict=True)
        return (
            ('map', f'{task.width} by {task.height}, {len(task.bases)} robots with bases {bases}'),
            *(
                ('goal', f'{object_name(n)} from {point_text(place)} to {point_text(target)}')
                for n, (place, target) in enumerate(ways)
            ),
            *(('constraint', rule) for rule in CONSTRAINTS.values()),
        )

    def cell(self, setup: CellSetup) -> MultiRobotCell:
        """The twin of arms of real shape, or a symbolic cell that does as the rules say."""
        if setup.kind == TWIN and not self.task.is_flat:
            return twin_cell(self.format)(self.task, setup)
        self.require_symbolic(setup)
        return BoxnetCell(self.task, setup)

    def levels(self, context: PlanningContext) -> Sequence[Level]:
        """The model for several arms, and the search."""
        return levels(self.task, context)

    def play(self, run: StepwiseRun) -> StepOutcome:
        """Has a chat model choose one step after the other."""
        ask, notify = run.chat()
        with run.turn():
            return StepOutcome.of(play(self.task, ask, run.executor, notify, run.most_steps))

    def replay(self, answers: Sequence[str], notify: Callable[[StepAnswer], None]) -> Verdict:
        """What becomes of its answers where all comes as the rules say."""
        return replay(self.task, answers, notify)

    def solve(self, seconds: float, cancelled: Callable[[], bool] = never) -> str:
        """A plan of the fewest steps, or of few; raises as `optimal.solve`.

        Args:
            seconds: most time for it [s].
            cancelled: asked again and again: whether to stop.
        """
        return search(self.task, seconds, cancelled)


class BoxnetMonitor:
    """Compares each measured state with the one that the proved plan leads to.

    Args:
        step_by_step: whether the goal need not hold behind it.
    """

    def __init__(self, task: Task, plan: Plan, step_by_step: bool = False) -> None:
        self.looks = 0
        self._task, self._plan, self._step_by_step = task, plan, step_by_step
        self._predicted = self._observed = task.start
        self._broken = ''

    def look(self, observed: Atoms) -> None:
        """Takes in the state at first, and that after each step.

        Raises:
            RobotError: two objects are at one place (`MONITOR_VIOLATION`), or the state is not that
                of the proof (`STATE_MISMATCH`).
        """
        moment = 'before step 1'
        state = state_of(self._task, observed)
        if self.looks:
            moment = f'after step {self.looks}'
            after = take_step(self._task, self._predicted, self._plan[self.looks - 1])
            if not isinstance(after, State):
                raise RobotError(f'{moment}: {after.reason}', ErrorCode.MONITOR_VIOLATION)
            self._predicted = after
        self._observed = state
        self.looks += 1
        if len(set(state.objects)) < len(state.objects):
            self._broken = 'two objects are at one place'
            raise RobotError(f'{moment} {self._broken}', ErrorCode.MONITOR_VIOLATION)
        if state != self._predicted:
            raise RobotError(
                f'{moment} the world is not as proved: {"; ".join(self._differences())}: look at '
                'the cell before the next goal',
                ErrorCode.STATE_MISMATCH,
            )

    def _differences(self) -> Iterable[str]:
        for what, name, found, wanted in (
            ('the tip of ', robot_name, self._observed.tips, self._predicted.tips),
            ('', object_name, self._observed.objects, self._predicted.objects),
        ):
            for number, (is_at, was_to_be) in enumerate(zip(found, wanted, strict=True)):
                if is_at != was_to_be:
                    yield (
                        f'{what}{name(number)} is at {point_text(is_at)}, not at '
                        f'{point_text(was_to_be)}'
                    )

    def finish(self) -> None:
        """Checks that all objects are at their targets; raises `RobotError` (`GOAL_MISMATCH`)."""
        if not self._step_by_step and not self._task.solved(self._observed):
            raise RobotError(
                'every step is done, but an object is not at its target', ErrorCode.GOAL_MISMATCH
            )

    def standings(self) -> tuple[tuple[str, Status], ...]:
        """The rules of the world, and whether they were kept."""
        status = Status.VIOLATED if self._broken else Status.SATISFIED
        return tuple((rule, status) for rule in CONSTRAINTS.values())

    def remaining(self) -> Task | None:
        """The map from the current state; None where that is not a map."""
        if self._broken:
            return None
        try:
            return replace(self._task, start=self._observed)
        except BoxnetError:
            return None


class BoxnetCell(PacedCell):
    """Arms that are points in a table, and do what the rules of the world say."""

    def __init__(self, task: Task, setup: CellSetup) -> None:
        super().__init__(setup)
        self._task, self._state = task, task.start

    def prepare(self, objects: Sequence[str], init: Atoms) -> None:
        """Puts all where the task has it; raises `Canceled` where the cell was stopped."""
        self._check_ready()
        self._time = 0.0
        self._state = state_of(self._task, init)
        self._show()

    def _effect(self, step: ConcurrentStep) -> Callable[[], None]:
        """All robots of a step move at once."""
        after = take_step(self._task, self._state, moves(self._task, step))
        if not isinstance(after, State):
            raise RobotError(after.reason, ErrorCode.STATE_MISMATCH)
        reached = after

        def become() -> None:
            self._state = reached

        return become

    def observe(self) -> Atoms:
        """Where all is."""
        return atoms(self._state)
