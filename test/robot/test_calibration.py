# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Calibration: touches of a table that is not as the scene says make a scene that fits it."""

from __future__ import annotations

import io
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safegen_ros.cli.arm import Quit, _touches, _twin
from safegen_ros.errors import RobotError
from safegen_ros.robot.arms.model import Joints
from safegen_ros.robot.arms.mycobot_280 import MYCOBOT_280
from safegen_ros.robot.calibration import MAX_JOG, Measured, jog, measure, scene_text, write_scene
from safegen_ros.robot.scene import SceneError, default_scene_path, load_scene
from safegen_ros.robot.twin.twin import MujocoTwin

SCENE = load_scene()
SHIPPED = default_scene_path()


def touch(radius: float, azimuth: float, height: float, tool: float) -> Joints:
    """Joints of an arm with a tool of this length whose lip is at that point."""
    x, y = radius * math.cos(azimuth), radius * math.sin(azimuth)
    return replace(SCENE, tool_length=tool).joints_above(x, y, height, azimuth)


def table(tool: float, tilt: float = 0.0) -> list[Joints]:
    return [touch(0.18, math.radians(a), tilt * a, tool) for a in (-60, 0, 60)]


@settings(max_examples=30)
@given(st.floats(0.045, 0.075), st.floats(0.165, 0.185), st.floats(-80.0, 80.0))
def test_tool_and_slots_are_recovered(tool: float, radius: float, degrees: float) -> None:
    azimuth = math.radians(degrees)
    blocks = {'s4': touch(radius, azimuth, SCENE.block_size, tool)}
    measured = measure(table(tool), blocks, SCENE)
    assert measured.tool_length == pytest.approx(tool, abs=1e-6)
    assert measured.table_spread == pytest.approx(0.0, abs=1e-6)
    assert measured.block_heights['s4'] == pytest.approx(SCENE.block_size, abs=1e-6)
    x, y = measured.slots['s4']
    assert (math.hypot(x, y), math.atan2(y, x)) == pytest.approx((radius, azimuth), abs=1e-6)


def test_touches_that_cannot_be_are_refused() -> None:
    with pytest.raises(RobotError, match='too few'):
        measure(table(0.06)[:2], {}, SCENE)
    with pytest.raises(RobotError, match=r'6\.0 mm apart'):
        measure(table(0.06, tilt=0.00005), {}, SCENE)
    high = {'s1': touch(0.18, 0.0, SCENE.block_size + 0.005, 0.06)}
    with pytest.raises(RobotError, match=r'block on s1 is 35\.0 mm high'):
        measure(table(0.06), high, SCENE)
    tilted = table(0.06)
    tilted[1] = tilted[1] + np.radians([0, 0, 0, 5, 0, 0])
    with pytest.raises(RobotError, match=r'tilted by 5\.0 deg'):
        measure(tilted, {}, SCENE)


def test_only_a_scene_that_can_be_reached_is_written(tmp_path: Path) -> None:
    path = tmp_path / 'scene.yaml'
    good = Measured(0.0625, 0.0004, {'s2': (0.1, -0.14)}, {'s2': 0.0301})
    scene = write_scene(path, scene_text(SHIPPED, good))
    assert (scene.tool_length, load_scene(path)) == (0.0625, scene)
    assert (scene.slots[1].x, scene.slots[1].y) == pytest.approx((0.1, -0.14), abs=1e-3)
    before = path.read_text()
    far = replace(good, slots={'s2': (0.2, -0.26)})
    with pytest.raises(SceneError, match=r'scene\.yaml: slots\[1\] \(s2\): a tower of 6'):
        write_scene(path, scene_text(SHIPPED, far))
    assert path.read_text() == before
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(SceneError, match='there is no slot s99'):
        scene_text(SHIPPED, replace(good, slots={'s99': (0.1, 0.1)}))


def test_a_jog_moves_the_tip_that_far_and_no_farther() -> None:
    with MujocoTwin(SCENE) as twin:
        before = MYCOBOT_280.forward(twin.joint_positions(), SCENE.tool_length)[:3, 3]
        jog(twin, 'z', 0.01, SCENE)
        jog(twin, 'y', -0.005, SCENE)
        after = MYCOBOT_280.forward(twin.joint_positions(), SCENE.tool_length)[:3, 3]
        assert after - before == pytest.approx([0.0, -0.005, 0.01], abs=0.001)
        with pytest.raises(RobotError, match='at most 20 mm'):
            jog(twin, 'x', MAX_JOG + 0.001, SCENE)


def answers(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    monkeypatch.setattr(sys, 'stdin', io.StringIO('\n'.join(lines) + '\n'))


@pytest.mark.nightly
def test_a_person_finds_a_tool_that_is_longer_than_the_scene_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The twin has the true table; the scene to correct has a tool that is 4 mm too short."""
    believed = replace(SCENE, tool_length=SCENE.tool_length - 0.004)
    down = ['z -16', 't']
    answers(monkeypatch, 'up 5', 'z 50', 'z -x', *down, *down, *down,
            'x 4', 'x -4', *down, *(['s'] * 6))  # fmt: skip
    with MujocoTwin(SCENE, {slot.name: SCENE.slot_pose(slot) for slot in SCENE.slots}) as twin:
        touched, blocks = _touches(twin, believed)
    measured = measure(touched, blocks, believed)
    assert measured.tool_length == pytest.approx(SCENE.tool_length, abs=0.001)
    assert list(measured.slots) == ['s1']
    assert measured.slots['s1'] == pytest.approx((SCENE.slots[0].x, SCENE.slots[0].y), abs=0.002)
    said = capsys.readouterr().out
    for complaint in ("'up 5' is not a command", 'at most 20 mm', "'-x' is not a number"):
        assert complaint in said


def test_who_ends_early_has_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    for lines in (['q'], ['z -5']):
        answers(monkeypatch, *lines)
        with _twin(SCENE) as twin, pytest.raises(Quit, match='nothing was written'):
            _touches(twin, SCENE)
