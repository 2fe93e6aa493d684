# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The table in front of the arm: slots, block size, tool, speeds; read from YAML and checked.

A scene that loads is one in which every slot takes a tower of the full height: each level can be
picked from and placed on, and the arm can travel above the highest tower.
"""

from __future__ import annotations

import math
import reprlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from safegen_ros.errors import ErrorCode, RobotError, SafegenError
from safegen_ros.paths import share_dir
from safegen_ros.robot.arms.known import ARMS
from safegen_ros.robot.arms.model import ArmModel, Joints
from safegen_ros.robot.arms.mycobot_280 import MYCOBOT_280
from safegen_ros.robot.gripper import GRIP_RANGE, HALF_WIDTH
from safegen_ros.robot.keep_out import KeepOut
from safegen_ros.robot.pose import Pose

#: What takes hold of a block: a suction cup from above, or two fingers from the sides.
SUCTION, GRIPPER = 'suction', 'gripper'
TOOLS = (SUCTION, GRIPPER)

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

    travel_speed_fraction: float
    vertical_speed_fraction: float
    travel_clearance_m: float
    min_travel_height_m: float
    straightness_m: float
    grasp_depth_m: float
    release_gap_m: float
    settle_s: float
    grasp_s: float
    place_settle_s: float
    release_s: float


@dataclass(frozen=True, slots=True)
class Scene:
    """A checked scene; lengths [m], masses [kg].

    Attributes:
        block_size: edge of the cubes.
        block_mass: of one cube.
        tool: one of `TOOLS`.
        tool_length: flange to the tip: the lip of the suction cup, or the ends of the fingers.
        max_tower: blocks in the highest tower that every slot takes.
        slots: where towers may stand.
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
        SceneError: the file is missing, is not YAML, lacks a field, has one too many or one out of
            range, or names a slot where some height is out of reach.
    """
    source = Path(path) if path else default_scene_path()
    try:
        document = yaml.safe_load(source.read_text(encoding='utf-8'))
    except OSError as error:
        raise SceneError(f'{source}: cannot be read: {error.strerror}') from error
    except RecursionError as error:
        raise SceneError(f'{source}: is nested too deeply: a scene has three levels') from error
    except (yaml.YAMLError, ValueError) as error:
        raise SceneError(f'{source}: is not YAML: {error}') from error
    reader = _Reader(str(source), '', document)
    scene = _read(reader)
    _check(scene, str(source))
    return scene


class _Reader:
    """A mapping whose fields are read once, with the place in every complaint."""

    def __init__(self, source: str, path: str, value: Any) -> None:
        self.source, self.path = source, path
        if not isinstance(value, dict):
            raise SceneError(
                f'{source}: {path or "the file"}: must be a mapping, got '
                f'{reprlib.repr(value)[:200]}'
            )
        self.rest: dict[Any, Any] = dict(value)

    def fail(self, name: str, what: str) -> SceneError:
        return SceneError(f'{self.source}: {self.path}{name}: {what}')

    def take(self, name: str) -> Any:
        if name not in self.rest:
            raise self.fail(name, 'is missing: add it, with its unit as in the shipped file')
        return self.rest.pop(name)

    def number(self, name: str, low: float, high: float) -> float:
        value = self.take(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.fail(name, f'must be a number, got {reprlib.repr(value)[:200]}')
        if not low <= value <= high:
            raise self.fail(name, f'{value} is outside [{low}, {high}]')
        return float(value)

    def integer(self, name: str, low: int, high: int) -> int:
        value = self.number(name, low, high)
        if value != int(value):
            raise self.fail(name, f'must be a whole number, got {value}')
        return int(value)

    def choice(self, name: str, known: tuple[str, ...]) -> str:
        value = self.take(name)
        if value not in known:
            raise self.fail(
                name, f'must be one of {" ".join(known)}, got {reprlib.repr(value)[:200]}'
            )
        return str(value)

    def section(self, name: str) -> _Reader:
        return _Reader(self.source, f'{self.path}{name}.', self.take(name))

    def end(self) -> None:
        for name in self.rest:
            raise self.fail(
                str(name), 'is not a field of a scene: remove it or correct its spelling'
            )


_MOTION_RANGES: dict[str, tuple[float, float]] = {
    'travel_speed_fraction': (0.01, 1.0),
    'vertical_speed_fraction': (0.01, 1.0),
    'travel_clearance_m': (0.005, 0.1),
    'min_travel_height_m': (0.03, 0.25),
    'straightness_m': (0.0005, 0.01),
    'release_gap_m': (0.0, 0.005),
    'settle_s': (0.0, 5.0),
    'grasp_s': (0.0, 5.0),
    'place_settle_s': (0.0, 5.0),
    'release_s': (0.0, 5.0),
}


#: How far below the top of a block the tip takes hold of it, by tool [m].
_GRASP_DEPTHS = {SUCTION: (0.0, 0.003), GRIPPER: (0.004, 0.020)}


def _read(reader: _Reader) -> Scene:
    slots = reader.take('slots')
    if not isinstance(slots, list) or not slots:
        raise reader.fail('slots', 'must be a list of at least one slot')
    home = reader.section('home')
    home_height = home.number('height_m', 0.03, 0.35)
    home.rest['name'] = 'home'
    tool = reader.choice('tool', TOOLS)
    reader.rest.setdefault('arm', MYCOBOT_280.name)
    scene = Scene(
        arm=ARMS[reader.choice('arm', tuple(ARMS))],
        block_size=reader.number('block_size_m', 0.015, 0.05),
        block_mass=reader.number('block_mass_kg', 0.001, 0.15),
        tool=tool,
        tool_length=reader.number('tool_length_m', 0.01, 0.2),
        max_tower=reader.integer('max_tower_blocks', 1, 20),
        slots=tuple(
            _slot(_Reader(reader.source, f'slots[{index}].', value))
            for index, value in enumerate(slots)
        ),
        home=_slot(home),
        home_height=home_height,
        motion=_motion(reader.section('motion'), tool),
    )
    reader.end()
    return scene


def _slot(reader: _Reader) -> Slot:
    name = reader.take('name')
    if not isinstance(name, str) or not name:
        raise reader.fail('name', f'must be a word, got {reprlib.repr(name)[:200]}')
    radius = reader.number('radius_m', 0.0, 1.0)
    azimuth = math.radians(reader.number('azimuth_deg', -180, 180))
    reader.end()
    return Slot(name, radius, azimuth)


def _motion(reader: _Reader, tool: str) -> Motion:
    spans = _MOTION_RANGES | {'grasp_depth_m': _GRASP_DEPTHS[tool]}
    values = {name: reader.number(name, *span) for name, span in spans.items()}
    reader.end()
    return Motion(**values)


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
