# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The UR5e: DH table, masses, speeds and offsets as the maker publishes them; without a driver.

The links are capsules about the tubes: upper arm and forearm lie beside the axis of the shoulder.
In a cell of many, as BoxNet3D uses it, the tool is a magnet on a stick; reach, cell and speed are
those of the paper.
"""

from __future__ import annotations

import math

from safegen_ros.robot.arms.family import ArmFamily
from safegen_ros.robot.arms.model import ArmModel, DhRow, Segment

_UPPER, _FOREARM = -0.425, -0.3922
_BESIDE, _BACK = 0.138, 0.007  # of the upper arm and the forearm along the axis of the shoulder
_LATERAL, _WRIST, _FLANGE = 0.1333, 0.0997, 0.0996
_QUARTER, _TURN = math.pi / 2, 2 * math.pi

UR5E = ArmModel(
    name='ur5e',
    rows=(
        DhRow(0.1625, 0.0, _QUARTER, 0.0),
        DhRow(0.0, _UPPER, 0.0, 0.0),
        DhRow(0.0, _FOREARM, 0.0, 0.0),
        DhRow(_LATERAL, 0.0, _QUARTER, 0.0),
        DhRow(_WRIST, 0.0, -_QUARTER, 0.0),
        DhRow(_FLANGE, 0.0, 0.0, 0.0),
    ),
    limits=(
        (-_TURN, _TURN), (-_TURN, _TURN), (-math.pi, math.pi),
        (-_TURN, _TURN), (-_TURN, _TURN), (-_TURN, _TURN),
    ),
    max_speed=_QUARTER * 2,
    max_acceleration=math.radians(300.0),
    resolution=2 * math.pi / 2**17,
    nominal=tuple(map(math.radians, (16.0, -70.0, -110.0, -90.0, 90.0, -74.0))),
    base_size=(0.15, 0.15, 0.1),
    hull=(
        (Segment((0.0, 0.0, 0.1), (0.0, 0.0, 0.1625), 0.065),),
        (
            Segment((0.0, 0.0, 0.0), (0.0, 0.0, _BESIDE), 0.06),
            Segment((0.0, 0.0, _BESIDE), (_UPPER, 0.0, _BESIDE), 0.055),
        ),
        (
            Segment((0.0, 0.0, _BESIDE), (0.0, 0.0, _BACK), 0.055),
            Segment((0.0, 0.0, _BACK), (_FOREARM, 0.0, _BACK), 0.045),
        ),
        (Segment((0.0, 0.0, _BACK), (0.0, 0.0, _LATERAL), 0.045),),
        (Segment((0.0, 0.0, 0.0), (0.0, 0.0, _WRIST), 0.045),),
        (Segment((0.0, 0.0, 0.0), (0.0, 0.0, _FLANGE), 0.04),),
    ),
    masses=(4.0, 3.761, 8.058, 2.846, 1.37, 1.3, 0.365),
    gains=(4000.0, 4000.0, 3000.0, 1000.0, 1000.0, 500.0),
    torques=(150.0, 150.0, 150.0, 28.0, 28.0, 28.0),
    base_radius=0.11,
    slot_pitch=0.13,
    table=0.9,
)  # fmt: skip

CELL = ArmFamily(
    arm=UR5E,
    base=(Segment((0.0, 0.0, 0.0), (0.0, 0.0, 0.1), 0.075),),
    tool=0.12,
    tool_radius=0.025,
    cell=1.1,
    reach=(0.4, 0.8),
    dead=None,
    box=0.07,
    radius=0.05,
    gap=0.005,
    rest=(0.13, -0.49),
    speed=0.5,
    joint_speed=1.0,
)  # fmt: skip
