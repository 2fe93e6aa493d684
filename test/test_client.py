# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the client of scripts refuses before anything is sent."""

from __future__ import annotations

from typing import Any

import pytest

from safegen_ros.client import Options
from safegen_ros.errors import ErrorCode, SafegenError


@pytest.mark.parametrize(
    'options',
    [
        {'time_budget_s': 0.0},
        {'time_budget_s': -1.0},
        {'time_budget_s': float('nan')},
        {'time_budget_s': 86401.0},
        {'seed': -1},
        {'seed': 2**31},
        {'max_attempts': -1},
        {'max_attempts': 256},
    ],
    ids=str,
)
def test_options_that_no_goal_can_carry_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(SafegenError) as caught:
        Options(**options)
    assert caught.value.code is ErrorCode.GOAL_REJECTED
    assert next(iter(options)).split('_')[0] in caught.value.message
