# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A cell of many arms that executes proved steps: all arms at once, in MuJoCo, with contact.

A step is proved again before its execution, by the rules of the task and along the whole way of the
arms. Contacts are watched while it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from safegen_ros.cells.mjcf import DAMPING
from safegen_ros.cells.motion import Errand, MotionPlanner, Way, errand, fault_of
from safegen_ros.cells.world import CellSample, CollisionWorld
from safegen_ros.errors import ErrorCode, RobotError, SafegenError
from safegen_ros.robot.arm import ArmSimulation
from safegen_ros.robot.arms.family import Floats
from safegen_ros.robot.description.mjcf import TIMESTEP
from safegen_ros.robot.twin.render import Frame
from safegen_ros.robot.twin.twin import STEPS_PER_TICK, TICK
from safegen_ros.tasks.boxnet.findings import Fault
from safegen_ros.tasks.boxnet.geometry import UNIT, Point
from safegen_ros.tasks.boxnet.model import Move, State, robot_name
from safegen_ros.tasks.boxnet.spatial import SpatialTask
from safegen_ros.tasks.boxnet.spatial.kinematic import KINEMATIC
from safegen_ros.tasks.boxnet.verifier import take_step

SETTLE = 0.3
"""Time in which arms and boxes come to rest [s]."""

TOUCHING = -1e-4
"""Distance of two things that touch [m]; a box on the table overlaps it less."""


