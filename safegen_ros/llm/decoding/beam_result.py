# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a search with the scores of a model found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from safegen_ros.pddl.plan import Plan


class Outcome(Enum):
    """How a search ended."""

    FOUND = 'found'
    EXHAUSTED = 'no admissible step leads to a new situation'
    STEPS = 'the plan would take more steps than allowed'
    CONTEXT = 'the plan does not fit into the context of the model'
    TIME = 'the time was up'
    EFFORT = 'the model was asked about as many steps as allowed'


@dataclass(frozen=True, slots=True)
class BeamResult:
    """What a search found.

    Attributes:
        width: how many plans it followed at a time.
        backtracking: whether it might go back to plans that it had left.
        outcome: how it ended.
        plan: the plan, when there is one.
        score: the logarithm of the plan's probability, its end included; 0 without a plan.
        scored: how many steps the model was asked about.
        seconds: wall-clock time [s].
    """

    width: int
    backtracking: bool
    outcome: Outcome
    plan: Plan | None
    score: float
    scored: int
    seconds: float
