# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Planners for PDDL tasks: a model in several ways, its hierarchy, and one step after the other."""
