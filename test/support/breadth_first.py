# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""States of the world times standings of the constraints, looked at breadth first."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.ground import GroundAction, Grounder, goal_tests
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.search.budget import SearchLimit, Unsolvable
from safegen_ros.verify.monitors import MonitorSet, Standing
from safegen_ros.verify.validator import verify

Node = tuple[int, Standing]


class Space:
    """The nodes of a problem that no constraint forbids."""

    def __init__(self, problem: Problem, table: AtomTable | None = None) -> None:
        self.table = AtomTable(problem) if table is None else table
        self._actions = Grounder(problem, self.table).all_actions()
        self._monitors = MonitorSet(problem, self.table)
        self._goals = [test for _, test in goal_tests(problem, self.table)]
        init = self.table.encode(problem.init)
        self.start: Node = (init, self._monitors.start(init))
        self.begun = [] if self._monitors.broken(self.start[1]) else [self.start]

    def successors(self, node: Node) -> Iterator[tuple[GroundAction, Node]]:
        """Each applicable action and the node behind it."""
        for action in self._actions:
            if action.applicable(node[0]):
                after = action.apply(node[0])
                standing = self._monitors.progress(node[1], after)
                if not self._monitors.broken(standing):
                    yield action, (after, standing)

    def solved(self, node: Node) -> bool:
        """Whether a plan may end there."""
        state, standing = node
        return all(test(state) for test in self._goals) and not self._monitors.unsatisfied(standing)


def solve(problem: Problem, node_limit: int = 2_000_000) -> Plan:
    """A shortest plan.

    Raises:
        Unsolvable: every node was seen.
        SearchLimit: there are more nodes.
    """
    space = Space(problem)
    plans: dict[Node, tuple[Node, GroundAction] | None] = dict.fromkeys(space.begun)
    waiting = deque(space.begun)
    while waiting:
        node = waiting.popleft()
        if space.solved(node):
            steps = []
            while link := plans[node]:
                node, action = link
                steps.append(action.step)
            plan = Plan(tuple(reversed(steps)))
            assert verify(problem, plan).ok
            return plan
        if len(plans) > node_limit:
            raise SearchLimit(f'more than {node_limit} nodes')
        for action, child in space.successors(node):
            if child not in plans:
                plans[child] = (node, action)
                waiting.append(child)
    raise Unsolvable(problem.name, 'every state was looked at')
