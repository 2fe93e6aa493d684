# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A plan that a search planner has found, checked by the verifier, with its bound."""

from __future__ import annotations

from dataclasses import dataclass

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.tasks.boxnet.model import Plan, Task
from safegen_ros.tasks.boxnet.verifier import judge


class NoPlan(SafegenError):
    """There is no plan, or none was found; the code says which."""


@dataclass(frozen=True, slots=True)
class MapSolution:
    """A plan with what is known of its length.

    Attributes:
        plan: that the verifier accepts.
        lower_bound: no plan has fewer steps.
    """

    plan: Plan
    lower_bound: int

    @property
    def certified(self) -> bool:
        """Whether it is proved that no plan has fewer steps."""
        return len(self.plan) == self.lower_bound


def checked(task: Task, plan: Plan | None, bound: int, tried: int) -> MapSolution:
    """A plan that was found, with its bound.

    Args:
        task: that it is to solve.
        plan: None where none was found.
        bound: no plan has fewer steps.
        tried: plans of up to so many steps were looked for.

    Raises:
        NoPlan: there is none, or the verifier refuses it.
    """
    if plan is None:
        raise NoPlan(
            f'{task.id}: no plan within {tried} steps was found: allow more nodes',
            ErrorCode.ATTEMPTS_EXHAUSTED,
        )
    verdict = judge(task, plan).verdict
    if not verdict.ok:
        raise NoPlan(
            f'{task.id}: the search planner and the verifier disagree: {verdict.reason}',
            ErrorCode.PLAN_REFUSED,
        )
    return MapSolution(plan, bound)
