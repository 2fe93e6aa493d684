# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Profile `mycobot` of `safegen_ros.bringup` for launch_ros, as `safegen up mycobot`."""

from __future__ import annotations

from launch import LaunchDescription

from safegen_ros.bringup.launch import describe


def generate_launch_description() -> LaunchDescription:
    """Entry point of launch."""
    return describe('mycobot')
