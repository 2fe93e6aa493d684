# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The ROS 2 nodes: thin shells around the layers below."""

import os

from safegen_ros.ros.stack_state import check_distribution

check_distribution(os.environ)  # before an import fails that an older rclpy does not have
