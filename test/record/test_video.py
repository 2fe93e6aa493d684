# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The video of a recording."""

from __future__ import annotations

from types import SimpleNamespace

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from safegen_ros.errors import RecordError
from safegen_ros.record.mcap_reader import Recorded
from safegen_ros.record.video import (
    FRAME_RATE,
    VideoError,
    VideoSample,
    attempts_of,
    frame_samples,
    render_video,
    samples_of,
    try_video,
    write_mp4,
)
from safegen_ros.robot.arms.model import JOINT_NAMES
from safegen_ros.robot.pose import Pose
from safegen_ros.robot.scene import load_scene
from safegen_ros.robot.twin import render


def header(seconds):
    stamp = SimpleNamespace(sec=int(seconds), nanosec=round(seconds % 1 * 1e9))
    return SimpleNamespace(stamp=stamp)


def joints(seconds, angle=0.0, names=JOINT_NAMES):
    message = SimpleNamespace(
        header=header(seconds), name=list(names), position=[angle] * len(names)
    )
    return Recorded('/lab/joint_states', 0, message)


def world(seconds, **blocks):
    objects = [
        SimpleNamespace(
            name=name,
            pose=SimpleNamespace(
                position=SimpleNamespace(x=0.2, y=y, z=0.0125),
                orientation=SimpleNamespace(x=0.0, y=0.0, z=0.0, w=1.0),
            ),
        )
        for name, y in blocks.items()
    ]
    return Recorded('/lab/world_state', 0, SimpleNamespace(header=header(seconds), objects=objects))


def test_joints_and_poses_of_one_time_are_joined_in_any_order_of_arrival():
    samples = samples_of(
        [joints(1.0, 0.1), joints(1.04, 0.2), world(1.0, b1=0.1), world(1.04, b1=0.2), joints(2.0)]
    )
    assert [round(s.time, 6) for s in samples] == [0.0, 0.04]
    assert [s.joints[0] for s in samples] == [0.1, 0.2]
    assert samples[1].poses == {'b1': Pose((0.2, 0.2, 0.0125))}


def test_only_the_time_since_the_last_reset_counts():
    first = [joints(5.0), world(5.0, old=0.0)]
    samples = samples_of([*first, world(0.0, b1=0.1), joints(0.0, 0.3)])
    assert [(s.time, s.joints[0], set(s.poses)) for s in samples] == [(0.0, 0.3, {'b1'})]


def test_a_world_with_other_blocks_is_a_new_one_although_time_goes_on():
    first = [joints(5.0), world(5.0, old=0.0), joints(5.04), world(5.04, old=0.0)]
    later = [world(5.08, b1=0.1), joints(5.08, 0.3), joints(5.12, 0.4), world(5.12, b1=0.2)]
    samples = samples_of([*first, *later])
    assert [(round(s.time, 6), s.joints[0], set(s.poses)) for s in samples] == [
        (0.0, 0.3, {'b1'}), (0.04, 0.4, {'b1'})
    ]  # fmt: skip


def test_captions_tell_each_attempt_each_step_and_the_end():
    step = SimpleNamespace(action='stack', arguments=['b1', 'ü'])
    plan = SimpleNamespace(steps=[step])
    attempts = [
        SimpleNamespace(
            number=number,
            source='model',
            plan=plan,
            verdict=SimpleNamespace(category=category, failing_step=failing),
        )
        for number, category, failing in ((1, 2, 0), (2, 1, -1), (3, 5, -1))
    ]
    moving = SimpleNamespace(phase='moving', step=1, total=3, current=step)
    done = SimpleNamespace(phase='done', step=3, total=3)
    events = [
        *(Recorded('/planner/attempts', 0, attempt) for attempt in attempts),
        *(joints(0.0), world(0.0, b1=0.0)), Recorded('/executor/progress', 0, moving),
        *(joints(1.0), world(1.0, b1=0.0)), Recorded('/planner/attempts', 0, attempts[0]),
        *(joints(2.0), world(2.0, b1=0.0)), Recorded('/executor/progress', 0, done),
    ]  # fmt: skip
    assert attempts_of(events) == [
        {'refused': 'attempt 1 by model: breaks a rule at step 1: stack b1 ?'},
        {'refused': 'attempt 2 by model: not a plan'},
        {'proved': 'attempt 3 by model'},
    ]
    assert [dict(sample.caption) for sample in samples_of(events)] == [
        {'proved': 'attempt 3 by model'},
        {'step': '2 of 3: stack b1 ?'},
        {'goal': 'reached in 3 steps, no rule broken'},
    ]


def test_the_order_of_the_joints_in_the_message_does_not_matter():
    message = joints(0.0)
    message.message.name.reverse()
    message.message.position[:] = range(6)
    assert list(samples_of([message, world(0.0, b1=0.0)])[0].joints) == [5, 4, 3, 2, 1, 0]


