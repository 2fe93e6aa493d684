# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The cell as markers: arm, table and blocks as they are measured, plan and verdict as text.

The arm is among them because its links need `/tf` to be drawn from the URDF, which takes
robot_state_publisher; these markers need nothing but their one frame.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Quaternion, Vector3
from geometry_msgs.msg import Pose as PoseMessage
from numpy.typing import NDArray
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from safegen_ros.robot.arm import Sample
from safegen_ros.robot.arms.model import TOOL_RADIUS, Joints, quaternion_of
from safegen_ros.robot.arms.mycobot_280 import FINGER_SIZE, HULL_SIZE, MAX_OPENING
from safegen_ros.robot.description.mjcf import legend
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import GRIPPER, Scene

FRAME = 'base_link'
"""Root of the URDF, in which everything of the cell is measured."""

SHOWN_STEPS = 12
"""Most lines of a plan that are shown; those around the step under way."""

SHOWN_REASON = 160
"""Most characters of the reason of a verdict [1]."""

Colour = tuple[float, float, float]

_TABLE = (0.62, 0.60, 0.56)
_SLOT = (0.45, 0.44, 0.42)
_SHELL, _JOINT = (0.93, 0.94, 0.95), (0.36, 0.40, 0.45)
_INK, _GOOD, _BAD = (0.95, 0.95, 0.95), (0.30, 0.80, 0.45), (0.95, 0.35, 0.25)
_TABLE_HEIGHT_M = 0.01
_LABEL_M, _TEXT_M = 0.015, 0.018
_PLAN_AT: tuple[float, float, float] = (-0.10, 0.30, 0.20)
_VERDICT_AT: tuple[float, float, float] = (-0.10, 0.0, 0.45)


