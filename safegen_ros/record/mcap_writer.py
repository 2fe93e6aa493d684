# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Records topics of the stack into one MCAP file, as they come from the wire, without decoding."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from mcap.writer import Writer
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from safegen_ros.errors import RecordError
from safegen_ros.sync import Closing

# A file that is cut off by a kill is readable up to its last whole chunk [bytes].
CHUNK_SIZE = 128 * 1024
# Deep enough for a twin that runs faster than real time.
QUEUE_DEPTH = 1000

_SEPARATOR = '=' * 80
_NAME = re.compile(r'(\w+)/(\w+)')


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic to record.

    Attributes:
        name: relative to the namespace of the recording node, or absolute.
        type: such as 'safegen_msgs/msg/Attempt'.
        latched: whether its publisher keeps the last value for late joiners; such a value from
            before the recording is recorded too.
        best_effort: whether its publisher sends each value once only, if there is one at all: a
            real arm has no clock.
    """

    name: str
    type: str
    latched: bool = False
    best_effort: bool = False


STACK_TOPICS = (
    Topic('planner/attempts', 'safegen_msgs/msg/Attempt'),
    Topic('planner/plan', 'safegen_msgs/msg/Plan', latched=True),
    Topic('executor/progress', 'safegen_msgs/msg/ExecutionProgress'),
    Topic('joint_states', 'sensor_msgs/msg/JointState'),
    Topic('world_state', 'safegen_msgs/msg/WorldState'),
    Topic('stopped', 'safegen_msgs/msg/StopState', latched=True),
    Topic('executor/scene', 'visualization_msgs/msg/MarkerArray', latched=True),
    Topic('robot_description', 'std_msgs/msg/String', latched=True),
    Topic('/diagnostics', 'diagnostic_msgs/msg/DiagnosticArray'),
    Topic('/clock', 'rosgraph_msgs/msg/Clock', best_effort=True),
)
"""All that config/foxglove_layout.json shows, the URDF, and the time of a simulated cell."""


class McapRecorder(Closing):
    """Records while it is open. The node must be spun by its owner, also for a moment at the end.

    A disk that refuses ends the recording but not the run: see `error`.

    Attributes:
        counts: messages written by full topic name.
        error: why the recording ended early; None while all is well.
    """

    def __init__(self, node: Node, topics: Sequence[Topic], path: Path) -> None:
        """Open the file and subscribe.

        Args:
            path: file to write; must not exist.

        Raises:
            RecordError: the definition of a type is not installed.
            OSError: the file exists or cannot be made.
        """
        self.path = path
        self.error: OSError | None = None
        self.counts: dict[str, int] = {}
        self._node = node
        self._lock = threading.Lock()
        schemas = {topic.type: schema_text(topic.type) for topic in topics}
        self._file: BinaryIO | None = path.open('xb')
        self._writer: Any = Writer(self._file, chunk_size=CHUNK_SIZE)  # half of it has no types
        self._writer.start(profile='ros2', library='safegen_ros')
        self._schema_ids = {
            kind: self._writer.register_schema(kind, 'ros2msg', text.encode())
            for kind, text in schemas.items()
        }
        # All channels before the first message: the node's thread writes from then on.
        channels = [self._channel(topic) for topic in topics]
        group = MutuallyExclusiveCallbackGroup()
        self._subscriptions = [
            self._subscribe(topic, channel, group)
            for topic, channel in zip(topics, channels, strict=True)
        ]

    def _channel(self, topic: Topic) -> int:
        full_name = self._node.resolve_topic_name(topic.name)
        self.counts[full_name] = 0
        channel: int = self._writer.register_channel(full_name, 'cdr', self._schema_ids[topic.type])
        return channel

    def _subscribe(self, topic: Topic, channel: int, group: MutuallyExclusiveCallbackGroup) -> Any:
        full_name = self._node.resolve_topic_name(topic.name)
        durability = (
            DurabilityPolicy.TRANSIENT_LOCAL if topic.latched else DurabilityPolicy.VOLATILE
        )
        reliability = (
            ReliabilityPolicy.BEST_EFFORT if topic.best_effort else ReliabilityPolicy.RELIABLE
        )
        package, _, name = topic.type.split('/')
        return self._node.create_subscription(
            _message_class(package, name),
            full_name,
            partial(self._record, full_name, channel),
            QoSProfile(depth=QUEUE_DEPTH, reliability=reliability, durability=durability),
            callback_group=group,
            raw=True,
        )

    def unmatched(self) -> tuple[str, ...]:
        """Reliable topics without a publisher yet; messages until then are missed."""
        return tuple(
            subscription.topic_name
            for subscription in self._subscriptions
            if subscription.qos_profile.reliability is ReliabilityPolicy.RELIABLE
            and subscription.get_publisher_count() == 0
        )

    def _record(self, name: str, channel: int, data: bytes, info: Any) -> None:
        with self._lock:
            if self._file is None or self.error is not None:
                return
            try:
                self._writer.add_message(
                    channel_id=channel,
                    log_time=self._node.get_clock().now().nanoseconds,
                    publish_time=info['source_timestamp'],
                    sequence=self.counts[name],
                    data=data,
                )
            except OSError as error:
                self.error = error
                return
            self.counts[name] += 1

    def close(self) -> None:
        """End the recording and the file; harmless when repeated."""
        subscriptions, self._subscriptions = self._subscriptions, []
        for subscription in subscriptions:
            unsubscribe(self._node, subscription)
        with self._lock:
            if self._file is None:
                return
            try:
                self._writer.finish()
            except OSError as error:
                self.error = self.error or error
            finally:
                self._file.close()
                self._file = None


def unsubscribe(node: Node, subscription: Any) -> None:
    """Ends a subscription of a node that another thread may be spinning."""
    destroy = partial(node.destroy_subscription, subscription)
    # A subscription that goes while another thread waits for it ends that thread.
    if node.executor is None:
        destroy()
    else:
        node.executor.create_task(destroy)


def _message_class(package: str, name: str) -> Any:
    return getattr(import_module(f'{package}.msg'), name)


def definition_path(package: str, name: str) -> Path:
    """Where a `.msg` file is installed.

    Raises:
        RecordError: no prefix has it.
    """
    prefixes = [
        *filter(None, os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)),
        sys.prefix,
    ]
    for prefix in prefixes:
        path = Path(prefix) / 'share' / package / 'msg' / f'{name}.msg'
        if path.is_file():
            return path
    raise RecordError(
        f'the definition of {package}/msg/{name} is under none of: {", ".join(prefixes)}: '
        f'install the package {package}'
    )


def schema_text(type_name: str) -> str:
    """The full text of a message type, encoding `ros2msg` of the MCAP registry.

    Args:
        type_name: such as 'safegen_msgs/msg/Attempt'.

    Raises:
        RecordError: the type, or one that it is made of, is not installed.
    """
    package, _, name = type_name.split('/')
    found: dict[tuple[str, str], str] = {}
    waiting = [(package, name)]
    while waiting:
        key = waiting.pop(0)
        if key not in found:
            found[key] = definition_path(*key).read_text(encoding='utf-8')
            fields = _message_class(*key).get_fields_and_field_types()
            waiting += _NAME.findall(' '.join(fields.values()))  # such as sequence<a_msgs/B, 3>
    (_, first), *rest = found.items()
    parts = [first, *(f'{_SEPARATOR}\nMSG: {p}/{n}\n{text}' for (p, n), text in rest)]
    return '\n'.join(parts)
