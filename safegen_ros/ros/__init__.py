# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The ROS side that nodes, clients and console share; it has no node."""
