# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The MuJoCo twin: the arm, its tool and free blocks with real contact, behind `Arm`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from safegen_ros.errors import RobotError
from safegen_ros.robot.arm import TABLE, TOOL, Arm, ArmSimulation, ContactPair, Sample
from safegen_ros.robot.arms.model import JOINT_NAMES, Joints, check_speed
from safegen_ros.robot.arms.mycobot_280 import FINGER_JOINTS, MAX_OPENING, STROKE
from safegen_ros.robot.description.mjcf import (
    FINGERS_ACTUATOR,
    SUCTION_ACTUATOR,
    TABLE_GEOM,
    TIMESTEP,
    TOOL_GEOMS,
    block_geom,
    build_mjcf,
    keep_out_geom,
)
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import GRIPPER, Scene
from safegen_ros.robot.twin.contacts import Collision, CollisionError, Contact, ContactRules


class TwinTool(Protocol):
    """A tool in a model; the data that it works on is the twin's."""

    def switch(self, data: Any, on: bool) -> None:
        """Takes hold, or lets go; it acts from the next step on."""

    def is_on(self, data: Any) -> bool:
        """Whether it was commanded to take hold."""

    def opening(self, data: Any) -> float | None:
        """Measured distance between the fingers [m]; None of a cup."""

    def open_to(self, data: Any, opening: float) -> None:
        """Sends the fingers to a distance [m], as firmware does; a cup has none."""


def twin_tool(model: Any, data: Any, scene: Scene) -> TwinTool:
    """The tool of a model that was made of a scene; it lets go."""
    tool: TwinTool = _Fingers(model) if scene.tool == GRIPPER else _Cup(model)
    tool.switch(data, False)
    return tool


class _Cup:
    def __init__(self, model: Any) -> None:
        self._pump = model.actuator(SUCTION_ACTUATOR).id

    def switch(self, data: Any, on: bool) -> None:
        data.ctrl[self._pump] = float(on)

    def is_on(self, data: Any) -> bool:
        return bool(data.ctrl[self._pump] > 0.5)

    def opening(self, data: Any) -> float | None:
        return None

    def open_to(self, data: Any, opening: float) -> None:
        pass


class _Fingers:
    def __init__(self, model: Any) -> None:
        self._motor = model.actuator(FINGERS_ACTUATOR).id
        self._joints = [model.joint(name).qposadr[0] for name in FINGER_JOINTS]

    def switch(self, data: Any, on: bool) -> None:
        self.open_to(data, 0.0 if on else MAX_OPENING)

    def is_on(self, data: Any) -> bool:
        return bool(data.ctrl[self._motor] < STROKE / 2)

    def opening(self, data: Any) -> float | None:
        return float(data.qpos[self._joints].sum())

    def open_to(self, data: Any, opening: float) -> None:
        data.ctrl[self._motor] = opening / 2


#: Physics steps between two looks at stop, contacts and set-points; 10 ms of simulated time.
STEPS_PER_TICK = 5
TICK = STEPS_PER_TICK * TIMESTEP

#: Arrived when every joint is this near [rad] and this slow [rad/s], judged from the measurement.
#: The angle leaves room for the press of a pick, which holds the joints 0.2 to 0.4 deg short.
ARRIVAL_ANGLE = 0.01
ARRIVAL_SPEED = 0.03
#: Time after the end of the set-point within which the arm must arrive [s].
ARRIVAL_TIMEOUT = 2.0
#: Time that blocks settle in a new world, and the arm after a stop [s].
SETTLE = 0.2


