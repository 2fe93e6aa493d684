# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Descriptions in words with the problems that they mean, generated from a recipe."""
