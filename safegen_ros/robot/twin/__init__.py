# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The MuJoCo twin of the arm: contact, collisions, pictures, episodes in numbers."""
