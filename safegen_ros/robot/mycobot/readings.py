# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether what an arm answers can be its joint angles.

Users report -1, short lists, one constant on all joints and wild jumps from healthy code, so an
answer counts as a measurement only when all of this is ruled out.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from safegen_ros.robot.limits import JOINT_LIMITS, JOINT_NAMES, MAX_SPEED, Joints

#: A joint may be read this far beyond its limit: calibration error and overshoot [rad].
LIMIT_MARGIN = math.radians(5.0)
#: A jump that no motion explains is more than this beyond the fastest motion [rad].
JUMP_MARGIN = math.radians(5.0)
#: How much faster than its data sheet a joint may seem between two readings [1].
SPEED_MARGIN = 1.3
#: How far a joint may leave the interval between start and target of a move [rad].
WAY_MARGIN = math.radians(5.0)


def joints_of(answer: Any) -> Joints | str:
    """The joints (6,) [rad] in an answer of degrees, or what is wrong with it."""
    if answer in (-1, None) or answer == []:
        return 'it gives no angles'
    if not isinstance(answer, list) or len(answer) != 6:
        return f'it answers {answer!r}, not six angles'
    numbers = [value for value in answer if type(value) in (int, float) and math.isfinite(value)]
    if len(numbers) != 6:
        return f'it answers {answer!r}, not six finite angles'
    if len(set(numbers)) == 1 and numbers[0] != 0:
        return f'all joints read {numbers[0]} deg, as firmware that has lost its servos says'
    joints: Joints = np.radians(np.array(numbers, dtype=np.float64))
    low, high = JOINT_LIMITS[:, 0] - LIMIT_MARGIN, JOINT_LIMITS[:, 1] + LIMIT_MARGIN
    outside = np.flatnonzero((joints < low) | (joints > high))
    if outside.size:
        worst = int(outside[0])
        return f'{JOINT_NAMES[worst]} reads {numbers[worst]} deg, which it cannot reach'
    return joints


def jump(before: Joints, after: Joints, seconds: float) -> str:
    """What is wrong with a change between two readings [rad]; empty when a motion explains it."""
    change = np.abs(after - before)
    worst = int(np.argmax(change))
    if change[worst] <= SPEED_MARGIN * MAX_SPEED * seconds + JUMP_MARGIN:
        return ''
    return (
        f'{JOINT_NAMES[worst]} jumps by {math.degrees(change[worst]):.0f} deg in {seconds:.2f} s, '
        'which no motion explains'
    )


def off_way(start: Joints, goal: Joints, now: Joints) -> str:
    """What is wrong with a reading on the way from start to goal; empty when it lies between."""
    low, high = np.minimum(start, goal) - WAY_MARGIN, np.maximum(start, goal) + WAY_MARGIN
    outside = np.maximum(low - now, now - high)
    worst = int(np.argmax(outside))
    if outside[worst] <= 0:
        return ''
    return (
        f'{JOINT_NAMES[worst]} is at {math.degrees(now[worst]):.1f} deg on its way from '
        f'{math.degrees(start[worst]):.1f} to {math.degrees(goal[worst]):.1f} deg'
    )
