# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A problem seen through its relaxation: how far its goal is, and what matters for a part of it."""

from __future__ import annotations

from collections.abc import Iterable

from safegen_ros.pddl.bits import Condition, Literals
from safegen_ros.pddl.model import Problem, State
from safegen_ros.search.budget import Budget
from safegen_ros.search.heuristic import RelaxedPlanner
from safegen_ros.search.relaxation import Relaxation
from safegen_ros.search.supplies import Supplies
from safegen_ros.search.task import SearchTask
from safegen_ros.verify.monitors import Standing


class Survey:
    """The relaxed task of one problem, asked from any moment of a plan for it.

    Attributes:
        task: the problem, grounded.

    Args:
        problem: the problem.
        budget: asked while this is built and whenever it answers.

    Raises:
        SearchLimit: the budget is used up; every method raises this, too.
        Canceled: the caller wants to stop; likewise.
        Unsolvable: the initial state breaks a constraint.
    """

    def __init__(self, problem: Problem, budget: Budget) -> None:
        self.task = SearchTask(problem, budget)
        self._relaxation = Relaxation(self.task, budget)
        supplies = Supplies(self.task, self._relaxation)
        self._planner = RelaxedPlanner(self._relaxation, supplies, budget)

    def steps(self, state: State, standing: Standing) -> int | None:
        """The length of a relaxed plan from a moment to the goal; None when there is none.

        Args:
            state: what is true then.
            standing: where the constraints stand then, as a `MonitorSet` of the problem has it.
        """
        estimate = self._planner.estimate(self._facts(state, standing))
        return None if estimate is None else estimate.length

    def objects(
        self, state: State, standing: Standing, wanted: Iterable[Condition] | None
    ) -> frozenset[str] | None:
        """The objects in the steps of a relaxed plan from a moment to some conditions.

        Args:
            state: what is true then.
            standing: where the constraints stand then.
            wanted: conditions over the atoms of `task`, parts of its goal or of what a constraint
                asks for; None for all of these. Where one is no conjunction of literals, all of
                them are meant.

        Returns:
            None when not all of them can be reached, whether wanted or not.
        """
        mask = self._relaxation.goal if wanted is None else 0
        for each in wanted or ():
            if isinstance(each, Literals) and each.conjunctive:
                mask |= self._relaxation.facts_of(each)
            else:
                mask |= self._relaxation.goal
        actions = self._planner.actions(self._facts(state, standing), mask)
        if actions is None:
            return None
        steps = (self.task.actions[number].step for number in actions)
        return frozenset(name for step in steps for name in step.arguments)

    def _facts(self, state: State, standing: Standing) -> int:
        return self._relaxation.facts(self.task.table.encode(state), standing)
