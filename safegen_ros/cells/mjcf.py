# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The MuJoCo world of a task of BoxNet3D: arms of one kind on a table, and boxes.

Contacts are listed from a distance on, without a force: the gap of all shapes is what arms are to
keep from each other. Between a hand and a box there can be a weld, which is how a box is held.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable

import numpy as np

from safegen_ros.robot.arms.family import NEIGHBOURS, ArmFamily
from safegen_ros.robot.arms.model import Segment
from safegen_ros.robot.description.mjcf import COLOURS
from safegen_ros.robot.description.mjcf_tools import numbers
from safegen_ros.tasks.boxnet.geometry import UNIT
from safegen_ros.tasks.boxnet.spatial.model import SpatialTask

TIMESTEP = 0.002
CAMERA = 'operator'
TABLE = 'table'
DAMPING = 0.06
"""Damping of a servo, as a part of its gain [s]."""

_SHELL, _DARK = '.93 .94 .95 1', '.36 .40 .45 1'
_BOX_DENSITY = 400  # [kg/m^3]


def joint(robot: int, number: int) -> str:
    """Name of a joint."""
    return f'robot{robot}:joint{number + 1}'


def link(robot: int, number: int) -> str:
    """Name of the body of a link; 0 is the base."""
    return f'robot{robot}:link{number}'


def box(index: int) -> str:
    """Name of the body, joint and shape of a box."""
    return f'box{index}'


def hold(robot: int, index: int) -> str:
    """Name of the weld between a hand and a box."""
    return f'hold{robot}:{index}'


def build(task: SpatialTask, gap: float) -> str:
    """The MJCF document of a task; contacts are listed from `gap` [m] on."""
    family = task.family
    root = ET.Element('mujoco', model='boxnet3d')
    ET.SubElement(root, 'compiler', angle='radian', autolimits='true')
    ET.SubElement(root, 'option', timestep=str(TIMESTEP), integrator='implicitfast')
    visual = ET.SubElement(root, 'visual')
    ET.SubElement(visual, 'global', offwidth='1920', offheight='1080')
    ET.SubElement(visual, 'quality', offsamples='0', shadowsize='1024')
    ET.SubElement(visual, 'headlight', ambient='.35 .35 .37', diffuse='.3 .3 .3')
    asset = ET.SubElement(root, 'asset')
    ET.SubElement(
        asset, 'texture', type='skybox', builtin='gradient', rgb1='.90 .93 .96', rgb2='.62 .68 .75',
        width='64', height='64',
    )  # fmt: skip
    default = ET.SubElement(root, 'default')
    ET.SubElement(default, 'geom', gap=str(gap), solref='.004 1', friction='1 .005 .0001')
    world = ET.SubElement(root, 'worldbody')
    _table(world, task)
    _targets(world, task)
    for robot, base in enumerate(task.bases):
        _arm(world, family, robot, (base[0] / UNIT, base[1] / UNIT, 0.0))
    for index, place in enumerate(task.start.objects):
        _box(world, family, index, (place[0] / UNIT, place[1] / UNIT, family.box / 2))
    _rules(root, task)
    return ET.tostring(root, encoding='unicode')


def _table(world: ET.Element, task: SpatialTask) -> None:
    side = task.family.cell
    width, height = (cells * side for cells in task.size)
    size = (width / 2 + 0.3 * side, height / 2 + 0.3 * side, 0.05)
    middle = (width / 2, height / 2, 0.0)
    ET.SubElement(
        world, 'geom', name=TABLE, type='plane', size=numbers(size), pos=numbers(middle),
        rgba='.80 .74 .66 1',
    )  # fmt: skip
    for axis, cells in enumerate(task.size):
        for line in range(cells + 1):
            at, half = list(middle), [width / 2, height / 2, 0.0005]
            at[axis], half[axis] = line * side, 0.004 * side
            _seen(world, 'box', half, at, '.60 .54 .47 1')
    far = max(width, 1.2 * height)
    eye = np.array([width / 2, 0.42 * height - 0.85 * far, 1.0 * far])
    back = eye - np.array([width / 2, 0.42 * height, 0.0])
    up = np.cross(back, (1.0, 0.0, 0.0))
    ET.SubElement(
        world, 'camera', name=CAMERA, pos=numbers(eye), fovy='45',
        xyaxes=numbers((1.0, 0.0, 0.0, *(up / np.linalg.norm(up)))),
    )  # fmt: skip
    ET.SubElement(
        world, 'light', pos=numbers(eye), dir='.3 .4 -1', directional='true',
        diffuse='.35 .35 .33', specular='.1 .1 .1',
    )  # fmt: skip


