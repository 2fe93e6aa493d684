# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Made-up domains can be read, and have problems with plans that take their rules into account."""

from __future__ import annotations

from random import Random

import pytest

from safegen_ros.datasets.pddl3.made_up import (
    domain_of,
    held_out_domain,
    made_up_domain,
    made_up_setting,
    parts,
    with_goal_and_rules,
)
from safegen_ros.pddl.model import Problem
from safegen_ros.search.budget import Budget
from safegen_ros.search.in_process import solve_in_process
from safegen_ros.verify.validator import verify


def steps_of(problem: Problem) -> int:
    plan = solve_in_process(problem, Budget(5.0, 1024.0), optimal=True).plan
    assert verify(problem, plan).ok
    return len(plan.steps)


@pytest.mark.nightly
def test_made_up_domains_differ_and_have_something_to_do() -> None:
    shapes, found = set(), []
    for seed in range(12):
        rng = Random(seed)
        draft = made_up_domain(rng)
        domain = domain_of(draft, 'world')
        shapes.add(tuple(sorted(domain.actions)))
        settings = (made_up_setting(draft, domain, rng) for _ in range(4))
        found += [each for s in settings if (each := with_goal_and_rules(s, rng, seed % 2))]
    assert len(shapes) > 6
    assert max(map(steps_of, found)) > 3
    assert sum(bool(problem.constraints) for problem in found) > 8


@pytest.mark.parametrize('name', parts()['held_out'])
def test_domains_for_tests_have_problems_and_are_not_learned(name: str) -> None:
    domain = domain_of(held_out_domain(name), name)
    assert not {*domain.actions} & {*parts()['learned']}
    rng = Random(name)
    settings = (made_up_setting(held_out_domain(name), domain, rng) for _ in range(8))
    found = [each for s in settings if (each := with_goal_and_rules(s, rng, 0))]
    assert max(map(steps_of, found)) > 1
