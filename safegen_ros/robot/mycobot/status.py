# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a myCobot says about itself, and what keeps it from moving."""

from __future__ import annotations

from dataclasses import dataclass

from safegen_ros.robot.limits import JOINT_NAMES, Joints


@dataclass(frozen=True, slots=True)
class ArmStatus:
    """What an arm says about itself.

    Attributes:
        version: of the firmware, such as 7.3; None when it does not tell.
        powered: whether the servos have power.
        servos: whether every servo answers and holds.
        error: 0, or the firmware's code: 1 to 6 a joint at its limit, 16 to 19 a collision, 32 to
            34 no solution.
        joints: measured, shape (6,) [rad]; None when it gives no plausible reading.
        released: joints whose servos say that they do not hold.
    """

    version: float | None
    powered: bool
    servos: bool
    error: int | None
    joints: Joints | None
    released: tuple[str, ...] = ()

    @property
    def trouble(self) -> str:
        """What keeps the arm from moving, with the cure; empty when nothing does."""
        if not self.powered:
            return 'its servos have no power: switch it on, then reset the stop'
        if not self.servos:
            which = f'the servo of {" and ".join(self.released)}' if self.released else 'a servo'
            return f'{which} is released or does not answer: look at its cable, then reset the stop'
        if self.error is None:
            return 'it does not tell its error code: switch it off and on'
        if self.error:
            return f'error {self.error} ({error_text(self.error)})'
        if self.joints is None:
            return 'its joints cannot be read: switch it off and on'
        return ''


def error_text(code: int) -> str:
    """The vendor's meaning of an error code."""
    if 1 <= code <= 6:
        return f'{JOINT_NAMES[code - 1]} is at its limit: move it back by hand'
    if 16 <= code <= 19:
        return 'collision protection: free the arm'
    if code == 32:
        return 'no inverse kinematics'
    if code in (33, 34):
        return 'no straight path'
    return "not in the vendor's list"
