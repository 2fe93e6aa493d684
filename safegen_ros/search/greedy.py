# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Greedy best-first search: a plan soon, not a short one.

A node is judged when it is taken up, not when it is found, by two counts: the length of a relaxed
plan, and the landmarks to come. Each has a queue of all successors and one of those by actions of
relaxed plans, and the queues take turns (Helmert, "The Fast Downward Planning System", 2006;
Richter and Westphal, "The LAMA Planner", 2010). Nothing is thrown away but what no plan can go
through, so that empty queues prove that there is none.
"""

from __future__ import annotations

import sys
from array import array
from heapq import heappop, heappush
from typing import NamedTuple

from safegen_ros.pddl.bits import bit_numbers
from safegen_ros.search.budget import Budget
from safegen_ros.search.consumables import Supplies
from safegen_ros.search.heuristic import RelaxedPlanner
from safegen_ros.search.landmarks import Landmarks
from safegen_ros.search.relaxation import Relaxation
from safegen_ros.search.successors import Successors
from safegen_ros.search.task import SearchTask, no_plan
from safegen_ros.verify.monitors import Standing

_BOOST = 1000  # turns that progress gives to the queues of helpful successors
_NODE_SIZE = 1000  # what is kept for a node beside its state, its queues included [bytes]


class _Queue:
    """Successors of nodes, by what their parent is worth; first come, first served."""

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


class _Node(NamedTuple):
    state: int
    standing: Standing
    accepted: int  # the landmarks that were true on the way here
    parent: int  # -1 for the initial node
    action: int  # that led here


class GreedySearch:
    """One search.

    Attributes:
        expanded: how many nodes were judged.

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
        self._planner = RelaxedPlanner(relaxation, Supplies(task, relaxation), budget)
        self._first = relaxation.facts(task.init, task.start)
        self._landmarks = Landmarks(relaxation, self._first, budget)
        self._successors = Successors(task, relaxation.impossible, budget)
        self._nodes: list[_Node] = []
        self._known: dict[tuple[int, int], int] = {}
        self._queues = [_Queue() for _ in range(4)]
        self._best = [sys.maxsize, sys.maxsize]
        self._most = budget.room_for(_NODE_SIZE + 2 * sys.getsizeof(1 << len(task.table)))

    def plan(self) -> list[int]:
        """The numbers of the actions of a plan.

        Raises:
            Unsolvable: there is none.
            SearchLimit: time or memory ran out.
            Canceled: the caller wants to stop.
        """
        task = self._task
        if self._planner.estimate(self._first) is None:
            raise no_plan(task, 'which shows before any search')
        self._add(_Node(task.init, task.start, 0, -1, -1))
        expanded = 0
        while True:
            while expanded < len(self._nodes):
                node = self._nodes[expanded]
                if task.finished(node.state, node.standing):
                    return self._trace(node)
                self._expand(expanded, node)
                expanded += 1
            queue = self._next_queue()
            if queue is None:
                raise no_plan(
                    task, f'all {len(self._known)} situations that can be reached were looked at'
                )
            self._follow(*queue.pop())

    def _follow(self, number: int, action: int) -> None:
        """Applies an action to a node, and adds the node behind it if it is new."""
        self._budget.tick()
        node = self._nodes[number]
        after, standing = self._task.follow(action, node.state, node.standing)
        if not self._task.monitors.lost(standing):
            self._add(_Node(after, standing, node.accepted, number, action))

    def _add(self, node: _Node) -> None:
        key, time = self._task.key(node.state, node.standing)
        known = self._known.get(key)
        if known is not None and known <= time:
            return
        self._known[key] = time
        if len(self._nodes) >= self._most:
            raise self._budget.memory_is_over()
        self._nodes.append(node)

    def _expand(self, number: int, node: _Node) -> None:
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

    def _trace(self, node: _Node) -> list[int]:
        actions = []
        while node.parent >= 0:
            actions.append(node.action)
            node = self._nodes[node.parent]
        return actions[::-1]
