# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The arm and its table as models, all from one table of links: MJCF for MuJoCo, URDF for ROS."""
