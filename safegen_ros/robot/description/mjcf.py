# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The MuJoCo world: arm, table, slots and free blocks, written as MJCF from DH, limits and scene.

The contact and servo parameters are the ones with which stacking was measured to be reliable, by
suction and by fingers; the comments say what each of them prevents.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping

import numpy as np

from safegen_ros.robot.arms.model import JOINT_NAMES, ArmModel, Link, Segment
from safegen_ros.robot.arms.mycobot_280 import FINGER_JOINTS
from safegen_ros.robot.description.mjcf_tools import add_tool, add_tool_control, numbers
from safegen_ros.robot.pose import KeepOut, Pose
from safegen_ros.robot.scene import GRIPPER, Scene

TIMESTEP = 0.002
CAMERA = 'operator'
TABLE_GEOM = 'table'

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

_SHELL = (0.93, 0.94, 0.95)
_JOINT = (0.36, 0.40, 0.45)
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
    root = ET.Element('mujoco', model=f'{scene.arm.name}_cell')
    _settings(root)
    world = ET.SubElement(root, 'worldbody')
    _surroundings(world, scene)
    for box in scene.keep_out:
        _keep_out(world, box)
    _arm(world, scene)
    colours = legend(blocks)
    for name, pose in blocks.items():
        _block(world, scene, name, pose, colours[name][1])
    contact = ET.SubElement(root, 'contact')
    fingers = (FINGER_JOINTS,) if scene.tool == GRIPPER else ()
    for one, other in (*_EXCLUDES, *fingers):
        ET.SubElement(contact, 'exclude', body1=one, body2=other)
    _actuators(root, scene)
    return root


def _settings(root: ET.Element) -> None:
    ET.SubElement(root, 'compiler', angle='radian', autolimits='true')
    ET.SubElement(
        root,
        'option',
        timestep=str(TIMESTEP),
        integrator='implicitfast',
        cone='elliptic',
        impratio='10',
    )
    visual = ET.SubElement(root, 'visual')
    ET.SubElement(visual, 'global', offwidth='1920', offheight='1080')
    ET.SubElement(visual, 'quality', offsamples='4', shadowsize='2048')
    ET.SubElement(
        visual, 'headlight', ambient='.38 .38 .40', diffuse='.32 .32 .32', specular='.1 .1 .1'
    )
    ET.SubElement(visual, 'map', znear='.1', shadowclip='1.5')
    asset = ET.SubElement(root, 'asset')
    ET.SubElement(
        asset,
        'texture',
        type='skybox',
        builtin='gradient',
        rgb1='.90 .93 .96',
        rgb2='.62 .68 .75',
        width='64',
        height='64',
    )
    for name, colour, shine in (('shell', _SHELL, '.5'), ('joint', _JOINT, '.4')):
        ET.SubElement(
            asset, 'material', name=name, rgba=_rgba(colour), specular=shine, shininess='.6'
        )
    default = ET.SubElement(root, 'default')
    ET.SubElement(default, 'geom', solref='.004 1', solimp='.95 .99 .001')
    seen = ET.SubElement(default, 'default', attrib={'class': 'visual'})
    ET.SubElement(seen, 'geom', contype='0', conaffinity='0', mass='0', group='1')


def _keep_out(world: ET.Element, box: KeepOut) -> None:
    """A box that is too soft to push: what enters it is found, and not moved by it."""
    # A separate body: some of its contacts with the world are left out, see `_EXCLUDES`.
    ET.SubElement(
        ET.SubElement(world, 'body', name=keep_out_geom(box)),
        'geom',
        name=keep_out_geom(box),
        type='box',
        pos=numbers(box.centre),
        size=numbers(box.half_size),
        priority='1',  # its softness counts, whatever it touches
        condim='1',
        solref='1 1',
        solimp='.0001 .0001 1',
        rgba='.85 .20 .20 .15',
    )


def keep_out_geom(box: KeepOut) -> str:
    """The name of its geom."""
    return f'keep_out:{box.name}'


