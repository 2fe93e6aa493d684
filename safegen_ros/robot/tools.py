# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The one table of what takes hold of a block at a myCobot, by the names that users give."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.robot.effectors import AdaptiveGripper, Ask, BasicOutputPump
from safegen_ros.robot.gpio_pump import GpioPump
from safegen_ros.robot.scene import GRIPPER, SUCTION, Scene

if TYPE_CHECKING:
    from safegen_ros.robot.mycobot import Effector


def effector_of(tool: str) -> Callable[[Ask], Effector]:
    """What makes a tool for `MyCobot`; pins of this computer are taken here, before the port.

    Raises:
        RobotError: there is no such tool, or it needs pins that are not here.
    """
    if tool == 'basic-pump':
        return BasicOutputPump
    if tool == 'gripper':
        return AdaptiveGripper
    if tool == 'gpio-pump':
        pump = GpioPump()
        return lambda ask: pump
    raise RobotError(f'tool {tool!r} does not exist: use basic-pump, gpio-pump or gripper')


def check_tool(tool: str, scene: Scene) -> None:
    """Compares the tool at the arm with the one that the skills reckon with.

    Raises:
        RobotError: `UNSUPPORTED_SCENE`, when the scene is made for another tool.
    """
    wanted, file = (
        (GRIPPER, 'config/gripper_scene.yaml')
        if tool == 'gripper'
        else (SUCTION, 'config/scene.yaml')
    )
    if scene.tool != wanted:
        raise RobotError(
            f'the tool is {tool} and the scene is made for {scene.tool}: use a scene_file with '
            f'tool: {wanted}, such as {file}, or another tool',
            ErrorCode.UNSUPPORTED_SCENE,
        )