@dataclass(frozen=True, slots=True)
class PlanText:
    """The text about the plan under way.

    Attributes:
        steps: each as PDDL text.
        verdict: name of the category of the executor's own verdict; empty before there is one.
        reason: what ended the execution; empty while all is well.
    """

    steps: tuple[str, ...] = ()
    done: int = 0
    verdict: str = ''
    reason: str = ''

    def plan_lines(self) -> str:
        """The steps around the one under way: done, under way, and to come."""
        first = max(0, min(self.done - SHOWN_STEPS // 2, len(self.steps) - SHOWN_STEPS))
        shown = list(enumerate(self.steps))[first : first + SHOWN_STEPS]
        marks = ['[x]' if i < self.done else '[>]' if i == self.done else '[ ]' for i, _ in shown]
        lines = [f'{m} {i + 1} {text}' for m, (i, text) in zip(marks, shown, strict=True)]
        return '\n'.join([f'{self.done} of {len(self.steps)} steps', *lines])

    def verdict_line(self) -> str:
        """The verdict, and what went wrong."""
        name = self.verdict or 'no verdict'
        return f'{name}: {self.reason[:SHOWN_REASON]}' if self.reason else name


class SceneMarkers:
    """Makes the markers of one cell.

    Args:
        scene: geometry of the cell; None where there is nothing but facts.
    """

    def __init__(self, scene: Scene | None) -> None:
        self._scene = scene

    def array(self, stamp: Time, look: Sample | None, plan: PlanText) -> MarkerArray:
        """All there is to see, from nothing: late joiners need no other message.

        Args:
            look: at the arm and the blocks; None where there is nothing to look at.
        """
        markers = [_marker('', Marker.CUBE, Pose((0.0, 0.0, 0.0)), (0.0, 0.0, 0.0), _INK)]
        markers[0].action = Marker.DELETEALL
        if self._scene is not None:
            markers += _table(self._scene)
            if look is not None:
                markers += _blocks(self._scene, look.poses)
                markers += _arm(self._scene, look.joints)
                markers += _tool(self._scene, look)
        markers += _texts(plan)
        numbers: dict[str, int] = {}
        for marker in markers:
            marker.id = numbers[marker.ns] = numbers.get(marker.ns, -1) + 1
            marker.header.frame_id = FRAME
            marker.header.stamp = stamp
        return MarkerArray(markers=markers)


def _table(scene: Scene) -> list[Marker]:
    side = 2 * scene.arm.table
    middle = Pose((side / 4, 0.0, -_TABLE_HEIGHT_M / 2))
    made = [_marker('table', Marker.CUBE, middle, (side, side, _TABLE_HEIGHT_M), _TABLE)]
    edge = 1.4 * scene.block_size
    for slot in scene.slots:
        at = Pose((slot.x, slot.y, 0.0005))
        made.append(_marker('slots', Marker.CYLINDER, at, (edge, edge, 0.001), _SLOT))
    return made


def _blocks(scene: Scene, poses: Mapping[str, Pose]) -> list[Marker]:
    size, made = scene.block_size, []
    colours = legend(poses)
    for name, pose in poses.items():
        made.append(_marker('blocks', Marker.CUBE, pose, (size, size, size), colours[name][1]))
        x, y, z = pose.position
        # Beside the block, since there may be another one on it.
        made.append(_text('names', name, (x + size, y, z), _LABEL_M, _INK))
    return made


def _arm(scene: Scene, joints: Joints) -> list[Marker]:
    arm = scene.arm
    base = Pose((0.0, 0.0, arm.base_size[2] / 2))
    made = [_marker('arm', Marker.CUBE, base, arm.base_size, _JOINT)]
    for link, frame in zip(arm.links, arm.link_frames(joints), strict=True):
        for part in link.segments:
            ends = (frame @ np.array([*end, 1.0]) for end in (part.start, part.end))
            made.append(_bar(next(ends)[:3], next(ends)[:3], part.radius, _SHELL))
    return made


def _tool(scene: Scene, look: Sample) -> list[Marker]:
    flange = scene.arm.forward(look.joints)
    if scene.tool != GRIPPER:
        lip = scene.arm.forward(look.joints, scene.tool_length)
        return [_bar(flange[:3, 3], lip[:3, 3], TOOL_RADIUS, _JOINT)]
    # Where it is not measured, the gripper is shown open.
    half = (MAX_OPENING if look.opening is None else look.opening) / 2
    hull = scene.tool_length - FINGER_SIZE[2]
    made = [_box(flange, (0.0, 0.0, hull / 2), (*HULL_SIZE, hull), _JOINT)]
    aside, along = half + FINGER_SIZE[0] / 2, hull + FINGER_SIZE[2] / 2
    return made + [_box(flange, (x, 0.0, along), FINGER_SIZE, _INK) for x in (-aside, aside)]


def _box(
    frame: NDArray[np.float64], at: Sequence[float], size: Sequence[float], colour: Colour
) -> Marker:
    """A box, aligned with a frame (4, 4), with its centre at a point of that frame [m]."""
    x, y, z = (float(value) for value in (frame @ np.array([*at, 1.0]))[:3])
    qw, qx, qy, qz = quaternion_of(frame)
    pose = Pose((x, y, z), (qx, qy, qz, qw))
    return _marker('arm', Marker.CUBE, pose, size, colour)


def _bar(
    start: NDArray[np.float64], end: NDArray[np.float64], radius: float, colour: Colour
) -> Marker:
    """A cylinder from one point to another [m]."""
    along = end - start
    length = float(np.linalg.norm(along))
    x, y, z = (float(value) for value in along / length)
    # The shortest turn that takes the z axis there; straight down it may be about any axis.
    turn = (1.0, 0.0, 0.0, 0.0) if z < -1 + 1e-9 else (-y, x, 0.0, 1.0 + z)
    norm = math.hypot(*turn)
    qx, qy, qz, qw = (value / norm for value in turn)
    cx, cy, cz = (float(value) for value in (start + end) / 2)
    pose = Pose((cx, cy, cz), (qx, qy, qz, qw))
    return _marker('arm', Marker.CYLINDER, pose, (2 * radius, 2 * radius, length), colour)


def _texts(plan: PlanText) -> list[Marker]:
    if not plan.verdict and not plan.steps and not plan.reason:
        return []
    colour = _INK if not plan.verdict else _GOOD if not plan.reason else _BAD
    return [
        _text('plan', plan.plan_lines(), _PLAN_AT, _TEXT_M, _INK),
        _text('verdict', plan.verdict_line(), _VERDICT_AT, _TEXT_M, colour),
    ]


def _text(
    ns: str, text: str, at: tuple[float, float, float], height: float, colour: Colour
) -> Marker:
    marker = _marker(ns, Marker.TEXT_VIEW_FACING, Pose(at), (0.0, 0.0, height), colour)
    marker.text = text
    return marker


def _marker(ns: str, kind: int, pose: Pose, size: Sequence[float], colour: Colour) -> Marker:
    red, green, blue = colour
    x, y, z, w = pose.orientation
    return Marker(
        ns=ns,
        type=kind,
        action=Marker.ADD,
        pose=PoseMessage(
            position=Point(**dict(zip('xyz', pose.position, strict=True))),
            orientation=Quaternion(x=x, y=y, z=z, w=w),
        ),
        scale=Vector3(**dict(zip('xyz', map(float, size), strict=True))),
        color=ColorRGBA(r=red, g=green, b=blue, a=1.0),
    )