def _targets(world: ET.Element, task: SpatialTask) -> None:
    family = task.family
    for index, (x, y) in enumerate(task.targets):
        at = (x / UNIT, y / UNIT, 0.001)
        _seen(world, 'cylinder', (1.2 * family.radius, 0.001), at, colour(index, 0.45))


def _seen(
    world: ET.Element, type: str, size: Iterable[float], at: Iterable[float], rgba: str
) -> None:
    ET.SubElement(
        world, 'geom', type=type, size=numbers(size), pos=numbers(at), rgba=rgba, contype='0',
        conaffinity='0', group='1',
    )  # fmt: skip


def colour(index: int, alpha: float = 1.0) -> str:
    """The colour of a box and its target, as MJCF."""
    palette = list(COLOURS.values())
    return numbers((*palette[index % len(palette)], alpha))


def _arm(
    world: ET.Element, family: ArmFamily, robot: int, place: tuple[float, float, float]
) -> None:
    body = ET.SubElement(world, 'body', name=link(robot, 0), pos=numbers(place))
    _hull(body, family.base, link(robot, 0), 0.0, _DARK)
    parts = zip(family.hull, family.arm.masses[1:], family.arm.limits, strict=True)
    for number, (hull, mass, limits) in enumerate(parts):
        origin, turn = family.frame(number)
        name = link(robot, number + 1)
        body = ET.SubElement(
            body, 'body', name=name, pos=numbers(origin), quat=numbers(turn), gravcomp='1'
        )
        ET.SubElement(
            body, 'joint', name=joint(robot, number), axis='0 0 1', armature='.05', damping='.5',
            range=numbers(limits),
        )  # fmt: skip
        last = number == len(family.hull) - 1
        _hull(body, hull, name, mass, _DARK if last else _SHELL)


def _hull(body: ET.Element, hull: tuple[Segment, ...], name: str, mass: float, rgba: str) -> None:
    for number, part in enumerate(hull):
        ET.SubElement(
            body, 'geom', name=f'{name}:{number}', type='capsule', size=str(part.radius),
            fromto=numbers((*part.start, *part.end)), mass=str(mass / len(hull)), rgba=rgba,
        )  # fmt: skip


def _box(
    world: ET.Element, family: ArmFamily, index: int, place: tuple[float, float, float]
) -> None:
    body = ET.SubElement(world, 'body', name=box(index), pos=numbers(place))
    ET.SubElement(body, 'freejoint', name=box(index))
    ET.SubElement(
        body, 'geom', name=box(index), type='box', size=numbers([family.box / 2] * 3),
        density=str(_BOX_DENSITY), rgba=colour(index),
    )  # fmt: skip


def _rules(root: ET.Element, task: SpatialTask) -> None:
    contact = ET.SubElement(root, 'contact')
    equality = ET.SubElement(root, 'equality')
    actuator = ET.SubElement(root, 'actuator')
    family = task.family
    for robot in range(len(task.bases)):
        for one, other in sorted(NEIGHBOURS):
            ET.SubElement(contact, 'exclude', body1=link(robot, one), body2=link(robot, other))
        ET.SubElement(contact, 'exclude', body1='world', body2=link(robot, 1))
        for index in range(len(task.targets)):
            ET.SubElement(
                equality, 'weld', name=hold(robot, index), body1=link(robot, 6), body2=box(index),
                active='false',
            )  # fmt: skip
        for number, (gain, torque) in enumerate(
            zip(family.arm.gains, family.arm.torques, strict=True)
        ):
            ET.SubElement(
                actuator, 'position', name=joint(robot, number), joint=joint(robot, number),
                kp=str(gain), kv=str(DAMPING * gain), forcerange=numbers((-torque, torque)),
            )  # fmt: skip
