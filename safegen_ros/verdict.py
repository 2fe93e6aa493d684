# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The one verdict of the stack: five ordered categories (SafeGen-LLM section IV-C1).

The same object is the feedback of a retry, the source of the reward, a row of a results table, a
ROS message and the gate of the executor.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Category(IntEnum):
    """Outcome of a verification, worst first; `UNKNOWN` is no outcome and never executes."""

    UNKNOWN = 0
    FORMAT_ERROR = 1
    SAFETY_VIOLATION = 2
    PRECONDITION_VIOLATION = 3
    GOAL_NOT_SATISFIED = 4
    SUCCESS = 5


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a verifier found out about one plan.

    Attributes:
        category: one of the five outcomes.
        reason: one paragraph that a model or a person can act on; empty only for `UNKNOWN`.
        failing_step: index (from 0) of the first step that breaks something, -1 when no single
            step does (an unmet goal, a constraint still open at the end). A constraint that
            already fails in the initial state has step 0, the one that may not be taken.
        plan_length: number of steps that were read.
        goal_fraction: satisfied goal conjuncts over all, in the last state that was reached, in
            [0, 1].
        broken_constraints: every constraint that the executed prefix breaks, as PDDL text.
        unsatisfied: ground literals that the failing precondition or the goal still asks for.
    """

    category: Category = Category.UNKNOWN
    reason: str = ''
    failing_step: int = -1
    plan_length: int = 0
    goal_fraction: float = 0.0
    broken_constraints: tuple[str, ...] = ()
    unsatisfied: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the plan may be executed: `SUCCESS` and nothing else."""
        return self.category is Category.SUCCESS

    def progress(self, reference_length: int | None = None) -> float:
        """Progress in [0, 1] within the category (SafeGen-LLM equation 9).

        For safety and precondition violations it is the failing step over the length of the
        reference solution, clipped to 1; without a reference, over the length of this plan. For
        an unmet goal it is the fraction of satisfied goal conjuncts.

        Args:
            reference_length: number of steps of a reference solution.
        """
        if self.category is Category.SUCCESS:
            return 1.0
        if self.category is Category.GOAL_NOT_SATISFIED:
            return self.goal_fraction
        if self.category in (Category.SAFETY_VIOLATION, Category.PRECONDITION_VIOLATION):
            length = reference_length or self.plan_length
            step = self.plan_length if self.failing_step < 0 else self.failing_step
            return min(1.0, step / length) if length else 0.0
        return 0.0
