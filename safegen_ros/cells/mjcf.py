# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The MuJoCo world of a task of BoxNet3D: arms of one kind on a table, and boxes.

What every world has is in `world.xml`. Contacts are listed from a distance on, without a force: the
gap of all shapes is what arms are to keep from each other. Between a hand and a box there can be a
weld, which is how a box is held.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from safegen_ros.robot.arms.family import NEIGHBOURS, ArmFamily
from safegen_ros.robot.arms.model import Segment
from safegen_ros.robot.description.mjcf import COLOURS, TIMESTEP, add, numbers
from safegen_ros.tasks.boxnet.geometry import UNIT
from safegen_ros.tasks.boxnet.spatial.model import SpatialMap

CAMERA = 'operator'
TABLE = 'table'
DAMPING = 0.06
"""Damping of a servo, as a part of its gain [s]."""

_WORLD = Path(__file__).with_name('world.xml')
_SHELL, _DARK = '.93 .94 .95 1', '.36 .40 .45 1'


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


def build(task: SpatialMap, gap: float) -> str:
    """The MJCF document of a task; contacts are listed from `gap` [m] on."""
    family = task.family
    root = ET.fromstring(_WORLD.read_bytes())  # noqa: S314 - a file of ours
    next(root.iter('option')).set('timestep', str(TIMESTEP))
    next(root.iter('geom')).set('gap', str(gap))
    world = next(root.iter('worldbody'))
    _table(world, task)
    for index, (x, y) in enumerate(task.targets):
        size, at = (1.2 * family.radius, 0.001), (x / UNIT, y / UNIT, 0.001)
        add(world, 'geom', 'seen', type='cylinder', size=size, pos=at, rgba=colour(index, 0.45))
    for robot, base in enumerate(task.bases):
        _arm(world, family, robot, (base[0] / UNIT, base[1] / UNIT, 0.0))
    for index, place in enumerate(task.start.objects):
        at = (place[0] / UNIT, place[1] / UNIT, family.box / 2)
        body = add(world, 'body', name=box(index), pos=at)
        add(body, 'freejoint', name=box(index))
        add(body, 'geom', 'box', name=box(index), size=[family.box / 2] * 3, rgba=colour(index))
    _rules(root, task)
    return ET.tostring(root, encoding='unicode')


def _table(world: ET.Element, task: SpatialMap) -> None:
    side = task.family.cell
    width, height = (cells * side for cells in task.size)
    middle = (width / 2, height / 2, 0.0)
    table = next(world.iter('geom'))
    table.set('size', numbers((width / 2 + 0.3 * side, height / 2 + 0.3 * side, 0.05)))
    table.set('pos', numbers(middle))
    for axis, cells in enumerate(task.size):
        for line in range(cells + 1):
            at, half = list(middle), [width / 2, height / 2, 0.0005]
            at[axis], half[axis] = line * side, 0.004 * side
            add(world, 'geom', 'seen', type='box', size=half, pos=at, rgba='.60 .54 .47 1')
    far = max(width, 1.2 * height)
    eye = np.array([width / 2, 0.42 * height - 0.85 * far, 1.0 * far])
    back = eye - np.array([width / 2, 0.42 * height, 0.0])
    up = np.cross(back, (1.0, 0.0, 0.0))
    axes = (1.0, 0.0, 0.0, *(up / np.linalg.norm(up)))
    add(world, 'camera', name=CAMERA, pos=eye, fovy='45', xyaxes=axes)
    light = add(world, 'light', pos=eye, dir='.3 .4 -1', directional='true')
    light.set('diffuse', '.35 .35 .33')
    light.set('specular', '.1 .1 .1')


def colour(index: int, alpha: float = 1.0) -> str:
    """The colour of a box and its target, as MJCF."""
    palette = list(COLOURS.values())
    return numbers((*palette[index % len(palette)], alpha))


def _arm(world: ET.Element, family: ArmFamily, robot: int, place: Sequence[float]) -> None:
    body = add(world, 'body', name=link(robot, 0), pos=place)
    _hull(body, family.base, link(robot, 0), 0.0, _DARK)
    parts = zip(family.hull, family.arm.masses[1:], family.arm.limits, strict=True)
    for number, (hull, mass, limits) in enumerate(parts):
        origin, turn = family.frame(number)
        name = link(robot, number + 1)
        body = add(body, 'body', name=name, pos=origin, quat=turn, gravcomp='1')
        add(body, 'joint', 'link', name=joint(robot, number), range=limits)
        last = number == len(family.hull) - 1
        _hull(body, hull, name, mass, _DARK if last else _SHELL)


def _hull(body: ET.Element, hull: tuple[Segment, ...], name: str, mass: float, rgba: str) -> None:
    for number, part in enumerate(hull):
        shape = add(body, 'geom', 'link', name=f'{name}:{number}', rgba=rgba, size=part.radius)
        shape.set('fromto', numbers((*part.start, *part.end)))
        shape.set('mass', str(mass / len(hull)))


def _rules(root: ET.Element, task: SpatialMap) -> None:
    contact, equality, actuator = (add(root, tag) for tag in ('contact', 'equality', 'actuator'))
    arm = task.family.arm
    for robot in range(len(task.bases)):
        for one, other in sorted(NEIGHBOURS):
            add(contact, 'exclude', body1=link(robot, one), body2=link(robot, other))
        add(contact, 'exclude', body1='world', body2=link(robot, 1))
        for index in range(len(task.targets)):
            weld = add(equality, 'weld', name=hold(robot, index), active='false')
            weld.set('body1', link(robot, 6))
            weld.set('body2', box(index))
        for number, (gain, torque) in enumerate(zip(arm.gains, arm.torques, strict=True)):
            name, forces = joint(robot, number), (-torque, torque)
            servo = add(actuator, 'position', name=name, joint=name, forcerange=forces)
            servo.set('kp', str(gain))
            servo.set('kv', str(DAMPING * gain))
