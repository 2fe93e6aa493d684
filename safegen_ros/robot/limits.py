# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The one table of joint limits of the myCobot 280.

It is the intersection of every published table (vendor protocol document, product page, the limits
that the vendor's library enforces for its boards), so a target that passes here is accepted by all
of them. URDF and MJCF are generated from it; no driver keeps a table of its own.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from safegen_ros.errors import ErrorCode, RobotError

Joints = NDArray[np.float64]

JOINT_NAMES = ('joint1', 'joint2', 'joint3', 'joint4', 'joint5', 'joint6')

#: Lower and upper limit of each joint [rad], shape (6, 2).
JOINT_LIMITS: Joints = np.radians(
    [[-168, 168], [-135, 135], [-150, 150], [-145, 145], [-155, 160], [-180, 180]]
)
JOINT_LIMITS.setflags(write=False)

#: Highest joint speed [rad/s] and acceleration [rad/s^2] (vendor's parameter sheet).
MAX_SPEED = float(np.radians(150.0))
MAX_ACCELERATION = float(np.radians(200.0))

#: One count of the servo encoders: 4096 per turn [rad].
ENCODER_STEP = 2 * float(np.pi) / 4096

_EPSILON = 1e-9


def check_joints(target: ArrayLike) -> Joints:
    """Returns the target as an array (6,) [rad] when it may be sent to the arm.

    Raises:
        RobotError: `LIMIT_VIOLATION`, naming the joint, the value and the limit; also for a target
            that is not six finite numbers.
    """
    joints = np.asarray(target, dtype=np.float64)
    if joints.shape != (6,):
        raise _violation(f'a joint target has 6 values [rad], got shape {joints.shape}')
    for name, value, (low, high) in zip(JOINT_NAMES, joints.tolist(), JOINT_LIMITS, strict=True):
        if not math.isfinite(value):
            raise _violation(f'{name}: {value} is not a finite angle [rad]')
        if not low - _EPSILON <= value <= high + _EPSILON:
            raise _violation(
                f'{name}: {value:.4f} rad ({math.degrees(value):.2f} deg) is outside '
                f'[{low:.4f}, {high:.4f}] rad ([{np.degrees(low):.0f}, {np.degrees(high):.0f}] '
                'deg): choose a target within the limits'
            )
    return joints.clip(JOINT_LIMITS[:, 0], JOINT_LIMITS[:, 1])


def check_speed(speed: float) -> float:
    """Returns the speed when it is a fraction of the highest joint speed, in (0, 1]."""
    if not 0.0 < speed <= 1.0:
        raise _violation(f'speed {speed} is not a fraction in (0, 1] of the highest joint speed')
    return float(speed)


def within_limits(joints: Joints) -> bool:
    """Whether six angles [rad] are finite and inside the table."""
    return bool(
        np.all(joints >= JOINT_LIMITS[:, 0] - _EPSILON)
        and np.all(joints <= JOINT_LIMITS[:, 1] + _EPSILON)
    )


def move_duration(distance: Joints, speed: float) -> float:
    """Shortest time [s] of a smoothstep move of joints (6,) [rad] that keeps both caps.

    The smoothstep 3s^2 - 2s^3 peaks at 1.5 times its mean speed and at 6 times distance / time^2.
    """
    longest = float(np.max(np.abs(distance)))
    return max(1.5 * longest / (speed * MAX_SPEED), float(np.sqrt(6 * longest / MAX_ACCELERATION)))


def _violation(message: str) -> RobotError:
    return RobotError(message, ErrorCode.LIMIT_VIOLATION)
