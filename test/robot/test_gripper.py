# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The adaptive gripper: its scene, its fingers on the twin, and its firmware."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
import yaml

from safegen_ros.benchmarks.speed.twin import build_towers
from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.robot import skills
from safegen_ros.robot.arm import TABLE, TOOL
from safegen_ros.robot.arms.mycobot_280 import (
    FINGER_JOINTS,
    HALF_WIDTH,
    MAX_OPENING,
    MYCOBOT_280,
    STROKE,
    finger_positions,
    opening_of,
    percent_of,
)
from safegen_ros.robot.cell.blocks import BlocksworldCell
from safegen_ros.robot.cell.real import MyCobotCell
from safegen_ros.robot.description.mjcf import build_mjcf
from safegen_ros.robot.description.urdf import build_urdf
from safegen_ros.robot.emulator.emulator import Emulator
from safegen_ros.robot.emulator.firmware import Firmware
from safegen_ros.robot.mycobot.driver import MyCobot
from safegen_ros.robot.mycobot.effectors import AdaptiveGripper, check_tool
from safegen_ros.robot.mycobot.frames import Frame, FrameCommand
from safegen_ros.robot.mycobot.link import open_serial
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import SceneError, load_scene
from safegen_ros.robot.twin.contacts import CollisionError
from safegen_ros.robot.twin.twin import MujocoTwin

FILE = Path(__file__).parents[2] / 'config' / 'gripper_scene.yaml'
SCENE = load_scene(FILE)
SIZE = SCENE.block_size
HERE, NEXT = SCENE.slot_pose(SCENE.slots[3]), SCENE.slot_pose(SCENE.slots[4])
ALONE = frozenset({('arm-empty',), ('on-table', 'a'), ('clear', 'a')})


def changed(tmp_path, **values):
    document = yaml.safe_load(FILE.read_text(encoding='utf-8'))
    motion = document['motion']
    for name, value in values.items():
        (motion if name in motion else document)[name] = value
    path = tmp_path / 'scene.yaml'
    path.write_text(yaml.safe_dump(document), encoding='utf-8')
    return load_scene(path)


@pytest.mark.parametrize(
    ('values', 'what'),
    [
        ({'tool': 'tongs'}, "tool: is 'tongs': use suction gripper"),
        ({'tool': 'suction'}, r'motion\.grasp_depth_m: is 0.012: take 0.0 to 0.003'),
        ({'grasp_depth_m': 0.001}, r'motion\.grasp_depth_m: is 0.001: take 0.004 to 0.02'),
        ({'block_size_m': 0.019}, 'holds blocks of 0.020 to 0.045 m'),
        ({'block_size_m': 0.046}, 'holds blocks of 0.020 to 0.045 m'),
        ({'block_size_m': 0.022}, 'more than half a block'),
        ({'max_tower_blocks': 6}, 'tower of 6 does not fit'),
        ({'tool_length_m': 0.14}, 'tower of 5 does not fit'),
    ],
)
def test_a_scene_in_which_the_gripper_cannot_work_is_refused(tmp_path, values, what):
    with pytest.raises(SceneError, match=what):
        changed(tmp_path, **values)


def test_slots_leave_room_for_the_open_gripper(tmp_path):
    slots = yaml.safe_load(FILE.read_text(encoding='utf-8'))['slots']
    # 22 deg on a radius of 175 mm are 66.8 mm: enough for the cup, and not for the gripper.
    slots[3]['azimuth_deg'] = -3
    with pytest.raises(SceneError, match=r'from s3: the wrist and the gripper need 0.067 m'):
        changed(tmp_path, slots=slots)
    assert SCENE.slot_pitch >= HALF_WIDTH + SIZE / 2


@pytest.mark.parametrize(
    ('tool', 'scene', 'fits'),
    [
        ('gripper', SCENE, True),
        ('basic-pump', load_scene(), True),
        ('gripper', load_scene(), False),
        ('gpio-pump', SCENE, False),
    ],
)
def test_the_tool_at_the_arm_must_be_that_of_the_scene(tool, scene, fits):
    if fits:
        check_tool(tool, scene)
        return
    with pytest.raises(RobotError, match='use a scene_file with') as caught:
        check_tool(tool, scene)
    assert caught.value.code == ErrorCode.UNSUPPORTED_SCENE


def test_urdf_and_mjcf_have_the_same_fingers():
    joints = {each.get('name'): each for each in ET.fromstring(build_urdf(SCENE)).iter('joint')}
    model = mujoco.MjModel.from_xml_string(build_mjcf(SCENE, {}))
    data = mujoco.MjData(model)
    data.qpos[:6] = SCENE.home_joints
    flange = MYCOBOT_280.forward(SCENE.home_joints)
    for opening in (0.0, 0.03, MAX_OPENING):
        for name, position in finger_positions(opening).items():
            data.joint(name).qpos = position
        mujoco.mj_kinematics(model, data)
        for name in FINGER_JOINTS:
            limit, axis = joints[name].find('limit'), joints[name].find('axis')
            assert (float(limit.get('lower')), float(limit.get('upper'))) == (0.0, STROKE)
            side = float(axis.get('xyz').split()[0])
            middle = np.array([side * (opening / 2 + 0.003), 0, SCENE.tool_length - 0.022, 1])
            np.testing.assert_allclose(data.geom(name).xpos, (flange @ middle)[:3], atol=1e-9)
    assert joints[FINGER_JOINTS[1]].find('mimic').get('joint') == FINGER_JOINTS[0]


