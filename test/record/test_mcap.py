# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Recording of real topics from another process into MCAP, and reading back."""

from __future__ import annotations

import errno
import os
import random
import re
import subprocess
import sys
import time
from importlib import import_module

import pytest
import rclpy
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rclpy.executors import SingleThreadedExecutor
from rclpy.serialization import deserialize_message

from safegen_ros.console.history_tab import load_motion
from safegen_ros.errors import RecordError
from safegen_ros.paths import share_dir
from safegen_ros.record.mcap_reader import read_messages
from safegen_ros.record.mcap_writer import STACK_TOPICS, McapRecorder, Topic, schema_text
from safegen_ros.ros.stack_state import use_stack_discovery

WAIT_S = 30.0

PUBLISHER = """
import sys
import rclpy
from geometry_msgs.msg import Point, Pose
from rclpy.qos import DurabilityPolicy, QoSProfile
from safegen_msgs.msg import Attempt, BrokenConstraint, ObjectPose, Plan, Step, Verdict, WorldState
from safegen_ros.ros.stack_state import use_stack_discovery

use_stack_discovery()
rclpy.init()
node = rclpy.create_node('planner', namespace='lab')
latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
plans = node.create_publisher(Plan, '~/plan', latched)
plans.publish(Plan(steps=[Step(action='pickup', arguments=['b1'])], source='model'))
attempts = node.create_publisher(Attempt, '~/attempts', 100)
worlds = node.create_publisher(WorldState, 'world_state', 100)
print('published', flush=True)
while attempts.get_subscription_count() == 0 or worlds.get_subscription_count() == 0:
    rclpy.spin_once(node, timeout_sec=0.01)
for number in range(50):
    broken = [BrokenConstraint(text='(a)')]
    verdict = Verdict(category=2, reason=f'reason {number} \\u00fc', broken=broken)
    attempts.publish(Attempt(number=number, text='x' * 2000, verdict=verdict, seconds=0.5))
    world = WorldState(facts=['(on b1 b2)'])
    world.header.stamp.sec = number
    world.header.frame_id = 'base_link'
    pose = Pose(position=Point(x=0.25, y=-0.5, z=float(number)))
    world.objects = [ObjectPose(name='b1', pose=pose)]
    worlds.publish(world)
sys.stdin.read()  # Stay until the test has it all.
rclpy.shutdown()
"""


