# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The worlds: what a task is, and who judges an answer to it."""
