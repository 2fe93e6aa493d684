# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import threading
import time

import mujoco
import numpy as np
import pytest

from safegen_ros.errors import Canceled, ErrorCode, RobotError
from safegen_ros.robot.arms.mycobot_280 import MYCOBOT_280
from safegen_ros.robot.description.mjcf import build_mjcf, legend
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import load_scene
from safegen_ros.robot.twin import render
from safegen_ros.robot.twin.render import dressed
from safegen_ros.robot.twin.twin import SETTLE, TICK, MujocoTwin

SCENE = load_scene()
FIRST, LAST = SCENE.slots[0], SCENE.slots[-1]


def above(slot, height):
    return SCENE.joints_above(slot.x, slot.y, height, slot.azimuth)


def in_another_thread(call):
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


def test_a_move_ends_at_its_target_and_keeps_the_speed_cap():
    samples = []
    with MujocoTwin(SCENE, sample=samples.append) as twin:
        target = above(LAST, 0.1)
        twin.move_joints(target, 0.5)
        np.testing.assert_allclose(twin.joint_positions(), target, atol=0.01)
    times = np.array([sample.time for sample in samples])
    np.testing.assert_allclose(np.diff(times), 0.04, atol=1e-9)
    speeds = np.diff([sample.joints for sample in samples], axis=0) / 0.04
    assert np.abs(speeds).max() <= 0.5 * np.radians(150) * 1.05


def test_the_limits_themselves_can_be_reached():
    with MujocoTwin(SCENE) as twin:
        for side in (0, 1):
            target = np.radians([0, 0, 0, 0, 0, 0.0])
            target[0] = MYCOBOT_280.bounds[0, side]
            twin.move_joints(target, 1.0)
            assert twin.joint_positions()[0] == pytest.approx(target[0], abs=0.01)


def test_stop_from_another_thread_holds_within_two_ticks():
    stopped_at = []

    def stop_midway(sample):
        if sample.time > 0.5 and not stopped_at:
            stopped_at.append(sample)
            in_another_thread(twin.stop)

    with MujocoTwin(SCENE, sample=stop_midway) as twin:
        with pytest.raises(Canceled) as caught:
            twin.move_joints(above(LAST, 0.195), 1.0)
        assert caught.value.code == ErrorCode.EXECUTION_CANCELED
        assert twin.sim_time - stopped_at[0].time <= SETTLE + 2 * TICK
        held = twin.joint_positions()
        # Braking from full speed takes a few degrees, and the arm is not drawn back afterwards.
        assert np.abs(held - stopped_at[0].joints).max() < np.radians(8)
        with pytest.raises(Canceled, match='reset the stop'):
            twin.move_joints(above(LAST, 0.195), 1.0)
        with pytest.raises(Canceled, match='reset the stop'):
            twin.set_tool(True)
        twin.reset_stop()
        twin.wait(1.0)
        np.testing.assert_allclose(twin.joint_positions(), held, atol=2e-3)
        twin.move_joints(above(LAST, 0.195), 1.0)
        np.testing.assert_allclose(twin.joint_positions(), above(LAST, 0.195), atol=0.01)


def test_a_dwell_ends_at_a_stop():
    def stop_midway(sample):
        if sample.time > 1.0:
            in_another_thread(twin.stop)

    with MujocoTwin(SCENE, sample=stop_midway) as twin:
        with pytest.raises(Canceled):
            twin.wait(60.0)
        assert twin.sim_time < 1.5


def test_a_throttled_twin_keeps_the_clock_and_stops_at_once():
    with MujocoTwin(SCENE, real_time_factor=20.0) as twin:
        started = time.monotonic()
        twin.wait(4.0)
        assert time.monotonic() - started >= 0.19

    reached = threading.Event()
    with MujocoTwin(SCENE, real_time_factor=0.05, sample=lambda _: reached.set()) as twin:
        reached.clear()
        stopper = threading.Thread(target=lambda: (reached.wait(30), twin.stop()))
        stopper.start()
        started = time.monotonic()
        with pytest.raises(Canceled):
            twin.wait(600.0)  # over three hours by the clock
        stopper.join()
        assert time.monotonic() - started < 20


