# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What people ask of a robot in a world that it sees, with what is meant."""
