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
        help: for a command line.
        flag: there; of a switch that cannot be turned off it begins with dashes.
        most: the largest number; the smallest is 0.
        verbs: of `safegen` that take it.
    """
    told = {'help': help, 'flag': flag, 'most': most, 'verbs': verbs}
    return field(default=default, metadata=told)


_EVERY = ('demo', 'run', 'plan')


@dataclass(frozen=True, slots=True)
class Options:
    """What a goal may carry beside its problem: see PlanTask, RunTask and Task in safegen_msgs.

    A field is that of the message; of a time [s] the message has a duration without the `_s`.
    """

    time_budget_s: float = _option(
        120.0, 'for planning and execution together [s]', flag='time_budget', verbs=_EVERY
    )
    max_attempts: int = _option(
        0,
        'attempts of the model; 0 takes what is configured',
        flag='attempts',
        most=255,
        verbs=('plan',),
    )
    search_fallback: bool = _option(
        True,
        'whether the search planner may answer when the model gives up',
        flag='search',
        verbs=_EVERY,
    )
    seed: int = _option(
        0,
        'seed of the model; 0 takes the configured one',
        flag='seed',
        most=2**31 - 1,
        verbs=_EVERY,
    )
    strategy: str = _option(
        '',
        'planners to try, in order, with commas between them; empty takes what is configured: '
        '{levels}',
        flag='strategy',
        verbs=_EVERY,
    )
    feedback: str = _option(
        '',
        'what a retry is told of a refused plan: {feedback}; empty takes what is configured',
        flag='feedback',
        verbs=_EVERY,
    )
    max_replans: int = _option(
        0,
        'how often to plan again when the world is not as proved',
        flag='replans',
        most=255,
        verbs=('run',),
    )
    approval: bool = _option(
        False,
        "whether each plan waits for approval, here or by 'safegen approve'",
        flag='--approve',
        verbs=('run',),
    )
    approval_timeout_s: float = _option(
        0.0,
        'how long it waits; 0 takes what is configured [s]',
        flag='approval_timeout',
        verbs=('run',),
    )
    constraints: str = ''
    start: str = ''
    translate_only: bool = False
    accept_reading: str = _option(
        '',
        'with words: run the reading of this digest, and no other one',
        flag='accept_reading',
        verbs=('run',),
    )
    request: str = ''
    step_by_step: bool = _option(
        False,
        'choose one proved step after the other, from what is seen then',
        flag='--step-by-step',
        verbs=('run',),
    )
    max_steps: int = _option(
        0,
        'most steps of a goal step by step; 0 takes what is configured',
        flag='max_steps',
        most=10_000,
        verbs=('run',),
    )
    from_current: bool = _option(
        False,
        'start from where the last goal has left the world, not from the initial state of the '
        'problem',
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
