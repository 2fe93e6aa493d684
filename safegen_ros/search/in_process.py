# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Solves a problem in this process, which starts in a few milliseconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from safegen_ros.errors import SafegenError
from safegen_ros.pddl.bits import bit_numbers
from safegen_ros.pddl.deciding import changed_functions, state_functions
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.search.best_first import GreedySearch, OptimalSearch, Search
from safegen_ros.search.budget import IN_PROCESS, Budget, Solution
from safegen_ros.search.costs import NoStepCosts, StepCosts, shortest_is_best
from safegen_ros.search.exact import ExactSearch
from safegen_ros.search.relaxation import Consumables, CutFinder, Relaxation
from safegen_ros.search.task import SearchTask
from safegen_ros.verify.monitors import Standing
from safegen_ros.verify.validator import verify


def solve_in_process(problem: Problem, budget: Budget, *, optimal: bool = False) -> Solution:
    """Finds a plan that reaches the goal and satisfies every constraint.

    Args:
        optimal: whether to look for the best plan by the metric, or by the number of steps where
            there is none. Where the metric is not a sum of the costs of steps, the plan is a
            shortest one, which the answer does not call optimal.

    Returns:
        A plan that `verify` accepts.

    Raises:
        Unsolvable: there is none.
        SearchLimit: time or memory ran out.
        Canceled: the caller wants to stop.
    """
    exact = bool(state_functions(problem) & changed_functions(problem.domain))
    if optimal and not shortest_is_best(problem):
        try:
            return _exact(problem, budget, StepCosts(problem))
        except NoStepCosts:
            found = _exact(problem, budget) if exact else _solution(problem, budget, OptimalSearch)
            return replace(found, optimal=False)
    if exact:
        return _exact(problem, budget, greedy=not optimal)
    return _solution(problem, budget, OptimalSearch if optimal else GreedySearch)


def _exact(
    problem: Problem, budget: Budget, costs: StepCosts | None = None, *, greedy: bool = False
) -> Solution:
    """The answer of a search in exact states; may raise `NoStepCosts` where it is given costs."""
    search = ExactSearch(problem, budget, costs, greedy=greedy)
    plan = Plan(tuple(search.actions[action].step for action in search.plan()))
    found = Solution(plan, IN_PROCESS, not greedy, budget.seconds, search.expanded)
    return _proved(problem, found, budget)


def canonical_plan(problem: Problem, budget: Budget) -> Solution:
    """The first of all shortest plans, as steps and their words are ordered.

    Args, Returns and Raises are those of `solve_in_process`.
    """
    return _solution(problem, budget, CanonicalSearch)


def _solution(
    problem: Problem,
    budget: Budget,
    kind: type[Search],
) -> Solution:
    task = SearchTask(problem, budget)
    relaxation = Relaxation(task, budget)
    search = kind(task, relaxation, budget)
    found = search.plan()
    optimal = kind is not GreedySearch and shortest_is_best(problem)
    if kind is GreedySearch:
        found = shortened(task, found, budget)
    plan = Plan(tuple(task.actions[action].step for action in found))
    solution = Solution(plan, IN_PROCESS, optimal, budget.seconds, search.expanded)
    return _proved(problem, solution, budget)


def _proved(problem: Problem, found: Solution, budget: Budget) -> Solution:
    verdict = verify(
        problem, found.plan, budget.tick
    )  # which follows it again, with nothing of the search
    if not verdict.ok:
        raise SafegenError(f'the search made a plan that does not verify: {verdict.reason}')
    return found


_MOST_TRIED = 200_000  # actions that are applied in all; some tenths of a second


