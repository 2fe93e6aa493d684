# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The one verdict of the stack: five ordered categories (SafeGen-LLM section IV-C1).

The same object is the feedback of a retry, the source of the reward, a row of a results table, a
ROS message and the gate of the executor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

LONGEST = 1000
"""Most characters of one part of a reason."""

_MOST = 20  # parts of a reason


class Category(IntEnum):
    """Outcome of a verification, worst first; `UNKNOWN` is not an outcome and never executes."""

    UNKNOWN = 0
    FORMAT_ERROR = 1
    SAFETY_VIOLATION = 2
    PRECONDITION_VIOLATION = 3
    GOAL_NOT_SATISFIED = 4
    SUCCESS = 5


@dataclass(frozen=True, slots=True)
class BrokenConstraint:
    """A trajectory constraint that a plan breaks, or leaves open.

    Attributes:
        binding: the objects of the quantifiers around it, `(('?x', 'b1'), ...)`.
        state: index k of the state s_k from which no continuation could satisfy it; the last one
            for a constraint that is only still open there.
        step: index (from 0) of the step that led there, which made it unavoidable; -1 when it was
            broken in s0 or is only still open at the end.
        place: `source:line:col` where it was written.
    """

    text: str
    binding: tuple[tuple[str, str], ...]
    state: int
    step: int
    reason: str
    place: str = ''

    def __str__(self) -> str:
        """The constraint and why it is not satisfied, for a model or a person."""
        names = ', '.join(f'{variable} = {value}' for variable, value in self.binding)
        return f'constraint {self.text}{f" (for {names})" if names else ""}: {self.reason}'


@dataclass(frozen=True, slots=True)
class BrokenWish:
    """A preference that a proved plan breaks.

    Attributes:
        name: as `(is-violated NAME)` counts it; empty for those without a name.
        count: how many of its instances are broken, in a precondition each time.
        texts: those instances, as PDDL, the first few.
        cost: what they add to the metric, as a number in text; empty where that is not known.
    """

    name: str
    count: int
    texts: tuple[str, ...]
    cost: str = ''

    def __str__(self) -> str:
        """The preference, how often it is broken and what that costs."""
        parts = [f'{self.count} times'] if self.count > 1 else []
        parts += [f'{self.cost} in the metric'] if self.cost else []
        told = f' ({", ".join(parts)})' if parts else ''
        return f'{self.name or self.texts[0]}{told}'


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a verifier found out about one plan.

    Attributes:
        reason: one paragraph that a model or a person can act on; empty only for `UNKNOWN`.
        failing_step: index (from 0) of the first step that breaks something, -1 when no single
            step does (an unmet goal, a constraint still open at the end). A constraint that
            already fails in the initial state has step 0, the one that may not be taken.
        plan_length: number of steps that were read.
        goal_fraction: satisfied goal conjuncts over all, in the last state that was reached, in
            [0, 1].
        broken: the constraints that the plan breaks as far as its steps apply, in order; with an
            unmet goal also those still open at the end.
        unsatisfied: what the failing precondition or the goal still asks for, as PDDL text.
        failing_state: index k of the state s_k in which the failure shows: of the broken
            constraint, before the inapplicable step, or the last one; -1 without such a state.
        step_blocked: whether, beside a broken constraint, the step that follows does not apply.
        wishes: preferences that a plan breaks which succeeds; they never change the category.
    """

    category: Category = Category.UNKNOWN
    reason: str = ''
    failing_step: int = -1
    plan_length: int = 0
    goal_fraction: float = 0.0
    broken: tuple[BrokenConstraint, ...] = ()
    unsatisfied: tuple[str, ...] = ()
    failing_state: int = -1
    step_blocked: bool = False
    wishes: tuple[BrokenWish, ...] = ()

    def __str__(self) -> str:
        return f'{self.category.name}: {self.reason}'

    @property
    def ok(self) -> bool:
        """Whether the plan may be executed: `SUCCESS` and nothing else."""
        return self.category is Category.SUCCESS

    def paper_category(self) -> Category:
        """The class that SafeGen-LLM appendix E reads off VAL's output, for comparison only.

        Its patterns call a constraint that fails in the last state an unmet goal, and a constraint
        that fails just before an inapplicable step a precondition. VAL's output for a plan that it
        cannot read depends on the domain; here it counts as a format error.
        """
        if self.category is not Category.SAFETY_VIOLATION:
            return self.category
        if self.failing_state == self.plan_length:
            return Category.GOAL_NOT_SATISFIED
        return Category.PRECONDITION_VIOLATION if self.step_blocked else self.category

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


def joined(parts: Sequence[str], separator: str) -> str:
    """The first few parts; a reason is read by a person or a model."""
    text = separator.join(parts)
    if len(text) <= LONGEST and len(parts) <= _MOST:
        return text
    few = [p if len(p) <= LONGEST else p[:LONGEST] + '...' for p in parts[:_MOST]]
    more = [f'{len(parts) - _MOST} more'] if len(parts) > _MOST else []
    return separator.join(few + more)


def step_name(steps: Sequence[object], index: int) -> str:
    """A step with its number, for messages."""
    text = str(steps[index])
    return f'step {index + 1} {text if len(text) <= LONGEST else text[:LONGEST] + "..."}'
