# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How a node is, once a second on `/diagnostics`, with the levels of REP 107.

OK needs no action; WARN keeps work from being taken, or soon will; ERROR needs an operator.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from safegen_ros.ros import qos
from safegen_ros.ros.liveness import Ticker
from safegen_ros.sync import Closing

TOPIC = '/diagnostics'
"""Absolute: all nodes of a robot report to one place, whatever their namespaces."""

PERIOD_S = 1.0
"""Between two reports [s]."""

SLOW_VERDICT_S = 1.0
"""A verdict that takes longer is a warning [s]."""

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR

_Argument = TypeVar('_Argument')
_Result = TypeVar('_Result')


@dataclass(frozen=True, slots=True)
class Health:
    """How one part of a node is.

    Attributes:
        part: such as `model`.
        level: `OK`, `WARN` or `ERROR`.
        values: what else there is to know; shown as text.
    """

    part: str
    level: bytes
    message: str
    values: Mapping[str, object] = field(default_factory=dict)


class Diagnostics(Closing):
    """Reports on a node from its construction until it is closed.

    Interfaces:
        topic `/diagnostics` (diagnostic_msgs/msg/DiagnosticArray): one status for each part, named
            `node: part`.

    Args:
        hardware: what the node works with, such as the name of its model; asked each time.
    """

    def __init__(self, node: Node, hardware: Callable[[], str] = lambda: '') -> None:
        self._node = node
        self._hardware = hardware
        self._parts: list[Callable[[], Health]] = []
        self._publisher = node.create_publisher(DiagnosticArray, TOPIC, qos.EVENTS)
        self._ticker = Ticker(node, PERIOD_S, self._report)

    def add(self, *parts: Callable[[], Health]) -> None:
        """Adds parts, each of which says how it is, at once and from any thread."""
        self._parts += parts

    def close(self) -> None:
        """Ends the reports."""
        self._ticker.close()

    def _report(self) -> None:
        message = DiagnosticArray(status=[self._status(part) for part in self._parts])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)

    def _status(self, part: Callable[[], Health]) -> DiagnosticStatus:
        try:
            health = part()
        except Exception as error:  # the report must list it, and all other parts
            health = Health(part.__name__.strip('_'), ERROR, f'cannot be told: {error!r}')
        name = self._node.get_fully_qualified_name().lstrip('/')
        return DiagnosticStatus(
            level=health.level,
            name=f'{name}: {health.part}',
            message=health.message,
            hardware_id=self._hardware(),
            values=[KeyValue(key=key, value=str(value)) for key, value in health.values.items()],
        )


class Latency:
    """How long something took, the last time and at most.

    Attributes:
        part: name of the part of the node.
        slow_s: from here on it is a WARN [s].
    """

    def __init__(self, part: str, slow_s: float) -> None:
        self.part = part
        self.slow_s = slow_s
        self._lock = threading.Lock()
        self._count = self._failed = 0
        self._last_s = self._most_s = 0.0

    def timed(self, function: Callable[[_Argument], _Result]) -> Callable[[_Argument], _Result]:
        """The same function, of whose calls the time is taken."""

        def call(argument: _Argument) -> _Result:
            began, done = time.monotonic(), False
            try:
                result = function(argument)
                done = True
                return result
            finally:
                self._take(time.monotonic() - began, done)

        return call

    def _take(self, seconds: float, done: bool) -> None:
        with self._lock:
            self._count += 1
            self._failed += not done
            self._last_s, self._most_s = seconds, max(self._most_s, seconds)

    def health(self) -> Health:
        """What has been measured up to now."""
        with self._lock:
            count, failed, last, most = self._count, self._failed, self._last_s, self._most_s
        slow = last >= self.slow_s
        message = f'the last one took {last:.3f} s' if count else 'none yet'
        return Health(
            self.part,
            WARN if slow else OK,
            f'{message}, which is slow' if slow else message,
            {
                'count': count,
                'failed': failed,
                'last [s]': f'{last:.3f}',
                'longest [s]': f'{most:.3f}',
            },
        )
