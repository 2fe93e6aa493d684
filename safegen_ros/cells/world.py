# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A MuJoCo world of many arms, set to a state, and what touches what in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from safegen_ros.cells import mjcf
from safegen_ros.robot.arms.family import JOINTS, Floats
from safegen_ros.tasks.boxnet.geometry import UNIT
from safegen_ros.tasks.boxnet.model import State
from safegen_ros.tasks.boxnet.spatial.kinematic import PARTS
from safegen_ros.tasks.boxnet.spatial.model import SpatialMap

_TABLE = -1


@dataclass(frozen=True, eq=False)
class CellSample:
    """The cell at one moment.

    Attributes:
        time: simulated time since the first state [s].
        joints: of all arms, shape (robots, 6) [rad].
        boxes: x, y, z [m] and w, x, y, z of the orientation of each, shape (boxes, 7).
        carrying: the box that each robot holds; None where it holds none.
    """

    time: float
    joints: Floats
    boxes: Floats
    carrying: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Touch:
    """Two things that are too close.

    Attributes:
        one: index of a robot, or that of a box after those of all robots.
        other: likewise; -1 is the table.
        parts: what of them, in words.
        place: where, x, y, z [m].
        distance: between them, negative where they overlap [m].
    """

    one: int
    other: int
    parts: tuple[str, str]
    place: tuple[float, float, float]
    distance: float


class CollisionWorld:
    """A compiled task, in which things touch that are nearer than `gap` [m]."""

    def __init__(self, task: SpatialMap, gap: float) -> None:
        self.task = task
        self.model: Any = mujoco.MjModel.from_xml_string(mjcf.build(task, gap))
        self.data: Any = mujoco.MjData(self.model)
        self.robots, self.boxes = len(task.bases), len(task.targets)
        self.joints = np.array(
            [
                [self.model.joint(mjcf.joint(robot, n)).qposadr[0] for n in range(JOINTS)]
                for robot in range(self.robots)
            ]
        )
        self.box_poses = [
            slice(start, start + 7)
            for start in (int(self.model.joint(mjcf.box(n)).qposadr[0]) for n in range(self.boxes))
        ]
        self.hands = [self.model.body(mjcf.link(robot, JOINTS)).id for robot in range(self.robots)]
        self._owner, self._part = self._owners()

    def _owners(self) -> tuple[NDArray[np.int_], list[str]]:
        owner, parts = [], []
        for number in range(self.model.ngeom):
            name = self.model.geom(number).name
            if name.startswith('robot'):
                robot, link, _ = name.removeprefix('robot').split(':')
                owner.append(int(robot))
                parts.append(PARTS[int(link.removeprefix('link'))])
            elif name.startswith('box'):
                owner.append(self.robots + int(name.removeprefix('box')))
                parts.append('box')
            else:
                owner.append(_TABLE)
                parts.append('table')
        return np.array(owner), parts

    def postures(self, state: State) -> Floats:
        """The joints of all arms in a state, shape (robots, 6) [rad]."""
        return np.concatenate(
            [
                self.task.family.postures([self.task.from_base(robot, tip)])
                for robot, tip in enumerate(state.tips)
            ]
        )

    def place(self, joints: Floats, state: State) -> None:
        """Sets joints and boxes at once, at rest, with nothing held."""
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[self.joints] = joints
        self.data.ctrl[:] = joints.reshape(-1)
        for pose, (x, y) in zip(self.box_poses, state.objects, strict=True):
            height = self.task.family.box / 2
            self.data.qpos[pose] = (x / UNIT, y / UNIT, height, 1, 0, 0, 0)
        mujoco.mj_forward(self.model, self.data)

    def pose(self, joints: Floats, held: Mapping[int, int]) -> None:
        """Sets joints, shape (robots, 6) [rad], and held boxes below the hands; no time passes."""
        data, family = self.data, self.task.family
        data.qpos[self.joints] = joints
        mujoco.mj_kinematics(self.model, data)
        for robot, index in held.items():
            hand = self.hands[robot]
            down = data.xmat[hand].reshape(3, 3)[:, 2]
            reach = family.rows[-1].d + family.tool + family.gap + family.box / 2
            data.qpos[self.box_poses[index]][:3] = data.xpos[hand] + reach * down
        if held:
            mujoco.mj_kinematics(self.model, data)
        mujoco.mj_collision(self.model, data)

    def touches(
        self, own: Mapping[int, frozenset[int]], held: Mapping[int, int], nearer: float
    ) -> Touch | None:
        """The worst pair that is too close; None where there is none.

        Boxes lie on the table; a hand may touch its own boxes.

        Args:
            own: for each robot the boxes that it carries or goes to.
            held: the box that each robot carries.
            nearer: distance below which two things are too close [m].
        """
        contact = self.data.contact
        if not len(contact.dist):
            return None
        worst: Touch | None = None
        for at in np.nonzero(contact.dist < nearer)[0]:
            found = self._touch(int(at), own, held)
            if found is not None and (worst is None or found.distance < worst.distance):
                worst = found
        return worst

    def _touch(
        self, at: int, own: Mapping[int, frozenset[int]], held: Mapping[int, int]
    ) -> Touch | None:
        contact = self.data.contact
        sides = [int(geom) for geom in contact.geom[at]]
        # What moves comes first: robots, then boxes, then the table.
        sides.sort(key=lambda geom: (self._owner[geom] < 0, self._owner[geom]))
        one, other = (int(self._owner[geom]) for geom in sides)
        if one >= self.robots:
            loads = {self.robots + index for index in held.values()}
            if other == _TABLE or not loads & {one, other}:
                return None
        elif other >= self.robots and other - self.robots in own.get(one, frozenset()):
            return None
        x, y, z = (float(value) for value in contact.pos[at])
        parts = self._part[sides[0]], self._part[sides[1]]
        return Touch(one, other, parts, (x, y, z), float(contact.dist[at]))

    def hold(self, robot: int, index: int, on: bool) -> None:
        """Closes or opens the weld between a hand and a box; it draws the box below the tip."""
        equality = self.model.equality(mjcf.hold(robot, index)).id
        if on:
            family = self.task.family
            reach = family.rows[-1].d + family.tool + family.gap / 2 + family.box / 2
            inverse, turn = np.zeros(4), np.zeros(4)
            mujoco.mju_negQuat(inverse, self.data.xquat[self.hands[robot]])
            mujoco.mju_mulQuat(turn, inverse, self.data.qpos[self.box_poses[index]][3:])
            self.model.eq_data[equality, :3] = 0.0
            self.model.eq_data[equality, 3:6] = (0.0, 0.0, reach)
            self.model.eq_data[equality, 6:10] = turn
        self.data.eq_active[equality] = on

    def tips(self) -> list[tuple[float, float]]:
        """Where the tips are on the map [m]."""
        reach = self.task.family.rows[-1].d + self.task.family.tool
        found = []
        for hand in self.hands:
            tip = self.data.xpos[hand] + reach * self.data.xmat[hand].reshape(3, 3)[:, 2]
            found.append((float(tip[0]), float(tip[1])))
        return found

    def box_places(self) -> Sequence[Floats]:
        """Where the boxes are, each with x, y, z, and w, x, y, z of its orientation."""
        return [self.data.qpos[pose].copy() for pose in self.box_poses]
