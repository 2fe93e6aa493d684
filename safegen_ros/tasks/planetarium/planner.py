# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans for the three domains, without search."""

from __future__ import annotations

from collections.abc import Callable

from safegen_ros.errors import SafegenError
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.search.budget import Unsolvable
from safegen_ros.search.solve import solve
from safegen_ros.tasks.planetarium.domains import rules_for
from safegen_ros.tasks.planetarium.state_rules import StripsTask
from safegen_ros.verify.validator import verify


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
