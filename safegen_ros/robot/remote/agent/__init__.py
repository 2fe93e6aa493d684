# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The process on the arm's own computer, which `robot.remote.ssh_arm` talks to; needs no ROS."""
