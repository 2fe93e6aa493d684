# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Difficulty grows with size and work, and foretells the length of shortest safe plans."""

from __future__ import annotations

import pytest
from support.breadth_first import solve

from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.domains.check import (
    bucket,
    correlation,
    difficulty,
    spearman,
    thresholds,
)
from safegen_ros.tasks.pddl3.domains.kit import DomainKit
from safegen_ros.tasks.pddl3.task import load_task


@pytest.mark.parametrize('kit', kits().values(), ids=list(kits()))
def test_the_size_of_a_problem_is_read_off_the_problem(kit: DomainKit) -> None:
    for seed in range(10):
        generated = kit.problem(seed)
        assert kit.measure(generated.problem) == generated.size


@pytest.mark.parametrize('kit', kits().values(), ids=list(kits()))
def test_longer_plans_are_scored_higher(kit: DomainKit) -> None:
    drawn = [kit.problem(seed, size, 'none') for size in kit.sizes(wide=True) for seed in range(8)]
    ranked = sorted(drawn, key=lambda generated: difficulty(kit, generated.problem))
    third = len(ranked) // 3
    easy, hard = ranked[:third], ranked[-third:]
    assert sum(len(p.direct) for p in hard) > 1.3 * sum(len(p.direct) for p in easy)


def test_goals_that_hold_already_are_no_work() -> None:
    kit = kits()['ferry']
    text = kit.problem(1, {'locations': 3, 'cars': 2}, 'none').text
    problem = load_task(text).problem
    done = problem.init | {(goal.predicate, *goal.terms) for goal in problem.goal_conjuncts()}
    start, end = '(:init', '\n  )'
    atoms = ' '.join(f'({" ".join(atom)})' for atom in sorted(done))
    head, _, tail = text.partition(start)
    solved = load_task(f'{head}(:init {atoms}{end}{tail.split(end, 1)[1]}').problem
    assert difficulty(kit, problem) > difficulty(kit, solved) == 3 * 0.25 + 2 * 0.25


def test_buckets() -> None:
    scores = [float(number) for number in range(1, 11)]
    limits = thresholds(scores)
    assert limits == (4.0, 8.0)
    found = [bucket(score, limits) for score in scores]
    assert found == ['easy'] * 4 + ['medium'] * 4 + ['hard'] * 2
    assert thresholds([5.0]) == (5.0, 5.0)
    with pytest.raises(ValueError, match='no scores'):
        thresholds([])


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
