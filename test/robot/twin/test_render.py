# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from safegen_ros.robot.description.mjcf import build_mjcf, legend
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import load_scene
from safegen_ros.robot.twin import render
from safegen_ros.robot.twin.render import dressed

SCENE = load_scene()
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
    import mujoco

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
