# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Names of the cells, and of the ways to the real arm."""

from __future__ import annotations

CELLS = ('twin', 'symbolic')
#: The cell of the real arm, which only its own profile starts.
ARM_CELL = 'mycobot'
#: How that arm is reached, and who knows where its blocks are.
TRANSPORTS = ('serial', 'tcp', 'ssh')
WORLDS = ('assumed', 'perceived')
