# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which actions are applicable in a state."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

from safegen_ros.pddl.bits import bit_numbers
from safegen_ros.search.budget import Budget
from safegen_ros.search.task import SearchTask

_KEPT_SIZE = 1 << 26  # of all answers that are kept [bytes]
_ENTRY_SIZE = 150  # of one of them beside its mask [bytes]
_LEAST_KEPT = 64  # answers of one group


class Successors:
    """Finds the applicable actions of a state.

    The atoms are cut into groups, those of one object together. What the atoms of a group allow is
    worked out once for every way in which they are true, which for most groups is a handful, and is
    kept as one bit per action: a state is answered by one look-up per group.

    Args:
        task: the task.
        without: the numbers of the actions that are left out, in ascending order.
        budget: asked while this is built.
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
