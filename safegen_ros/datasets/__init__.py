# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Datasets: each one is a function of its recipe, built block by block."""
