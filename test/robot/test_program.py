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
