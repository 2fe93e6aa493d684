# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The markers: where the model is that the URDF describes, with texts that fit."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from builtin_interfaces.msg import Time
from hypothesis import given
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from visualization_msgs.msg import Marker, MarkerArray

from safegen_ros.nodes.cell_view import FRAME, SHOWN_STEPS, PlanText, SceneMarkers
from safegen_ros.robot.arm import Sample
from safegen_ros.robot.arms.mycobot_280 import MYCOBOT_280
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import load_scene

SCENE = load_scene()
ANGLES = st.tuples(*(st.floats(low, high) for low, high in MYCOBOT_280.bounds))


def look(joints: np.ndarray, poses: dict[str, Pose] | None = None) -> Sample:
    """A look at the arm and the blocks."""
    return Sample(0.0, joints, poses or {}, tool_on=False)


def ends_of(marker: Marker) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of a cylinder, from its pose and length."""
    p, q = marker.pose.position, marker.pose.orientation
    axis = Pose((p.x, p.y, p.z), (q.x, q.y, q.z, q.w)).rotation[:, 2] * marker.scale.z / 2
    middle = np.array([p.x, p.y, p.z])
    return middle - axis, middle + axis


@given(ANGLES)
def test_the_frames_of_the_links_end_at_the_flange(angles: tuple[float, ...]) -> None:
    last = MYCOBOT_280.link_frames(angles)[-1]
    assert np.allclose(
        last[:3, 3] + MYCOBOT_280.flange_offset * last[:3, 2], MYCOBOT_280.forward(angles)[:3, 3]
    )


@given(ANGLES)
def test_the_arm_is_one_chain_from_its_base_to_the_lip_of_the_cup(
    angles: tuple[float, ...],
) -> None:
    joints = np.array(angles)
    markers = SceneMarkers(SCENE).array(Time(), look(joints), PlanText()).markers
    bars = [ends_of(m) for m in markers if m.ns == 'arm' and m.type == Marker.CYLINDER]
    assert np.allclose(bars[0][0], 0)
    for (_, end), (start, _) in pairwise(bars):
        assert np.allclose(end, start, atol=1e-9)
    assert np.allclose(
        bars[-1][1], MYCOBOT_280.forward(joints, SCENE.tool_length)[:3, 3], atol=1e-9
    )
    assert np.allclose(bars[-2][1], MYCOBOT_280.forward(joints)[:3, 3], atol=1e-9)


def test_one_message_holds_all_there_is_to_see() -> None:
    poses = {'a': Pose((0.2, 0.0, 0.015)), 'b': Pose((0.2, 0.0, 0.045))}
    plan = PlanText(('(pickup a)', '(stack a b)'), 1, 'SUCCESS')
    stamp = Time(sec=3)
    made = SceneMarkers(SCENE).array(stamp, look(SCENE.home_joints, poses), plan)
    # What the last message showed goes first, also for a viewer that has missed that one.
    assert [m.action for m in made.markers] == [Marker.DELETEALL] + [Marker.ADD] * (
        len(made.markers) - 1
    )
    assert {m.header.frame_id for m in made.markers} == {FRAME}
    assert all(m.header.stamp == stamp for m in made.markers)
    assert len({(m.ns, m.id) for m in made.markers}) == len(made.markers)
    blocks = [m for m in made.markers if m.ns == 'blocks']
    assert [(m.pose.position.z, m.scale.x) for m in blocks] == [(0.015, 0.03), (0.045, 0.03)]
    assert blocks[0].color != blocks[1].color
    texts = {m.ns: m.text for m in made.markers if m.text and m.ns != 'names'}
    assert texts['plan'] == '1 of 2 steps\n[x] 1 (pickup a)\n[>] 2 (stack a b)'
    assert texts['verdict'] == 'SUCCESS'
    read = deserialize_message(serialize_message(made), MarkerArray)
    assert [(m.ns, m.id, m.text) for m in read.markers] == [
        (m.ns, m.id, m.text) for m in made.markers
    ]


def test_a_symbolic_cell_has_texts_only_and_an_idle_one_nothing() -> None:
    markers = SceneMarkers(None)
    assert len(markers.array(Time(), None, PlanText()).markers) == 1
    plan = PlanText(('(light a)',), 0, 'SAFETY_VIOLATION', 'the plan is refused')
    shown = markers.array(Time(), None, plan).markers[1:]
    assert {m.type for m in shown} == {Marker.TEXT_VIEW_FACING}
    assert shown[-1].text == 'SAFETY_VIOLATION: the plan is refused'


@given(st.integers(0, 400), st.integers(0, 400))
def test_a_long_plan_is_shown_round_the_step_under_way(length: int, done: int) -> None:
    done = min(done, length)
    text = PlanText(tuple(f'(s{i})' for i in range(length)), done, 'SUCCESS').plan_lines()
    lines = text.splitlines()[1:]
    assert len(lines) == min(length, SHOWN_STEPS)
    assert [line for line in lines if line.startswith('[>]')] == (
        [f'[>] {done + 1} (s{done})'] if done < length else []
    )
