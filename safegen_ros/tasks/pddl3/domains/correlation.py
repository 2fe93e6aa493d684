# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How well scores of difficulty foretell the length of shortest safe plans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from safegen_ros.tasks.pddl3.domains.check import Solve
from safegen_ros.tasks.pddl3.domains.difficulty import difficulty
from safegen_ros.tasks.pddl3.domains.kit import DomainKit


@dataclass(frozen=True, slots=True)
class Correlation:
    """Spearman's rank correlation with the length of shortest safe plans, over some problems.

    Attributes:
        domain: name of the kit.
        problems: how many there are.
        steps: mean length of their shortest plans.
        score: correlation of the score of `difficulty`; None where all are equal.
        size: likewise of the sum of the size parameters, of which the paper makes its score.
    """

    domain: str
    problems: int
    steps: float
    score: float | None
    size: float | None


def correlation(
    kit: DomainKit,
    problems: int,
    seed: int,
    solve: Solve,
    notify: Callable[[], None] = lambda: None,
) -> Correlation:
    """Correlations over problems of all families, of the sizes that are drawn when none is given.

    Raises:
        SafegenError: the planner gave up.
    """
    lengths, scores, sizes = [], [], []
    for number in range(seed, seed + problems):
        generated = kit.problem(number)
        lengths.append(len(solve(generated.problem)))
        scores.append(difficulty(kit, generated.problem))
        sizes.append(sum(generated.size.values()))
        notify()
    return Correlation(
        kit.name,
        problems,
        float(np.mean(lengths)),
        spearman(scores, lengths),
        spearman(sizes, lengths),
    )


def spearman(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's rank correlation, in [-1, 1]; equal values share the mean of their ranks.

    Returns:
        The correlation; None where all values of one row are equal.
    """
    first, second = (ranks - ranks.mean() for ranks in (_ranks(one), _ranks(other)))
    spread = np.sqrt((first @ first) * (second @ second))
    return float(first @ second / spread) if spread else None


def _ranks(values: Sequence[float]) -> npt.NDArray[np.float64]:
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks: npt.NDArray[np.float64] = (ends - (counts - 1) / 2)[places]
    return ranks
