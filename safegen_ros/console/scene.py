# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The cell in 3-D: the measured blocks, the rehearsed motion, and the wanted tower.

Each of them is a separate kind of table, drawn from the same description of the arm as the twin.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import trimesh
from numpy.typing import NDArray

from safegen_ros.console.widgets import put
from safegen_ros.pddl.model import Problem
from safegen_ros.record.present.pictures import wanted_towers
from safegen_ros.robot.arms.model import JOINT_NAMES, TOOL_RADIUS
from safegen_ros.robot.arms.mycobot_280 import FINGER_SIZE, HULL_SIZE, MAX_OPENING
from safegen_ros.robot.description.mjcf import legend
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import GRIPPER, Scene

if TYPE_CHECKING:
    import viser

Colour = tuple[int, int, int]
Quaternion = tuple[float, float, float, float]

TABLE_HEIGHT_M = 0.01
REPLAY_AT = (0.0, -0.80, 0.0)
GOAL_AT = (0.17, 0.44, 0.0)
"""Where the table of a replay and the wanted tower stand, beside the cell [m]."""

_SHELL, _JOINT, _TABLE, _SLOT = (226, 229, 233), (92, 102, 115), (158, 153, 143), (115, 112, 107)
_GHOST, _STAND, _PATH = (64, 156, 255), (190, 175, 120), (64, 156, 255)
_PATH_STEP_M = 0.004  # points of a path that are nearer than this are one
_MOST_POINTS = 4000

_FLOOR, _FLOOR_M, _FLOOR_STEP_M, _FLOOR_Z_M = (215, 215, 215), 1.0, 0.25, -0.02


def light_room(view: viser.SceneApi) -> None:
    """Lights the scene and lines its floor, so that a processor can draw it, too.

    Where no graphics card is, the surroundings that viser mirrors in everything, its lights with
    their shadows and its grid cost three quarters of each picture.

    Args:
        view: `viser.ViserServer.scene`.
    """
    view.configure_environment_map(None)
    view.configure_default_lights(enabled=False)
    white, shade = (255, 255, 255), (150, 150, 150)
    view.add_light_hemisphere('/sky', sky_color=white, ground_color=shade, intensity=2.6)
    view.add_light_directional('/lamp', color=white, intensity=2.2, position=(0.4, 0.3, 1.0))
    edge, z = _FLOOR_M, _FLOOR_Z_M
    lines = []
    for at in np.arange(-edge, edge + 1e-9, _FLOOR_STEP_M):
        lines += [((at, -edge, z), (at, edge, z)), ((-edge, at, z), (edge, at, z))]
    view.add_line_segments(
        '/floor', np.array(lines), _FLOOR, thickness=1.0, thickness_units='screen'
    )


