# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a client may ask for beside the task."""

from __future__ import annotations

from dataclasses import dataclass

from safegen_ros.errors import ErrorCode, SafegenError

MAX_BUDGET_S = 86400.0
"""Longest time budget of a goal [s]."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a goal may carry beside its problem: see PlanTask, RunTask and Task in safegen_msgs."""

    time_budget_s: float = 120.0
    max_attempts: int = 0
    search_fallback: bool = True
    seed: int = 0
    strategy: str = ''
    feedback: str = ''
    max_replans: int = 0
    approval: bool = False
    approval_timeout_s: float = 0.0
    constraints: str = ''
    start: str = ''
    translate_only: bool = False
    accept_reading: str = ''
    request: str = ''
    step_by_step: bool = False
    max_steps: int = 0
    from_current: bool = False

    def __post_init__(self) -> None:
        """Refuses what a goal message cannot carry (`GOAL_REJECTED`)."""
        check_budget(self.time_budget_s)
        for name, value, most in (
            ('max_attempts', self.max_attempts, 255),
            ('max_replans', self.max_replans, 255),
            ('seed', self.seed, 2**31 - 1),
            ('max_steps', self.max_steps, 10_000),
        ):
            if not 0 <= value <= most:
                raise SafegenError(
                    f'{name} is {value}: give a number from 0 to {most}', ErrorCode.GOAL_REJECTED
                )
        if self.approval_timeout_s:
            check_budget(self.approval_timeout_s, 'time for the approval')


def check_budget(seconds: float, what: str = 'time budget') -> None:
    """Refuses a time that a goal message cannot carry (`GOAL_REJECTED`)."""
    if not 0 < seconds <= MAX_BUDGET_S:
        raise SafegenError(
            f'the {what} is {seconds:g} s: give more than 0 and at most {MAX_BUDGET_S:g} s',
            ErrorCode.GOAL_REJECTED,
        )
