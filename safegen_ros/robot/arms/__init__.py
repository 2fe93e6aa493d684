# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Arms, each described in one file: kinematics, limits, hull, speeds; and cells of many."""
