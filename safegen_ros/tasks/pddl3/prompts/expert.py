# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The one plan that a model is taught for a problem, of all the shortest safe ones.

A model learns a function: of the shortest safe plans the one that comes first under the canonical
names. Taught any of them, it would have to learn by heart which of two equal spanners was taken.
"""

from __future__ import annotations

from safegen_ros.pddl.plan import Plan
from safegen_ros.search.budget import Budget
from safegen_ros.search.in_process import canonical_plan
from safegen_ros.search.solve import MEMORY_LIMIT_MB
from safegen_ros.tasks.pddl3.prompts.slots import SlottedProblem


def taught_plan(slotted: SlottedProblem, *, time_limit_s: float = 60.0) -> Plan:
    """The first of the shortest safe plans, under the canonical names.

    Args:
        slotted: the problem.
        time_limit_s: of the search [s].

    Raises:
        SafegenError: there is none, or the search has found none in its time.
    """
    return canonical_plan(slotted.problem, Budget(time_limit_s, MEMORY_LIMIT_MB)).plan
