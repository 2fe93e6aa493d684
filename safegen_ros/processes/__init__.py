# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the supervisor is made of: child processes, their readiness, and the state on disk."""
