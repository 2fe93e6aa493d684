# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a stack consists of, and its start: profiles, supervisor and processes."""
