# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The time of a simulated cell, which never goes back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from builtin_interfaces.msg import Time
from rclpy.node import Node
from rosgraph_msgs.msg import Clock

from safegen_ros.ros import qos
from safegen_ros.ros.conversions import time_to_msg

CLOCK = '/clock'
"""Absolute: a node whose `use_sim_time` is on listens there, whatever its namespace."""

NEWS_S = 0.01
"""Shortest time between two messages, however fast the simulation is [s]."""

_NANO = 1_000_000_000


class SimulationClock:
    """Simulated time as one clock that never goes back, over all worlds of a cell.

    While a goal moves the cell it is the cell's own time, added to the time before its world was
    made. Else it passes as it would if the cell moved, so that a timer of a node that follows it
    does not stand still.

    Interfaces:
        topic `/clock` (rosgraph_msgs/msg/Clock).

    Args:
        idle: whether no goal moves the cell now.

    Attributes:
        factor: simulated seconds per second of the wall clock between goals [1].
    """

    def __init__(self, node: Node, idle: Callable[[], bool]) -> None:
        self._publisher = node.create_publisher(Clock, CLOCK, qos.CLOCK)
        self._idle = idle
        self.factor = 1.0
        self._lock = threading.Lock()
        self._base = self._now = 0
        self._stamped = -1
        self._cell = 0.0
        self._looked = time.monotonic()
        self._published = 0.0

    def stamp(self, seconds: float) -> Time:
        """The time of a look at the cell, which is also published.

        Args:
            seconds: time of the cell since its world was made [s]; 0 is a new world.
        """
        with self._lock:
            if seconds <= 0.0 or seconds < self._cell:
                # No two looks have the same stamp.
                self._base = self._now + (self._now == self._stamped)
            self._cell = seconds
            self._now = max(self._now, self._base + round(seconds * _NANO))
            self._stamped = self._now
            self._looked = time.monotonic()
            if self._looked - self._published >= NEWS_S:
                self._publish()
            return time_to_msg(self._now)

    def tick(self) -> None:
        """Lets time pass between goals; publishes the time."""
        idle = self._idle()
        with self._lock:
            self._pass(idle)
            self._publish()

    def idle_stamp(self) -> Time:
        """The time of a look at a cell that rests."""
        idle = self._idle()
        with self._lock:
            self._pass(idle)
            self._now += self._now == self._stamped
            self._stamped = self._now
            return time_to_msg(self._now)

    def _pass(self, idle: bool) -> None:
        now = time.monotonic()
        if idle:
            self._now += round((now - self._looked) * self.factor * _NANO)
        self._looked = now

    def _publish(self) -> None:
        self._published = self._looked
        self._publisher.publish(Clock(clock=time_to_msg(self._now)))
