# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The motion in a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcap_ros2.writer import Writer

from safegen_ros.console import motion
from safegen_ros.console.motion import load_motion
from safegen_ros.record.json_form import RecordError
from safegen_ros.record.mcap_writer import schema_text

NAMES = ['joint1', 'joint2']
HEADER = {'stamp': {'sec': 0, 'nanosec': 0}, 'frame_id': ''}


def _recording(path: Path, messages: list[tuple[float, str, dict[str, Any]]]) -> Path:
    """A recording of messages, each with its time [s] and its topic."""
    types = {
        '/joint_states': 'sensor_msgs/msg/JointState',
        '/world_state': 'safegen_msgs/msg/WorldState',
        '/executor/progress': 'safegen_msgs/msg/ExecutionProgress',
    }
    with path.open('wb') as file, Writer(file) as writer:
        schemas = {
            topic: writer.register_msgdef(kind, schema_text(kind)) for topic, kind in types.items()
        }
        for time, topic, message in messages:
            stamp = round((100 + time) * 1e9)
            writer.write_message(topic, schemas[topic], message, stamp, stamp)
    return path


def _progress(step: int) -> dict[str, Any]:
    return {'phase': 'moving', 'step': step, 'total': 2, 'current': {'action': 'a'}}


def _joints(value: float, names: list[str] = NAMES) -> dict[str, Any]:
    return {
        'header': HEADER,
        'name': names,
        'position': [value, -value],
        'velocity': [],
        'effort': [],
    }


def _world(x: float) -> dict[str, Any]:
    pose = {
        'position': {'x': x, 'y': 0.0, 'z': 0.0},
        'orientation': {'x': 0.0, 'y': 0.0, 'z': 0.0, 'w': 1.0},
    }
    return {'header': HEADER, 'objects': [{'name': 'b1', 'pose': pose}], 'facts': [], 'unseen': []}


def test_the_cell_at_any_time_of_a_run(tmp_path: Path) -> None:
    path = _recording(
        tmp_path / 'run.mcap',
        [
            (-1.0, '/joint_states', _joints(9.0)),  # before the execution
            (0.0, '/executor/progress', _progress(0)),
            (0.1, '/world_state', _world(0.1)),
            (0.2, '/joint_states', _joints(1.0)),
            (0.21, '/joint_states', _joints(1.5)),  # too soon after the one before
            (0.3, '/world_state', _world(0.2)),
            (0.4, '/executor/progress', _progress(1)),
            (0.5, '/joint_states', _joints(2.0)),
        ],
    )
    found = load_motion(path)
    assert found.joint_names == tuple(NAMES)
    assert found.whole
    assert found.seconds == pytest.approx(0.5)
    assert [sample.joints for sample in found.samples] == [(1.0, -1.0), (2.0, -2.0)]
    assert [sample.step for sample in found.samples] == [0, 1]
    assert [sample.blocks['b1'].position[0] for sample in found.samples] == [0.1, 0.2]
    for time, joint in ((-5.0, 1.0), (0.2, 1.0), (0.49, 1.0), (0.5, 2.0), (99.0, 2.0)):
        assert found.at(time).joints[0] == joint


def test_a_long_recording_is_cut_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(motion, 'MAX_SAMPLES', 3)
    messages = [(float(n), '/joint_states', _joints(float(n))) for n in range(1, 6)]
    path = _recording(tmp_path / 'run.mcap', [(0.0, '/executor/progress', _progress(0)), *messages])
    found = load_motion(path)
    assert (len(found.samples), found.whole) == (3, False)


def test_what_holds_no_motion_is_refused(tmp_path: Path) -> None:
    still = _recording(tmp_path / 'still.mcap', [(0.0, '/joint_states', _joints(1.0))])
    with pytest.raises(RecordError, match='no motion is recorded'):
        load_motion(still)
    with pytest.raises(RecordError, match='cannot be read'):
        load_motion(tmp_path / 'none.mcap')
    (tmp_path / 'bad.mcap').write_bytes(b'nonsense')
    with pytest.raises(RecordError):
        load_motion(tmp_path / 'bad.mcap')
    changed = _recording(
        tmp_path / 'changed.mcap',
        [
            (0.0, '/executor/progress', _progress(0)),
            (0.1, '/joint_states', _joints(1.0)),
            (0.2, '/joint_states', _joints(1.0, ['other', 'names'])),
        ],
    )
    with pytest.raises(RecordError, match='the joints change'):
        load_motion(changed)
