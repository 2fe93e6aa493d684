# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: S101
"""The folder does not contradict itself, and its constraints change the shortest plan."""

from __future__ import annotations

import pytest

from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.domains._template import KIT
from safegen_ros.tasks.pddl3.domains.check import solved_problem
from safegen_ros.tasks.pddl3.domains.inspection import inspect_domain


def test_the_folder_does_not_contradict_itself() -> None:
    assert [finding.message for finding in inspect_domain(KIT.name)] == []


def _shortest(problem: Problem) -> Plan:
    return solve(problem, optimal=True).plan


@pytest.mark.parametrize('family', KIT.families)
def test_safety_makes_a_difference(family: str) -> None:
    found = solved_problem(KIT, 1, _shortest, family=family)
    assert 0 < len(found.unconstrained) <= len(found.plan) <= len(found.generated.witness)
