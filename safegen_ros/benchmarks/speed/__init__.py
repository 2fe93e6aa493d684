# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How fast and how capable the validator and the planner are, measured beside others."""
