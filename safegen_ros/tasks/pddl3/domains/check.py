# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether safety makes a difference to a problem, decided with a planner.

SafeGen-LLM (section V-A) keeps a problem when its constraints can be satisfied and the plan for the
same problem without them breaks one. Ties between plans of equal cost are broken by the order of
objects and actions, which is shuffled here: otherwise a constraint on order would nearly always ask
for the reverse of the order of names, and that alone could be learned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import TypeVar

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.tasks.pddl3.domains.kit import (
    DomainKit,
    GeneratedProblem,
    Size,
    SizeError,
)
from safegen_ros.verify.validator import verify

Solve = Callable[[Problem], Plan]
"""A planner; it raises a `SafegenError` when it finds no plan."""

_T = TypeVar('_T')


@dataclass(frozen=True, slots=True)
class SolvedProblem:
    """A problem with its plans.

    Attributes:
        generated: the problem, and how it was made.
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
