# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The one plan that a model is taught for a problem, of all the shortest safe ones.

A model learns a function: the plan depends on the problem under its canonical names and on nothing
else, and steps whose order does not matter stand in the order of their words.
"""

from __future__ import annotations

from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.search.solve import solve
from safegen_ros.verify.validator import Validator
from safegen_ros.worlds.pddl3.prompts.slots import SlottedProblem


def taught_plan(slotted: SlottedProblem, *, time_limit_s: float = 60.0) -> Plan:
    """A shortest safe plan under the canonical names.

    Args:
        slotted: the problem.
        time_limit_s: of the search [s].

    Raises:
        SafegenError: there is none, or the search has found none in its time.
    """
    problem = slotted.problem
    plan = solve(problem, optimal=True, route='in-process', time_limit_s=time_limit_s).plan
    return tidied(problem, plan)


def tidied(problem: Problem, plan: Plan) -> Plan:
    """The plan with neighbouring steps in the order of their words, where both orders are proved.

    Args:
        problem: what the plan is for.
        plan: a plan that the validator accepts.
    """
    validator = Validator(problem)
    steps = list(plan.steps)
    place = 1
    while place < len(steps):
        before, after = steps[place - 1], steps[place]
        if after < before:
            swapped = Plan((*steps[: place - 1], after, before, *steps[place + 1 :]))
            if validator.verify(swapped).ok:
                steps = list(swapped.steps)
                place = max(place - 1, 1)
                continue
        place += 1
    return Plan(tuple(steps))
