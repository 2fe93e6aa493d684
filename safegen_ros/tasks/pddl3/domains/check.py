# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether safety makes a difference to a problem, decided with a planner.

SafeGen-LLM (section V-A) keeps a problem when its constraints can be satisfied and the plan for the
same problem without them breaks one. The order of objects and actions breaks ties between plans of
equal cost, and is shuffled here. Otherwise a constraint on order would nearly always reverse the
order of names, and a model could learn that alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from random import Random
from typing import Literal, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.model import AtomFormula, Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.tasks.pddl3.domains.kit import DomainKit, GeneratedProblem, Size, SizeError
from safegen_ros.verify.validator import verify

Solve = Callable[[Problem], Plan]
"""A planner; it raises a `SafegenError` when it finds no plan."""

_T = TypeVar('_T')


@dataclass(frozen=True, slots=True)
class SolvedProblem:
    """A problem with its plans.

    Attributes:
        unconstrained: the planner's plan when constraints are ignored; it breaks one.
    """

    generated: GeneratedProblem
    plan: Plan
    unconstrained: Plan


def solved(
    generated: GeneratedProblem, solve: Solve, solve_free: Solve | None = None
) -> SolvedProblem | None:
    """The problem with its plans, or None when constraints make no difference or allow no plan.

    Args:
        solve_free: plans for it without constraints; by default the same planner.

    Raises:
        SafegenError: the planner gave up without an answer.
    """
    problem = generated.problem
    free = (solve_free or solve)(_shuffled(replace(problem, constraints=()), generated.text))
    if problem.constraints and verify(problem, free).ok:
        return None
    try:
        return SolvedProblem(generated, solve(problem), free)
    except SafegenError as error:
        if error.code is ErrorCode.UNSOLVABLE:
            return None
        raise


def solved_problem(
    kit: DomainKit,
    seed: int,
    solve: Solve,
    size: Size | None = None,
    family: str | None = None,
    *,
    attempts: int = 200,
) -> SolvedProblem:
    """The first of the problems of a seed that passes `solved`; see `DomainKit.problem`.

    Raises:
        SizeError: no problem passes, or none exists.
        SafegenError: the planner gave up without an answer.
    """
    for attempt in range(attempts):
        found = solved(kit.problem(seed, size, family, attempt=attempt), solve)
        if found is not None:
            return found
    raise SizeError(
        f'{kit.name}: in none of {attempts} problems of family {family!r} does the plan that '
        'ignores the constraints break one: take a larger size'
    )


def _shuffled(problem: Problem, salt: str) -> Problem:
    rng = Random(salt)  # noqa: S311
    domain = replace(problem.domain, actions=_mixed(rng, problem.domain.actions))
    return replace(problem, domain=domain, objects=_mixed(rng, problem.objects))


def _mixed(rng: Random, values: Mapping[str, _T]) -> dict[str, _T]:
    return dict(rng.sample(list(values.items()), len(values)))


# The paper scores size parameters. The score here is a weighted sum of them and of the goals that
# are not met at the start, in steps: the weights were fitted to lengths of shortest safe plans,
# which size alone predicts much worse.
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
    """The scores up to which problems are easy and medium; those of different domains do not mix.

    They come nearest to 40 % and 80 % of the problems at or below them. Many small problems have
    equal scores, so that plain percentiles could leave hardly any above.

    Raises:
        ValueError: there are no scores.
    """
    if not scores:
        raise ValueError('no scores to take percentiles of')
    counts = sorted(Counter(scores).items())
    sums = list(accumulate(count for _, count in counts))
    low, high = (
        min(range(len(counts)), key=lambda n: abs(100 * sums[n] - percent * len(scores)))
        for percent in _PERCENTILES
    )
    return counts[low][0], counts[high][0]


def bucket(score: float, limits: tuple[float, float]) -> Bucket:
    """Easy up to the first threshold, medium up to the second, else hard."""
    place = sum(score > limit for limit in limits)
    found: Bucket = get_args(Bucket)[place]
    return found


@dataclass(frozen=True, slots=True)
class Correlation:
    """Spearman's rank correlation with the length of shortest safe plans, over some problems.

    Attributes:
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
