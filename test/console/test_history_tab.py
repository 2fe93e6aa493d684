# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The table of past runs: it lists what is searched for, and opens the run of a row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcap_ros2.writer import Writer
from support.kept_runs import keep_run, kept_folder

from safegen_ros.console import history_tab
from safegen_ros.console.access import Gate, serve
from safegen_ros.console.history_tab import ANY, DONE, NOT_DONE, HistoryTab, load_motion
from safegen_ros.console.state import ConsoleState
from safegen_ros.console.widgets import Parts
from safegen_ros.errors import RecordError
from safegen_ros.record.mcap_writer import schema_text

GOOD, SHORT, BROKEN = '20260131T142500Z-000a', '20260131T142600Z-000b', '20260131T142700Z-000c'


def test_runs_are_searched_and_opened_by_their_row(tmp_path: Path) -> None:
    keep_run(kept_folder(tmp_path, GOOD))
    keep_run(kept_folder(tmp_path, SHORT), facts=('(on-table a)',), reached=False)
    (kept_folder(tmp_path, BROKEN) / 'journal.db').write_bytes(b'no journal')
    server: Any = serve(Gate('127.0.0.1'), 0)
    try:
        parts: Any = Parts(
            server.gui, ConsoleState(), None, None, lambda line, bad: pytest.fail(line), 'me', False
        )  # type: ignore[arg-type]
        tab = HistoryTab(parts, Any, tmp_path)  # type: ignore[arg-type]
        by_label = {each.label: each for each in server.gui._gui_input_handle_from_uuid.values()}
        tab.look()
        for text, which, expected in (
            ('', ANY, [BROKEN, SHORT, GOOD]),  # the newest first
            ('', DONE, [GOOD]),
            ('', NOT_DONE, [BROKEN, SHORT]),
            ('Goal_Not_Reached', ANY, [SHORT]),
            ('two', ANY, [SHORT, GOOD]),
            ('nothing like it', ANY, []),
        ):
            by_label['Search'].value, by_label['Show'].value = text, which
            assert [each.name for each in tab._shown] == expected
            pick = by_label['Open run']
            assert pick.visible is bool(expected)
            assert len(pick.options) == max(1, len(expected))
        assert 'No run fits the search.' in str(tab._table._handle.content)
        by_label['Search'].value = GOOD
        told = str(tab._table._handle.content)
        assert '✓ SUCCESS' in told
        assert '<svg' in told  # its goal
        pick.value = '1'
        for callback in pick._impl.update_cb:
            callback(type('Event', (), {'client': None}))
        assert tab._open is not None
        assert tab._open.kept.record.run_id == GOOD
    finally:
        server.stop()


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
    position = [value, -value]
    return {'header': HEADER, 'name': names, 'position': position, 'velocity': [], 'effort': []}


def _world(x: float) -> dict[str, Any]:
    turn = {'x': 0.0, 'y': 0.0, 'z': 0.0, 'w': 1.0}
    pose = {'position': {'x': x, 'y': 0.0, 'z': 0.0}, 'orientation': turn}
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
    assert found.seconds == pytest.approx(0.5)
    assert [sample.joints for sample in found.samples] == [(1.0, -1.0), (2.0, -2.0)]
    assert [sample.step for sample in found.samples] == [0, 1]
    assert [sample.blocks['b1'].position[0] for sample in found.samples] == [0.1, 0.2]
    for time, joint in ((-5.0, 1.0), (0.2, 1.0), (0.49, 1.0), (0.5, 2.0), (99.0, 2.0)):
        assert found.at(time).joints[0] == joint


def test_a_long_recording_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_tab, 'MAX_SAMPLES', 3)
    messages = [(float(n), '/joint_states', _joints(float(n))) for n in range(1, 6)]
    path = _recording(tmp_path / 'run.mcap', [(0.0, '/executor/progress', _progress(0)), *messages])
    found = load_motion(path)
    assert len(found.samples) == 3


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