def test_readings_from_other_threads_are_whole():
    """A pose read while the physics runs is one of an instant, never half of two."""
    blocks = {'a': SCENE.slot_pose(FIRST)}
    seen, done = [], threading.Event()

    def read():
        while not done.is_set():
            seen.append(twin.look())

    with MujocoTwin(SCENE, blocks) as twin:
        reader = threading.Thread(target=read)
        reader.start()
        twin.move_joints(above(LAST, 0.195), 1.0)
        done.set()
        reader.join()
    times = [sample.time for sample in seen]
    assert times == sorted(times)
    assert all(np.hypot(*sample.poses['a'].position[:2]) < 0.18 for sample in seen)


def test_sweeping_a_low_carry_through_a_tower_is_a_collision():
    middle = SCENE.slots[3]
    blocks = {f'b{level}': SCENE.slot_pose(middle, level) for level in range(3)}
    with MujocoTwin(SCENE, blocks) as twin:
        twin.move_joints(above(FIRST, 0.195), 1.0)
        twin.move_joints(above(FIRST, 0.05), 0.5)
        with pytest.raises(RobotError, match=r'collision at .* hits .* N, .* mm deep') as caught:
            twin.move_joints(above(LAST, 0.05), 1.0)
        assert caught.value.code == ErrorCode.ROBOT_FAULT
        # It stopped there: the arm is still on the near side of the tower or in it.
        assert twin.joint_positions()[0] < above(LAST, 0.05)[0] - np.radians(30)
        with pytest.raises(RobotError, match='after a fault'):
            twin.wait(0.1)
        twin.reset_stop()
        twin.reset({})
        twin.move_joints(above(LAST, 0.195), 1.0)


def test_driving_the_cup_into_the_table_is_a_collision():
    with MujocoTwin(SCENE) as twin:
        twin.move_joints(above(FIRST, 0.05), 1.0)
        with pytest.raises(RobotError, match='tool hits table'):
            twin.move_joints(above(FIRST, -0.02), 0.3)


def test_folding_the_arm_into_itself_is_a_collision():
    with MujocoTwin(SCENE) as twin, pytest.raises(RobotError, match=r'link1 hits (link6|tool)'):
        twin.move_joints(np.radians([0, 30, -150, -60, 90, 0]), 1.0)


def test_a_block_named_like_a_link_is_not_mistaken_for_it():
    blocks = {'link6': SCENE.slot_pose(FIRST), 'base': SCENE.slot_pose(LAST)}
    with MujocoTwin(SCENE, blocks) as twin:
        twin.expect_contacts(('link6', 'base'))
        assert set(twin.block_poses()) == {'link6', 'base'}
        twin.move_joints(above(FIRST, 0.05), 1.0)
        with pytest.raises(RobotError, match='link6'):
            twin.move_joints(above(FIRST, 0.02), 0.3)


def test_the_same_commands_give_the_same_bits():
    def run():
        with MujocoTwin(SCENE, {'a': SCENE.slot_pose(FIRST)}) as twin:
            twin.move_joints(above(LAST, 0.1), 1.0)
            return twin.joint_positions().tobytes(), twin.block_poses()

    assert run() == run()


def test_a_disturbed_block_falls_where_physics_takes_it():
    with MujocoTwin(SCENE, {'a': SCENE.slot_pose(FIRST)}) as twin:
        twin.disturb('a', Pose.upright(FIRST.x, FIRST.y, 0.10))
        twin.wait(1.0)
        assert twin.block_poses()['a'].position[2] == pytest.approx(0.015, abs=1e-3)


@pytest.mark.parametrize('factor', [-1.0, float('nan'), float('inf')])
def test_a_nonsensical_real_time_factor_is_refused(factor):
    with pytest.raises(RobotError, match='real_time_factor'):
        MujocoTwin(SCENE, real_time_factor=factor)


