# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Goals that use something up, and whether there is enough of it.

An atom that no action makes true is a supply: an action that needs it and makes it false can happen
once for it. Where every way to reach some goals uses a supply of one kind, as many must be left as
there are such goals; atoms of one predicate are a kind. The relaxed task, in which nothing is used
up, cannot see that: a spanner that tightens one nut tightens all of them there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from safegen_ros.pddl.bits import single_bits
from safegen_ros.search.relaxation import Relaxation
from safegen_ros.search.rules import AXIOM
from safegen_ros.search.task import SearchTask


class Consumables:
    """The goals of a task that need supplies."""

    def __init__(self, task: SearchTask, relaxation: Relaxation) -> None:
        made = 0
        for action in task.actions:
            made |= action.add
            for _, more, _ in action.conditional:
                made |= more
        used = [action.want & action.delete & ~made for action in task.actions]
        makers = _makers(task, relaxation)
        kinds: dict[str, int] = {}
        for supply in single_bits(_union(used)):
            predicate = task.table.atoms(supply)[0][0]
            kinds[predicate] = kinds.get(predicate, 0) | supply
        self._kinds = []
        for kind in kinds.values():
            goals = [
                (goal, [(number, used[action] & kind) for number, action in ways])
                for goal, ways in makers.items()
                if ways and all(used[action] & kind for _, action in ways)
            ]
            if goals:
                self._kinds.append(goals)

    def __bool__(self) -> bool:
        """Whether there are such goals."""
        return bool(self._kinds)

    def are_short(self, facts: int, missing: Sequence[int]) -> bool:
        """Whether there is too little left for the goals that are open.

        Args:
            facts: those of a node.
            missing: for each rule of the relaxed task, 0 if it can be used from there.
        """
        for goals in self._kinds:
            needed = left = 0
            for goal, ways in goals:
                if not facts & goal:
                    needed += 1
                    left |= _union(supply for rule, supply in ways if not missing[rule])
            if left.bit_count() < needed:
                return True
        return False


def _makers(task: SearchTask, relaxation: Relaxation) -> dict[int, list[tuple[int, int]]]:
    """The rules, with their actions, that reach each goal, where none reaches two of them."""
    goals = relaxation.goal & ((1 << len(task.table)) - 1)
    found: dict[int, list[tuple[int, int]]] = {goal: [] for goal in single_bits(goals)}
    for number, rule in enumerate(relaxation.rules):
        reached = single_bits(rule.given & goals)
        for goal in reached:
            if len(reached) > 1 or rule.action == AXIOM:
                found.pop(goal, None)
            elif goal in found:
                found[goal].append((number, rule.action))
    return found


def _union(masks: Iterable[int]) -> int:
    found = 0
    for mask in masks:
        found |= mask
    return found
