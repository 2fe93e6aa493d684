# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A scene from touches: the cup is brought to the table and to a block on each slot, and read.

Only joints are measured, so a slot is where this arm finds it, errors of its zero included. A touch
of the table gives the tool length less the raise of the base. For a tool that points down the two
act alike, and the scene has the difference as its tool length.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.robot.arm import Arm
from safegen_ros.robot.arms.model import ArmModel, Joints
from safegen_ros.robot.scene import Scene, SceneError, load_scene

#: The tool points down to this angle [rad], else a touch says little about its length.
MAX_TILT = math.radians(3.0)
#: Touches of a level table agree within this [m]; further apart, base or table is not level.
MAX_TABLE_SPREAD = 0.003
#: A block is as high as the scene says within this [m].
MAX_BLOCK_ERROR = 0.003
#: Longest step of a jog [m], and its speed as a fraction of the highest.
MAX_JOG = 0.02
JOG_SPEED = 0.15
_MIN_TABLE_TOUCHES = 3


@dataclass(frozen=True, slots=True)
class Measured:
    """What the touches say.

    Attributes:
        tool_length: flange to lip, less what the base is raised by [m].
        table_spread: between the lowest and the highest touch of the table [m].
        slots: x and y of the blocks that were touched [m], by slot.
        block_heights: of those blocks [m].
    """

    tool_length: float
    table_spread: float
    slots: dict[str, tuple[float, float]]
    block_heights: dict[str, float]


def flange(arm: ArmModel, joints: Joints) -> tuple[float, float, float]:
    """Position of the flange in the base frame [m]; raises `RobotError` unless it points down."""
    pose = arm.forward(joints)
    tilt = math.acos(float(np.clip(-pose[2, 2], -1.0, 1.0)))
    if tilt > MAX_TILT:
        raise RobotError(
            f'the tool is tilted by {math.degrees(tilt):.1f} deg: bring it upright before a touch'
        )
    x, y, z = (float(value) for value in pose[:3, 3])
    return x, y, z


def measure(table: Sequence[Joints], blocks: Mapping[str, Joints], scene: Scene) -> Measured:
    """Computes what the touches say.

    Args:
        table: joints (6,) [rad] at touches of the table, at least three, apart from each other.
        blocks: joints at the touch of the middle of a block's top, by slot.
        scene: the scene that is corrected; gives the size of the blocks.

    Raises:
        RobotError: there are too few touches, they contradict each other, or a block is not as
            high as the scene says.
    """
    if len(table) < _MIN_TABLE_TOUCHES:
        raise RobotError(
            f'{len(table)} touches of the table are too few: at least {_MIN_TABLE_TOUCHES}, apart '
            'from each other, show whether it is level'
        )
    heights = [flange(scene.arm, joints)[2] for joints in table]
    spread = max(heights) - min(heights)
    if spread > MAX_TABLE_SPREAD:
        raise RobotError(
            f'the touches of the table are {1000 * spread:.1f} mm apart in height: level the base '
            'and the table, and touch again'
        )
    tool_length = sum(heights) / len(heights)
    points = {name: flange(scene.arm, joints) for name, joints in blocks.items()}
    tops = {name: point[2] - tool_length for name, point in points.items()}
    for name, top in tops.items():
        if abs(top - scene.block_size) > MAX_BLOCK_ERROR:
            raise RobotError(
                f'the block on {name} is {1000 * top:.1f} mm high and the scene says '
                f'{1000 * scene.block_size:.1f} mm: touch again, or correct block_size_m'
            )
    slots = {name: (x, y) for name, (x, y, _) in points.items()}
    return Measured(tool_length, spread, slots, tops)


def scene_text(source: Path, measured: Measured) -> str:
    """The text of a scene file: that of `source` with the measurements in their places."""
    document: dict[str, Any] = yaml.safe_load(source.read_text(encoding='utf-8'))
    document['tool_length_m'] = round(measured.tool_length, 4)
    slots = {slot['name']: slot for slot in document['slots']}
    for name, (x, y) in measured.slots.items():
        if name not in slots:
            raise SceneError(f'{source}: there is no slot {name} (slots: {" ".join(slots)})')
        slots[name]['radius_m'] = round(math.hypot(x, y), 4)
        slots[name]['azimuth_deg'] = round(math.degrees(math.atan2(y, x)), 2)
    heights = ', '.join(f'{1000 * top:.1f}' for top in measured.block_heights.values())
    header = (
        f'# Written by `safegen arm calibrate` from {source.name}.\n'
        f'# Touches of the table agree within {1000 * measured.table_spread:.1f} mm.\n'
        f'# Measured slots: {" ".join(measured.slots) or "none"}.\n'
        f'# Heights of the blocks there [mm]: {heights or "none"}.\n\n'
    )
    return header + yaml.safe_dump(document, sort_keys=False, width=100)


def write_scene(path: Path, text: str) -> Scene:
    """Writes a scene file, once every slot and tower height in it is known to be reachable.

    Raises:
        SceneError: it is not a scene that can be used; nothing is written.
    """
    part = path.with_name(f'.{path.name}.part')
    try:
        part.write_text(text, encoding='utf-8')
        scene = load_scene(part)
        os.replace(part, path)
    except OSError as error:
        raise SceneError(f'{path}: cannot be written: {error.strerror}') from error
    except SceneError as error:
        raise SceneError(error.message.replace(str(part), str(path))) from error
    finally:
        part.unlink(missing_ok=True)
    return scene


def jog(arm: Arm, axis: str, distance: float, scene: Scene) -> None:
    """Moves the tip a little along an axis of the base frame, tool down, slowly.

    Args:
        axis: 'x', 'y' or 'z'.
        distance: [m], at most `MAX_JOG` either way.
        scene: gives the tool length that is assumed so far.

    Raises:
        RobotError: the step is too long or leads out of reach; nothing moves then.
    """
    if not abs(distance) <= MAX_JOG:
        raise RobotError(
            f'{1000 * distance:g} mm is not a jog: at most {1000 * MAX_JOG:g} mm at a time',
            ErrorCode.LIMIT_VIOLATION,
        )
    joints = arm.joint_positions()
    tip = scene.arm.forward(joints, scene.tool_length)[:3, 3].copy()
    tip['xyz'.index(axis)] += distance
    x, y, z = (float(value) for value in tip)
    goal = scene.arm.inverse_top_down(
        x, y, z, scene.arm.tool_yaw(joints), tool_length=scene.tool_length, seed=joints
    )
    arm.move_joints(goal, JOG_SPEED)
