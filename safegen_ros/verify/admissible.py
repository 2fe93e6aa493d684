# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which actions may come next: what a decoder's shield asks, and a run that goes step by step."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from safegen_ros.errors import PlanFormatError
from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.ground import GroundAction, Grounder, goal_tests
from safegen_ros.pddl.model import Problem, State
from safegen_ros.pddl.plan import Plan, Step, parse_plan
from safegen_ros.verdict import Category, Verdict
from safegen_ros.verify.monitors import MonitorSet, Standing
from safegen_ros.verify.validator import Validator


class Situation(NamedTuple):
    """A moment of a plan: a state of the world, as bits, and where the constraints stand."""

    state: int
    standing: Standing


class Shield:
    """Follows plans of one problem and never lets one take a step that cannot be right."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.table = AtomTable(problem)
        self.monitors = MonitorSet(problem, self.table)
        self._grounder = Grounder(problem, self.table)
        self._goals = [test for _, test in goal_tests(problem, self.table)]

    @cached_property
    def start(self) -> Situation:
        """The initial situation."""
        state = self.table.encode(self.problem.init)
        return Situation(state, self.monitors.start(state))

    def admissible(self, situation: Situation, step: Step) -> bool:
        """Whether a step is one of the problem, applies, and leaves every constraint satisfiable.

        A constraint counts as satisfiable while the states so far and the time do not rule it out
        (see `MonitorSet.lost`), though the world, or another constraint, may.
        """
        return self.after(situation, step) is not None

    def after(self, situation: Situation, step: Step) -> Situation | None:
        """The situation after an admissible step; None when it is not admissible."""
        try:
            action = self._grounder.action(step)
        except (KeyError, ValueError):
            return None
        return self._after(situation, action)

    def _after(self, situation: Situation, action: GroundAction) -> Situation | None:
        state, standing = situation
        if self.monitors.lost(standing) or not action.applicable(state):
            return None
        after = action.apply(state)
        standing = self.monitors.progress(standing, after, state ^ after)
        return None if self.monitors.lost(standing) else Situation(after, standing)

    def steps(self, situation: Situation) -> dict[Step, Situation]:
        """Every admissible step with the situation that it leads to, in a fixed order.

        Raises:
            SafegenError: the problem has too many ground actions to list.
        """
        pairs = ((action.step, self._after(situation, action)) for action in self._actions)
        return {step: after for step, after in pairs if after is not None}

    @cached_property
    def _actions(self) -> list[GroundAction]:
        return self._grounder.all_actions()

    def finished(self, situation: Situation) -> bool:
        """Whether the plan may end here: the goal holds and every constraint is satisfied."""
        state, standing = situation
        return all(test(state) for test in self._goals) and not self.monitors.unsatisfied(standing)

    def state(self, situation: Situation) -> State:
        """The atoms that are true in a situation."""
        return self.table.decode(situation.state)


_OPEN = (Category.SUCCESS, Category.GOAL_NOT_SATISFIED, Category.SAFETY_VIOLATION)
"""What a step may be that leaves something to do, if it breaks nothing."""


def verify_step(problem: Problem, answer: str | Plan) -> Verdict:
    """Whether a step applies and leaves every constraint satisfiable; no step always does.

    Args:
        problem: the rest of the task, from the current state of the world.
        answer: the step, or the text of it; an empty one for none.
    """
    timed = bool(problem.domain.durative)
    try:
        plan = answer if isinstance(answer, Plan) else parse_plan(answer, timed=timed)
    except PlanFormatError:
        return Validator(problem).verify(answer)
    if not plan.steps:
        return Verdict(Category.SUCCESS, 'nothing is done', -1, 0)
    if len(plan) > 1:
        reason = f'{len(plan)} steps were given instead of one: give the next one alone'
        return Verdict(Category.FORMAT_ERROR, reason, 1, len(plan))
    shield = Shield(problem)
    admissible = shield.admissible(shield.start, plan.steps[0])
    if admissible and not timed:
        return Verdict(Category.SUCCESS, 'the step may be taken', -1, 1)
    found = Validator(problem).verify(plan)
    # The shield sees neither the time of a step nor the state while it runs.
    unbroken = all(each.step < 0 and each.state for each in found.broken)
    if admissible and unbroken and found.category in _OPEN:
        return Verdict(Category.SUCCESS, 'the step may be taken', -1, 1)
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
