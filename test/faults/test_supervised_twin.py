# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The rows of the fault matrix under a supervisor."""

from __future__ import annotations

from support.fault_matrix import Row, check, matrix
from support.fault_stack import SUPERVISED_TWIN, Stack

TRANSPORT = SUPERVISED_TWIN


@matrix(TRANSPORT)
def test_fault(stack: Stack, row: Row) -> None:
    check(stack, row)
