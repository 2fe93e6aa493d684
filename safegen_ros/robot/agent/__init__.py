# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The processes that own the port of an arm and drive it; they need no ROS."""
