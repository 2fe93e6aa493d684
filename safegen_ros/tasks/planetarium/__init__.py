# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Planetarium: whether two PDDL problems ask for the same, with the proof (docs/planetarium.md)."""
