# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Counts of verdicts, and how sure one can be of a success rate."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from safegen_ros.verdict import Category


def wilson(successes: int, trials: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson score interval of a proportion (95 % for the default z); (0, 1) without trials."""
    if trials == 0:
        return 0.0, 1.0
    share, square = successes / trials, z * z
    centre = (share + square / (2 * trials)) / (1 + square / trials)
    spread = share * (1 - share) / trials + square / (4 * trials * trials)
    half = z * math.sqrt(spread) / (1 + square / trials)
    return max(0.0, centre - half), min(1.0, centre + half)


def nearest_rank(values: Sequence[float], share: float) -> float:
    """The smallest value that at least a share of all, in (0, 1], do not exceed."""
    return sorted(values)[math.ceil(share * len(values)) - 1]


@dataclass(frozen=True, slots=True)
class Tally:
    """How often each verdict was given."""

    counts: dict[Category, int]

    @classmethod
    def of(cls, categories: Iterable[Category]) -> Tally:
        """Counts verdicts."""
        return cls(dict(Counter(categories)))

    @property
    def trials(self) -> int:
        """All verdicts."""
        return sum(self.counts.values())

    @property
    def successes(self) -> int:
        """Verdicts that are `SUCCESS`."""
        return self.counts.get(Category.SUCCESS, 0)

    @property
    def rate(self) -> float:
        """Share of successes, in [0, 1]."""
        return self.successes / self.trials if self.trials else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % Wilson interval of the rate."""
        return wilson(self.successes, self.trials)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        low, high = self.interval
        return {
            'trials': self.trials,
            'success_percent': round(100 * self.rate, 1),
            'interval_percent': [round(100 * low, 1), round(100 * high, 1)],
            **{c.name.lower(): self.counts.get(c, 0) for c in reversed(Category)},
        }
