# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The adaptive gripper of the myCobot 280: its sizes, and its opening as the firmware reports it.

The hull is the vendor's envelope of 94 by 50 mm, linkage included; the fingers are the pads that
touch a block. They close along the x axis of the tool and are coupled, so that a block comes to the
middle between them.
"""

from __future__ import annotations

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
