# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Cells of many arms in MuJoCo: their physics, the ways of their arms, and pictures of them."""
