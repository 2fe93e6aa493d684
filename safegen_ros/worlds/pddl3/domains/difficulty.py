# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How hard a problem is to plan for, from its structure alone (SafeGen-LLM section IV-C2).

The paper scores size parameters. The score here is a weighted sum of them and of the goals that are
not met at the start, in steps: the weights were fitted to lengths of shortest safe plans, of which
size alone tells much less.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from safegen_ros.pddl.model import AtomFormula, Problem
from safegen_ros.worlds.pddl3.domains.kit import DomainKit

Bucket = Literal['easy', 'medium', 'hard']

_PERCENTILES = (40, 80)  # where medium and hard begin


def difficulty(kit: DomainKit, problem: Problem) -> float:
    """The score of a problem of a kit's domain, roughly the steps of a short safe plan."""
    size = kit.measure(problem)
    score = sum(kit.weights[name] * value for name, value in size.items())
    return score + kit.goal_weight * _unmet(problem)


def _unmet(problem: Problem) -> int:
    """How many goals are not atoms that hold at the start."""
    return sum(
        not isinstance(goal, AtomFormula) or (goal.predicate, *goal.terms) not in problem.init
        for goal in problem.goal_conjuncts()
    )


def thresholds(scores: Sequence[float]) -> tuple[float, float]:
    """The scores at the 40th and the 80th percentile; scores of different domains do not mix.

    Raises:
        ValueError: there are no scores.
    """
    if not scores:
        raise ValueError('no scores to take percentiles of')
    ordered = sorted(scores)
    low, high = (ordered[-(-len(ordered) * p // 100) - 1] for p in _PERCENTILES)
    return low, high


def bucket(score: float, limits: tuple[float, float]) -> Bucket:
    """Easy up to the first threshold, medium up to the second, else hard."""
    place = sum(score > limit for limit in limits)
    found: Bucket = get_args(Bucket)[place]
    return found
