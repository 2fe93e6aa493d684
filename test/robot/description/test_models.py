# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
import math
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from safegen_ros.robot.arms.model import JOINT_NAMES
from safegen_ros.robot.arms.mycobot_280 import MYCOBOT_280
from safegen_ros.robot.description.mjcf import COLOURS, build_mjcf, legend
from safegen_ros.robot.description.urdf import build_urdf
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import load_scene

SCENE = load_scene()
SHIPPED = Path(__file__).parents[3] / 'urdf' / 'mycobot_280.urdf'
MODEL = mujoco.MjModel.from_xml_string(build_mjcf(SCENE, {}))
JOINTS = {joint.get('name'): joint for joint in ET.parse(SHIPPED).iter('joint')}
ANGLES = st.tuples(*(st.floats(low, high) for low, high in MYCOBOT_280.bounds))


def urdf_forward(angles):
    """The pose of `tcp`, from nothing but the shipped file."""
    values = dict(zip(JOINT_NAMES, angles, strict=True))
    pose = np.eye(4)
    for name, joint in JOINTS.items():
        origin = joint.find('origin')
        roll, pitch, yaw = map(float, origin.get('rpy').split())
        step = np.eye(4)
        step[:3, :3] = turn(2, yaw) @ turn(1, pitch) @ turn(0, roll) @ turn(2, values.get(name, 0))
        step[:3, 3] = [float(value) for value in origin.get('xyz').split()]
        pose = pose @ step
    return pose


def turn(axis, angle):
    c, s = math.cos(angle), math.sin(angle)
    matrix = np.eye(3)
    one, other = (axis + 1) % 3, (axis + 2) % 3
    matrix[one, one] = matrix[other, other] = c
    matrix[one, other], matrix[other, one] = -s, s
    return matrix


def test_the_shipped_urdf_is_the_generated_one():
    assert SHIPPED.read_text(encoding='utf-8') == build_urdf(SCENE)


def test_the_root_link_has_no_mass():
    """KDL ignores it, and robot_state_publisher and MoveIt warn of it."""
    links = {link.get('name'): link for link in ET.parse(SHIPPED).iter('link')}
    children = {joint.find('child').get('link') for joint in JOINTS.values()}
    (root,) = links.keys() - children
    assert root == 'base_link'
    assert links[root].find('inertial') is None
    assert JOINTS['base_joint'].get('type') == 'fixed'
    assert links['base'].find('inertial') is not None


@pytest.mark.parametrize('turned', [-2.5, 0.0, 1.0])
def test_the_urdf_touches_nothing_of_itself_in_mujoco(turned):
    model = mujoco.MjModel.from_xml_path(str(SHIPPED))
    data = mujoco.MjData(model)
    data.qpos[0] = turned
    mujoco.mj_forward(model, data)
    assert not data.ncon


def test_urdf_mjcf_and_the_table_have_the_same_limits():
    for index, name in enumerate(JOINT_NAMES):
        limit = JOINTS[name].find('limit')
        in_urdf = [float(limit.get('lower')), float(limit.get('upper'))]
        np.testing.assert_allclose(in_urdf, MYCOBOT_280.bounds[index], atol=1e-11)
        np.testing.assert_allclose(MODEL.joint(name).range, MYCOBOT_280.bounds[index], atol=1e-12)
        np.testing.assert_allclose(
            MODEL.actuator(name).ctrlrange, MYCOBOT_280.bounds[index], atol=1e-12
        )
        assert float(limit.get('velocity')) == pytest.approx(MYCOBOT_280.max_speed)


@given(ANGLES)
def test_urdf_and_mjcf_agree_with_the_firmware_kinematics(angles):
    expected = MYCOBOT_280.forward(angles, SCENE.tool_length)
    np.testing.assert_allclose(urdf_forward(angles), expected, atol=1e-9)
    data = mujoco.MjData(MODEL)
    data.qpos[:6] = angles
    mujoco.mj_kinematics(MODEL, data)
    pad = data.geom('pad')
    lip = pad.xpos + pad.xmat.reshape(3, 3)[:, 2] * MODEL.geom('pad').size[2]
    np.testing.assert_allclose(lip, expected[:3, 3], atol=1e-9)
    np.testing.assert_allclose(pad.xmat.reshape(3, 3), expected[:3, :3], atol=1e-9)


def test_names_that_xml_would_choke_on_are_carried_through():
    names = ['a&b', '<x>', 'table', 'pad']
    blocks = {name: Pose.upright(0.2, 0.1 * index, 0.015) for index, name in enumerate(names)}
    model = mujoco.MjModel.from_xml_string(build_mjcf(SCENE, blocks))
    assert model.nq == 6 + 7 * len(names)


def test_a_block_has_one_colour_whatever_the_order_of_the_blocks():
    names = ['b3', 'b10', 'b1', 'b2', 'arch', 'B']
    colours = legend(names)
    for order in itertools.permutations(names):
        assert legend(order) == colours
    assert legend(['b1', 'b2', 'b3']) == legend(['b2', 'b3', 'b1'])
    numbered = legend([f'b{index}' for index in range(1, 9)])
    assert [name for name, _ in numbered.values()] == list(COLOURS)


def test_the_core_of_the_robot_imports_without_mujoco():
    script = (
        'import sys; sys.modules["mujoco"] = None\n'
        'from safegen_ros.robot import arm, pose, scene, skills\n'
        'from safegen_ros.robot.cell import blocks, grounding, observed\n'
        'from safegen_ros.robot.description import urdf\n'
        'from safegen_ros.robot.twin import contacts\n'
        'from safegen_ros.robot.mycobot import driver, effectors\n'
        'from safegen_ros.robot.agent_client import agent_arm\n'
    )
    subprocess.run([sys.executable, '-c', script], check=True, timeout=60)