@pytest.fixture
def recording_node(tmp_path, monkeypatch, ros_domain):
    """A node of this process in a domain of its own, and the executor that spins it."""
    monkeypatch.setenv('ROS_DOMAIN_ID', str(ros_domain))
    monkeypatch.setenv('ROS_LOG_DIR', str(tmp_path / 'ros'))
    use_stack_discovery()
    context = rclpy.Context()
    rclpy.init(args=[], context=context)
    node = rclpy.create_node('recorder', namespace='lab', context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    yield node, executor
    executor.shutdown()
    node.destroy_node()
    context.shutdown()


def spin_until(executor, condition, what):
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, f'waited {WAIT_S} s for: {what}'
        executor.spin_once(timeout_sec=0.05)


def record(recording_node, path):
    """Record what the publisher sends; the recorder, closed."""
    node, executor = recording_node
    topics = [t for t in STACK_TOPICS if t.name.startswith('planner/') or t.name == 'world_state']
    with subprocess.Popen(
        [sys.executable, '-c', PUBLISHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as publisher:
        assert publisher.stdout.readline() == 'published\n'
        with McapRecorder(node, topics, path) as recorder:
            expected = {'/lab/planner/attempts': 50, '/lab/planner/plan': 1, '/lab/world_state': 50}
            spin_until(executor, lambda: recorder.counts == expected, expected)
            assert recorder.unmatched() == ()
        publisher.stdin.close()
    return recorder


def test_topics_of_another_process_are_recorded_and_read_back(recording_node, tmp_path):
    path = tmp_path / 'run.mcap'
    begun = time.time_ns()
    recorder = record(recording_node, path)
    assert recorder.error is None

    by_topic = {}
    for item in read_messages(path):
        by_topic.setdefault(item.topic, []).append(item)
        assert begun <= item.time_ns <= time.time_ns()
    assert {name: len(items) for name, items in by_topic.items()} == recorder.counts

    attempts = [item.message for item in by_topic['/lab/planner/attempts']]
    assert [a.number for a in attempts] == list(range(50))
    assert attempts[7].verdict.reason == 'reason 7 ü'
    assert attempts[7].verdict.broken[0].text == '(a)'
    assert attempts[7].text == 'x' * 2000
    world = by_topic['/lab/world_state'][9].message
    assert (world.header.stamp.sec, world.header.frame_id) == (9, 'base_link')
    assert world.objects[0].name == 'b1'
    assert world.objects[0].pose.position.z == 9.0
    assert world.objects[0].pose.orientation.w == 1.0
    assert by_topic['/lab/planner/plan'][0].message.steps[0].action == 'pickup'


def test_the_readers_of_others_open_it_by_what_is_in_the_file(recording_node, tmp_path):
    """What Foxglove and rosbag2 go by: the profile, the encodings, and schemas that are whole."""
    path = tmp_path / 'run.mcap'
    recorder = record(recording_node, path)
    with path.open('rb') as file:
        reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
        assert reader.get_header().profile == 'ros2'
        summary = reader.get_summary()
        messages = list(reader.iter_messages())
        decoded = list(reader.iter_decoded_messages())
    counts = {summary.channels[c].topic: n for c, n in
              summary.statistics.channel_message_counts.items()}  # fmt: skip
    assert counts == recorder.counts
    assert {each.message_encoding for each in summary.channels.values()} == {'cdr'}
    assert {each.encoding for each in summary.schemas.values()} == {'ros2msg'}
    names = {c.topic: summary.schemas[c.schema_id].name for c in summary.channels.values()}
    assert names == {
        '/lab/planner/attempts': 'safegen_msgs/msg/Attempt',
        '/lab/planner/plan': 'safegen_msgs/msg/Plan',
        '/lab/world_state': 'safegen_msgs/msg/WorldState',
    }
    for (schema, _, message), (*_, value) in zip(messages, decoded, strict=True):
        assert _values(value) == _values(deserialize_message(message.data, _class(schema.name)))
    assert len(decoded) == len(messages) == sum(recorder.counts.values())
    categories = {
        value.verdict.category
        for _, channel, _, value in decoded
        if channel.topic == '/lab/planner/attempts'
    }
    assert categories == {2}


@pytest.mark.parametrize('topic', STACK_TOPICS, ids=lambda topic: topic.name)
def test_a_schema_has_the_fields_of_the_type_that_is_sent(topic):
    """The text and the type support come from different files of an installation."""
    definition = schema_text(topic.type)
    first, *rest = definition.split('=' * 80 + '\n')
    parts = {topic.type: first}
    for part in rest:
        name, text = part.removeprefix('MSG: ').split('\n', 1)
        parts[name.replace('/', '/msg/')] = text
    for name, text in parts.items():
        fields = [match['name'] for line in text.splitlines() if (match := _FIELD.match(line))]
        assert fields == list(_class(name).get_fields_and_field_types())


_FIELD = re.compile(r'[A-Za-z][\w/]*(?:<=\d+)?(?:\[[<=\d]*\])?\s+(?P<name>[a-z]\w*)(?!\w*\s*=)')


def test_a_recording_that_was_cut_off_is_read_as_far_as_it_goes(recording_node, tmp_path):
    whole, cut = tmp_path / 'run.mcap', tmp_path / 'cut.mcap'
    record(recording_node, whole)
    data = whole.read_bytes()
    everything = [(item.topic, item.time_ns) for item in read_messages(whole)]
    cut.write_bytes(data[:-1])
    assert sorted((i.topic, i.time_ns) for i in read_messages(cut)) == sorted(everything)
    for length in range(8, len(data), 997):
        cut.write_bytes(data[:length])
        got = [(item.topic, item.time_ns) for item in read_messages(cut)]
        assert set(got) <= set(everything)
    cut.write_bytes(b'not a recording at all')
    with pytest.raises(RecordError, match='is not a readable MCAP file'):
        list(read_messages(cut))


def test_a_damaged_summary_is_found(recording_node, tmp_path):
    """The library reads the names of topics there, and checks no sum of it."""
    whole = tmp_path / 'run.mcap'
    record(recording_node, whole)
    data = whole.read_bytes()
    place = data.rindex(b'world_state')
    whole.write_bytes(data[:place] + b'worlg_state' + data[place + len(b'world_state') :])
    with pytest.raises(RecordError, match='its summary is damaged'):
        list(read_messages(whole))


@pytest.mark.slow
def test_damage_anywhere_is_a_record_error_or_changes_no_field(recording_node, tmp_path):
    whole, harmed = tmp_path / 'run.mcap', tmp_path / 'harmed.mcap'
    record(recording_node, whole)
    data = whole.read_bytes()
    types = {item.topic: type(item.message).__name__ for item in read_messages(whole)}
    chance = random.Random(7)
    found = 0
    for _ in range(80):
        flipped = bytearray(data[: chance.choice((len(data), len(data) // 2))])
        for _ in range(chance.choice((1, 1, 8))):
            flipped[chance.randrange(len(flipped))] = chance.randrange(256)
        harmed.write_bytes(flipped)
        try:
            for item in read_messages(harmed):
                assert type(item.message).__name__ == types[item.topic]
        except RecordError:
            found += 1
        with pytest.raises(RecordError):  # no arm moved in it
            load_motion(harmed)
    assert 8 < found < 80


def test_a_file_is_never_overwritten(recording_node, tmp_path):
    path = tmp_path / 'run.mcap'
    path.write_text('mine')
    with pytest.raises(FileExistsError):
        McapRecorder(recording_node[0], STACK_TOPICS, path)
    assert path.read_text() == 'mine'


def test_a_type_that_is_not_installed_is_refused_before_a_file_is_made(recording_node, tmp_path):
    path = tmp_path / 'run.mcap'
    with pytest.raises(RecordError, match='install the package moon_msgs'):
        McapRecorder(recording_node[0], [Topic('x', 'moon_msgs/msg/Rock')], path)
    assert not path.exists()


def test_a_disk_that_refuses_ends_the_recording_but_not_the_node(
    recording_node, tmp_path, monkeypatch
):
    node, executor = recording_node
    with McapRecorder(node, [Topic('x', 'std_msgs/msg/String')], tmp_path / 'run.mcap') as recorder:

        def refuse(**values):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(recorder._writer, 'add_message', refuse)
        publisher = node.create_publisher(_string(), 'x', 1)
        spin_until(executor, lambda: not recorder.unmatched(), 'its own publisher')
        publisher.publish(_string()(data='lost'))
        spin_until(executor, lambda: recorder.error is not None, 'the error')
    assert recorder.error.errno == errno.ENOSPC
    assert recorder.counts == {'/lab/x': 0}


def _values(message):
    """A message as plain values, whoever has decoded it."""
    if isinstance(message, list):
        return [_values(each) for each in message]
    if not hasattr(message, '__slots__'):
        return message
    names = [name.removeprefix('_') for name in message.__slots__]
    return {name: _values(getattr(message, name)) for name in names if name != 'check_fields'}


def _class(name):
    package, folder, kind = name.split('/')
    return getattr(import_module(f'{package}.{folder}'), kind)


def _string():
    from std_msgs.msg import String

    return String


def test_a_recording_has_all_that_the_layout_of_foxglove_shows():
    layout = (share_dir() / 'config' / 'foxglove_layout.json').read_text(encoding='utf-8')
    shown = set(re.findall(r'"(?:/[a-z_/]+)(?=[".])', layout))
    recorded = {'/' + topic.name.lstrip('/') for topic in STACK_TOPICS}
    assert {'/executor/scene', '/diagnostics'} <= {name.lstrip('"') for name in shown}
    assert {name.lstrip('"') for name in shown} <= recorded
