# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The myCobot 280 in a cell of many: the arm of this package, with its hull and its limits."""

from __future__ import annotations

import math

from safegen_ros.robot.description.links import LINK_MASSES, TOOL_RADIUS, Segment, links
from safegen_ros.robot.families.family import ArmFamily
from safegen_ros.robot.kinematics import DH
from safegen_ros.robot.limits import JOINT_LIMITS

_TOOL = 0.06


def _hull() -> tuple[tuple[Segment, ...], ...]:
    *parts, last = (link.segments for link in links())
    flange = DH[-1].d
    tip = (0.0, 0.0, flange + _TOOL - TOOL_RADIUS)
    return (*parts, (*last, Segment((0.0, 0.0, flange), tip, TOOL_RADIUS)))


MYCOBOT_280 = ArmFamily(
    name='mycobot_280',
    rows=DH,
    limits=tuple((float(low), float(high)) for low, high in JOINT_LIMITS),
    base=(Segment((0.0, 0.0, 0.0), (0.0, 0.0, 0.02), 0.05),),
    hull=_hull(),
    masses=LINK_MASSES[1:],
    tool=_TOOL,
    cell=0.36,
    reach=(0.16, 0.27),
    dead=(math.radians(142.0), math.radians(182.0)),
    box=0.03,
    radius=0.022,
    gap=0.002,
    rest=(0.05, -0.17),
    speed=0.15,
    joint_speed=0.8,
    gains=(150.0, 150.0, 120.0, 60.0, 40.0, 30.0),
    torques=(8.0,) * 6,
)
