# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""PDDL3 as this stack reads it: text to model, grounding, states and plans."""
