# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the searches are compared with: every combination of objects, every state at every time."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

from safegen_ros.pddl.bits import AtomTable
from safegen_ros.pddl.ground import Grounder
from safegen_ros.pddl.model import And, AtomFormula, Formula, Not, Problem
from safegen_ros.verify.monitors import MonitorSet
from support import strategies
from support.breadth_first import Node, Space


@dataclass(frozen=True)
class Exploration:
    """Everything that can be reached without breaking a constraint.

    Attributes:
        table: the bits of the states.
        distances: how many steps each node needs from the initial one.
        to_go: how many steps it is from each node to the end of a plan, where there is one.
        complete: whether there is nothing else.
    """

    table: AtomTable
    distances: dict[Node, int]
    to_go: dict[Node, int]
    complete: bool

    @property
    def shortest(self) -> int | None:
        """Length of a shortest plan, None when there is no plan."""
        return self.to_go.get(next(iter(self.distances)))


def explore(problem: Problem, limit: int = 3_000, table: AtomTable | None = None) -> Exploration:
    """Looks at nodes breadth first, up to a limit."""
    space = Space(problem, table)
    distances: dict[Node, int] = {space.start: 0}
    parents: dict[Node, list[Node]] = {}
    waiting = deque(space.begun)
    while waiting and len(distances) < limit:
        node = waiting.popleft()
        for _, child in space.successors(node):
            parents.setdefault(child, []).append(node)
            if child not in distances:
                distances[child] = distances[node] + 1
                waiting.append(child)
    ends = [node for node in distances if space.solved(node)]
    to_go = dict.fromkeys(ends, 0)
    back = deque(ends)
    while back:
        node = back.popleft()
        for parent in parents.get(node, ()):
            if parent not in to_go:
                to_go[parent] = to_go[node] + 1
                back.append(parent)
    return Exploration(space.table, distances, to_go, not waiting)


def problem_of(seed: int) -> Problem:
    """A random problem that can be explored; a third of them have derived predicates."""
    rng = random.Random(seed)
    if seed % 3 == 0:
        return strategies.blocks(rng, rng.choice([2, 3]))
    return strategies.toggles(rng, derived=seed % 3 == 1)


def solvable_problem(seed: int) -> Problem:
    """A random problem with a plan: a random walk reaches its goal and breaks no constraint."""
    rng = random.Random(seed)
    problem = problem_of(seed)
    table = AtomTable(problem)
    actions = Grounder(problem, table).all_actions()
    states = [table.encode(problem.init)]
    for _ in range(rng.randint(1, 8)):
        possible = [action for action in actions if action.applicable(states[-1])]
        if not possible:
            break
        states.append(rng.choice(possible).apply(states[-1]))
    each = [(c, replace(problem, constraints=(c,))) for c in problem.constraints]
    kept = tuple(c for c, alone in each if _satisfied(alone, states, table))
    goal = rng.sample(list(_literals(table, states[-1])), k=min(len(table), rng.randint(1, 4)))
    return replace(problem, goal=And(tuple(goal)), constraints=kept)


def drawn(seed: int) -> Problem:
    """A random problem, for an odd seed one with a plan."""
    return solvable_problem(seed) if seed % 2 else problem_of(seed)


def _satisfied(problem: Problem, states: list[int], table: AtomTable) -> bool:
    monitors = MonitorSet(problem, table)
    standing = monitors.start(states[0])
    for state in states[1:]:
        standing = monitors.progress(standing, state)
    return not monitors.unsatisfied(standing)


def _literals(table: AtomTable, state: int) -> Iterator[Formula]:
    for number in range(len(table)):
        atom = table.atoms(1 << number)[0]
        formula = AtomFormula(atom[0], atom[1:])
        yield formula if state >> number & 1 else Not(formula)
