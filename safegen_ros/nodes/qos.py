# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The quality-of-service profiles of the stack, named by what they are for."""

from __future__ import annotations

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

SAMPLES = QoSProfile(depth=200, reliability=ReliabilityPolicy.RELIABLE)
"""Measured values at a fixed rate; deep enough for a twin that runs faster than real time."""
