# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Best-first search: greedy for a plan soon, A* for a shortest one."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any, NamedTuple

from safegen_ros.pddl.bits import bit_numbers
from safegen_ros.search.budget import Budget, Unsolvable
from safegen_ros.search.heuristic import Landmarks, RelaxedPlanner
from safegen_ros.search.relaxation import Consumables, CutFinder, Cuts, Relaxation
from safegen_ros.search.task import SearchTask, Successors
from safegen_ros.verify.monitors import Standing

_BOOST = 1000  # turns that progress gives to the queues of helpful successors
_GREEDY_SIZE = 1000  # memory of a node besides its state, its queues included [bytes]
_STAR_SIZE = 1500  # likewise in A* [bytes]


class Search:
    """One search for a plan."""

    def __init__(self, task: SearchTask, relaxation: Relaxation, budget: Budget) -> None:
        self.expanded = 0
        self._task = task
        self._budget = budget
        self._relaxation = relaxation
        self._successors = Successors(task, relaxation.impossible, budget)
        self._state_size = 2 * sys.getsizeof(1 << len(task.table))

    def plan(self) -> list[int]:
        """The numbers of the actions of a plan.

        Raises:
            Unsolvable: there is none.
            SearchLimit: time or memory ran out.
            Canceled: the caller wants to stop.
        """
        raise NotImplementedError

    def _exhausted(self, situations: int) -> Unsolvable:
        why = f'all {situations} situations that can be reached were looked at'
        return Unsolvable(self._task.problem.name, why)


