# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""From a task to a plan that is proved: the verify-and-retry loop."""
