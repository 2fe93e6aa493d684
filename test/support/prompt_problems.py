# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Problems in other words, for tests of what must not depend on them."""

from __future__ import annotations

import random
from dataclasses import replace

from safegen_ros.pddl.formulas import substitute
from safegen_ros.pddl.model import And, Problem


def shuffled(rng: random.Random, problem: Problem) -> Problem:
    """The problem with other names, in another order."""
    constants = problem.domain.constants
    others = [name for name in problem.objects if name not in constants]
    fresh = [f'n{number}' for number in rng.sample(range(100, 999), len(others))]
    names = {**{c: c for c in constants}, **dict(zip(others, fresh, strict=True))}
    objects = [(names[name], kind) for name, kind in problem.objects.items()]
    goals = [substitute(goal, names) for goal in problem.goal_conjuncts()]
    constraints = [
        replace(c, arguments=tuple(substitute(a, names) for a in c.arguments))
        for c in problem.constraints
    ]
    return replace(
        problem,
        objects=dict(rng.sample(objects, len(objects))),
        init=frozenset((head, *(names[n] for n in rest)) for head, *rest in problem.init),
        goal=And(tuple(rng.sample(goals, len(goals)))),
        constraints=tuple(rng.sample(constraints, len(constraints))),
    )