class MujocoTwin(ArmSimulation[Sample], Arm):
    """The simulated arm of a scene with its tool, and blocks.

    Args:
        real_time_factor: simulated seconds per second at most; 0 means as fast as possible.
        sample: called every 40 ms of simulated time, in the thread of the running command.
    """

    def __init__(
        self,
        scene: Scene,
        blocks: Mapping[str, Pose] | None = None,
        *,
        real_time_factor: float = 0.0,
        sample: Callable[[Sample], None] | None = None,
    ) -> None:
        super().__init__('the arm', real_time_factor, sample)
        self.scene = scene
        self.reset(blocks or {})

    def expect(self, blocks: Mapping[str, Pose]) -> dict[str, Pose]:
        """These poses, since `reset` places the blocks there."""
        return dict(blocks)

    def reset(self, blocks: Mapping[str, Pose]) -> None:
        """Builds the world again: arm at home, tool off, blocks settled, time 0.

        A stop or a fault stays latched: only `reset_stop` allows motion again.
        """
        with self._lock:
            self._model = mujoco.MjModel.from_xml_string(build_mjcf(self.scene, blocks))
            self._data = mujoco.MjData(self._model)
            self._joints = self._addresses(JOINT_NAMES)
            names = [block_geom(name) for name in blocks]
            self._blocks = dict(zip(blocks, self._addresses(names), strict=True))
            self._tool = twin_tool(self._model, self._data, self.scene)
            self._rules = ContactRules(self._geom_names(), blocks)
            self._setpoint = self.scene.home_joints
            self._data.qpos[self._joints] = self._setpoint
            self._data.ctrl[:6] = self._setpoint
            mujoco.mj_step(self._model, self._data, round(SETTLE / TIMESTEP))
            self._data.time = 0.0
            self._ticks = 0
            self._rules.begin(self._data, ())
        self._publish()

    # Reading

    def joint_positions(self) -> Joints:
        """Measured joint angles, shape (6,) [rad]."""
        with self._lock:
            measured: Joints = self._data.qpos[self._joints].copy()
        return measured

    def block_poses(self) -> dict[str, Pose]:
        """Measured pose of each block."""
        with self._lock:
            return {name: self._pose(address) for name, address in self._blocks.items()}

    def tool_on(self) -> bool:
        """Whether the tool is on."""
        with self._lock:
            return self._tool.is_on(self._data)

    def opening(self) -> float | None:
        """Measured distance between the fingers [m]; None with a suction cup."""
        with self._lock:
            return self._tool.opening(self._data)

    def look(self) -> Sample:
        """Time, joints, block poses and tool, all of the same instant."""
        with self._lock:
            return Sample(
                self._data.time,
                self.joint_positions(),
                self.block_poses(),
                self.tool_on(),
                self.opening(),
            )

    def take_contacts(self) -> tuple[Contact, ...]:
        """What came together since the last call; see `ContactRules.take_contacts`."""
        with self._lock:
            return self._rules.take_contacts()

    @property
    def sim_time(self) -> float:
        """Simulated time since the last reset [s]."""
        with self._lock:
            return float(self._data.time)

    # Commands

    def move_joints(self, target: ArrayLike, speed: float) -> None:
        """Moves with a smoothstep in joint space; see `Arm.move_joints`."""
        arm = self.scene.arm
        goal, fraction = arm.check_joints(target), check_speed(speed)
        # The servos only know encoder counts; rounding must not push a target over its limit.
        goal = arm.clip(np.round(goal / arm.resolution) * arm.resolution)
        start = self._setpoint
        ticks = max(1, int(np.ceil(arm.move_duration(goal - start, fraction) / TICK)))
        clock = self._clock()
        for tick in range(1, ticks + 1):
            s = tick / ticks
            self._setpoint = start + (goal - start) * (s * s * (3 - 2 * s))
            self._tick(clock)
        for _ in range(round(ARRIVAL_TIMEOUT / TICK)):
            if self._arrived(goal):
                return
            self._tick(clock)
        error = np.abs(goal - self.joint_positions())
        worst = int(np.argmax(error))
        self._fail(
            f'{JOINT_NAMES[worst]} stays {np.degrees(error[worst]):.2f} deg from its '
            f'target for {ARRIVAL_TIMEOUT} s: something blocks the arm'
        )

    def track(self, setpoint: Joints) -> None:
        """Advances by one tick of 10 ms under a set-point (6,) [rad], as firmware gives it.

        Contacts are not judged: a source of set-points knows nothing of blocks.
        """
        with self._lock:
            self._setpoint = self.scene.arm.clip(setpoint)
            self._data.ctrl[:6] = self._setpoint
            mujoco.mj_step(self._model, self._data, STEPS_PER_TICK)
        self._count()

    def set_tool(self, on: bool) -> None:
        """Switches the tool; the force acts from the next step on."""
        self._check_ready()
        with self._lock:
            self._tool.switch(self._data, on)

    def open_to(self, opening: float) -> None:
        """Sends the fingers to a distance [m], as firmware gives it; a suction cup has none."""
        with self._lock:
            self._tool.open_to(self._data, opening)

    def wait(self, seconds: float) -> None:
        """Lets simulated time pass; see `Arm.wait`."""
        clock = self._clock()
        for _ in range(round(seconds / TICK)):
            self._tick(clock)

    def expect_contacts(self, *pairs: ContactPair) -> None:
        """Begins a phase of the collision rules; see `Arm.expect_contacts`."""
        with self._lock:
            mujoco.mj_forward(self._model, self._data)
            self._rules.begin(self._data, pairs)

    def reset_stop(self) -> None:
        """Allows motion again after a stop or a fault."""
        self._fault = ''
        self._stopped.clear()

    def rearm(self) -> None:
        """Nothing: the twin loses neither power nor connection."""

    def disturb(self, name: str, pose: Pose) -> None:
        """Puts a block somewhere else at once, as a passer-by would; for rehearsing faults."""
        with self._lock:
            address = self._blocks[name]
            x, y, z, w = pose.orientation
            self._data.qpos[address : address + 7] = (*pose.position, w, x, y, z)
            mujoco.mj_forward(self._model, self._data)

    # Time

    def _tick(self, clock: tuple[float, float]) -> None:
        """Advances by one tick under the current set-point; stops or fails when it must."""
        if self._stopped.is_set():
            self._hold()
            self._check_ready()
        with self._lock:
            self._data.ctrl[:6] = self._setpoint
            mujoco.mj_step(self._model, self._data, STEPS_PER_TICK)
            collision = self._rules.first_collision(self._data)
        self._count()
        if collision is not None:
            self._fail(f'collision at {self.sim_time:.2f} s: {collision}', collision)
        self._keep_pace(clock)

    def _hold(self) -> None:
        """Makes the measured position the target and lets the arm come to rest there."""
        with self._lock:
            self._setpoint = self.joint_positions()
            self._data.ctrl[:6] = self._setpoint
        for _ in range(round(SETTLE / TICK)):
            with self._lock:
                mujoco.mj_step(self._model, self._data, STEPS_PER_TICK)
            self._count()

    # Faults

    def _fail(self, what: str, collision: Collision | None = None) -> None:
        self._hold()
        self._fault = what
        raise RobotError(what) if collision is None else CollisionError(what, collision)

    def _arrived(self, goal: Joints) -> bool:
        with self._lock:
            near = np.abs(self._data.qpos[self._joints] - goal) <= ARRIVAL_ANGLE
            slow = np.abs(self._data.qvel[:6]) <= ARRIVAL_SPEED
            return bool(near.all() and slow.all())

    # Model look-ups

    def _addresses(self, joints: Any) -> np.ndarray:
        return np.array([self._model.joint(name).qposadr[0] for name in joints], dtype=int)

    def _pose(self, address: int) -> Pose:
        x, y, z, qw, qx, qy, qz = (float(v) for v in self._data.qpos[address : address + 7])
        return Pose((x, y, z), (qx, qy, qz, qw))

    def _geom_names(self) -> list[str]:
        """By geom id, the name that the collision rules use."""
        owners = {block_geom(name): name for name in self._blocks}
        owners |= {TABLE_GEOM: TABLE} | dict.fromkeys(TOOL_GEOMS, TOOL)
        owners |= {keep_out_geom(box): f'<{box}>' for box in self.scene.keep_out}
        names = []
        for index in range(self._model.ngeom):
            name = self._model.geom(index).name
            # Bracketed like TOOL and TABLE: a block may well be called link1.
            names.append(owners.get(name) or f'<{name.split(":")[0]}>')
        return names