class _StarNode:
    """A node, and the cheapest way to it that was known when it was made."""

    __slots__ = ('action', 'cuts', 'length', 'parent', 'standing', 'state')

    def __init__(
        self, state: int, standing: Standing, parent: _StarNode | None, action: int, length: int
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


class OptimalSearch(Search):
    """A* search: a shortest plan, or the proof that there is none."""

    def __init__(self, task: SearchTask, relaxation: Relaxation, budget: Budget) -> None:
        super().__init__(task, relaxation, budget)
        self._finder = CutFinder(relaxation, Consumables(task, relaxation), budget)
        self._lengths: dict[tuple[int, int], int] = {}
        self._queue: list[tuple[int, int, int, _StarNode]] = []
        self._made = self._pushed = 0
        self._most = budget.room_for(_STAR_SIZE + self._state_size)

    def plan(self) -> list[int]:
        """The numbers of the actions of a shortest plan."""
        task = self._task
        self._offer(_StarNode(task.init, task.start, None, -1, 0))
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
        raise self._exhausted(len(self._lengths))

    def _judge(self, node: _StarNode, bound: int) -> bool:
        """Finds the cuts of a node; whether it is still the next one with them."""
        facts = self._relaxation.facts(node.state, node.standing)
        node.cuts = self._finder.find(facts, node.inherited())
        if node.cuts is None:
            return False
        if node.length + len(node.cuts) <= bound:
            return True
        self._push(node, len(node.cuts))
        return False

    def _expand(self, node: _StarNode) -> None:
        self.expanded += 1
        task, length = self._task, node.length + 1
        for action in bit_numbers(self._successors.mask(node.state)):
            after, standing = task.follow(action, node.state, node.standing)
            if not task.monitors.lost(standing):
                self._offer(_StarNode(after, standing, node, action, length))

    def _offer(self, node: _StarNode) -> None:
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

    def _push(self, node: _StarNode, to_come: int) -> None:
        # Among equals the one that is farther from the start comes first, then the newest.
        self._pushed += 1
        heappush(self._queue, (node.length + to_come, -node.length, -self._pushed, node))


def _trace(node: _StarNode) -> list[int]:
    actions = []
    while node.parent is not None:
        actions.append(node.action)
        node = node.parent
    return actions[::-1]


class _Queue:
    """Successors of nodes, by the value of their parent; first come, first served."""

    def __init__(self) -> None:
        self.turns = 0
        self._entries: list[tuple[int, int, array[int]]] = []

    def __bool__(self) -> bool:
        return bool(self._entries)

    def push(self, worth: int, node: int, actions: array[int]) -> None:
        """Adds the successors of a node by some actions, the last one first."""
        if actions:
            heappush(self._entries, (worth, node, actions))

    def pop(self) -> tuple[int, int]:
        """The next node and action."""
        _, node, actions = self._entries[0]
        action = actions.pop()
        if not actions:
            heappop(self._entries)
        return node, action


class _GreedyNode(NamedTuple):
    state: int
    standing: Standing
    accepted: int  # the landmarks that were true on the way here
    parent: int  # -1 for the initial node
    action: int  # that led here


class GreedySearch(Search):
    """Greedy best-first search: a plan soon, not a short one.

    A node is judged when it is taken up, not when it is found, by two counts: the length of a
    relaxed plan, and the landmarks to come. Each has a queue of all successors and one of those by
    actions of relaxed plans, and the queues take turns (Helmert, "The Fast Downward Planning
    System", 2006; Richter and Westphal, "The LAMA Planner", 2010). Nothing is thrown away but what
    no plan can go through, so that empty queues prove that there is none.
    """

    def __init__(self, task: SearchTask, relaxation: Relaxation, budget: Budget) -> None:
        super().__init__(task, relaxation, budget)
        self._planner = RelaxedPlanner(relaxation, Consumables(task, relaxation), budget)
        self._first = relaxation.facts(task.init, task.start)
        self._landmarks = Landmarks(relaxation, self._first, budget)
        self._nodes: list[_GreedyNode] = []
        self._known: dict[tuple[int, int], int] = {}
        self._queues = [_Queue() for _ in range(4)]
        self._best = [sys.maxsize, sys.maxsize]
        self._most = budget.room_for(_GREEDY_SIZE + self._state_size)

    def plan(self) -> list[int]:
        """The numbers of the actions of a plan."""
        task = self._task
        if self._planner.estimate(self._first) is None:
            raise Unsolvable(task.problem.name, 'that is proved before any search')
        self._add(_GreedyNode(task.init, task.start, 0, -1, -1))
        expanded = 0
        while True:
            while expanded < len(self._nodes):
                node = self._nodes[expanded]
                if task.finished(node.state, node.standing):
                    return trace(self._nodes, node)
                self._expand(expanded, node)
                expanded += 1
            queue = self._next_queue()
            if queue is None:
                raise self._exhausted(len(self._known))
            self._follow(*queue.pop())

    def _follow(self, number: int, action: int) -> None:
        """Applies an action to a node, and adds the node behind it if it is new."""
        self._budget.tick()
        node = self._nodes[number]
        after, standing = self._task.follow(action, node.state, node.standing)
        if not self._task.monitors.lost(standing):
            self._add(_GreedyNode(after, standing, node.accepted, number, action))

    def _add(self, node: _GreedyNode) -> None:
        key, time = self._task.key(node.state, node.standing)
        known = self._known.get(key)
        if known is not None and known <= time:
            return
        self._known[key] = time
        if len(self._nodes) >= self._most:
            raise self._budget.memory_is_over()
        self._nodes.append(node)

    def _expand(self, number: int, node: _GreedyNode) -> None:
        """Judges a node and puts its successors into the queues."""
        self.expanded += 1
        facts = self._relaxation.facts(node.state, node.standing)
        estimate = self._planner.estimate(facts)
        if estimate is None:
            return
        accepted = self._landmarks.accept(node.accepted, facts)
        self._nodes[number] = node._replace(accepted=accepted)
        worths = (estimate.length, self._landmarks.count(accepted, facts))
        for place, worth in enumerate(worths):
            if worth < self._best[place]:
                self._best[place] = worth
                for queue in self._queues[2:]:
                    queue.turns -= _BOOST
        applicable = self._successors.mask(node.state)
        for first, actions in ((0, applicable), (2, applicable & estimate.helpful)):
            numbers = bit_numbers(actions)[::-1]
            for queue, worth in zip(self._queues[first : first + 2], worths, strict=True):
                queue.push(worth, number, array('I', numbers))

    def _next_queue(self) -> _Queue | None:
        """The queue whose turn it is, None when all are empty."""
        queues = [queue for queue in self._queues if queue]
        if not queues:
            return None
        queue = min(queues, key=lambda each: each.turns)
        queue.turns += 1
        return queue


def trace(nodes: Sequence[Any], node: Any) -> list[int]:
    """The numbers of the actions that led to a node.

    Args:
        nodes: each with its `action` and the place of its `parent`, which is -1 of the first one.
    """
    actions = []
    while node.parent >= 0:
        actions.append(node.action)
        node = nodes[node.parent]
    return actions[::-1]
