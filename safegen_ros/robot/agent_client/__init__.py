# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""This end of the agent's protocol: the arm as an `Arm`, over SSH."""
