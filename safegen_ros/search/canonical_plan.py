# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Of all the shortest plans the one that comes first, so that a problem has one answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from safegen_ros.pddl.bits import bit_numbers
from safegen_ros.search.best_first import OptimalSearch, Search
from safegen_ros.search.budget import Budget
from safegen_ros.search.consumables import Consumables
from safegen_ros.search.cuts import CutFinder
from safegen_ros.search.relaxation import Relaxation
from safegen_ros.search.task import SearchTask
from safegen_ros.verify.monitors import Standing


@dataclass(slots=True)
class _Node:
    """A node on the way that is being tried, with what can still be done from it."""

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
