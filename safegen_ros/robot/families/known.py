# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The arms that a task can ask for by name."""

from __future__ import annotations

from safegen_ros.robot.families.family import ArmFamily
from safegen_ros.robot.families.mycobot_280 import MYCOBOT_280
from safegen_ros.robot.families.ur5e import UR5E

FAMILIES: dict[str, ArmFamily] = {family.name: family for family in (UR5E, MYCOBOT_280)}
"""By name."""
