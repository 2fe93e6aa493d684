# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Arms, each described in one file: kinematics, limits, hull, speeds; and cells of many."""

from __future__ import annotations

from safegen_ros.robot.arms import mycobot_280, ur5e
from safegen_ros.robot.arms.family import ArmFamily
from safegen_ros.robot.arms.model import ArmModel

ARMS: dict[str, ArmModel] = {arm.name: arm for arm in (mycobot_280.MYCOBOT_280, ur5e.UR5E)}
"""Arms that can stand at a table with blocks, by name."""

FAMILIES: dict[str, ArmFamily] = {each.name: each for each in (ur5e.CELL, mycobot_280.CELL)}
"""Arms that can stand in a cell of many, by name."""
