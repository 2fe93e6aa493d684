# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The domains of Planetarium whose goals are specified by rules, one module each, and their plans.

Blocks World is the one that this package has anyway; the PDDL of the other two lies here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.model import Domain, Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.pddl.reader import read_domain
from safegen_ros.search.budget import Unsolvable
from safegen_ros.search.solve import solve
from safegen_ros.tasks.pddl3.domains import builtin_domain_text
from safegen_ros.tasks.planetarium.domains.blocksworld import BlocksWorld
from safegen_ros.tasks.planetarium.domains.floortile import FloorTile
from safegen_ros.tasks.planetarium.domains.gripper import Gripper
from safegen_ros.tasks.planetarium.state_rules import GoalRules, StripsTask
from safegen_ros.verify.validator import verify

RULES: Mapping[str, type[GoalRules]] = {
    rules.domain: rules for rules in (BlocksWorld, Gripper, FloorTile)
}
"""The domains of the paper by their names, with their rules."""


def planetarium_domain_text(name: str) -> str:
    """The PDDL text of one of the three domains.

    Raises:
        SafegenError: there is no such domain (`UNKNOWN_DOMAIN`).
    """
    if name not in RULES:
        raise SafegenError(
            f'domain {name[:40]!a} is not one of Planetarium: use one of {" ".join(RULES)}',
            ErrorCode.UNKNOWN_DOMAIN,
        )
    if name == BlocksWorld.domain:
        return builtin_domain_text(name)
    return (Path(__file__).parent / f'{name}.pddl').read_text(encoding='utf-8')


@cache
def planetarium_domain(name: str) -> Domain:
    """One of the three domains; raises as `planetarium_domain_text`."""
    return read_domain(planetarium_domain_text(name), f'{name}.pddl')


def rules_for(domain: Domain, task: StripsTask) -> GoalRules | None:
    """The rules for a task, None where its domain has none or its initial state is not meant.

    A domain of the same name with other actions has none.
    """
    rules = RULES.get(domain.name)
    if rules is None or domain != planetarium_domain(domain.name):
        return None
    return rules.of(task)


def find_plan(
    problem: Problem, time_limit_s: float = 60.0, cancelled: Callable[[], bool] = lambda: False
) -> Plan:
    """A plan that the validator accepts: by the rules of the domain, else by search.

    Plans by rules are found in milliseconds and are not the shortest ones. They know nothing of
    trajectory constraints, so a problem with constraints is searched unless its plan keeps them.

    Raises:
        Unsolvable: there is none.
        SearchLimit: time or memory of the search ran out.
        Canceled: `cancelled` said so.
    """
    task = StripsTask.of(problem)
    rules = None if task is None else rules_for(problem.domain, task)
    if rules is not None:
        state = rules.goal_state()
        if state is None:
            why = 'no state that can be reached satisfies its goal'
            raise Unsolvable(problem.name, why, 'change the goal')
        plan = Plan(rules.steps_to(state))
        verdict = verify(problem, plan)
        if verdict.ok:
            return plan
        if not problem.constraints:
            raise SafegenError(
                f'the rules of the domain made a plan that does not verify: {verdict.reason}'
            )
    return solve(problem, time_limit_s=time_limit_s, cancelled=cancelled).plan
