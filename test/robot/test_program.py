# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Motion programs: written by a skill, read back strictly, carried out in their order."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from safegen_ros.errors import ErrorCode, RobotError
from safegen_ros.robot import skills
from safegen_ros.robot.arm import TABLE
from safegen_ros.robot.arms.mycobot_280 import MYCOBOT_280
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.program import (
    MAX_STEPS,
    JointMove,
    Program,
    Recorder,
    ToolSwitch,
    Wait,
    carry_out,
    parse_program,
)
from safegen_ros.robot.scene import load_scene
from safegen_ros.robot.skills import Target
from safegen_ros.robot.twin.twin import MujocoTwin

SCENE = load_scene()

joints = st.tuples(*(st.floats(float(low), float(high)) for low, high in MYCOBOT_280.bounds))
steps = st.one_of(
    st.builds(JointMove, joints, st.floats(0.01, 1.0)),
    st.builds(ToolSwitch, st.booleans()),
    st.builds(Wait, st.floats(0.0, 60.0)),
)
programs = st.builds(Program, st.lists(steps, max_size=10).map(tuple), st.just(MYCOBOT_280))


@given(programs)
def test_what_is_written_is_read(program: Program) -> None:
    assert parse_program(program.to_json(), MYCOBOT_280) == program


@given(st.binary(max_size=300))
def test_no_bytes_do_more_than_be_refused(data: bytes) -> None:
    with pytest.raises(RobotError):
        parse_program(data, MYCOBOT_280)


@given(programs.filter(lambda program: bool(program.steps)), st.data())
def test_a_program_that_lost_its_end_is_refused(program: Program, data: st.DataObject) -> None:
    text = program.to_json()
    cut = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(RobotError):
        parse_program(text[:cut], MYCOBOT_280)


@pytest.mark.parametrize(
    ('text', 'says'),
    [
        ('{"version": 2, "steps": []}', 'version'),
        ('{"version": 1, "steps": [], "more": 1}', 'more'),
        ('{"version": 1, "steps": [{"wait": 1, "tool": true}]}', "steps[0]: unknown field 'wait'"),
        ('{"version": 1, "steps": [{"wait": true}]}', 'wait'),
        ('{"version": 1, "steps": [{"wait": NaN}]}', 'NaN'),
        ('{"version": 1, "steps": [{"wait": 1e9}]}', 'wait'),
        ('{"version": 1, "steps": [{"wait": 1, "wait": 2}]}', 'twice'),
        ('{"version": 1, "steps": [{"move": [0, 0, 0, 0, 0], "speed": 1}]}', '6 values'),
        ('{"version": 1, "steps": [{"move": [0, 0, 0, 0, 0, "0"], "speed": 1}]}', 'number'),
        ('{"version": 1, "steps": [{"move": [0, 0, 0, 0, 0, 0]}]}', 'speed'),
        ('{"version": 1, "steps": [{"move": [0, 0, 0, 0, 0, 0], "speed": 0}]}', 'speed'),
        ('{"version": 1, "steps": 5}', 'steps'),
        ('{"version": 1, "steps": [[]]}', 'steps[0]'),
        ('[1, 2]', 'object'),
        ('[' * 100_000, 'nested'),
    ],
)
def test_the_place_of_an_error_is_named(text: str, says: str) -> None:
    with pytest.raises(RobotError) as caught:
        parse_program(text.encode(), MYCOBOT_280)
    assert says in caught.value.message


def test_a_step_beyond_a_limit_refuses_the_whole() -> None:
    far = [0.0, 0.0, 0.0, 0.0, 0.0, math.pi + 0.1]
    text = json.dumps({'version': 1, 'steps': [{'wait': 1.0}, {'move': far, 'speed': 1.0}]})
    with pytest.raises(RobotError, match=r'step 2: joint6') as caught:
        parse_program(text.encode(), MYCOBOT_280)
    assert caught.value.code is ErrorCode.LIMIT_VIOLATION


def test_too_many_steps_are_refused() -> None:
    with pytest.raises(RobotError, match='at most'):
        Program((Wait(0.0),) * (MAX_STEPS + 1), MYCOBOT_280)


def test_a_recorded_skill_is_the_motion_of_the_skill() -> None:
    """What a recorder is told, and what a second one is told by the program of the first."""
    target = Target('b1', SCENE.slot_pose(SCENE.slots[2]), '<table>')
    others = [SCENE.slot_pose(SCENE.slots[4])]
    first = Recorder(SCENE.home_joints, False, SCENE.arm)
    skills.pick(first, SCENE, target, others)
    assert sum(isinstance(step, JointMove) for step in first.program.steps) >= 3
    assert ToolSwitch(True) in first.program.steps
    second = Recorder(SCENE.home_joints, False, SCENE.arm)
    carry_out(parse_program(first.program.to_json(), MYCOBOT_280), second)
    assert second.program == first.program
    assert np.allclose(second.joint_positions(), first.joint_positions())
    assert second.tool_on()


def test_a_skill_out_of_reach_leaves_no_program() -> None:
    recorder = Recorder(SCENE.home_joints, False, SCENE.arm)
    far = Target('b1', Pose.upright(0.6, 0.0, 0.015, 0.0), '<table>')
    with pytest.raises(RobotError) as caught:
        skills.pick(recorder, SCENE, far, [])
    assert caught.value.code is ErrorCode.OUT_OF_REACH
    assert recorder.program.steps == ()


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
