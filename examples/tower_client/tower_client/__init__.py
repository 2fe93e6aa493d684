# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A client of safegen_ros that knows nothing of it but its messages."""
