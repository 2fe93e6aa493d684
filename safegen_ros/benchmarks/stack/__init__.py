# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the running ROS 2 stack costs, and how fast it is."""
