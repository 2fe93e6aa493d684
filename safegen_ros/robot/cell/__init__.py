# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a plan is carried out in: blocks on a table or atoms alone, observed, rehearsed, watched."""
