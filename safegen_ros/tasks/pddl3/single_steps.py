# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""One step of a task that is worked on step by step: what is proved of it, and what it leaves."""

from __future__ import annotations

from dataclasses import replace

from safegen_ros.errors import PlanFormatError
from safegen_ros.pddl.model import Problem, State
from safegen_ros.pddl.plan import Plan, parse_plan
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify.admissible import Shield
from safegen_ros.verify.run_monitor import RunMonitor, check_atoms
from safegen_ros.verify.validator import Validator


def verify_step(problem: Problem, answer: str | Plan) -> Verdict:
    """Whether a step applies and leaves every constraint satisfiable; no step always does.

    Args:
        problem: what is left of the task, from where the world is.
        answer: the step, or the text of it; an empty one for none.
    """
    try:
        plan = answer if isinstance(answer, Plan) else parse_plan(answer)
    except PlanFormatError:
        return Validator(problem).verify(answer)
    if not plan.steps:
        return Verdict(Category.SUCCESS, 'nothing is done', -1, 0)
    if len(plan) > 1:
        reason = f'{len(plan)} steps were given where one is to be taken: give the next one alone'
        return Verdict(Category.FORMAT_ERROR, reason, 1, len(plan))
    shield = Shield(problem)
    if shield.admissible(shield.start, plan.steps[0]):
        return Verdict(Category.SUCCESS, 'the step may be taken', -1, 1)
    found = Validator(problem).verify(plan)
    if found.failing_step == 0 or found.category is Category.FORMAT_ERROR:
        return found
    broken = tuple(each for each in found.broken if each.step == 0)
    why = '; '.join(map(str, broken)) or 'a constraint can no longer be kept in the time it leaves'
    return Verdict(
        Category.SAFETY_VIOLATION,
        f'after {plan.steps[0]}: {why}: choose another step',
        0,
        len(plan),
        found.goal_fraction,
        broken,
        failing_state=1,
    )


class StepMonitor(RunMonitor):
    """Watches one step, behind which the goal need not hold, or a look at the world."""

    def look(self, observed: State) -> None:
        """As `RunMonitor`; a look by itself finds what it finds, and breaks nothing."""
        if self.plan.steps:
            return super().look(observed)
        check_atoms(self.problem, observed)
        self.observed = observed
        self.looks += 1

    def finish(self) -> None:
        """Asks for nothing: the task goes on."""

    def remaining(self) -> Problem | None:
        """What is left of the task; as long as no step was taken, all of it."""
        if self.looks > 1 or self.observed is None:
            return super().remaining()
        # What was believed before it was looked at has satisfied nothing.
        domain = replace(self.problem.domain, constraint_tree=None)
        return replace(self.problem, domain=domain, init=self.observed)
