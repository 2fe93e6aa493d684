# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The MuJoCo world: arm, tool, table, slots and free blocks, written as MJCF from DH and scene.

What every world has is in `world.xml`. Its contact and servo parameters are the ones with which
stacking was measured to be reliable, by suction and by fingers; the comments say what each of them
prevents.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from safegen_ros.robot.arms.model import (
    JOINT_NAMES,
    PAD_SIZE,
    TOOL_RADIUS,
    ArmModel,
    Link,
    Segment,
)
from safegen_ros.robot.arms.mycobot_280 import FINGER_JOINTS, FINGER_SIZE, HULL_SIZE, STROKE
from safegen_ros.robot.pose import KeepOut, Pose
from safegen_ros.robot.scene import GRIPPER, Scene

TIMESTEP = 0.002
CAMERA = 'operator'
TABLE_GEOM = 'table'
PAD_GEOM = 'pad'
SUCTION_ACTUATOR = 'suction'
FINGERS_ACTUATOR = 'fingers'
#: Every geom of a tool; the collision rules count them as one body.
TOOL_GEOMS = ('tube', PAD_GEOM, 'hull', *FINGER_JOINTS)

#: Distinct also for colour-blind readers (after Okabe and Ito); cycled beyond the eighth block.
COLOURS: dict[str, tuple[float, float, float]] = {
    'vermilion': (0.84, 0.27, 0.13),
    'blue': (0.10, 0.42, 0.70),
    'yellow': (0.95, 0.80, 0.20),
    'green': (0.10, 0.60, 0.42),
    'pink': (0.83, 0.50, 0.68),
    'sky blue': (0.42, 0.74, 0.92),
    'orange': (0.92, 0.58, 0.10),
    'charcoal': (0.25, 0.26, 0.28),
}

_WORLD = Path(__file__).with_name('world.xml')
_SERVO_DAMPING_RATIO = 0.06

# Neighbours that overlap by construction. The filter for parent and child does not apply where the
# parent is welded to the world, hence base and link 1.
_EXCLUDES = (
    ('world', 'link1'),
    ('base', 'link1'),
    ('base', 'link2'),
    ('base', 'link3'),
    ('link1', 'link3'),
    ('link3', 'link5'),
    ('link2', 'link4'),
    ('link4', 'link6'),
    ('link5', 'tool'),
)


def block_geom(name: str) -> str:
    """Name of a block's body, joint and geom; the prefix keeps PDDL names apart from ours."""
    return f'block:{name}'


def legend(names: Iterable[str]) -> dict[str, tuple[str, tuple[float, float, float]]]:
    """Colour name and RGB in [0, 1] of each block of a task.

    The sorted names choose the colours: a block looks the same in every view, whatever the order
    in which a problem, a sample or a scene lists the blocks.
    """
    palette = list(COLOURS.items())
    ranked = sorted(names, key=lambda name: [(len(part), part) for part in _PARTS.findall(name)])
    return {name: palette[index % len(palette)] for index, name in enumerate(ranked)}


_PARTS = re.compile(r'\d+|\D+')  # so that b10 comes after b9


def build_mjcf(scene: Scene, blocks: Mapping[str, Pose]) -> str:
    """The MJCF document of a scene with blocks at their initial poses."""
    return ET.tostring(mjcf_tree(scene, blocks), encoding='unicode')


def mjcf_tree(scene: Scene, blocks: Mapping[str, Pose]) -> ET.Element:
    """The elements of that document."""
    root = ET.fromstring(_WORLD.read_bytes())  # noqa: S314 - a file of ours
    root.set('model', f'{scene.arm.name}_cell')
    next(root.iter('option')).set('timestep', str(TIMESTEP))
    world = next(root.iter('worldbody'))
    _surroundings(world, scene)
    for box in scene.keep_out:
        # A separate body: some of its contacts with the world are left out, see `_EXCLUDES`.
        name = keep_out_geom(box)
        body = add(world, 'body', name=name)
        add(body, 'geom', 'keep_out', name=name, pos=box.centre, size=box.half_size)
    _arm(world, scene)
    colours = legend(blocks)
    for name, pose in blocks.items():
        _block(world, scene, name, pose, colours[name][1])
    contact = add(root, 'contact')
    fingers = (FINGER_JOINTS,) if scene.tool == GRIPPER else ()
    for one, other in (*_EXCLUDES, *fingers):
        add(contact, 'exclude', body1=one, body2=other)
    _actuators(root, scene)
    return root


def add(
    parent: ET.Element, tag: str, kind: str = '', **attributes: str | float | Iterable[float]
) -> ET.Element:
    """A new element, of a class of the document if there is a `kind`."""
    element = ET.SubElement(parent, tag, {'class': kind} if kind else {})
    for name, value in attributes.items():
        if isinstance(value, int | float):
            value = (value,)
        element.set(name, value if isinstance(value, str) else numbers(value))
    return element


def numbers(values: Iterable[float]) -> str:
    """Numbers as MJCF has them, without noise in the last digits."""
    return ' '.join(repr(round(float(value), 15)) for value in values)


def keep_out_geom(box: KeepOut) -> str:
    """The name of its geom."""
    return f'keep_out:{box.name}'


