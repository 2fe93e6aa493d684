# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Failed attempts to show in a prompt, so that a model learns to mend what a verdict names."""

from __future__ import annotations

from random import Random

from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.tasks.pddl3.mistakes import Mistakes
from safegen_ros.verdict import Verdict
from safegen_ros.verify.validator import Validator

_DRAWS = 20
_UNSAFE = 0.3  # share of attempts that are the plan without regard to safety, where it is known


def failed_attempt(
    problem: Problem, right: Plan, unsafe: Plan, seed: str
) -> tuple[str, Verdict] | None:
    """A plan that fails, with the verdict on it; None when many draws do no harm.

    Args:
        problem: what the plans are for, in whose names they are.
        right: a plan that is proved.
        unsafe: a plan that ignores the constraints; empty when none is known.
        seed: the same arguments give the same attempt.
    """
    rng = Random(seed)  # noqa: S311
    validator, mistakes = Validator(problem), Mistakes(problem)
    for _ in range(_DRAWS):
        text = str(unsafe)
        if not unsafe.steps or rng.random() >= _UNSAFE:
            text = mistakes.make(rng, right)
        verdict = validator.verify(text)
        if not verdict.ok:
            return text, verdict
    return None
