# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""BoxNet2D: many arms on a grid carry objects to their targets without a collision."""