def test_a_closed_twin_says_so():
    twin = MujocoTwin(SCENE)
    twin.close()
    twin.close()
    with pytest.raises(RobotError, match='closed'):
        twin.wait(0.1)


BLOCKS = {f'b{index}': SCENE.slot_pose(slot) for index, slot in enumerate(SCENE.slots[:6])}


def offscreen_gl_works():
    try:
        render.backend()
    except render.RenderError:
        return False
    return True


def count(frame, colour):
    """Pixels of about a hue, whatever the light does to its brightness."""
    wanted = np.array(colour) / np.linalg.norm(colour)
    pixels = frame.reshape(-1, 3).astype(float)
    lengths = np.linalg.norm(pixels, axis=1)
    return int(np.sum((pixels @ wanted) / np.maximum(lengths, 1) > 0.998))


@pytest.mark.skipif(not offscreen_gl_works(), reason='no offscreen OpenGL: libegl1 or libosmesa6')
def test_the_camera_sees_every_block_where_it_is():
    colours = legend(BLOCKS)
    with render.Renderer(SCENE, BLOCKS, width=320, height=240) as renderer:
        before = renderer.frame(SCENE.home_joints, BLOCKS)
        assert before.shape == (240, 320, 3)
        assert before.dtype == np.uint8
        for name in BLOCKS:
            away = {**BLOCKS, name: Pose.upright(0.0, 0.0, -1.0)}
            after = renderer.frame(SCENE.home_joints, away)
            assert count(before, colours[name][1]) - count(after, colours[name][1]) > 50, name
        again = renderer.frame(SCENE.home_joints, BLOCKS)
        np.testing.assert_array_equal(again, before)
        moved = renderer.frame(np.zeros(6), BLOCKS)
        assert (moved != before).any()
        renderer.close()


def test_without_any_opengl_the_package_is_named(monkeypatch):
    monkeypatch.setattr(render, '_PROBE', 'raise ImportError("no library")')
    monkeypatch.delenv('MUJOCO_GL', raising=False)
    render.backend.cache_clear()
    try:
        with pytest.raises(render.RenderError, match='libegl1 or libosmesa6') as caught:
            render.Renderer(SCENE, BLOCKS)
        assert 'no library' in caught.value.message
    finally:
        render.backend.cache_clear()


def test_the_environment_chooses_the_backend(monkeypatch):
    monkeypatch.setattr(render, '_PROBE', 'import sys; sys.exit(sys.argv[1] != "osmesa")')
    for chosen, expected in (('osmesa', 'osmesa'), ('', 'osmesa')):
        monkeypatch.setenv('MUJOCO_GL', chosen)
        render.backend.cache_clear()
        assert render.backend() == expected
    monkeypatch.setenv('MUJOCO_GL', 'egl')
    render.backend.cache_clear()
    try:
        with pytest.raises(render.RenderError, match='libegl1'):
            render.backend()
    finally:
        render.backend.cache_clear()


def test_looks_change_nothing_that_moves():

    plain = mujoco.MjModel.from_xml_string(build_mjcf(SCENE, BLOCKS))
    seen = mujoco.MjModel.from_xml_string(*dressed(SCENE, BLOCKS))
    assert [seen.joint(j).name for j in range(seen.njnt)] == [
        plain.joint(j).name for j in range(plain.njnt)
    ]
    assert seen.ngeom > plain.ngeom


def test_a_caption_is_below_the_picture_and_has_the_colour_of_its_title():
    blank = np.full((720, 1280, 3), 255, dtype=np.uint8)
    refused, proved = (render.captioned(blank, {t: 'attempt 1'}) for t in ('refused', 'proved'))
    assert (refused[:600] == 255).all()
    assert count(refused, (0.84, 0.27, 0.2)) > 500 > count(proved, (0.84, 0.27, 0.2))
