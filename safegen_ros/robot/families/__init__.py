# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Arms that stand side by side in one cell, each kind a file: kinematics, hull, reach, speed."""
