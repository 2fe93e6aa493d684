# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Searches problems with numbers, and for the best plan by a metric, in exact states.

What guides it is the problem without its numbers (see `without_numbers`): no plan of the whole is
lost in there, so that what has no plan there has none. A search that looked at all situations
proves that there is no plan; numbers may make them endless, and then its budget ends it.
"""

from __future__ import annotations

from dataclasses import replace
from heapq import heappop, heappush
from typing import NamedTuple

from safegen_ros.pddl.bits import FALSE, AtomTable, compile_test, condition
from safegen_ros.pddl.facts import is_value
from safegen_ros.pddl.ground import GroundAction, Grounder
from safegen_ros.pddl.model import (
    And,
    Comparison,
    Formula,
    Imply,
    Not,
    Number,
    Or,
    Problem,
    walk,
    with_subformulas,
)
from safegen_ros.search.best_first import trace
from safegen_ros.search.budget import BrokenAtFirst, Budget, Unsolvable
from safegen_ros.search.costs import NoStepCosts, StepCosts
from safegen_ros.search.heuristic import RelaxedPlanner
from safegen_ros.search.relaxation import Consumables, Relaxation
from safegen_ros.search.task import SearchTask
from safegen_ros.verify.monitors import MonitorSet, Standing

_NODE_SIZE = 1200  # memory of a node besides its states [bytes]


def without_numbers(problem: Problem) -> tuple[Problem, bool]:
    """The problem where every comparison may hold, and whether each plan is still one there.

    It is not where a comparison decides whether an action deletes an atom or adds it.
    """
    domain = problem.domain
    actions = {
        name: replace(
            action,
            precondition=_weaker(action.precondition),
            effects=tuple(
                replace(each, condition=_weaker(each.condition)) for each in action.effects
            ),
            numeric=(),
        )
        for name, action in domain.actions.items()
    }
    kept = (c for c in problem.constraints if not any(map(_compares, c.arguments)))
    bare = replace(
        problem,
        domain=replace(domain, actions=actions, functions={}, constraint_tree=None),
        init=frozenset(fact for fact in problem.init if not is_value(fact)),
        goal=_weaker(problem.goal),
        constraints=tuple(kept),
        metric=None,
        values={},
    )
    effects = (each for action in domain.actions.values() for each in action.effects)
    return bare, not any(_compares(each.condition) for each in effects)


def _compares(formula: Formula) -> bool:
    return any(isinstance(part, Comparison) for part in walk(formula))


def _weaker(formula: Formula, positive: bool = True) -> Formula:
    """A formula without comparisons that holds wherever this one does, or the other way round."""
    if isinstance(formula, Comparison):
        return And(()) if positive else Or(())
    if isinstance(formula, Not):
        return Not(_weaker(formula.body, not positive))
    if isinstance(formula, Imply):
        premise = _weaker(formula.premise, not positive)
        return Imply(premise, _weaker(formula.conclusion, positive))
    return with_subformulas(formula, lambda part: _weaker(part, positive))


class _Node(NamedTuple):
    state: int
    standing: Standing
    guide: Standing  # of the constraints without numbers
    parent: int
    action: int


class ExactSearch:
    """Uniform-cost or greedy search.

    Args:
        costs: what steps cost; None where every step costs the same.
        greedy: whether any plan will do.

    Raises:
        Unsolvable: there is no plan, which shows before any search.
        SearchLimit: time or memory ran out.
        Canceled: the caller wants to stop.
        NoStepCosts: a step costs less than nothing, or no fixed number.
    """

    def __init__(
        self, problem: Problem, budget: Budget, costs: StepCosts | None, greedy: bool
    ) -> None:
        self.expanded = 0
        self._problem, self._budget, self._greedy = problem, budget, greedy
        bare, self._exact = without_numbers(problem)
        self._guide = SearchTask(bare, budget)
        relaxation = Relaxation(self._guide, budget)
        self._relaxation = relaxation
        self._planner = RelaxedPlanner(relaxation, Consumables(self._guide, relaxation), budget)
        self._table = AtomTable(problem, tick=budget.tick)
        self._width = len(self._guide.table)
        for place, atom in enumerate(self._guide.table.atoms((1 << self._width) - 1)):
            if self._table.bit(atom) != 1 << self._table.first + place:
                raise RuntimeError('both problems must have their atoms in one order')
        self._monitors = MonitorSet(problem, self._table)
        self._reached = compile_test(condition(problem.goal, self._table))
        grounder = Grounder(problem, self._table)
        left_out = set(relaxation.impossible)
        self.actions: list[GroundAction] = []
        for number, action in enumerate(self._guide.actions):
            budget.tick()
            found = grounder.action(action.step)
            if number not in left_out and found.precondition != FALSE:
                self.actions.append(found)
        own = [1 if costs is None else costs.of(action.step) for action in self.actions]
        if min(own, default=0) < 0:
            raise NoStepCosts
        self._costs: list[Number] = own
        self._init = self._table.encode(problem.init)

    def plan(self) -> list[int]:
        """The numbers of the actions of a plan.

        Raises:
            Unsolvable: there is none.
            SearchLimit: time or memory ran out.
            Canceled: the caller wants to stop.
        """
        monitors, guide = self._monitors, self._guide.monitors
        start = monitors.start(self._init)
        if monitors.broken(start):
            broken = monitors.texts(monitors.violated(start))[0]
            raise BrokenAtFirst(self._problem.name, broken)
        nodes: list[_Node] = []
        best: dict[tuple[int, Standing], Number] = {(self._init, start): 0}
        queue: list[tuple[Number, int, Number]] = []
        most = self._budget.room_for(_NODE_SIZE)

        def add(node: _Node, cost: Number) -> None:
            worth = self._worth(node, cost)
            if worth is None:
                return
            if len(nodes) >= most:
                raise self._budget.memory_is_over()
            heappush(queue, (worth, len(nodes), cost))
            nodes.append(node)

        add(_Node(self._init, start, guide.start(self._bare(self._init)), -1, -1), 0)
        while queue:
            self._budget.tick()
            _, number, cost = heappop(queue)
            node = nodes[number]
            if best[node.state, node.standing] < cost:
                continue
            if self._reached(node.state) and not monitors.unsatisfied(node.standing):
                return trace(nodes, node)
            self.expanded += 1
            for place, action in enumerate(self.actions):
                if not action.applicable(node.state):
                    continue
                self._budget.tick()
                after = action.apply(node.state)
                standing = monitors.progress(node.standing, after, node.state ^ after)
                if monitors.lost(standing):
                    continue
                total = cost + self._costs[place]
                known = best.get((after, standing))
                if known is None or (total < known and not self._greedy):
                    best[after, standing] = total
                    below = guide.progress(node.guide, self._bare(after))
                    add(_Node(after, standing, below, number, place), total)
        why = f'all {len(best)} situations that can be reached were looked at'
        raise Unsolvable(self._problem.name, why)

    def _bare(self, state: int) -> int:
        """The state as the problem without numbers has it."""
        return state >> self._table.first & (1 << self._width) - 1

    def _worth(self, node: _Node, cost: Number) -> Number | None:
        """What a node is queued by; None where no plan goes through it."""
        if not self._greedy and not self._exact:
            return cost
        facts = self._relaxation.facts(self._bare(node.state), node.guide)
        estimate = self._planner.estimate(facts)
        if estimate is None:
            return None if self._exact else cost
        return estimate.length if self._greedy else cost