class Table:
    """An arm with its table and blocks, below one frame of the scene.

    Args:
        view: `viser.ViserServer.scene`.
        root: name of the frame.
        at: where the frame is [m].
        ghost: whether it is translucent and has no table.
    """

    def __init__(
        self,
        view: viser.SceneApi,
        root: str,
        cell: Scene,
        at: tuple[float, float, float] = (0.0, 0.0, 0.0),
        *,
        ghost: bool = False,
    ) -> None:
        self._view, self._root, self._cell, self._ghost = view, root, cell, ghost
        self.frame = view.add_frame(root, show_axes=False, position=at)
        self._names: tuple[str, ...] = ()
        self._named = True
        self._blocks: list[tuple[viser.BoxHandle, viser.LabelHandle]] = []
        self._turned: list[tuple[viser.FrameHandle, Quaternion]] = []
        self._fingers: list[viser.BoxHandle] = []
        if not ghost:
            self._add_table()
        self._add_arm()
        self.show_joints([0.0] * len(JOINT_NAMES))

    def _look(self, colour: Colour) -> dict[str, Any]:
        if not self._ghost:
            return {'color': colour}
        shadows = {'cast_shadow': False, 'receive_shadow': False}
        return {'color': _GHOST, 'opacity': 0.35, **shadows}

    def _add_table(self) -> None:
        side, height = 2 * self._cell.arm.table, TABLE_HEIGHT_M
        # The table is most of the picture, and flat: the cheaper material looks the same on it.
        self._view.add_box(
            f'{self._root}/table',
            _TABLE,
            (side, side, height),
            material='toon5',
            position=(side / 4, 0.0, -height / 2),
        )
        edge = 0.7 * self._cell.block_size
        for index, slot in enumerate(self._cell.slots):
            at = (slot.x, slot.y, 0.0005)
            self._view.add_cylinder(f'{self._root}/slot{index}', edge, 0.001, _SLOT, position=at)

    def _add_arm(self) -> None:
        base = (0.0, 0.0, self._cell.arm.base_size[2] / 2)
        box = self._view.add_box(
            f'{self._root}/base',
            dimensions=self._cell.arm.base_size,
            position=base,
            **self._look(_JOINT),
        )
        name = self._root
        for link in self._cell.arm.links:
            name = f'{name}/{link.name}'
            frame = self._view.add_frame(name, show_axes=False, position=link.origin)
            self._turned.append((frame, link.quaternion))
            parts = [_capsule(s.start, s.end, s.radius) for s in link.segments]
            if parts:
                self._mesh(f'{name}/hull', parts, _SHELL)
        self._arm = box, self._turned[0][0]
        self._add_tool(name)

    def _add_tool(self, name: str) -> None:
        begin, length = self._cell.arm.flange_offset, self._cell.tool_length
        if self._cell.tool != GRIPPER:
            ends = ((0.0, 0.0, begin), (0.0, 0.0, begin + length))
            self._mesh(f'{name}/tool', [_capsule(*ends, TOOL_RADIUS)], _JOINT)
            return
        hull = length - FINGER_SIZE[2]
        at = (0.0, 0.0, begin + hull / 2)
        self._view.add_box(
            f'{name}/tool', dimensions=(*HULL_SIZE, hull), position=at, **self._look(_JOINT)
        )
        self._fingers = [
            self._view.add_box(
                f'{name}/finger{index}', dimensions=FINGER_SIZE, **self._look(_SHELL)
            )
            for index in range(2)
        ]
        self.show_opening(None)

    def _mesh(self, name: str, parts: Sequence[trimesh.Trimesh], colour: Colour) -> None:
        mesh: Any = trimesh.util.concatenate(list(parts))
        self._view.add_mesh_simple(name, mesh.vertices, mesh.faces, **self._look(colour))

    def show_arm(self, visible: bool) -> None:
        """Shows or hides the arm, and leaves the blocks."""
        for part in self._arm:
            put(part, visible=visible)

    def show_joints(self, joints: Sequence[float]) -> None:
        """Puts the arm into a posture, shape (6,) [rad]."""
        for (frame, still), angle in zip(self._turned, joints, strict=True):
            frame.wxyz = _product(still, (math.cos(angle / 2), 0.0, 0.0, math.sin(angle / 2)))

    def show_opening(self, opening: float | None) -> None:
        """Moves the fingers of a gripper to a distance [m]; where it is not measured, open."""
        aside = (MAX_OPENING if opening is None else opening) / 2 + FINGER_SIZE[0] / 2
        along = self._cell.arm.flange_offset + self._cell.tool_length - FINGER_SIZE[2] / 2
        for finger, x in zip(self._fingers, (-aside, aside), strict=False):
            finger.position = (x, 0.0, along)

    def show_blocks(self, poses: Mapping[str, Pose], named: bool = True) -> None:
        """Puts the blocks where they are; blocks without a pose are hidden.

        Args:
            named: whether each block has its label.
        """
        if (tuple(poses), named) != (self._names, self._named):
            self._name(tuple(poses), named)
        for (box, _), pose in zip(self._blocks, poses.values(), strict=False):
            box.position, box.wxyz = pose.position, _wxyz(pose)

    def _name(self, names: tuple[str, ...], named: bool) -> None:
        """Gives the blocks their names and colours; none is ever taken away, only hidden."""
        while len(self._blocks) < len(names):
            self._blocks.append(self._new_block(len(self._blocks)))
        self._names, self._named = names, named
        colours = legend(names)
        for index, (box, label) in enumerate(self._blocks):
            shown = index < len(names)
            put(box, visible=shown)
            put(label, visible=shown and named)
            if shown:
                label.text = names[index][:24]
                box.color = _rgb(colours[names[index]][1])

    def _new_block(self, index: int) -> tuple[viser.BoxHandle, viser.LabelHandle]:
        edge = self._cell.block_size
        place = f'{self._root}/block{index}'  # a name of the task may hold anything
        box = self._view.add_box(place, dimensions=(edge,) * 3, **self._look(_GHOST))
        return box, _name_label(self._view, place, '', edge)


