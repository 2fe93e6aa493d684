# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The view of a cell: its description, its scene, and the clock of its simulation."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from builtin_interfaces.msg import Time
from rclpy.node import Node
from rclpy.publisher import Publisher
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String
from visualization_msgs.msg import MarkerArray

from safegen_ros.nodes.base import SafegenNode
from safegen_ros.nodes.scene_markers import PlanText, SceneMarkers
from safegen_ros.robot.arm import Sample
from safegen_ros.robot.cell.execution import ExecutionProgress
from safegen_ros.robot.description.urdf import build_urdf
from safegen_ros.robot.scene import Scene
from safegen_ros.ros import diagnostics, qos
from safegen_ros.ros.diagnostics import Health
from safegen_ros.ros.liveness import Ticker
from safegen_ros.stages import ExecutionPhase
from safegen_ros.sync import Closing
from safegen_ros.verdict import Verdict

TOPIC = '/clock'
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
        self._publisher = node.create_publisher(Clock, TOPIC, qos.CLOCK)
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
            return _message(self._now)

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
            return _message(self._now)

    def _pass(self, idle: bool) -> None:
        now = time.monotonic()
        if idle:
            self._now += round((now - self._looked) * self.factor * _NANO)
        self._looked = now

    def _publish(self) -> None:
        self._published = self._looked
        self._publisher.publish(Clock(clock=_message(self._now)))


def _message(nanoseconds: int) -> Time:
    return Time(sec=nanoseconds // _NANO, nanosec=nanoseconds % _NANO)


PERIOD_S = 0.1
"""Shortest time between two sets of markers, and between two messages of an idle clock [s]."""


class CellView(Closing):
    """Shows the cell of an executor while it is configured.

    Interfaces:
        topic `robot_description` (std_msgs/msg/String, latched): URDF of the arm; only with an arm.
        topic `~/scene` (visualization_msgs/msg/MarkerArray, latched): see `SceneMarkers`.
        topic `/clock` (rosgraph_msgs/msg/Clock): see `SimulationClock`; only of a simulated cell.
    """

    def __init__(self, node: SafegenNode) -> None:
        self._node = node
        self._lock = threading.Lock()
        self._ticker: Ticker | None = None
        self._clock: SimulationClock | None = None
        self._running_clock: SimulationClock | None = None
        self._description: Publisher[String] | None = None
        self._publisher = node.create_publisher(MarkerArray, '~/scene', qos.LATCHED)
        self._markers = SceneMarkers(None)
        self._moving = threading.Event()
        self._forget()

    @property
    def moving(self) -> bool:
        """Whether a goal moves the cell now, or makes it ready for that."""
        return self._moving.is_set()

    def rest(self) -> None:
        """Takes in that nothing moves the cell any more."""
        self._moving.clear()

    def _forget(self) -> None:
        self._stamp = Time()
        self._look: Sample | None = None
        self._plan = PlanText()
        self._changed = True

    def open(self, scene: Scene | None, *, simulated: bool, real_time_factor: float = 1.0) -> None:
        """Begins to show a cell.

        Args:
            scene: geometry of the arm's cell; None where there are nothing but facts.
            simulated: whether the cell has its own time.
            real_time_factor: of that time, 0 for as fast as it can [1].
        """
        self.close()
        with self._lock:
            self._forget()
            self._markers = SceneMarkers(scene)
        if scene is not None:
            if self._description is None:
                self._description = self._node.create_publisher(
                    String, 'robot_description', qos.LATCHED
                )
            self._description.publish(String(data=build_urdf(scene)))
        if simulated:
            if self._clock is None:
                self._clock = SimulationClock(self._node, lambda: not self.moving)
            self._clock.factor = real_time_factor or 1.0
        self._running_clock = self._clock if simulated else None
        self._ticker = Ticker(self._node, PERIOD_S, self._tick)

    def stamp(self, seconds: float) -> Time:
        """The stamp of a look at the cell.

        Args:
            seconds: simulated time since the world of the cell was made [s]; a cell that is not
                simulated is stamped by the clock of the node.
        """
        if self._running_clock is not None:
            return self._running_clock.stamp(seconds)
        return self._node.get_clock().now().to_msg()

    def idle_stamp(self) -> Time:
        """The stamp of a look at a cell that nothing moves."""
        if self._running_clock is not None:
            return self._running_clock.idle_stamp()
        return self._node.get_clock().now().to_msg()

    def sample(self, stamp: Time, look: Sample) -> None:
        """Takes in a look at the cell; it is shown a moment later, unless a newer one comes."""
        with self._lock:
            self._stamp, self._look = stamp, look
            self._changed = True

    def begin(self, steps: Sequence[object]) -> None:
        """Takes in the plan of a goal."""
        with self._lock:
            self._plan = PlanText(tuple(map(str, steps)))
            self._changed = True

    def progress(self, progress: ExecutionProgress) -> None:
        """Takes in how far it is."""
        if progress.phase == ExecutionPhase.PREPARING:
            self._moving.set()
        verdict = (
            '' if progress.phase == ExecutionPhase.VERIFYING else 'SUCCESS'
        )  # or it would have ended here
        with self._lock:
            self._plan = replace(self._plan, done=progress.step, verdict=verdict)
            self._changed = True

    def end(self, verdict: Verdict, message: str) -> None:
        """Takes in how it ended.

        Args:
            verdict: the executor's own.
            message: what went wrong; empty where nothing did.
        """
        with self._lock:
            self._plan = replace(self._plan, verdict=verdict.category.name, reason=message)
            self._changed = True

    def health(self) -> Health:
        """What the cell is doing, and how the last execution ended."""
        with self._lock:
            plan, stamp = self._plan, self._stamp
        values = {
            'steps done': plan.done,
            'steps': len(plan.steps),
            'verdict': plan.verdict,
            'last look [s]': f'{stamp.sec + stamp.nanosec * 1e-9:.2f}',
        }
        if self._ticker is None:
            return Health('cell', diagnostics.WARN, 'there is none: configure the node', values)
        if plan.reason:
            message = f'the last execution failed: {plan.reason}'
            return Health('cell', diagnostics.WARN, message, values)
        moving = not self._node.goals.wait_idle(0.0)
        return Health('cell', diagnostics.OK, 'executes a plan' if moving else 'idle', values)

    def _tick(self) -> None:
        if self._running_clock is not None:
            self._running_clock.tick()
        with self._lock:
            if not self._changed:
                return
            self._changed = False
            now = (self._stamp, self._look, self._plan)
        self._publisher.publish(self._markers.array(*now))

    def close(self) -> None:
        """Ends the view; what it published last stays for late joiners."""
        if self._ticker is not None:
            self._ticker.close()
        self._ticker = None
