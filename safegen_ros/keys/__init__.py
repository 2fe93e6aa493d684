# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Keys of operators, senders and the installation, and what they sign."""
