# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""How many actions every plan needs at least.

A cut is a set of actions of which every plan holds one. Cuts that have no action in common are
counted (Helmert and Domshlak, "Landmarks, Critical Paths and Abstractions", 2009). A cut of a node
is one of the node behind an action, too, unless that action is in it; so most of them are handed
down and not looked for again (Pommerening and Helmert, "Incremental LM-Cut", 2013).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from safegen_ros.pddl.bits import bit_numbers, single_bits
from safegen_ros.search.budget import Budget
from safegen_ros.search.relaxation import Counters, Relaxation
from safegen_ros.search.rules import AXIOM
from safegen_ros.search.task import SearchTask


# An atom that no action makes true is a supply: an action that needs it and makes it false can
# happen once for it. Where every way to reach some goals uses a supply of one kind, as many must
# be left as there are such goals; atoms of one predicate are a kind. The relaxed task, in which
# nothing is used up, cannot see that: a spanner that tightens one nut tightens all of them there.
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


Cuts = tuple[frozenset[int], ...]
"""Sets of action numbers of which no two have one in common."""


class CutFinder:
    """Finds cuts of the relaxed task."""

    def __init__(self, relaxation: Relaxation, consumables: Consumables, budget: Budget) -> None:
        self._consumables = consumables
        self._budget = budget
        self._start, self._goal = relaxation.width, relaxation.width + 1
        self._width = relaxation.width + 2
        self._actions = [*(rule.action for rule in relaxation.rules), AXIOM]
        self._costs = [action != AXIOM for action in self._actions]
        self._needs = [*(rule.needs for rule in relaxation.rules), bit_numbers(relaxation.goal)]
        self._gives = [*(rule.gives for rule in relaxation.rules), [self._goal]]
        self._counters = Counters(self._needs, self._width)
        self._suppliers: list[list[int]] = [[] for _ in range(self._width)]
        self._rules_of: dict[int, list[int]] = {}
        for rule, action in enumerate(self._actions):
            self._rules_of.setdefault(action, []).append(rule)
            for fact in self._gives[rule]:
                self._suppliers[fact].append(rule)

    def find(self, facts: int, known: Iterable[frozenset[int]]) -> Cuts | None:
        """Cuts of a node, as many as are found; None when the goal cannot be reached from it."""
        cuts = list(known)
        costs = self._costs[:]
        for cut in cuts:
            self._make_free(cut, costs)
        self._counters.move(facts)
        there = bytearray(self._width)
        for fact in bit_numbers(facts):
            there[fact] = 1
        while True:
            self._budget.tick()
            distance, dearest = self._explore(there, costs)
            if distance < 0 or self._consumables.are_short(facts, [fact < 0 for fact in dearest]):
                return None
            if not distance:
                return tuple(cuts)
            cut = self._cut(costs, dearest)
            cuts.append(cut)
            self._make_free(cut, costs)

    def _make_free(self, cut: frozenset[int], costs: list[bool]) -> None:
        for action in cut:
            for rule in self._rules_of[action]:
                costs[rule] = False

    def _explore(self, there: bytearray, costs: list[bool]) -> tuple[int, list[int]]:
        """The cost of the goal if a set costs what its dearest fact does, -1 if out of reach.

        Also the dearest fact of each rule, -1 where the rule cannot be reached.
        """
        users, gives = self._counters.users, self._gives
        missing = self._counters.missing[:]
        dearest = [-1] * len(missing)
        reached = there[:]
        now: list[int] = []
        later: list[int] = []
        for rule in self._counters.ready:
            dearest[rule] = next(iter(self._needs[rule]), self._start)
            if costs[rule]:
                later.append(rule)
            else:
                for given in gives[rule]:
                    if not reached[given]:
                        reached[given] = 1
                        now.append(given)
        price = 0
        distance = -1
        while now or later:
            for fact in now:  # which may grow: some rules cost nothing
                for rule in users[fact]:
                    missing[rule] -= 1
                    if missing[rule]:
                        continue
                    dearest[rule] = fact
                    if costs[rule]:
                        later.append(rule)
                    else:
                        for given in gives[rule]:
                            if not reached[given]:
                                reached[given] = 1
                                now.append(given)
            if distance < 0 and reached[self._goal]:
                distance = price
                if not distance and not self._consumables:
                    break
            price += 1
            now = []
            for rule in later:
                for given in gives[rule]:
                    if not reached[given]:
                        reached[given] = 1
                        now.append(given)
            later = []
        return distance, dearest

    def _cut(self, costs: list[bool], dearest: list[int]) -> frozenset[int]:
        """The actions that lead into the facts from which the goal costs nothing."""
        near = bytearray(self._width)
        near[self._goal] = 1
        waiting = [self._goal]
        while waiting:
            for rule in self._suppliers[waiting.pop()]:
                fact = dearest[rule]
                if fact >= 0 and not costs[rule] and not near[fact]:
                    near[fact] = 1
                    waiting.append(fact)
        cut = set()
        seen = near[:]
        rules = [rule for rule in self._counters.ready if not near[dearest[rule]]]
        while rules:
            rule = rules.pop()
            gives = self._gives[rule]
            if costs[rule] and any(near[given] for given in gives):
                cut.add(self._actions[rule])
                continue
            for fact in gives:
                if not seen[fact]:
                    seen[fact] = 1
                    rules += [user for user in self._counters.users[fact] if dearest[user] == fact]
        return frozenset(cut)
