# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A problem seen through its relaxation: how far its goal is, and what matters for a part of it."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from safegen_ros.pddl.bits import Condition, Literals, single_bits
from safegen_ros.pddl.model import Problem, State
from safegen_ros.search.budget import Budget
from safegen_ros.search.consumables import Consumables
from safegen_ros.search.heuristic import RelaxedPlanner
from safegen_ros.search.relaxation import Relaxation
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
        self._problem = problem
        self._relaxation = Relaxation(self.task, budget)
        supplies = Consumables(self.task, self._relaxation)
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

    def provisions(self, goals: int) -> list[list[int]]:
        """What has to be at hand before goals are reached that use something up.

        Where every action that reaches some goals uses up something that none makes, as a spanner
        is that tightens one nut, such goals may shut each other out: whoever goes for the first one
        may get no more supplies for the others. What an action needs besides its supply is what has
        to be at hand.

        Args:
            goals: the bits of the goals that are atoms.

        Returns:
            Bits of atoms that do not hold at the start, the nearest first: with a supply for each
            goal, the nearest ones, then with all that there are. Empty where not at least two goals
            use something up.
        """
        task, now = self.task, self.task.init
        facts = self._facts(self._problem.init, task.start)
        made = 0
        for action in task.actions:
            made |= action.add
            for _, more, _ in action.conditional:
                made |= more
        costs: dict[int, float] = {}

        def cost(atoms: int) -> float:
            for atom in single_bits(atoms):
                if atom not in costs:  # none of them holds, so that no action means no way
                    costs[atom] = len(self._planner.actions(facts, atom) or ()) or inf
            return sum(costs[atom] for atom in single_bits(atoms))

        ways = {
            goal: [
                (action.want & ~now, action.want & action.delete & ~made)
                for number, action in enumerate(task.actions)
                if action.add & goal and number not in self._relaxation.impossible
            ]
            for goal in single_bits(goals & ~now)
        }
        seen = shared = 0
        for of_goal in ways.values():
            own = 0
            for _, supply in of_goal:
                own |= supply
            seen, shared = seen | own, shared | seen & own
        chosen: dict[int, int] = {}  # what is needed beside each supply that a goal was given
        known: dict[int, int] = {}  # likewise for all supplies
        for of_goal in ways.values():
            at_hand = [
                (cost(needed), needed, supply & shared)
                for needed, supply in of_goal
                if supply & shared & now and cost(needed) < inf
            ]
            if not all(supply & shared for _, supply in of_goal):
                continue
            at_hand.sort()
            for _, needed, supply in at_hand:
                known.setdefault(supply, needed)
            free = [each for each in at_hand if each[2] not in chosen]
            if free:
                chosen[free[0][2]] = free[0][1]
        if len(chosen) < 2:
            return []
        found = []
        for needs in (chosen, known):
            atoms = 0
            for needed in needs.values():
                atoms |= needed
            found.append(sorted(single_bits(atoms), key=lambda atom: (cost(atom), atom)))
        return found

    def _facts(self, state: State, standing: Standing) -> int:
        return self._relaxation.facts(self.task.table.encode(state), standing)
