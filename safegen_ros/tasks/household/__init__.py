# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A household that is acted on step by step: hidden objects, one arm, hazards (SAPO)."""
