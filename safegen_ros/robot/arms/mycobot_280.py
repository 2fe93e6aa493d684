# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The myCobot 280, alone at its table and in a cell of many.

The DH table is that of the firmware: the vendor's URDFs differ from it by 2 to 9 mm, and its
coordinates are what the arm reports. The limits are the intersection of every published table
(vendor protocol document, product page, the vendor's library for its boards). So a target within
them is accepted by all. Speed and acceleration are those of the vendor's parameter sheet.
"""

from __future__ import annotations

import math

from safegen_ros.robot.arms.family import ArmFamily
from safegen_ros.robot.arms.model import TOOL_RADIUS, ArmModel, DhRow, Segment, along_dh

# The hull is the vendor's envelope of 94 by 50 mm, linkage included; the fingers are the pads
# that touch a block. They close along the x axis of the tool and are coupled, so that a block
# comes to the middle between them.
#: Edges of the hull across the fingers' axis of motion first [m]; it ends where the fingers begin.
HULL_SIZE = (0.094, 0.050)
#: Edges of a finger: along the axis of motion, across it, and along the tool [m].
FINGER_SIZE = (0.006, 0.018, 0.044)
#: Joints of the fingers in URDF, MJCF and joint states; 0 is closed, `STROKE` is open [m].
FINGER_JOINTS = ('finger_left', 'finger_right')
#: Way of each finger from closed to open [m].
STROKE = 0.023
#: Distance between the open fingers [m].
MAX_OPENING = 2 * STROKE
#: Edges of the blocks that it can hold, from and to [m] (vendor's parameter sheet).
GRIP_RANGE = (0.020, 0.045)
#: The tool is never narrower than this from its axis, open or closed [m].
HALF_WIDTH = max(HULL_SIZE[0] / 2, MAX_OPENING / 2 + FINGER_SIZE[0])


def opening_of(percent: float) -> float:
    """Distance between the fingers [m] at an opening as the firmware gives it [%]."""
    return MAX_OPENING * percent / 100


def percent_of(opening: float) -> float:
    """The opening as the firmware gives it [%], for a distance between the fingers [m]."""
    return 100 * opening / MAX_OPENING


def finger_positions(opening: float | None) -> dict[str, float]:
    """Positions of the finger joints [m] by name; none where there is no opening to be had."""
    return {} if opening is None else dict.fromkeys(FINGER_JOINTS, opening / 2)


_QUARTER = math.pi / 2
_ROWS = (
    DhRow(0.13122, 0.0, _QUARTER, 0.0),
    DhRow(0.0, -0.1104, 0.0, -_QUARTER),
    DhRow(0.0, -0.096, 0.0, 0.0),
    DhRow(0.0634, 0.0, _QUARTER, -_QUARTER),
    DhRow(0.07505, 0.0, -_QUARTER, _QUARTER),
    DhRow(0.0456, 0.0, 0.0, 0.0),
)
_RADII = (0.024, 0.022, 0.020, 0.020, 0.020, 0.018)
_LIMITS_DEG = ((-168, 168), (-135, 135), (-150, 150), (-145, 145), (-155, 160), (-180, 180))

MYCOBOT_280 = ArmModel(
    name='mycobot_280',
    rows=_ROWS,
    limits=tuple((math.radians(low), math.radians(high)) for low, high in _LIMITS_DEG),
    max_speed=math.radians(150.0),
    max_acceleration=math.radians(200.0),
    resolution=2 * math.pi / 4096,
    nominal=tuple(map(math.radians, (21.0, -40.0, -90.0, 40.0, 0.0, -69.0))),
    base_size=(0.100, 0.120, 0.070),
    hull=tuple(map(along_dh, _ROWS, _RADII)),
    masses=(0.12, 0.19, 0.16, 0.124, 0.11, 0.0739, 0.035),
    gains=(150.0, 150.0, 120.0, 60.0, 40.0, 30.0),
    torques=(8.0,) * 6,
    base_radius=0.080,
    slot_pitch=0.060,
    table=0.36,
    driver='mycobot',
)

CELL = ArmFamily(
    arm=MYCOBOT_280,
    base=(Segment((0.0, 0.0, 0.0), (0.0, 0.0, 0.02), 0.05),),
    tool=0.06,
    tool_radius=TOOL_RADIUS,
    cell=0.36,
    reach=(0.16, 0.27),
    dead=(math.radians(142.0), math.radians(182.0)),
    box=0.03,
    radius=0.022,
    gap=0.002,
    rest=(0.05, -0.17),
    speed=0.15,
    joint_speed=0.8,
)