def shortened(task: SearchTask, actions: Sequence[int], budget: Budget) -> list[int]:
    """A plan without the actions, and those that depend on them, that it also works without.

    One action after the other is left out with whatever becomes inapplicable by that (Nakhost and
    Müller, "Action Elimination and Plan Neighborhood Graph Search", 2010). A long plan is shortened
    only as far as that is done quickly.
    """
    plan = list(actions)
    state, standing = task.init, task.start
    place = tried = 0
    kept_s = budget.left_s / 2  # for the proof
    while place < len(plan) and tried <= _MOST_TRIED and budget.left_s >= kept_s:
        rest = _without_first(task, plan[place:], state, standing, budget)
        tried += len(plan) - place
        if rest is not None:
            plan[place:] = rest
            continue
        state, standing = task.follow(plan[place], state, standing)
        place += 1
    return plan


def _without_first(
    task: SearchTask, actions: Sequence[int], state: int, standing: Standing, budget: Budget
) -> list[int] | None:
    """The actions that still apply when the first one is left out, None if they are not a plan."""
    kept = []
    for action in actions[1:]:
        budget.tick()
        if task.actions[action].applicable(state):
            state, standing = task.follow(action, state, standing)
            if task.monitors.broken(standing):
                return None
            kept.append(action)
    return kept if task.finished(state, standing) else None


@dataclass(slots=True)
class _Node:
    """A node on the current way, with its remaining steps."""

    key: tuple[int, int]
    state: int
    standing: Standing
    cuts: list[frozenset[int]]
    action: int = -1  # the one that is being tried
    actions: Iterator[int] = field(default_factory=lambda: iter(()))


class CanonicalSearch(Search):
    """Depth first, in the order of the words of the steps, up to the length of a shortest plan.

    Two plans are compared as lists of steps, and two steps as lists of words. What A* finds among
    the shortest plans hangs on the order in which it meets them; this hangs on the problem alone.

    `expanded` counts the nodes of A*, too.
    """

    def __init__(self, task: SearchTask, relaxation: Relaxation, budget: Budget) -> None:
        super().__init__(task, relaxation, budget)
        self._finder = CutFinder(relaxation, Consumables(task, relaxation), budget)
        order = sorted(range(len(task.actions)), key=lambda action: task.actions[action].step)
        self._rank = {action: place for place, action in enumerate(order)}
        # Steps left at which a situation has failed. Of two ways to one situation the earlier one
        # leaves more steps and can do more (see SearchTask.key), so its failure counts for both.
        self._failed: dict[tuple[int, int], int] = {}

    def plan(self) -> list[int]:
        """The numbers of the actions of the first of the shortest plans."""
        task = self._task
        shortest = OptimalSearch(task, self._relaxation, self._budget)
        length = len(shortest.plan())
        self.expanded += shortest.expanded
        way: list[_Node] = []
        node = self._open(task.init, task.start, [], length)
        while True:
            if node is not None:
                way.append(node)
            if len(way) > length:
                return [node.action for node in way[:-1]]
            last = way[-1]
            last.action = next(last.actions, -1)
            if last.action == -1:
                way.pop()
                self._failed[last.key] = length - len(way)
                node = None
                continue
            after, standing = task.follow(last.action, last.state, last.standing)
            node = None
            if not task.monitors.lost(standing):
                cuts = [cut for cut in last.cuts if last.action not in cut]
                node = self._open(after, standing, cuts, length - len(way))

    def _open(
        self, state: int, standing: Standing, known: list[frozenset[int]], left: int
    ) -> _Node | None:
        """A node from which the goal may be reached in the steps that are left."""
        self._budget.tick()
        task = self._task
        key, _ = task.key(state, standing)
        if left == 0:
            finished = task.finished(state, standing)
            return _Node(key, state, standing, []) if finished else None
        if len(known) > left or self._failed.get(key, -1) >= left:
            return None
        self.expanded += 1
        cuts = self._finder.find(self._relaxation.facts(state, standing), known)
        if cuts is None or len(cuts) > left:
            self._failed[key] = left
            return None
        actions = sorted(bit_numbers(self._successors.mask(state)), key=self._rank.__getitem__)
        return _Node(key, state, standing, list(cuts), actions=iter(actions))
