# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the executor's arm did, as its samples tell, without a doubt about samples on their way."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from safegen_msgs.msg import WorldState
from safegen_ros.client import Client
from safegen_ros.errors import ErrorCode
from safegen_ros.pddl.plan import Plan

WAIT_S = 60.0
CONTROL = """
(define (problem control) (:domain blocksworld) (:objects {block})
  (:init (arm-empty) (on-table {block}) (clear {block})) (:goal (clear {block})))
"""

EVERY = QoSProfile(depth=10_000, reliability=ReliabilityPolicy.RELIABLE)
"""A busy machine may hold up whoever listens for longer than `qos.SAMPLES` is deep."""

Stamp = tuple[int, int]


def stamp_of(message: Any) -> Stamp:
    """Simulated time of a message with a header: seconds, nanoseconds."""
    return message.header.stamp.sec, message.header.stamp.nanosec


class Motion:
    """Collects the samples of the executor that a client's stack has.

    "No sample has come" proves nothing by itself: nobody may be connected, or one may be on its
    way. So each question is followed by a control, a goal without steps that shows a block of a
    name of its own. Samples are reliable and in order: all that came before the control's, and
    nothing else, is what the goals before it published.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._news = threading.Condition()
        self._matched: dict[str, int] = {}
        self._worlds: list[WorldState] = []
        self._joints: dict[Stamp, np.ndarray] = {}
        self._numbers = count(1)
        self._subscribe(JointState, 'joint_states', self._take_joints)
        self._subscribe(WorldState, 'world_state', self._take_world)
        self._wait(lambda: all(self._matched.get(t) for t in ('joint_states', 'world_state')))
        # Matched is said on this side only; the executor may need another moment.
        end = time.monotonic() + WAIT_S
        while not self._control(1.0):
            assert time.monotonic() < end, 'the executor publishes no samples'
        self._wait(lambda: bool(self._joints))

    def _subscribe(self, kind: Any, topic: str, take: Callable[[Any], None]) -> None:
        def matched(info: Any) -> None:
            with self._news:
                self._matched[topic] = info.current_count
                self._news.notify_all()

        events = SubscriptionEventCallbacks(matched=matched)
        node = self._client.node
        node.create_subscription(kind, topic, take, EVERY, event_callbacks=events)

    def _take_joints(self, message: JointState) -> None:
        with self._news:
            self._joints[stamp_of(message)] = np.array(message.position)
            self._news.notify_all()

    def _take_world(self, message: WorldState) -> None:
        with self._news:
            self._worlds.append(message)
            self._news.notify_all()

    def _wait(self, condition: Callable[[], bool], timeout_s: float = WAIT_S) -> None:
        with self._news:
            assert self._news.wait_for(condition, timeout_s), 'the samples did not come'

    def _control(self, timeout_s: float = WAIT_S) -> bool:
        """Has the executor show a new world; returns whether that was seen here."""
        block = f'control{next(self._numbers)}'
        result = self._client.execute(CONTROL.format(block=block), Plan())
        assert result.error_code == ErrorCode.NONE, result.error_msg

        def seen() -> bool:
            return any(o.name == block for world in self._worlds for o in world.objects)

        with self._news:
            return self._news.wait_for(seen, timeout_s)

    def begin(self) -> None:
        """Forgets all that was published up to now."""
        self._control()
        with self._news:
            self._worlds.clear()
            self._joints.clear()

    def samples(self) -> list[tuple[Stamp, np.ndarray]]:
        """Times and joints [rad] of all that moved since `begin`; the executor must be idle."""
        self._control()
        with self._news:
            stamps = self._stamps()
            last = stamp_of(self._worlds[-1])
        # Of those before the last one, more than are kept may have come at once.
        self._wait(lambda: last in self._joints)
        return [(stamp, self._joints[stamp]) for stamp in stamps if stamp in self._joints]

    def _stamps(self) -> list[Stamp]:
        """Stamps of what has changed: an idle cell is published, too, always the same."""
        stamps, last = [], None
        for world in self._worlds:
            joints = self._joints.get(stamp_of(world))
            look = (world.objects, None if joints is None else joints.tolist())
            if look != last and not any(o.name.startswith('control') for o in world.objects):
                stamps.append(stamp_of(world))
            last = look
        return stamps

    def assert_none(self) -> None:
        """Nothing has moved, and the next goal is carried out."""
        self._control()
        with self._news:
            assert not self._stamps(), 'the arm has moved'

    def assert_at_rest(self) -> None:
        """Nothing has moved, though a world may have been set up."""
        joints = np.array([q for _, q in self.samples()])
        with self._news:
            assert len(joints) >= len(self._stamps()) / 2, 'most joints were not heard'
        assert not len(joints) or np.ptp(joints, axis=0).max() < 0.01

    def assert_ended_with(self, result: Any) -> None:
        """The arm rests from the sample of the result on."""
        samples, end = self.samples(), stamp_of(result.final_state)
        assert end in [stamp for stamp, _ in samples], 'the result tells of no sample'
        rest = np.array([joints for stamp, joints in samples if stamp >= end])
        assert np.ptp(rest, axis=0).max() < 0.01, 'the arm moved after the result'
