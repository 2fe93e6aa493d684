# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which actions may come next: the question that a decoder's shield asks before every step."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.ground import GroundAction, Grounder, goal_tests
from safegen_ros.pddl.model import Problem, State
from safegen_ros.pddl.plan import Step
from safegen_ros.verify.monitors import MonitorSet, Standing


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