def _surroundings(world: ET.Element, scene: Scene) -> None:
    ET.SubElement(
        world,
        'light',
        pos='.5 -.4 1.2',
        dir='-.4 .35 -1',
        directional='true',
        diffuse='.55 .55 .52',
        specular='.2 .2 .2',
    )
    ET.SubElement(
        world,
        'geom',
        name=TABLE_GEOM,
        type='plane',
        size=numbers((scene.arm.table, scene.arm.table, 0.05)),
        rgba='.80 .74 .66 1',
        friction='1 .005 .0001',
    )
    ET.SubElement(
        world,
        'geom',
        {'class': 'visual'},
        type='box',
        size=numbers((scene.arm.table, scene.arm.table, 0.012)),
        pos='0 0 -.0145',  # so far below that neither shows through the other
        rgba='.58 .50 .42 1',
    )
    half = scene.block_size / 2 + 0.004
    for slot in (*scene.slots,):
        ET.SubElement(
            world,
            'geom',
            {'class': 'visual'},
            type='box',
            size=numbers((half, half, 0.0004)),
            pos=numbers((slot.x, slot.y, 0.0002)),
            euler=numbers((0, 0, slot.azimuth)),
            rgba='.66 .60 .53 1',
        )
    scale = scene.arm.table / 0.36
    eye, target = np.array([0.76, -0.33, 0.44]) * scale, np.array([0.05, 0.0, 0.1]) * scale
    ET.SubElement(
        world,
        'camera',
        name=CAMERA,
        pos=numbers(eye),
        fovy='36',
        xyaxes=numbers(_look_at(eye, target)),
    )


def _arm(world: ET.Element, scene: Scene) -> None:
    parent = ET.SubElement(world, 'body', name='base', gravcomp='1')
    depth, width, height = (edge / 2 for edge in scene.arm.base_size)
    ET.SubElement(
        parent,
        'geom',
        name='base',
        type='box',
        size=numbers((depth, width, height)),
        pos=numbers((0, 0, height)),
        material='joint',
        mass=str(scene.arm.masses[0]),
    )
    for index, link in enumerate(scene.arm.links):
        parent = _link(parent, link, scene.arm, index)
    tool = ET.SubElement(
        parent, 'body', name='tool', gravcomp='1', pos=numbers((0, 0, scene.arm.flange_offset))
    )
    add_tool(tool, scene)


def _link(parent: ET.Element, link: Link, arm: ArmModel, index: int) -> ET.Element:
    body = ET.SubElement(
        parent,
        'body',
        name=link.name,
        pos=numbers(link.origin),
        quat=numbers(link.quaternion),
        gravcomp='1',
    )
    low, high = arm.limits[index]
    ET.SubElement(
        body,
        'joint',
        name=JOINT_NAMES[index],
        axis='0 0 1',
        damping='.5',
        armature='.01',
        frictionloss='.02',
        range=numbers((low, high)),
    )
    for number, segment in enumerate(link.segments):
        ET.SubElement(
            body,
            'geom',
            name=f'{link.name}:{number}',
            type='capsule',
            material='shell',
            size=str(segment.radius),
            fromto=numbers((*segment.start, *segment.end)),
            mass=str(link.mass / len(link.segments)),
        )
    _trim(body, link.segments[0])
    return body


def _trim(body: ET.Element, segment: Segment) -> None:
    """A dark drum about the joint axis, to be seen only."""
    reach = segment.radius + 0.0045  # beyond the shells of both links
    ET.SubElement(
        body,
        'geom',
        {'class': 'visual'},
        type='cylinder',
        material='joint',
        size=str(segment.radius + 0.001),
        fromto=numbers((0, 0, -reach, 0, 0, reach)),
    )


def _block(
    world: ET.Element, scene: Scene, name: str, pose: Pose, colour: tuple[float, float, float]
) -> None:
    x, y, z, w = pose.orientation
    body = ET.SubElement(
        world,
        'body',
        name=block_geom(name),
        pos=numbers(pose.position),
        quat=numbers((w, x, y, z)),
    )
    ET.SubElement(body, 'freejoint', name=block_geom(name))
    ET.SubElement(
        body,
        'geom',
        name=block_geom(name),
        type='box',
        rgba=_rgba(colour),
        size=numbers([scene.block_size / 2] * 3),
        mass=str(scene.block_mass),
        friction='1 .005 .0001',
        condim='4',
    )


def _actuators(root: ET.Element, scene: Scene) -> None:
    actuators = ET.SubElement(root, 'actuator')
    arm = scene.arm
    servos = zip(JOINT_NAMES, arm.gains, arm.torques, arm.limits, strict=True)
    for name, gain, torque, limits in servos:
        ET.SubElement(
            actuators,
            'position',
            name=name,
            joint=name,
            kp=str(gain),
            kv=str(_SERVO_DAMPING_RATIO * gain),
            ctrlrange=numbers(limits),
            forcerange=numbers((-torque, torque)),
        )
    add_tool_control(root, actuators, scene)


def _look_at(eye: np.ndarray, target: np.ndarray) -> list[float]:
    ahead = (target - eye) / np.linalg.norm(target - eye)
    right = np.cross(ahead, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    return [*right.tolist(), *np.cross(right, ahead).tolist()]


def _rgba(colour: tuple[float, float, float]) -> str:
    return numbers((*colour, 1.0))
