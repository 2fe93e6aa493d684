# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What several tests share: stacks, servers, browsers, small problems and models."""
