# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The ROS 2 nodes: thin shells around the layers below."""
