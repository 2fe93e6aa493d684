# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a run leaves behind: journal, report, MCAP record and video."""