def _surroundings(world: ET.Element, scene: Scene) -> None:
    side = scene.arm.table
    table, board = world.findall('geom')
    table.set('size', numbers((side, side, 0.05)))
    board.set('size', numbers((side, side, 0.012)))
    half = scene.block_size / 2 + 0.004
    for slot in scene.slots:
        at, size = (slot.x, slot.y, 0.0002), (half, half, 0.0004)
        add(world, 'geom', 'slot', size=size, pos=at, euler=(0, 0, slot.azimuth))
    scale = side / 0.36
    eye, target = np.array([0.76, -0.33, 0.44]) * scale, np.array([0.05, 0.0, 0.1]) * scale
    camera = next(world.iter('camera'))
    camera.set('pos', numbers(eye))
    camera.set('xyaxes', numbers(_look_at(eye, target)))


def _arm(world: ET.Element, scene: Scene) -> None:
    arm = scene.arm
    parent = add(world, 'body', name='base', gravcomp='1')
    depth, width, height = (edge / 2 for edge in arm.base_size)
    size, mass = (depth, width, height), arm.masses[0]
    add(parent, 'geom', 'base', name='base', size=size, pos=(0, 0, height), mass=mass)
    for index, link in enumerate(arm.links):
        parent = _link(parent, link, arm, index)
    tool = add(parent, 'body', name='tool', gravcomp='1', pos=(0, 0, arm.flange_offset))
    if scene.tool == GRIPPER:
        _gripper(tool, scene)
    else:
        _cup(tool, scene)


def _link(parent: ET.Element, link: Link, arm: ArmModel, index: int) -> ET.Element:
    name, turn = link.name, link.quaternion
    body = add(parent, 'body', name=name, pos=link.origin, quat=turn, gravcomp='1')
    add(body, 'joint', 'link', name=JOINT_NAMES[index], range=arm.limits[index])
    mass = link.mass / len(link.segments)
    for number, part in enumerate(link.segments):
        ends, radius = (*part.start, *part.end), part.radius
        add(body, 'geom', 'link', name=f'{name}:{number}', size=radius, fromto=ends, mass=mass)
    _trim(body, link.segments[0])
    return body


def _trim(body: ET.Element, segment: Segment) -> None:
    """A dark drum about the joint axis, to be seen only."""
    reach = segment.radius + 0.0045  # beyond the shells of both links
    ends = (0, 0, -reach, 0, 0, reach)
    add(body, 'geom', 'drum', size=segment.radius + 0.001, fromto=ends)


def _cup(tool: ET.Element, scene: Scene) -> None:
    tube, middle = scene.tool_length - PAD_SIZE[2], scene.tool_length - PAD_SIZE[2] / 2
    add(tool, 'geom', 'tube', name='tube', size=TOOL_RADIUS, fromto=(0, 0, 0, 0, 0, tube))
    # A separate body: adhesion acts on every contact of a body, and only the pad may suck.
    pad = add(tool, 'body', name=PAD_GEOM, gravcomp='1', pos=(0, 0, middle))
    add(pad, 'geom', 'pad', name=PAD_GEOM, size=[edge / 2 for edge in PAD_SIZE])


def _gripper(tool: ET.Element, scene: Scene) -> None:
    thickness, width, length = FINGER_SIZE
    hull = scene.tool_length - length
    size = (HULL_SIZE[0] / 2, HULL_SIZE[1] / 2, hull / 2)
    add(tool, 'geom', 'hull', name='hull', size=size, pos=(0, 0, hull / 2))
    for name, side in zip(FINGER_JOINTS, (-1, 1), strict=True):
        at = (side * (STROKE + thickness / 2), 0, hull + length / 2)
        finger = add(tool, 'body', name=name, gravcomp='1', pos=at)
        # The position above is that of the open finger, hence `ref`.
        way, axis = (0, STROKE), (side, 0, 0)
        add(finger, 'joint', 'finger', name=name, axis=axis, range=way, ref=STROKE)
        add(finger, 'geom', 'finger', name=name, size=(thickness / 2, width / 2, length / 2))


def _block(
    world: ET.Element, scene: Scene, name: str, pose: Pose, colour: tuple[float, float, float]
) -> None:
    x, y, z, w = pose.orientation
    named, size = block_geom(name), [scene.block_size / 2] * 3
    body = add(world, 'body', name=named, pos=pose.position, quat=(w, x, y, z))
    add(body, 'freejoint', name=named)
    mass = scene.block_mass
    add(body, 'geom', 'block', name=named, rgba=(*colour, 1.0), size=size, mass=mass)


def _actuators(root: ET.Element, scene: Scene) -> None:
    """The servos of the joints, then what drives the tool."""
    actuators = add(root, 'actuator')
    arm = scene.arm
    servos = zip(JOINT_NAMES, arm.gains, arm.torques, arm.limits, strict=True)
    for name, gain, torque, limits in servos:
        servo = add(actuators, 'position', name=name, joint=name, ctrlrange=limits)
        servo.set('kp', str(gain))
        servo.set('kv', str(_SERVO_DAMPING_RATIO * gain))
        servo.set('forcerange', numbers((-torque, torque)))
    if scene.tool != GRIPPER:
        add(actuators, 'adhesion', 'pad', name=SUCTION_ACTUATOR, body=PAD_GEOM)
        return
    left, right = FINGER_JOINTS
    # One motor drives both fingers, as a linkage does in the real gripper.
    equality = add(root, 'equality')
    add(equality, 'joint', joint1=left, joint2=right, polycoef='0 1 0 0 0')
    motor = {'name': FINGERS_ACTUATOR, 'joint': left}
    add(actuators, 'position', 'finger', ctrlrange=(0, STROKE), **motor)


def _look_at(eye: np.ndarray, target: np.ndarray) -> list[float]:
    ahead = (target - eye) / np.linalg.norm(target - eye)
    right = np.cross(ahead, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    return [*right.tolist(), *np.cross(right, ahead).tolist()]
