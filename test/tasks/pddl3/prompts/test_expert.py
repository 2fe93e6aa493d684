# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The plan that is taught: shortest, proved, and the same for every renaming."""

from __future__ import annotations

import random

import pytest
from support.prompt_problems import shuffled

from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.domains import kits
from safegen_ros.tasks.pddl3.prompts.slots import slotted, taught_plan
from safegen_ros.verify.validator import verify


@pytest.mark.parametrize('name', kits())
def test_the_taught_plan(name: str) -> None:
    for seed in range(12):
        problem = kits()[name].problem(seed).problem
        task = slotted(problem)
        plan = taught_plan(task)
        assert verify(problem, task.original(plan)).ok
        assert len(plan) == len(solve(problem, optimal=True).plan)
        assert taught_plan(slotted(shuffled(random.Random(seed), problem))) == plan
