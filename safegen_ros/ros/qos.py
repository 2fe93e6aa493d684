# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The quality-of-service profiles of the stack, named by their use."""

from __future__ import annotations

from typing import Any

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

EVENTS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
"""Events of which none may be missed while somebody listens; deep enough for a symbolic cell, which
may take no time for a step."""

LATCHED = QoSProfile(
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
"""The last value, also for those who come later."""

RECORDED = QoSProfile(
    depth=1000,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
"""The records of goals, also for late subscribers."""

SAMPLES = QoSProfile(depth=200, reliability=ReliabilityPolicy.RELIABLE)
"""Measured values at a fixed rate; deep enough for a twin that runs faster than real time."""

MEASURED = QoSProfile(depth=20, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Measurements of another publisher, in any form; the next one replaces a lost one."""

CLOCK = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""The time, of which only the newest counts; as the nodes that follow `/clock` ask for it."""

HEARTBEATS_OUT = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
HEARTBEATS_IN = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Heartbeats, of which only the newest counts: one that is lost is not sent again. The publisher's
profile fits every subscription, and that of the subscription every publisher."""

REQUESTS = QoSProfile(depth=500, reliability=ReliabilityPolicy.RELIABLE)
"""Requests and answers of services and actions. All clients of a service hear all of its answers:
with rclpy's depth of 10, one that is held up for a moment loses its own among those of others."""

ACTION_SERVICES: dict[str, Any] = {
    'goal_service_qos_profile': REQUESTS,
    'result_service_qos_profile': REQUESTS,
    'cancel_service_qos_profile': REQUESTS,
}
"""The same for the three services of an action, as arguments of its server and its client."""
