# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a client may ask for beside the task."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from safegen_ros.errors import ErrorCode, SafegenError

MAX_BUDGET_S = 86400.0
"""Longest time budget of a goal [s]."""


def _option(
    default: Any,
    help: str = '',
    *,
    flag: str = '',
    most: float | None = None,
    verbs: tuple[str, ...] = (),
) -> Any:
    """A field of `Options`, with all that a message and a command line have to know of it.

    Args:
        default: where nothing is said.
        flag: there; of a switch that cannot be turned off it begins with dashes.
        most: the largest number; the smallest is 0.
        verbs: of `safegen` that take it, with ways to use `run`.
    """
    told = {'help': help, 'flag': flag, 'most': most, 'verbs': verbs}
    return field(default=default, metadata=told)


PLAN_ONLY, OWN_PLAN = 'run --plan-only', 'run PROBLEM PLAN'
_EVERY = ('demo', 'run', PLAN_ONLY)


@dataclass(frozen=True, slots=True)
class Options:
    """What a goal may carry beside its problem: see PlanTask, RunTask and Task in safegen_msgs.

    A field is that of the message; of a time [s] the message has a duration without the `_s`.
    """

    time_budget_s: float = _option(
        120.0,
        'seconds for planning and execution together',
        flag='time_budget',
        verbs=(*_EVERY, OWN_PLAN),
    )
    max_attempts: int = _option(
        0,
        'maximum number of attempts of the model (0: from config)',
        flag='attempts',
        most=255,
        verbs=_EVERY,
    )
    search_fallback: bool = _option(
        True,
        'let the search planner plan when the model fails',
        flag='search',
        verbs=_EVERY,
    )
    seed: int = _option(
        0,
        'seed of the model (0: from config)',
        flag='seed',
        most=2**31 - 1,
        verbs=_EVERY,
    )
    strategy: str = _option(
        '',
        'planners to try, in order, comma-separated (default: from config): {levels}',
        flag='strategy',
        verbs=_EVERY,
    )
    feedback: str = _option(
        '',
        'what a retry prompt says about the refused plan (default: from config): {feedback}',
        flag='feedback',
        verbs=_EVERY,
    )
    max_replans: int = _option(
        0,
        'number of replans when the world differs from the proof',
        flag='replans',
        most=255,
        verbs=('run',),
    )
    approval: bool = _option(
        False,
        "wait for approval of each plan, here or by 'safegen approve'",
        flag='--approve',
        verbs=('run',),
    )
    approval_timeout_s: float = _option(
        0.0,
        'seconds to wait for approval (0: from config)',
        flag='approval_timeout',
        verbs=('run',),
    )
    constraints: str = ''
    start: str = ''
    translate_only: bool = False
    accept_reading: str = _option(
        '',
        'with words: digest of the only reading that may run',
        flag='accept_reading',
        verbs=('run',),
    )
    request: str = ''
    step_by_step: bool = _option(
        False,
        'choose one proved step at a time, each from a new observation',
        flag='--step-by-step',
        verbs=('run',),
    )
    max_steps: int = _option(
        0,
        'maximum number of steps, with --step-by-step (0: from config)',
        flag='max_steps',
        most=10_000,
        verbs=('run',),
    )
    from_current: bool = _option(
        False,
        'start from the last known world, not from the initial state of the problem',
        flag='--from-current',
        verbs=('run',),
    )

    def __post_init__(self) -> None:
        """Refuses what a goal message cannot carry (`GOAL_REJECTED`)."""
        check_budget(self.time_budget_s)
        for each in fields(self):
            value, most = getattr(self, each.name), each.metadata.get('most')
            if most is not None and not 0 <= value <= most:
                raise SafegenError(
                    f'{each.name} is {value}: give a number from 0 to {most}',
                    ErrorCode.GOAL_REJECTED,
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