def _name_label(view: viser.SceneApi, block: str, name: str, edge: float) -> viser.LabelHandle:
    """The name of a block in its middle, lower than a block, so that no two names overlap."""
    look: Any = {'font_size_mode': 'scene', 'anchor': 'center-center'}
    return view.add_label(f'{block}/name', name, font_scene_height=0.6 * edge, **look)


class Stand:
    """The towers that a goal asks for, on a stand beside the cell.

    Args:
        view: `viser.ViserServer.scene`.
    """

    def __init__(self, view: viser.SceneApi, cell: Scene) -> None:
        self._view, self._edge = view, cell.block_size
        self._shown: tuple[tuple[str, ...], ...] = ()
        self._handles: list[viser.SceneNodeHandle] = []
        view.add_frame('/goal', show_axes=False, position=GOAL_AT)

    def show(self, problem: Problem | None) -> None:
        """Draws the towers of a goal; nothing for a goal without towers."""
        towers = () if problem is None else wanted_towers(problem)
        if towers == self._shown:
            return
        self._shown = towers
        for handle in reversed(self._handles):
            handle.remove()
        self._handles = []
        if not towers or problem is None:
            return
        edge = self._edge
        length = 2 * edge * len(towers)
        add = self._handles.append
        add(
            self._view.add_box(
                '/goal/stand', _STAND, (2 * edge, length, 0.004), position=(0.0, 0.0, -0.002)
            )
        )
        at = (0.0, 0.0, edge * (max(map(len, towers)) + 0.9))
        add(self._view.add_label('/goal/text', 'goal', position=at, anchor='bottom-center'))
        colours = legend(problem.objects)
        for column, tower in enumerate(towers):
            y = (column + 0.5) * 2 * edge - length / 2
            for level, name in enumerate(tower):
                place = f'/goal/{column}_{level}'
                colour = _rgb(colours[name][1])
                at = (0.0, y, (level + 0.5) * edge)
                add(self._view.add_box(place, colour, (edge,) * 3, opacity=0.75, position=at))
                add(_name_label(self._view, place, name[:24], edge))


class Path:
    """The way of the tip of the tool through a rehearsed motion.

    Args:
        view: `viser.ViserServer.scene`.
    """

    def __init__(self, view: viser.SceneApi, cell: Scene) -> None:
        self._view, self._cell = view, cell
        self._handle: viser.SceneNodeHandle | None = None

    def show(self, postures: Sequence[Sequence[float]]) -> None:
        """Draws it; nothing for less than two postures, each of shape (6,) [rad]."""
        if self._handle is not None:
            self._handle.remove()
            self._handle = None
        arm, length = self._cell.arm, self._cell.tool_length
        points = _thinned([arm.forward(np.asarray(j), length)[:3, 3] for j in postures])
        if len(points) < 2:
            return
        ends = np.stack([points[:-1], points[1:]], axis=1)
        self._handle = self._view.add_line_segments('/ghost_path', ends, _PATH, thickness=0.003)


def _thinned(points: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    kept: list[NDArray[np.float64]] = []
    for point in points:
        if not kept or float(np.linalg.norm(point - kept[-1])) >= _PATH_STEP_M:
            kept.append(point)
    return np.array(kept[:_MOST_POINTS])


def _capsule(start: Sequence[float], end: Sequence[float], radius: float) -> trimesh.Trimesh:
    """A bar with round ends from one point to another [m]."""
    along = np.subtract(end, start)
    length = float(np.linalg.norm(along))
    mesh = trimesh.creation.capsule(height=length, radius=radius, count=(8, 16))
    frame = trimesh.geometry.align_vectors((0.0, 0.0, 1.0), along)  # type: ignore[no-untyped-call]
    frame[:3, 3] = start
    mesh.apply_transform(frame)
    return mesh


def _product(a: Quaternion, b: Quaternion) -> Quaternion:
    """The turn b after the turn a, both as w, x, y, z."""
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


def _wxyz(pose: Pose) -> Quaternion:
    x, y, z, w = pose.orientation
    return (w, x, y, z)


def _rgb(colour: tuple[float, float, float]) -> Colour:
    red, green, blue = (round(255 * value) for value in colour)
    return (red, green, blue)