def test_fingers_take_hold_of_a_block_and_let_go_of_it():
    with MujocoTwin(SCENE, {'a': HERE, 'b': NEXT}) as twin:
        cell = BlocksworldCell(SCENE, twin, twin)
        assert twin.opening() == pytest.approx(MAX_OPENING, abs=1e-4)
        cell.execute('pickup', ('a',))
        assert twin.opening() == pytest.approx(SIZE, abs=5e-4)
        assert ('holding', 'a') in cell.observe()
        held = {contact.pair for contact in twin.take_contacts()}
        assert held == {(TOOL, 'a')}
        cell.execute('stack', ('a', 'b'))
        assert twin.opening() == pytest.approx(MAX_OPENING, abs=1e-3)
        assert {('on', 'a', 'b'), ('arm-empty',)} <= cell.observe()
        at, under = (twin.block_poses()[name].position for name in ('a', 'b'))
        np.testing.assert_allclose(np.subtract(at, under), (0, 0, SIZE), atol=0.003)


def test_what_is_let_go_of_falls_and_the_arm_stays():
    with MujocoTwin(SCENE, {'a': HERE, 'b': NEXT}) as twin:
        cell = BlocksworldCell(SCENE, twin, twin)
        cell.execute('pickup', ('a',))
        before = twin.joint_positions()
        twin.stop()  # as a goal that was cancelled leaves it
        assert cell.release() == 'the gripper is open; what it held is let go'
        np.testing.assert_allclose(twin.joint_positions(), before, atol=0.002)
        assert twin.opening() == pytest.approx(MAX_OPENING, abs=1e-3)
        assert twin.block_poses()['a'].position[2] == pytest.approx(SIZE / 2, abs=0.003)
        assert cell.release() == 'the gripper is open; it was not known to hold'
        cell.execute('pickup', ('b',))


def test_a_finger_on_a_block_that_nobody_meant_is_a_collision():
    x, y, z = HERE.position
    # Too near on every side, whichever way the fingers are turned.
    around = {
        name: Pose.upright(x + dx, y + dy, z, HERE.yaw)
        for name, dx, dy in (('b', 0.036, 0), ('c', -0.036, 0), ('d', 0, 0.036), ('e', 0, -0.036))
    }
    with MujocoTwin(SCENE, {'a': HERE, **around}) as twin:
        with pytest.raises(CollisionError) as caught:
            skills.pick(twin, SCENE, skills.Target('a', HERE, TABLE), around.values())
        one, other = caught.value.collision.pair
        assert one == TOOL
        assert other in around


@pytest.mark.nightly
def test_a_tower_of_five_stands():
    (run,) = build_towers(SCENE, 1, height=5, sigma_m=0.0005, seed=0)
    assert run.said == ''
    assert run.off_m < 0.01


class Wire:
    """The firmware of an arm with a gripper, without a port, and time that passes when it must."""

    def __init__(self, twin):
        self.firmware = Firmware(twin)

    def ask(self, command, *payload):
        answer = self.firmware.handle(Frame(command, bytes(payload)))
        assert answer is not None
        return answer.payload[0]

    def settle(self):
        for tick in range(1000):
            self.firmware.tick()
            if tick > 5 and not self.ask(FrameCommand.IS_GRIPPER_MOVING):
                return self.ask(FrameCommand.GET_GRIPPER_VALUE)
        raise AssertionError('the gripper does not come to rest')


@pytest.mark.parametrize('block', [False, True])
def test_gripper_commands_move_the_fingers_of_the_twin(block):
    with MujocoTwin(SCENE, {'a': HERE if block else NEXT}) as twin:
        skills.approach(twin, SCENE, HERE, SCENE.grasp_height(SIZE / 2), [])
        wire = Wire(twin)
        assert wire.ask(FrameCommand.SET_GRIPPER_VALUE, 20, 100) == 1
        closed = wire.settle()
        assert closed == (pytest.approx(percent_of(SIZE), abs=2) if block else 20)
        assert twin.opening() == pytest.approx(opening_of(closed), abs=5e-4)
        assert wire.ask(FrameCommand.SET_GRIPPER_STATE, 0, 100) == 1
        assert wire.settle() == 100
        assert wire.ask(FrameCommand.SET_GRIPPER_STATE, 1, 50) == 1
        assert wire.settle() == (pytest.approx(closed, abs=1) if block else 0)


def test_the_vendors_library_picks_a_block_with_the_gripper():
    samples = []
    with MujocoTwin(SCENE, {'a': HERE}) as twin, Emulator(twin) as emulator:
        robot = open_serial(emulator.serial_port, 115200)
        with MyCobotCell(
            SCENE, lambda tell: MyCobot(robot, AdaptiveGripper, sample=tell), sample=samples.append
        ) as cell:
            cell.assumed.confirm()
            cell.rearm()
            cell.reset_stop()
            cell.prepare(('a',), ALONE)
            cell.execute('pickup', ('a',))
            assert cell.arm.tool_on()
            assert samples[-1].opening == pytest.approx(SIZE, abs=0.001)
            assert twin.block_poses()['a'].position[2] > 1.5 * SIZE
            believed, measured = cell.poses()['a'], twin.block_poses()['a']
            np.testing.assert_allclose(believed.position, measured.position, atol=0.005)
            # Somebody takes the block away: now there is nothing to close on.
            cell.arm.set_tool(False)
            with pytest.raises(RobotError, match='holds nothing'):
                cell.arm.set_tool(True)


def test_blocks_of_other_sizes_are_held_as_well():
    small = replace(SCENE, block_size=0.025)
    with MujocoTwin(small, {'a': small.slot_pose(small.slots[3])}) as twin:
        cell = BlocksworldCell(small, twin, twin)
        cell.execute('pickup', ('a',))
        assert twin.opening() == pytest.approx(0.025, abs=5e-4)
