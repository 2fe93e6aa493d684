# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The table in front of the arm: slots, block size, tool, speeds; read from YAML and checked.

In a scene that loads, every slot takes a tower of the full height. The arm can pick and place at
each level and travel above the highest tower.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from safegen_ros.errors import ErrorCode, RobotError, SafegenError
from safegen_ros.paths import share_dir
from safegen_ros.robot.arms import ARMS
from safegen_ros.robot.arms.model import ArmModel, Joints
from safegen_ros.robot.arms.mycobot_280 import GRIP_RANGE, HALF_WIDTH, MYCOBOT_280
from safegen_ros.robot.pose import KeepOut, Pose
from safegen_ros.schema import Rule, SchemaReader, between, one_of, yaml_document

#: What takes hold of a block: a suction cup from above, or two fingers from the sides.
SUCTION, GRIPPER = 'suction', 'gripper'
TOOLS = (SUCTION, GRIPPER)

#: How far below the top of a block the tip takes hold of it, by tool [m].
_GRASP_DEPTHS = {SUCTION: (0.0, 0.003), GRIPPER: (0.004, 0.020)}

#: A block may lie this far from its slot and must still be reachable [m].
SLOT_TOLERANCE = 0.005


class SceneError(SafegenError):
    """A scene file that cannot be used: `file: field: what: cure`."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ErrorCode.UNSUPPORTED_SCENE)


@dataclass(frozen=True, slots=True)
class Slot:
    """A place on the table for one tower: name, radius [m] and azimuth [rad] in the base frame."""

    name: str
    radius: float
    azimuth: float

    @property
    def x(self) -> float:
        """Position [m]."""
        return self.radius * math.cos(self.azimuth)

    @property
    def y(self) -> float:
        """Position [m]."""
        return self.radius * math.sin(self.azimuth)


@dataclass(frozen=True, slots=True)
class Motion:
    """How the skills move; speeds are fractions of the highest joint speed."""

    travel_speed_fraction: Annotated[float, between(0.01, 1)]
    vertical_speed_fraction: Annotated[float, between(0.01, 1)]
    travel_clearance_m: Annotated[float, between(0.005, 0.1)]
    min_travel_height_m: Annotated[float, between(0.03, 0.25)]
    straightness_m: Annotated[float, between(0.0005, 0.01)]
    grasp_depth_m: float
    release_gap_m: Annotated[float, between(0, 0.005)]
    settle_s: Annotated[float, between(0, 5)]
    grasp_s: Annotated[float, between(0, 5)]
    place_settle_s: Annotated[float, between(0, 5)]
    release_s: Annotated[float, between(0, 5)]


@dataclass(frozen=True, slots=True)
class Scene:
    """A checked scene; lengths [m], masses [kg].

    Attributes:
        block_size: edge of the cubes.
        block_mass: of one cube.
        tool: one of `TOOLS`.
        tool_length: flange to the tip: the lip of the suction cup, or the ends of the fingers.
        max_tower: blocks in the highest tower that every slot takes.
        home: where the arm parks, as a slot, with the height of the tip in `home_height`.
        home_height: of the tip above the table.
        motion: speeds, clearances and dwell times.
        keep_out: boxes that neither the arm nor what it carries may enter.
    """

    arm: ArmModel
    block_size: float
    block_mass: float
    tool: str
    tool_length: float
    max_tower: int
    slots: tuple[Slot, ...]
    home: Slot
    home_height: float
    motion: Motion
    keep_out: tuple[KeepOut, ...] = ()

    @property
    def max_blocks(self) -> int:
        """Most blocks of which any configuration fits: one slot each, or one tower of all."""
        return min(len(self.slots), self.max_tower)

    @property
    def slot_pitch(self) -> float:
        """Slots must be this far apart, for the wrist and the tool beside a full tower [m]."""
        if self.tool != GRIPPER:
            return self.arm.slot_pitch
        return max(self.arm.slot_pitch, HALF_WIDTH + self.block_size / 2 + SLOT_TOLERANCE)

    @property
    def tip_over_centre(self) -> float:
        """Height of the tip over the centre of a block that the tool holds [m]."""
        # The joints give way to the press of a cup; fingers stay where they have closed.
        grasp = self.motion.grasp_depth_m if self.tool == GRIPPER else 0.0
        return self.block_size / 2 - grasp

    def grasp_height(self, centre: float) -> float:
        """Height of the tip where it takes hold of a block whose centre is that high [m]."""
        return centre + self.block_size / 2 - self.motion.grasp_depth_m

    def release_height(self, centre: float) -> float:
        """Height of the tip where it lets go of a block whose centre shall be that high [m]."""
        return centre + self.tip_over_centre + self.motion.release_gap_m

    def held_centre(self, joints: Joints) -> tuple[float, float, float]:
        """Where the centre of a block is that the tool holds [m], for joints (6,) [rad]."""
        x, y, z = self.arm.forward(joints, self.tool_length + self.tip_over_centre)[:3, 3].tolist()
        return x, y, z

    def level_height(self, level: int) -> float:
        """Height of the centre of a block at a level, the table being level 0 [m]."""
        return (level + 0.5) * self.block_size

    def slot_pose(self, slot: Slot, level: int = 0) -> Pose:
        """Pose of a block on a slot, aligned with the radius so that joint 6 need not turn."""
        return Pose.upright(slot.x, slot.y, self.level_height(level), slot.azimuth)

    def joints_above(
        self, x: float, y: float, z: float, yaw: float, seed: Joints | None = None
    ) -> Joints:
        """Joints (6,) [rad] with the tip at x, y, z [m], pointing down, aligned with yaw [rad]."""
        return self.arm.inverse_top_down(
            x,
            y,
            z,
            yaw,
            tool_length=self.tool_length,
            seed=self.arm.nominal if seed is None else seed,
        )

    @property
    def home_joints(self) -> Joints:
        """The parked configuration, shape (6,) [rad]."""
        home = self.home
        return self.joints_above(home.x, home.y, self.home_height, home.azimuth)


def default_scene_path() -> Path:
    """The shipped `config/scene.yaml`."""
    return share_dir() / 'config' / 'scene.yaml'


def load_scene(path: Path | str | None = None) -> Scene:
    """Reads and checks a scene file; the shipped one when no path, or an empty one, is given.

    Raises:
        SceneError: the file is missing or not YAML, a field is missing, unknown or out of range, or
            some height of a slot is out of reach.
    """
    source = Path(path) if path else default_scene_path()
    file = SchemaReader(str(source), SceneError)
    scene = file.read(_SceneFile, yaml_document(source, SceneError)).scene()
    depth, (low, high) = scene.motion.grasp_depth_m, _GRASP_DEPTHS[scene.tool]
    file.need(low <= depth <= high, 'motion.grasp_depth_m', depth, f'take {low} to {high}')
    _check(scene, str(source))
    return scene


@dataclass(frozen=True, slots=True)
class _SlotFile:
    """A slot as a file has it."""

    name: Annotated[str, Rule(bool, 'give it a name')]
    radius_m: Annotated[float, between(0, 1)]
    azimuth_deg: Annotated[float, between(-180, 180)]

    def slot(self) -> Slot:
        return Slot(self.name, self.radius_m, math.radians(self.azimuth_deg))


@dataclass(frozen=True, slots=True)
class _HomeFile:
    """Where the arm parks, as a file has it."""

    radius_m: Annotated[float, between(0, 1)]
    azimuth_deg: Annotated[float, between(-180, 180)]
    height_m: Annotated[float, between(0.03, 0.35)]


@dataclass(frozen=True, slots=True)
class _SceneFile:
    """A scene as a file has it."""

    block_size_m: Annotated[float, between(0.015, 0.05)]
    block_mass_kg: Annotated[float, between(0.001, 0.15)]
    tool: Annotated[str, one_of(*TOOLS)]
    tool_length_m: Annotated[float, between(0.01, 0.2)]
    max_tower_blocks: Annotated[int, between(1, 20)]
    slots: Annotated[tuple[_SlotFile, ...], Rule(bool, 'name at least one')]
    home: _HomeFile
    motion: Motion
    arm: Annotated[str, one_of(*ARMS)] = MYCOBOT_280.name

    def scene(self) -> Scene:
        home = _SlotFile('home', self.home.radius_m, self.home.azimuth_deg)
        return Scene(
            arm=ARMS[self.arm],
            block_size=self.block_size_m,
            block_mass=self.block_mass_kg,
            tool=self.tool,
            tool_length=self.tool_length_m,
            max_tower=self.max_tower_blocks,
            slots=tuple(slot.slot() for slot in self.slots),
            home=home.slot(),
            home_height=self.home.height_m,
            motion=self.motion,
        )


def _check(scene: Scene, source: str) -> None:
    if scene.tool == GRIPPER:
        _check_fingers(scene, source)
    names = [slot.name for slot in scene.slots]
    for index, slot in enumerate(scene.slots):
        place = f'{source}: slots[{index}] ({slot.name})'
        if slot.name in names[:index]:
            raise SceneError(f'{place}: the name is used twice: rename one')
        if slot.radius < scene.arm.base_radius + scene.block_size:
            raise SceneError(f'{place}: the block would touch the base: move it outwards')
        for other in (*scene.slots[:index], scene.home):
            pitch = math.hypot(slot.x - other.x, slot.y - other.y)
            if pitch < scene.slot_pitch:
                raise SceneError(
                    f'{place}: only {pitch:.3f} m from {other.name}: the wrist and the '
                    f'{scene.tool} need {scene.slot_pitch:.3f} m beside a full tower'
                )
        _check_reach(scene, slot, place)
    try:
        _ = scene.home_joints
    except RobotError as error:
        raise SceneError(f'{source}: home: {error.message}') from error


def _check_fingers(scene: Scene, source: str) -> None:
    low, high = GRIP_RANGE
    if not low <= scene.block_size <= high:
        raise SceneError(
            f'{source}: block_size_m: the gripper holds blocks of {low:.3f} to {high:.3f} m, not '
            f'{scene.block_size:.3f} m: use others, or the suction cup'
        )
    if scene.motion.grasp_depth_m > scene.block_size / 2:
        raise SceneError(
            f'{source}: motion.grasp_depth_m: {scene.motion.grasp_depth_m} is more than half a '
            'block: the fingers would come near to what the block stands on'
        )


def _check_reach(scene: Scene, slot: Slot, place: str) -> None:
    """Every height at which the tip works over this slot, with a tolerance on the radius."""
    motion = scene.motion
    centres = [scene.level_height(level) for level in range(scene.max_tower)]
    low = [scene.grasp_height(centre) for centre in centres]
    high = [scene.release_height(centre) for centre in centres]
    top = [scene.max_tower * scene.block_size + motion.travel_clearance_m]
    top.append(motion.min_travel_height_m)
    for height in (*low, *high, *top):
        for radius in (slot.radius - SLOT_TOLERANCE, slot.radius + SLOT_TOLERANCE):
            x, y = radius * math.cos(slot.azimuth), radius * math.sin(slot.azimuth)
            try:
                scene.joints_above(x, y, height, slot.azimuth)
            except RobotError as error:
                raise SceneError(
                    f'{place}: a tower of {scene.max_tower} does not fit, tip height '
                    f'{height:.3f} m: {error.message}; or lower max_tower_blocks'
                ) from error
