# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Breadth-first search over states of the world times standings of the constraints.

The plain reference that tests compare with.

It returns shortest plans, and since it only ends without one when every reachable pair has been
seen, that end proves that there is none. It is meant for problems of a robot's size.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from safegen_ros.errors import Canceled, ErrorCode, SafegenError
from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.ground import GroundAction, Grounder, goal_tests
from safegen_ros.pddl.model import Problem
from safegen_ros.pddl.plan import Plan
from safegen_ros.search.budget import SearchLimit, Unsolvable
from safegen_ros.verify.monitors import MonitorSet, Standing
from safegen_ros.verify.validator import verify

Node = tuple[int, Standing]
_Parents = dict[Node, 'tuple[Node, GroundAction] | None']


def solve(
    problem: Problem,
    *,
    time_limit_s: float = 60.0,
    node_limit: int = 2_000_000,
    cancelled: Callable[[], bool] = lambda: False,
) -> Plan:
    """Finds a shortest plan that reaches the goal and satisfies every constraint.

    Args:
        problem: what to solve.
        time_limit_s: wall-clock limit [s].
        node_limit: most (state, standing) pairs that are kept.
        cancelled: asked before every node is expanded.

    Returns:
        A plan that `verify` accepts.

    Raises:
        Unsolvable: there is none.
        SearchLimit: time or nodes ran out.
        Canceled: `cancelled` said so.
        SafegenError: the problem has too many ground actions.
    """
    deadline = time.monotonic() + time_limit_s
    table = AtomTable(problem)
    actions = Grounder(problem, table).all_actions()
    monitors = MonitorSet(problem, table)
    goals = [test for _, test in goal_tests(problem, table)]
    init = table.encode(problem.init)
    start: Node = (init, monitors.start(init))
    parents: _Parents = {start: None}
    queue = deque([start])
    broken = monitors.texts(monitors.violated(start[1]))
    if broken:
        raise Unsolvable(
            f'problem {problem.name} has no plan: its initial state breaks {broken[0]}: '
            'change the initial state or the constraint'
        )
    while queue:
        node = queue.popleft()
        state, standing = node
        if all(test(state) for test in goals) and not monitors.unsatisfied(standing):
            return _checked(problem, _trace(parents, node))
        _check_limits(deadline, len(parents), node_limit, cancelled)
        for action in actions:
            if not action.applicable(state):
                continue
            after = action.apply(state)
            child = (after, monitors.progress(standing, after, state ^ after))
            if child not in parents and not monitors.broken(child[1]):
                parents[child] = (node, action)
                queue.append(child)
    raise Unsolvable(
        f'problem {problem.name} has no plan: none of the {len(parents)} situations that can be '
        'reached without breaking a constraint satisfies the goal and every constraint: '
        'change the goal or the constraints'
    )


def _check_limits(
    deadline: float, nodes: int, node_limit: int, cancelled: Callable[[], bool]
) -> None:
    if cancelled():
        raise Canceled('the search was cancelled', ErrorCode.PLANNING_CANCELED)
    if time.monotonic() > deadline:
        raise SearchLimit(f'the search ended at its time limit after {nodes} situations')
    if nodes > node_limit:
        raise SearchLimit(f'the search ended at its limit of {node_limit} situations')


def _trace(parents: _Parents, node: Node) -> Plan:
    steps = []
    link = parents[node]
    while link is not None:
        node, action = link
        steps.append(action.step)
        link = parents[node]
    return Plan(tuple(reversed(steps)))


def _checked(problem: Problem, plan: Plan) -> Plan:
    """The plan, once the validator has accepted it; search and proof share no walk of states."""
    verdict = verify(problem, plan)
    if not verdict.ok:
        raise SafegenError(f'the search made a plan that does not verify: {verdict.reason}')
    return plan
