# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Scores of difficulty foretell the length of shortest safe plans better than sizes alone do."""

from __future__ import annotations

import pytest
from support.breadth_first import solve

from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.domains.correlation import correlation, spearman


def test_spearman() -> None:
    assert spearman([1, 2, 3, 4], [10, 20, 40, 30]) == pytest.approx(0.8)
    assert spearman([1, 2, 3], [1, 8, 27]) == pytest.approx(1)
    assert spearman([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert spearman([1, 2, 2, 3], [1, 3, 2, 4]) == pytest.approx(0.9486832980505138)
    assert spearman([5, 5, 5], [1, 2, 3]) is None


@pytest.mark.nightly
@pytest.mark.parametrize('name', ['blocksworld', 'ferry', 'grippers', 'spanner'])
def test_the_weights_of_a_domain_are_good(name: str) -> None:
    told: list[None] = []
    found = correlation(kits()[name], 25, 0, solve, lambda: told.append(None))
    assert len(told) == found.problems == 25
    assert found.score is not None
    assert found.size is not None
    assert found.score > max(0.7, found.size)
    assert found == correlation(kits()[name], 25, 0, solve)
