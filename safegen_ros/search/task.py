# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The space that is searched: states of the world times standings of the constraints."""

from __future__ import annotations

from safegen_ros.pddl.bits import AtomTable, compile_test, condition
from safegen_ros.pddl.ground import GroundAction, Grounder
from safegen_ros.pddl.model import Problem
from safegen_ros.search.budget import Budget
from safegen_ros.search.grounding import initial_atoms, reachable_actions
from safegen_ros.search.outcome import Unsolvable
from safegen_ros.verify.monitors import MonitorSet, Standing


class SearchTask:
    """A problem, grounded.

    Args:
        problem: the problem.
        budget: asked while it is grounded.

    Raises:
        SearchLimit: time or memory ran out.
        Canceled: the caller wants to stop.
        Unsolvable: the initial state breaks a constraint.
    """

    def __init__(self, problem: Problem, budget: Budget) -> None:
        self.problem = problem
        self.table = AtomTable(problem)
        self.init = self.table.encode(initial_atoms(problem))
        self.monitors = MonitorSet(problem, self.table)
        self.start: Standing = self.monitors.start(self.init)
        broken = self.monitors.texts(self.monitors.violated(self.start))
        if broken:
            raise Unsolvable(
                f'problem {problem.name} has no plan: its initial state breaks {broken[0]}: '
                'change the initial state or the constraint'
            )
        self.goal = condition(problem.goal, self.table)
        self._reached = compile_test(self.goal)
        self._clock = max(
            (m.shift + m.limit.bit_length() for m in self.monitors.monitors), default=1
        )
        self._fields = (1 << self._clock) - 1
        self._windows_end = max(
            (c.times[1] for c in problem.constraints if c.operator == 'hold-during'), default=0
        )
        self.actions: list[GroundAction] = reachable_actions(Grounder(problem, self.table), budget)

    def follow(self, action: int, state: int, standing: Standing) -> tuple[int, Standing]:
        """The node behind an action; whether the action is applicable is not looked at."""
        after = self.actions[action].apply(state)
        return after, self.monitors.progress(standing, after, state ^ after)

    def split(self, standing: Standing) -> tuple[int, int]:
        """The time of a standing, as far as a constraint asks for it, and the rest."""
        return standing >> self._clock, standing & self._fields

    def key(self, state: int, standing: Standing) -> tuple[tuple[int, int], int]:
        """What tells nodes apart, and the time.

        Of two nodes with one key, the earlier one can do whatever the later one can: deadlines are
        farther away, and what must hold from a time on must hold for less. Only an interval in
        which something must hold can be worse early than late, so until the last one is over the
        time is part of the key.
        """
        time, fields = self.split(standing)
        if time < self._windows_end:
            return (state, standing + (1 << self._clock)), time  # never as below, not even at 0
        return (state, fields), time

    def finished(self, state: int, standing: Standing) -> bool:
        """Whether a plan may end here."""
        return self._reached(state) and not self.monitors.unsatisfied(standing)


def no_plan(task: SearchTask, proof: str) -> Unsolvable:
    """The error that says so, and how it is known."""
    return Unsolvable(
        f'problem {task.problem.name} has no plan, {proof}: change the goal or the constraints'
    )
