# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The one table of what takes hold of a block at a myCobot, by the names that users give."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.robot.mycobot.effectors import AdaptiveGripper, Ask, BasicOutputPump
from safegen_ros.robot.mycobot.gpio_pump import GpioPump
from safegen_ros.robot.scene import GRIPPER, SUCTION, Scene

if TYPE_CHECKING:
    from safegen_ros.robot.mycobot.driver import Effector


def effector_of(tool: str) -> Callable[[Ask], Effector]:
    """What makes a tool for `MyCobot`; pins of this computer are taken here, before the port."""
    if tool == 'basic-pump':
        return BasicOutputPump
    if tool == 'gripper':
        return AdaptiveGripper
    if tool == 'gpio-pump':
        pump = GpioPump()
        return lambda ask: pump
    raise RobotError(f'tool {tool!r} does not exist: use basic-pump, gpio-pump or gripper')


def scene_for(tool: str) -> tuple[str, str]:
    """What a scene for this tool has as its `tool`, and the shipped one that has it."""
    if tool == 'gripper':
        return GRIPPER, 'config/gripper_scene.yaml'
    return SUCTION, 'config/scene.yaml'


def check_tool(tool: str, scene: Scene) -> None:
    """Raises `RobotError` (`UNSUPPORTED_SCENE`) when the scene is made for another tool."""
    wanted, file = scene_for(tool)
    if scene.tool != wanted:
        raise RobotError(
            f'the tool is {tool} and the scene is made for {scene.tool}: use a scene_file with '
            f'tool: {wanted}, such as {file}, or another tool',
            ErrorCode.UNSUPPORTED_SCENE,
        )
