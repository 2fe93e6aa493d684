# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from safegen_ros.robot import skills
from safegen_ros.robot.arm import TABLE
from safegen_ros.robot.arms.mycobot_280 import MYCOBOT_280
from safegen_ros.robot.scene import load_scene
from safegen_ros.robot.twin.twin import MujocoTwin

SCENE = load_scene()
SIZE = SCENE.block_size
HEIGHTS = st.lists(st.integers(0, SCENE.max_tower), min_size=1, max_size=len(SCENE.slots))


def towers(heights):
    return [
        SCENE.slot_pose(slot, level)
        for slot, height in zip(SCENE.slots, heights, strict=False)
        for level in range(height)
    ]


@given(HEIGHTS, st.booleans())
def test_the_travel_height_clears_every_tower(heights, carrying):
    height = skills.travel_height(SCENE, towers(heights), carrying=carrying)
    lowest = height - (SIZE if carrying else 0.0)
    assert lowest >= max(heights) * SIZE + SCENE.motion.travel_clearance_m - 1e-12
    assert height >= SCENE.motion.min_travel_height_m


@pytest.mark.parametrize('slot', [SCENE.slots[0], SCENE.slots[-1]], ids=lambda slot: slot.name)
def test_a_pick_descends_and_rises_in_a_straight_line(slot):
    samples = []
    pose = SCENE.slot_pose(slot)
    with MujocoTwin(SCENE, {'a': pose}, sample=samples.append) as twin:
        skills.pick(twin, SCENE, skills.Target('a', pose, TABLE), [SCENE.slot_pose(slot, 4)])
        assert twin.tool_on()
    tips = np.array(
        [MYCOBOT_280.forward(sample.joints, SCENE.tool_length)[:3, 3] for sample in samples]
    )
    first = int(np.argmin(np.abs(tips[:, 2] - SIZE)))
    picked = [np.hypot(tip[0] - slot.x, tip[1] - slot.y) for tip in tips[first:]]
    # The servos lag behind by some 60 ms, on top of the path's own straightness.
    assert max(picked) < SCENE.motion.straightness_m + 0.003
    assert tips[-1, 2] == pytest.approx(5 * SIZE + 0.015 + SIZE, abs=0.002)
    assert samples[-1].poses['a'].position[2] == pytest.approx(tips[-1, 2] - SIZE / 2, abs=0.002)


def test_home_carries_the_block_above_the_towers():
    pose, other = SCENE.slot_pose(SCENE.slots[-1]), SCENE.slot_pose(SCENE.slots[0])
    samples = []
    with MujocoTwin(SCENE, {'a': pose, 'b': other}) as twin:
        skills.pick(twin, SCENE, skills.Target('a', pose, TABLE), [other])
        twin.sample = samples.append
        skills.home(twin, SCENE, [other], carrying=True)
        np.testing.assert_allclose(twin.joint_positions(), SCENE.home_joints, atol=0.01)
    assert min(sample.poses['a'].position[2] for sample in samples) > 1.5 * SIZE
