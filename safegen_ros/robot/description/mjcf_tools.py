# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What hangs at the flange of the twin, as MJCF: the suction cup, or the adaptive gripper."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable

from safegen_ros.robot.arms.model import PAD_SIZE, TOOL_RADIUS
from safegen_ros.robot.arms.mycobot_280 import FINGER_JOINTS, FINGER_SIZE, HULL_SIZE, STROKE
from safegen_ros.robot.scene import GRIPPER, Scene

PAD_GEOM = 'pad'
SUCTION_ACTUATOR = 'suction'
FINGERS_ACTUATOR = 'fingers'
#: Every geom of a tool; the collision rules count them as one body.
TOOL_GEOMS = ('tube', PAD_GEOM, 'hull', *FINGER_JOINTS)

_SUCTION_FORCE = 3.0
_FINGERS_KP, _FINGERS_KV, _FINGERS_FORCE = 400, 10, 3.0


def add_tool(tool: ET.Element, scene: Scene) -> None:
    """Adds the scene's tool to its body at the flange, which looks along z."""
    if scene.tool == GRIPPER:
        _gripper(tool, scene)
    else:
        _cup(tool, scene)


def add_tool_control(root: ET.Element, actuators: ET.Element, scene: Scene) -> None:
    """Adds what drives the tool, after the servos of the joints."""
    if scene.tool != GRIPPER:
        ET.SubElement(
            actuators,
            'adhesion',
            name=SUCTION_ACTUATOR,
            body=PAD_GEOM,
            ctrlrange='0 1',
            gain=str(_SUCTION_FORCE),
        )
        return
    left, right = FINGER_JOINTS
    # One motor drives both fingers, as a linkage does in the real gripper.
    ET.SubElement(
        ET.SubElement(root, 'equality'), 'joint', joint1=left, joint2=right, polycoef='0 1 0 0 0'
    )
    ET.SubElement(
        actuators,
        'position',
        name=FINGERS_ACTUATOR,
        joint=left,
        kp=str(_FINGERS_KP),
        kv=str(_FINGERS_KV),
        ctrlrange=numbers((0, STROKE)),
        forcerange=numbers((-_FINGERS_FORCE, _FINGERS_FORCE)),
    )


def numbers(values: Iterable[float]) -> str:
    """Numbers as MJCF has them, without noise in the last digits."""
    return ' '.join(repr(round(float(value), 15)) for value in values)


def _cup(tool: ET.Element, scene: Scene) -> None:
    tube = scene.tool_length - PAD_SIZE[2]
    ET.SubElement(
        tool,
        'geom',
        name='tube',
        type='cylinder',
        mass='0.02',
        material='joint',
        size=str(TOOL_RADIUS),
        fromto=numbers((0, 0, 0, 0, 0, tube)),
    )
    # A separate body: adhesion acts on every contact of a body, and only the pad may suck.
    pad = ET.SubElement(
        tool,
        'body',
        name=PAD_GEOM,
        gravcomp='1',
        pos=numbers((0, 0, scene.tool_length - PAD_SIZE[2] / 2)),
    )
    # Gap without margin: the cup sucks from 1 mm, and pushes only when it truly touches.
    ET.SubElement(
        pad,
        'geom',
        name=PAD_GEOM,
        type='box',
        mass='0.005',
        rgba='.12 .12 .14 1',
        size=numbers(edge / 2 for edge in PAD_SIZE),
        friction='1.2 .02 .001',
        condim='4',
        margin='0',
        gap='.001',
    )


def _gripper(tool: ET.Element, scene: Scene) -> None:
    thickness, width, length = FINGER_SIZE
    hull = scene.tool_length - length
    ET.SubElement(
        tool,
        'geom',
        name='hull',
        type='box',
        mass='0.09',
        material='joint',
        size=numbers((HULL_SIZE[0] / 2, HULL_SIZE[1] / 2, hull / 2)),
        pos=numbers((0, 0, hull / 2)),
    )
    for name, side in zip(FINGER_JOINTS, (-1, 1), strict=True):
        finger = ET.SubElement(
            tool,
            'body',
            name=name,
            gravcomp='1',
            pos=numbers((side * (STROKE + thickness / 2), 0, hull + length / 2)),
        )
        # The position above is that of the open finger, hence `ref`.
        ET.SubElement(
            finger,
            'joint',
            name=name,
            type='slide',
            axis=numbers((side, 0, 0)),
            range=numbers((0, STROKE)),
            ref=str(STROKE),
            damping='1',
            armature='.01',
        )
        ET.SubElement(
            finger,
            'geom',
            name=name,
            type='box',
            mass='0.01',
            rgba='.12 .12 .14 1',
            size=numbers((thickness / 2, width / 2, length / 2)),
            friction='1.5 .02 .001',
            condim='4',
        )
