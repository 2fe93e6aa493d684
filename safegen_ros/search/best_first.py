# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A* search: a shortest plan, or the proof that there is none."""

from __future__ import annotations

import sys
from heapq import heappop, heappush

from safegen_ros.pddl.bits import bit_numbers
from safegen_ros.search.budget import Budget
from safegen_ros.search.consumables import Supplies
from safegen_ros.search.cuts import CutFinder, Cuts
from safegen_ros.search.relaxation import Relaxation
from safegen_ros.search.successors import Successors
from safegen_ros.search.task import SearchTask, no_plan
from safegen_ros.verify.monitors import Standing

_NODE_SIZE = 1500  # what is kept for a node beside its state [bytes]


class _Node:
    """A node, and the cheapest way to it that was known when it was made."""

    __slots__ = ('action', 'cuts', 'length', 'parent', 'standing', 'state')

    def __init__(
        self, state: int, standing: Standing, parent: _Node | None, action: int, length: int
    ) -> None:
        self.state = state
        self.standing = standing
        self.parent = parent
        self.action = action
        self.length = length
        self.cuts: Cuts | None = None

    def inherited(self) -> list[frozenset[int]]:
        """The cuts of the parent that are cuts of this node, too."""
        if self.parent is None or self.parent.cuts is None:
            return []
        return [cut for cut in self.parent.cuts if self.action not in cut]


class OptimalSearch:
    """One search.

    Attributes:
        expanded: how many nodes were expanded.

    Args:
        task: the task.
        relaxation: its relaxed task.
        budget: asked at every node.
    """

    def __init__(self, task: SearchTask, relaxation: Relaxation, budget: Budget) -> None:
        self.expanded = 0
        self._task = task
        self._budget = budget
        self._relaxation = relaxation
        self._finder = CutFinder(relaxation, Supplies(task, relaxation), budget)
        self._successors = Successors(task, relaxation.impossible, budget)
        self._lengths: dict[tuple[int, int], int] = {}
        self._queue: list[tuple[int, int, int, _Node]] = []
        self._made = self._pushed = 0
        self._most = budget.room_for(_NODE_SIZE + 2 * sys.getsizeof(1 << len(task.table)))

    def plan(self) -> list[int]:
        """The numbers of the actions of a shortest plan.

        Raises:
            Unsolvable: there is none.
            SearchLimit: time or memory ran out.
            Canceled: the caller wants to stop.
        """
        task = self._task
        self._offer(_Node(task.init, task.start, None, -1, 0))
        while self._queue:
            self._budget.tick()
            bound, _, _, node = heappop(self._queue)
            key, _ = task.key(node.state, node.standing)
            if self._lengths[key] < node.length:
                continue
            if task.finished(node.state, node.standing):
                return _trace(node)
            if node.cuts is None and not self._judge(node, bound):
                continue
            self._expand(node)
        raise no_plan(
            task, f'all {len(self._lengths)} situations that can be reached were looked at'
        )

    def _judge(self, node: _Node, bound: int) -> bool:
        """Finds the cuts of a node; whether it is still the next one with them."""
        facts = self._relaxation.facts(node.state, node.standing)
        node.cuts = self._finder.find(facts, node.inherited())
        if node.cuts is None:
            return False
        if node.length + len(node.cuts) <= bound:
            return True
        self._push(node, len(node.cuts))
        return False

    def _expand(self, node: _Node) -> None:
        self.expanded += 1
        task, length = self._task, node.length + 1
        for action in bit_numbers(self._successors.mask(node.state)):
            after, standing = task.follow(action, node.state, node.standing)
            if not task.monitors.lost(standing):
                self._offer(_Node(after, standing, node, action, length))

    def _offer(self, node: _Node) -> None:
        """Queues a node unless it is known with a way as short."""
        key, _ = self._task.key(node.state, node.standing)
        known = self._lengths.get(key)
        if known is not None and known <= node.length:
            return
        if self._made >= self._most:
            raise self._budget.memory_is_over()
        self._made += 1
        self._lengths[key] = node.length
        self._push(node, len(node.inherited()))

    def _push(self, node: _Node, to_come: int) -> None:
        # Among equals the one that is farther from the start comes first, then the newest.
        self._pushed += 1
        heappush(self._queue, (node.length + to_come, -node.length, -self._pushed, node))


def _trace(node: _Node) -> list[int]:
    actions = []
    while node.parent is not None:
        actions.append(node.action)
        node = node.parent
    return actions[::-1]
