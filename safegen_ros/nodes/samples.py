# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Measurements of the cell of an executor, while goals run and between them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState

from safegen_msgs.msg import WorldState
from safegen_ros.errors import SafegenError
from safegen_ros.nodes.base import SafegenNode
from safegen_ros.nodes.cell_view import CellView
from safegen_ros.pddl.model import State
from safegen_ros.robot.arm import Sample
from safegen_ros.robot.arms.model import JOINT_NAMES
from safegen_ros.robot.arms.mycobot_280 import finger_positions
from safegen_ros.robot.pose import Pose
from safegen_ros.ros import conversions, diagnostics, qos
from safegen_ros.ros.diagnostics import Health
from safegen_ros.ros.liveness import Ticker
from safegen_ros.sync import Closing

PERIOD_S = 0.04
"""Between two samples of an idle twin [s]; 25 a second, as while it moves."""

ARM_PERIOD_S = 0.1
"""Between two questions to an idle real arm [s]; asked more often, firmware falls silent."""

FACTS_PERIOD_S = 1.0
"""Between two messages of an idle symbolic cell [s]."""

RETRY_S = 1.0
"""Time until an idle arm that did not answer is asked again [s]."""


class Samples(Closing):
    """Publishes joints and world of a cell while the node is configured.

    Interfaces:
        topic `joint_states` (sensor_msgs/msg/JointState): measured joints [rad], and fingers [m];
            not with a symbolic cell, which has no joints.
        topic `world_state` (safegen_msgs/msg/WorldState): measured poses [m] in the frame
            `base_link`; from a symbolic cell the facts that hold, and no poses.

    Args:
        view: shows the same, and gives the stamps.
        unseen: the objects that are out of view.
    """

    def __init__(
        self, node: SafegenNode, view: CellView, unseen: Callable[[], Sequence[str]]
    ) -> None:
        self._node, self._view, self._unseen = node, view, unseen
        self._world = node.create_publisher(WorldState, 'world_state', qos.SAMPLES)
        self._joints: Publisher[JointState] | None = None
        self._last = WorldState()
        self._shown: Sample | None = None
        self._ticker: Ticker | None = None
        self._retry_at = 0.0
        self._failure = ''

    def offer_joints(self) -> None:
        """Makes the topic of the joints; before anything is measured."""
        if self._joints is None:
            self._joints = self._node.create_publisher(JointState, 'joint_states', qos.SAMPLES)

    def open(self, idle: Callable[[], Sample | None] | None, *, period_s: float = PERIOD_S) -> None:
        """Begins to sample between goals.

        Args:
            idle: measures an arm now; returns the message to publish, or None where the arm reports
                to `sample` itself; raises `SafegenError` where the arm does not answer. None for a
                symbolic cell.
            period_s: between two samples [s].
        """
        self.close()
        self._last, self._failure, self._retry_at = WorldState(), '', 0.0

        def tick() -> None:
            if self._view.moving or time.monotonic() < self._retry_at:
                return
            if idle is None:
                self._again()
                return
            try:
                look = idle()
            except SafegenError as error:
                self._failure = error.message
                self._retry_at = time.monotonic() + RETRY_S
                return
            self._failure = ''
            if look is not None:
                self._publish_idle(look)

        self._ticker = Ticker(self._node, period_s, tick)

    def close(self) -> None:
        """Ends the samples between goals."""
        if self._ticker is not None:
            self._ticker.close()
        self._ticker = None

    def health(self) -> Health:
        """Whether an idle arm answers; the next goal finds out for itself."""
        if self._failure:
            message = f'the idle arm does not answer: {self._failure}'
            return Health('arm', diagnostics.ERROR, message)
        return Health('arm', diagnostics.OK, 'no failure of an idle arm')

    def sample(self, sample: Sample) -> None:
        """Publishes one look at an arm and its blocks."""
        stamp = self._view.stamp(sample.time)
        self._last = self._publish(stamp, _positions(sample), sample.poses)
        self._view.sample(stamp, sample)

    def look(
        self, seconds: float, positions: Mapping[str, float], poses: Mapping[str, Pose]
    ) -> None:
        """Publishes joints by name [rad] and poses of one moment [s]."""
        self._last = self._publish(self._view.stamp(seconds), positions, poses)

    def facts(self, seconds: float, state: State, unseen: Sequence[str] = ()) -> None:
        """Publishes the facts that hold in a symbolic cell at a moment [s]."""
        world = WorldState(facts=conversions.facts_of(state), unseen=list(unseen))
        world.header.stamp = self._view.stamp(seconds)
        self._last = world
        self._world.publish(world)

    def world_state(self, observed: State, poses: Mapping[str, Pose]) -> WorldState:
        """The last observed world, with the poses as they are measured now."""
        world = WorldState(header=self._last.header, facts=conversions.facts_of(observed))
        return self._filled(world, poses)

    def _publish_idle(self, look: Sample) -> None:
        stamp = self._view.idle_stamp()
        self._publish(stamp, _positions(look), look.poses)
        shown = self._shown
        # What has not changed need not be drawn again.
        if (
            shown is None
            or shown.poses != look.poses
            or not np.array_equal(shown.joints, look.joints)
        ):
            self._shown = look
            self._view.sample(stamp, look)

    def _again(self) -> None:
        """The last facts, for those who came later."""
        if self._last.facts:
            self._last.header.stamp = self._view.idle_stamp()
            self._world.publish(self._last)

    def _publish(
        self, stamp: Time, positions: Mapping[str, float], poses: Mapping[str, Pose]
    ) -> WorldState:
        joints = JointState(name=list(positions), position=list(positions.values()))
        joints.header.stamp = stamp
        joints.header.frame_id = 'base_link'
        world = self._filled(WorldState(header=joints.header), poses)
        if self._joints is not None:
            self._joints.publish(joints)
        self._world.publish(world)
        return world

    def _filled(self, world: WorldState, poses: Mapping[str, Pose]) -> WorldState:
        world.unseen = list(self._unseen())
        seen = {name: pose for name, pose in poses.items() if name not in world.unseen}
        world.objects = conversions.object_poses(seen)
        return world


def _positions(sample: Sample) -> dict[str, float]:
    positions = dict(zip(JOINT_NAMES, map(float, sample.joints), strict=True))
    return positions | finger_positions(sample.opening)
