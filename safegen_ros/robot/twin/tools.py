# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How the tools of the twin are switched and read: the suction cup and the adaptive gripper."""

from __future__ import annotations

from typing import Any, Protocol

from safegen_ros.robot.description.mjcf_tools import FINGERS_ACTUATOR, SUCTION_ACTUATOR
from safegen_ros.robot.gripper import FINGER_JOINTS, MAX_OPENING, STROKE
from safegen_ros.robot.scene import GRIPPER, Scene


class TwinTool(Protocol):
    """A tool in a model; the data that it works on is the twin's."""

    def switch(self, data: Any, on: bool) -> None:
        """Takes hold, or lets go; it acts from the next step on."""
        ...

    def is_on(self, data: Any) -> bool:
        """Whether it was told to take hold."""
        ...

    def opening(self, data: Any) -> float | None:
        """Measured distance between the fingers [m]; None of a cup."""
        ...

    def open_to(self, data: Any, opening: float) -> None:
        """Sends the fingers to a distance [m], as firmware does; a cup has none."""
        ...


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
