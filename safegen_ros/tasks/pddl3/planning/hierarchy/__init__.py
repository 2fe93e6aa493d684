# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Divide and conquer: how complex a task is, its sub-goals in order, and plans put together."""