def test_a_missing_joint_is_named():
    with pytest.raises(VideoError, match=JOINT_NAMES[-1]):
        samples_of([joints(0.0, names=JOINT_NAMES[:-1])])


@given(st.lists(st.floats(0.001, 5.0), max_size=30), st.floats(0.1, 30.0), st.floats(0.1, 20.0))
def test_a_video_is_never_too_long_and_shows_the_latest_sample(gaps, longest, speed):
    times = [0.0, *np.cumsum(gaps)]
    samples = [VideoSample(float(t), np.zeros(6), {}) for t in times]
    chosen, factor = frame_samples(samples, longest, speed)
    assert factor >= speed
    assert (len(chosen) - 1) / FRAME_RATE <= longest + 1e-6
    for k, sample in enumerate(chosen):
        moment = k * factor / FRAME_RATE
        assert sample.time <= moment + 1e-6
        assert not any(sample.time < t <= moment - 1e-6 for t in times)


def test_a_length_of_nothing_is_refused():
    with pytest.raises(ValueError, match='above 0'):
        frame_samples([VideoSample(0.0, np.zeros(6), {})], 0.0)


def test_an_mp4_has_the_pictures_that_went_in(tmp_path):
    path = tmp_path / 'v.mp4'
    shades = [40, 120, 200]
    frames = [np.full((48, 64, 3), shade, np.uint8) for shade in shades for _ in range(5)]
    assert write_mp4(frames, path) == 15
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.name == 'h264'
        assert stream.codec_context.pix_fmt == 'yuv420p'
        assert stream.average_rate == FRAME_RATE
        seen = [frame.to_ndarray(format='rgb24').mean() for frame in container.decode(stream)]
    assert seen == pytest.approx([float(shade) for shade in shades for _ in range(5)], abs=6)


def test_a_size_that_the_encoder_refuses_is_an_error_of_ours(tmp_path):
    with pytest.raises(VideoError, match='cannot be encoded'):
        write_mp4([np.zeros((47, 63, 3), np.uint8)], tmp_path / 'v.mp4')


def recording(path):
    """An MCAP file with one second of the arm turning about its base."""
    from mcap.writer import Writer
    from rclpy.serialization import serialize_message
    from sensor_msgs.msg import JointState

    from safegen_msgs.msg import ObjectPose, WorldState
    from safegen_ros.record.mcap_writer import schema_text

    with path.open('xb') as file:
        writer = Writer(file)
        writer.start(profile='ros2')
        channels = {}
        for topic, kind in (
            ('/joint_states', 'sensor_msgs/msg/JointState'),
            ('/world_state', 'safegen_msgs/msg/WorldState'),
        ):
            schema = writer.register_schema(kind, 'ros2msg', schema_text(kind).encode())
            channels[topic] = writer.register_channel(topic, 'cdr', schema)
        for k in range(26):
            angles = JointState(name=list(JOINT_NAMES), position=[k / 25, 0.0, -0.5, 0.0, 0.0, 0.0])
            state = WorldState(objects=[ObjectPose(name='b1')])
            state.objects[0].pose.position.x = 0.2
            state.objects[0].pose.position.z = 0.0125
            for topic, message in (('/joint_states', angles), ('/world_state', state)):
                message.header.stamp.nanosec = 40_000_000 * k % 1_000_000_000
                message.header.stamp.sec = k // 25
                data = serialize_message(message)
                writer.add_message(channels[topic], k * 40_000_000, data, k * 40_000_000)
        writer.finish()


def test_a_recording_becomes_a_video_in_which_the_arm_moves(tmp_path):
    recording(tmp_path / 'run.mcap')
    video = render_video(tmp_path / 'run.mcap', tmp_path / 'v.mp4', load_scene())
    moving, end = 16, round(1.5 * FRAME_RATE)
    assert (video.frames, video.speed) == (moving + end, 1.0)
    with av.open(str(video.path)) as container:
        frames = [f.to_ndarray(format='rgb24') for f in container.decode(video=0)]
    assert len(frames) == video.frames
    assert frames[0].shape == (720, 1280, 3)
    changed = np.abs(frames[0].astype(int) - frames[-1]).max(axis=2) > 40
    assert changed.mean() > 0.01
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith('.')] == []


def test_without_opengl_the_record_names_the_package(tmp_path, monkeypatch):
    def nothing():
        raise render.RenderError('no offscreen OpenGL: install the Debian package libosmesa6')

    recording(tmp_path / 'run.mcap')
    monkeypatch.setattr(render, 'backend', nothing)
    made = try_video(tmp_path / 'run.mcap', tmp_path / 'v.mp4', load_scene())
    assert made.file == ''
    assert 'libosmesa6' in made.note
    assert not (tmp_path / 'v.mp4').exists()


def test_a_recording_without_samples_is_refused(tmp_path):
    (tmp_path / 'run.mcap').write_bytes(b'nothing of the kind')
    with pytest.raises(RecordError):
        render_video(tmp_path / 'run.mcap', tmp_path / 'v.mp4', load_scene())
