# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a search ends with."""

from __future__ import annotations

from dataclasses import dataclass

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.plan import Plan

IN_PROCESS = 'in-process'
FAST_DOWNWARD = 'fast-downward'


class Unsolvable(SafegenError):
    """There is no plan, and that is proved."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ErrorCode.UNSOLVABLE)


class SearchLimit(SafegenError):
    """The search ended at its limit of time or of memory; nothing is known."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ErrorCode.PLANNING_TIMEOUT)


@dataclass(frozen=True, slots=True)
class Solution:
    """A plan that the validator accepts, and how it was found.

    Attributes:
        plan: the plan.
        route: who answered, `IN_PROCESS` or `FAST_DOWNWARD`.
        optimal: whether no plan is shorter, which the search proved.
        seconds: what the search took, grounding and proof included [s].
        expanded: how many situations were expanded; 0 where the route does not tell.
    """

    plan: Plan
    route: str
    optimal: bool
    seconds: float
    expanded: int
