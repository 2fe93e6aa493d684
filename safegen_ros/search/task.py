# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The space that is searched: states of the world times standings of the constraints."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

from safegen_ros.pddl.bits import AtomTable, bit_numbers, compile_test, condition
from safegen_ros.pddl.deciding import refuse_numbers
from safegen_ros.pddl.ground import GroundAction, Grounder
from safegen_ros.pddl.model import Problem
from safegen_ros.search.budget import BrokenAtFirst, Budget
from safegen_ros.search.grounding import initial_atoms, reachable_actions
from safegen_ros.verify.monitors import MonitorSet, Standing


class SearchTask:
    """A problem, grounded.

    Raises:
        SearchLimit: time or memory ran out.
        Canceled: the caller wants to stop.
        Unsolvable: the initial state breaks a constraint.
    """

    def __init__(self, problem: Problem, budget: Budget) -> None:
        self.problem = problem
        self.table = AtomTable(problem, tick=budget.tick)
        if self.table.numbers is not None and self.table.numbers.changing:
            refuse_numbers(
                problem, 'this search', 'pip install kairos-planner, or take --route kairos'
            )
        self.init = self.table.encode(initial_atoms(problem))
        self.monitors = MonitorSet(problem, self.table)
        self.start: Standing = self.monitors.start(self.init)
        broken = self.monitors.texts(self.monitors.violated(self.start))
        if broken:
            raise BrokenAtFirst(problem.name, broken[0])
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
        """The key that distinguishes nodes, and the time.

        The earlier of two nodes with one key can do whatever the later one can: its deadlines are
        farther away, and fewer conditions hold from a time on. Only an interval in which something
        must hold can be worse early than late, so until the last one is over the time is part of
        the key.
        """
        time, fields = self.split(standing)
        if time < self._windows_end:
            return (state, standing + (1 << self._clock)), time  # never as below, not even at 0
        return (state, fields), time

    def finished(self, state: int, standing: Standing) -> bool:
        """Whether a plan may end here."""
        return self._reached(state) and not self.monitors.unsatisfied(standing)


_KEPT_SIZE = 1 << 26  # of all answers that are kept [bytes]
_ENTRY_SIZE = 150  # of one of them beside its mask [bytes]
_LEAST_KEPT = 64  # answers of one group


class Successors:
    """Finds the applicable actions of a state.

    The atoms are cut into groups, those of one object together. The actions that a group of atoms
    allows are computed once for each of its values, mostly a handful, as one bit per action. A
    state then needs one look-up per group.

    Args:
        without: the numbers of the actions that are left out, in ascending order.
    """

    def __init__(self, task: SearchTask, without: Sequence[int], budget: Budget) -> None:
        actions, table = task.actions, task.table
        self._all = (1 << len(actions)) - 1
        self._all ^= _mask(list(without))
        self._rest = {n: a.rest for n, a in enumerate(actions) if a.rest is not None}
        self._rest_mask = _mask(list(self._rest))
        needs: dict[int, list[int]] = {}
        forbids: dict[int, list[int]] = {}
        for number, action in enumerate(actions):
            budget.tick()
            for atom in bit_numbers(action.want):
                needs.setdefault(atom, []).append(number)
            for atom in bit_numbers(action.care & ~action.want):
                forbids.setdefault(atom, []).append(number)
        groups: dict[str, list[_Users]] = {}
        for atom in sorted({*needs, *forbids}):
            budget.tick()
            users = _Users(1 << atom, _mask(needs.get(atom, [])), _mask(forbids.get(atom, [])))
            _, *arguments = table.atoms(1 << atom)[0]
            groups.setdefault(arguments[0] if arguments else '', []).append(users)
        size = sys.getsizeof(self._all)
        budget.use(2 * size * sum(map(len, groups.values())))
        most = max(_KEPT_SIZE // (max(len(groups), 1) * (size + _ENTRY_SIZE)), _LEAST_KEPT)
        self._groups = [
            (sum(users.atom for users in group), _Group(group, self._all, most))
            for group in groups.values()
        ]

    def mask(self, state: int) -> int:
        """The numbers of the applicable actions, one bit each."""
        found = self._all
        for mask, allowed in self._groups:
            found &= allowed[state & mask]
        doubtful = found & self._rest_mask
        while doubtful:
            low = doubtful & -doubtful
            doubtful ^= low
            if not self._rest[low.bit_length() - 1](state):
                found ^= low
        return found


class _Users(NamedTuple):
    """An atom, the actions that need it, and those that need it to be false, as masks."""

    atom: int
    needing: int
    forbidding: int


def _mask(numbers: list[int]) -> int:
    """The mask of some numbers in ascending order, in one go: action masks are wide."""
    if not numbers:
        return 0
    found = bytearray(numbers[-1] // 8 + 1)
    for number in numbers:
        found[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(found, 'little')


class _Group(dict[int, int]):
    """The actions that a group of atoms allows, by the atoms among them that are true."""

    def __init__(self, group: list[_Users], everything: int, most: int) -> None:
        super().__init__()
        self._group = group
        self._everything = everything
        self._most = most

    def __missing__(self, true: int) -> int:
        blocked = 0
        for atom, needing, forbidding in self._group:
            blocked |= forbidding if true & atom else needing
        found = self._everything & ~blocked
        if len(self) >= self._most:
            self.clear()
        self[true] = found
        return found
