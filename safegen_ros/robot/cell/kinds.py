# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Names of the cells and of the ways to the real arm, and how its settings are declared."""

from __future__ import annotations

from dataclasses import field
from typing import Any

CELLS = ('twin', 'symbolic')
#: The cell of the real arm, which only its own profile starts.
ARM_CELL = 'mycobot'
#: How that arm is reached, and who knows where its blocks are.
TRANSPORTS = ('serial', 'tcp', 'ssh')
WORLDS = ('assumed', 'perceived')


def setting(
    default: object,
    description: str,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
) -> Any:
    """A field of a dataclass that is a parameter of the executor, declared here alone."""
    about = {'description': description, 'low': low, 'high': high, 'choices': choices}
    return field(default=default, metadata=about)