class StepRefused(SafegenError):
    """A step that is not taken; `fault` says why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.reason, ErrorCode.PLAN_REFUSED)
        self.fault = fault


@dataclass(frozen=True, eq=False)
class ConcurrentStep:
    """A step that has been proved from one posture of the cell.

    Attributes:
        errand: its load, and the contacts that are allowed.
        number: of the posture of the cell that it begins in.
    """

    step: tuple[Move, ...]
    way: Way
    errand: Errand
    expected: State
    number: int


class BoxCell(ArmSimulation[CellSample]):
    """The cell of a task, in its first state.

    Args:
        task: whose arms and boxes; its depth is one of those that a step has to pass.
        seed: of the ways that are looked for by sampling.
        real_time_factor: simulated seconds per second at most; 0 means as fast as possible.
        sample: called every 40 ms of simulated time, in the thread of the running step.
    """

    def __init__(
        self,
        task: SpatialTask,
        *,
        seed: int = 0,
        real_time_factor: float = 0.0,
        sample: Callable[[CellSample], None] | None = None,
    ) -> None:
        super().__init__('the cell', real_time_factor, sample)
        self.task = task
        family = task.family
        self.tolerance = family.radius / 5
        """How far off a tip or box may be from where it should be [m]."""
        clearance = family.clearance / 2
        self._planning = MotionPlanner(CollisionWorld(task, clearance), clearance, seed)
        self._world = CollisionWorld(task, 0.0)
        self.reset()

    def reset(self) -> None:
        """Puts arms and boxes where the task has them at first; a stop stays latched."""
        with self._lock:
            world = self._world
            self._expected = self.task.start
            world.place(world.postures(self.task.start), self.task.start)
            self._number, self._fault, self._held = 0, '', dict[int, int]()
            self._targets = world.data.qpos[world.joints].copy()
            mujoco.mj_step(world.model, world.data, round(SETTLE / TIMESTEP))
            world.data.time = 0.0
            self._ticks = 0
        self._publish()

    # Reading

    @property
    def state(self) -> State:
        """The measurement.

        A tip or box within the tolerance of where it should be is given as exactly there.
        """
        with self._lock:
            mujoco.mj_kinematics(self._world.model, self._world.data)
            tips = [_point(x, y) for x, y in self._world.tips()]
            boxes = [_point(pose[0], pose[1]) for pose in self._world.box_places()]
            expected = self._expected
        return State(self._snapped(tips, expected.tips), self._snapped(boxes, expected.objects))

    @property
    def joints(self) -> dict[str, Floats]:
        """Measured joints of each robot by its name, shape (6,) [rad]."""
        with self._lock:
            measured = self._world.data.qpos[self._world.joints].copy()
        return {robot_name(robot): each for robot, each in enumerate(measured)}

    @property
    def stopped(self) -> bool:
        """Whether a stop is latched."""
        return self._stopped.is_set()

    @property
    def sim_time(self) -> float:
        """Simulated time since the first state [s]."""
        with self._lock:
            return float(self._world.data.time)

    def look(self) -> CellSample:
        """Time, joints and boxes, all of the same instant."""
        with self._lock:
            world = self._world
            return CellSample(
                self.sim_time,
                world.data.qpos[world.joints].copy(),
                np.array(world.box_places()),
                tuple(self._held.get(robot) for robot in range(world.robots)),
            )

    def picture(self, width: int = 640, height: int = 480) -> Frame:
        """The cell as it is now, RGB, shape (height, width, 3)."""
        from safegen_ros.cells.pictures import CellRenderer

        with CellRenderer(self.task, width=width, height=height) as renderer:
            return renderer.frame(self.look())

    # Commands

    def prepare(self, step: Sequence[Move]) -> ConcurrentStep:
        """A step that may be taken now, with the way of every arm.

        Raises:
            StepRefused: the rules of the task, the reach of the joints, or a contact forbid it.
            Canceled: a stop is latched.
            RobotError: the cell is closed or holds after a fault.
        """
        self._check_ready()
        state = self.state
        for fault in (take_step(self.task, state, step), KINEMATIC.alone(self.task, state, step)):
            if isinstance(fault, Fault):
                raise StepRefused(fault)
        asked = errand(self._planning.world, state, step)
        with self._lock:
            joints = self._world.data.qpos[self._world.joints].copy()
            self._check_posture(joints, state)
            self._planning.world.place(joints, state)
        found = self._planning.way(joints, asked)
        if not isinstance(found, Way):
            raise StepRefused(fault_of(self.task, found, ', and no way around was found'))
        reached = take_step(self.task, state, step)
        if isinstance(reached, Fault):
            raise StepRefused(reached)
        return ConcurrentStep(tuple(step), found, asked, reached, self._number)

    def run(self, prepared: ConcurrentStep) -> State:
        """Takes a step: arms move together, boxes go along; returns the measured state.

        Raises:
            Canceled: it was stopped; the arms hold where they were, and what they carry.
            RobotError: something touched what it should not, or the step was prepared from
                another posture (`STATE_MISMATCH`); the arms hold.
        """
        clock = self._clock()
        if prepared.number != self._number:
            raise RobotError(
                'the step was prepared from another posture of the cell: prepare it again',
                ErrorCode.STATE_MISMATCH,
            )
        self._number += 1
        for robot, index in prepared.errand.held.items():
            self._hold(robot, index, True)
        self._go(prepared, clock)
        self._wait(SETTLE, prepared, clock)
        for robot, index in prepared.errand.held.items():
            self._hold(robot, index, False)
        self._wait(SETTLE, prepared, clock)
        self._expected = prepared.expected
        return self.state

    def reset_stop(self) -> None:
        """Allows motion again; what arms still carry is put down where it is."""
        with self._lock:
            for robot, index in list(self._held.items()):
                self._hold(robot, index, False)
            self._fault = ''
            mujoco.mj_step(self._world.model, self._world.data, round(SETTLE / TIMESTEP))
        self._stopped.clear()

    def disturb(self, index: int, place: Point) -> None:
        """Puts a box somewhere else at once, as a passer-by would; for rehearsing faults."""
        with self._lock:
            height = self.task.family.box / 2
            pose = (place[0] / UNIT, place[1] / UNIT, height, 1.0, 0.0, 0.0, 0.0)
            self._world.data.qpos[self._world.box_poses[index]] = pose
            mujoco.mj_forward(self._world.model, self._world.data)

    # Inside

    def _go(self, prepared: ConcurrentStep, clock: tuple[float, float]) -> None:
        path, duration = prepared.way.joints, prepared.way.duration
        ticks = max(1, int(np.ceil(duration / TICK)))
        last = len(path) - 1
        for tick in range(1, ticks + 1):
            share = tick / ticks
            smooth, speed = share * share * (3 - 2 * share), 6 * share * (1 - share) / duration
            at = min(int(smooth * last), last - 1)
            rise = path[at + 1] - path[at]
            self._targets = path[at] + (smooth * last - at) * rise
            # With the speed that is wanted the servos do not lag behind.
            self._tick(prepared, clock, self._targets + DAMPING * rise * last * speed)
        self._targets = path[-1]

    def _wait(self, seconds: float, prepared: ConcurrentStep, clock: tuple[float, float]) -> None:
        for _ in range(round(seconds / TICK)):
            self._tick(prepared, clock, self._targets)

    def _tick(self, prepared: ConcurrentStep, clock: tuple[float, float], targets: Floats) -> None:
        if self._stopped.is_set():
            self._stay()
            self._check_ready()
        asked = prepared.errand
        with self._lock:
            world = self._world
            world.data.ctrl[:] = targets.reshape(-1)
            mujoco.mj_step(world.model, world.data, STEPS_PER_TICK)
            touch = world.touches(asked.own, asked.held, TOUCHING)
        self._count()
        if touch is not None:
            self._fault = fault_of(self.task, touch).reason
            self._stay()
            raise RobotError(f'contact at {self.sim_time:.2f} s: {self._fault}')
        self._keep_pace(clock)

    def _stay(self) -> None:
        """Makes the measured joints the target, and lets the arms come to rest there."""
        with self._lock:
            world = self._world
            self._targets = world.data.qpos[world.joints].copy()
            world.data.ctrl[:] = self._targets.reshape(-1)
            self._number += 1
        for _ in range(round(SETTLE / TICK)):
            with self._lock:
                mujoco.mj_step(world.model, world.data, STEPS_PER_TICK)
            self._count()

    def _hold(self, robot: int, index: int, on: bool) -> None:
        with self._lock:
            self._world.hold(robot, index, on)
            if on:
                self._held[robot] = index
            else:
                self._held.pop(robot, None)

    def _snapped(self, measured: Sequence[Point], expected: Sequence[Point]) -> tuple[Point, ...]:
        near = (self.tolerance * UNIT) ** 2
        return tuple(
            want if (x - want[0]) ** 2 + (y - want[1]) ** 2 <= near else (x, y)
            for (x, y), want in zip(measured, expected, strict=True)
        )

    def _check_posture(self, joints: Floats, state: State) -> None:
        """A way begins where arms hang as they do after a swing: after a stop they may not."""
        wanted = self._world.postures(state)
        off = np.abs((joints - wanted + np.pi) % (2 * np.pi) - np.pi)
        if not (off < 0.1).all():
            robot = int(np.nan_to_num(off, nan=np.inf).max(axis=1).argmax())
            raise RobotError(
                f'{robot_name(robot)} is not above the table as between steps: reset the cell',
                ErrorCode.STATE_MISMATCH,
            )


def _point(x: float, y: float) -> Point:
    return round(x * UNIT), round(y * UNIT)
