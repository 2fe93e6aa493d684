# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The distance of a situation from the goal, by the relaxed task.

Plans of the relaxed task are put together from the cheapest way to reach each fact, where the cost
of a set of facts is the sum of theirs (Bonet and Geffner, "Planning as Heuristic Search", 2001;
Hoffmann and Nebel, "The FF Planning System", 2001; Keyder and Geffner, 2008).
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from math import inf
from typing import NamedTuple

from safegen_ros.pddl.bits import bit_numbers, single_bits
from safegen_ros.search.budget import Budget
from safegen_ros.search.relaxation import Consumables, Counters, Relaxation
from safegen_ros.search.rules import AXIOM


class Estimate(NamedTuple):
    """What a relaxed plan says.

    Attributes:
        length: number of its actions; those that have to come in time count twice.
        helpful: the numbers of those that are applicable now, one bit each; if some of them have to
            come in time, only of those.
    """

    length: int
    helpful: int


class RelaxedPlanner:
    """Solves the relaxed task from any node of the search.

    Args:
        consumables: the goals that need some.
        budget: asked now and then; one answer can take long in a huge task.
    """

    def __init__(self, relaxation: Relaxation, consumables: Consumables, budget: Budget) -> None:
        rules = relaxation.rules
        self._consumables = consumables
        self._budget = budget
        self._actions = [rule.action for rule in rules]
        self._needed = [rule.needed for rule in rules]
        self._gives = [rule.gives for rule in rules]
        self._costs = [0 if rule.action == AXIOM else 1 for rule in rules]
        self._width = relaxation.width
        self._counters = Counters([rule.needs for rule in rules], self._width)
        self._goal = relaxation.goal
        self._goals = bit_numbers(relaxation.goal)
        self._urgent = relaxation.urgent
        self._expiring = relaxation.expiring

    def estimate(self, facts: int) -> Estimate | None:
        """A relaxed plan from some facts; None when the goal cannot be reached from them."""
        suppliers, costs = self._explore(facts)
        if suppliers is None:
            return None
        plan = self._plan(self._goal, facts, suppliers)
        length, helpful = self._count(plan, costs)
        if self._urgent or self._expiring & facts:
            first = self._first_part(plan, facts, suppliers)
            more, urgent = self._count(first, costs)
            return Estimate(length + more, urgent or helpful)
        return Estimate(length, helpful)

    def actions(self, facts: int, wanted: int) -> set[int] | None:
        """The numbers of the actions of a relaxed plan for a part of the goal.

        Args:
            facts: those of a node.
            wanted: facts that are part of the goal, or that it needs.

        Returns:
            None when the goal cannot be reached from there, also where the wanted facts could be.
        """
        suppliers, _ = self._explore(facts)
        if suppliers is None:
            return None
        wanted &= facts | sum(1 << fact for fact in suppliers)
        found = {self._actions[rule] for rule in self._plan(wanted, facts, suppliers)}
        return found - {AXIOM}

    def _plan(self, wanted: int, facts: int, suppliers: dict[int, int]) -> set[int]:
        """The rules that make some facts true, and what they need."""
        plan = set()
        reached = facts
        wanted &= ~facts
        while wanted:
            fact = wanted & -wanted
            wanted ^= fact
            reached |= fact
            rule = suppliers[fact.bit_length() - 1]
            plan.add(rule)
            wanted |= self._needed[rule] & ~reached
        return plan

    def _count(self, plan: set[int], costs: list[int]) -> tuple[int, int]:
        """The number of actions of a plan, and those that need nothing but what holds already."""
        actions = {self._actions[rule] for rule in plan}
        actions.discard(AXIOM)
        helpful = 0
        for rule in plan:
            if costs[rule] == 1 and self._actions[rule] != AXIOM:
                helpful |= 1 << self._actions[rule]
        return len(actions), helpful

    def _first_part(self, plan: set[int], facts: int, suppliers: dict[int, int]) -> set[int]:
        """The rules of a plan that have to be used in time, and those that they depend on."""
        wanted = self._urgent
        expiring = self._expiring & facts
        for rule in plan:
            if self._actions[rule] == AXIOM and self._needed[rule] & expiring:
                expiring |= sum(1 << fact for fact in self._gives[rule])
        first = {rule for rule in plan if self._needed[rule] & expiring}
        for rule in first:
            wanted |= self._needed[rule]
        return first | self._plan(wanted, facts, suppliers)

    def _explore(self, facts: int) -> tuple[dict[int, int] | None, list[int]]:
        """The cheapest rule for each fact up to the goal, and the cost up to each rule."""
        counters, gives, tick = self._counters, self._gives, self._budget.tick
        counters.move(facts)
        users = counters.users
        missing = counters.missing[:]
        through = self._costs[:]
        cost = [inf] * self._width
        for fact in bit_numbers(facts):
            cost[fact] = 0
        suppliers: dict[int, int] = {}
        # Sums double along a chain in which each fact needs all before it, so prices are sparse.
        buckets: dict[int, list[int]] = {0: [], 1: []}
        for rule in counters.ready:
            total = through[rule]
            for given in gives[rule]:
                if total < cost[given]:
                    cost[given] = total
                    suppliers[given] = rule
                    buckets[total].append(given)
        waiting = self._goals[:]
        prices = [0, 1]
        while prices:
            tick()
            price = heappop(prices)
            for fact in buckets[price]:  # which may grow: axioms cost nothing
                if cost[fact] != price:
                    continue
                for rule in users[fact]:
                    through[rule] += price
                    missing[rule] -= 1
                    if missing[rule]:
                        continue
                    total = through[rule]
                    for given in gives[rule]:
                        if total < cost[given]:
                            cost[given] = total
                            suppliers[given] = rule
                            if total in buckets:
                                buckets[total].append(given)
                            else:
                                buckets[total] = [given]
                                heappush(prices, total)
            while waiting and cost[waiting[-1]] <= price:
                waiting.pop()
            if not waiting and not self._consumables:
                return suppliers, through
        short = waiting or self._consumables.are_short(facts, missing)
        return None if short else suppliers, through


_MOST_FACTS = 20_000  # the sets take memory by the square of the number of facts


class Landmarks:
    """Facts that every plan must make true at some time, and how many of them are still to come.

    They are read off the relaxed task as the largest sets that satisfy its equations (Keyder,
    Richter and Helmert, "Sound and Complete Landmarks for And/Or Graphs", 2010); the count follows
    Richter and Westphal, "The LAMA Planner" (2010). What constraints remember is among the facts,
    so that a `sometime-before` orders landmarks like a precondition does. None are known where
    there are too many facts.
    """

    def __init__(self, relaxation: Relaxation, facts: int, budget: Budget) -> None:
        self._all = self._goal = 0
        self._wanted_by: dict[int, int] = {}
        if relaxation.width > _MOST_FACTS:
            return
        needed = _needed(relaxation, facts, budget)
        for goal in bit_numbers(relaxation.goal):
            self._all |= needed.get(goal, 0)
        self._all &= relaxation.states
        self._goal = relaxation.goal & self._all
        self._wanted_by = self._directly_before(relaxation, facts, needed)

    def _directly_before(
        self, relaxation: Relaxation, facts: int, needed: dict[int, int]
    ) -> dict[int, int]:
        """For each landmark the landmarks that it must be true for when they are first made so."""
        common: dict[int, int] = {}
        new = self._all & ~facts
        for rule in relaxation.rules:
            given = rule.given & new
            if not given:
                continue
            earlier = 0
            for fact in rule.needs:
                if fact not in needed:
                    break
                earlier |= needed[fact]
            else:
                for landmark in single_bits(given & ~earlier):
                    common[landmark] = common.get(landmark, self._all) & rule.needed
        found: dict[int, int] = {}
        for landmark, facts_before in common.items():
            for fact in single_bits(facts_before):
                found[fact] = found.get(fact, 0) | landmark
        return found

    def accept(self, accepted: int, facts: int) -> int:
        """The landmarks that were true at some time, once some facts are."""
        return accepted | facts & self._all

    def count(self, accepted: int, facts: int) -> int:
        """How many landmarks must still be made true, or must be made true again."""
        lost = accepted & ~facts
        again = lost & self._goal
        lost ^= again
        count = (self._all & ~accepted | again).bit_count()
        while lost:
            low = lost & -lost
            lost ^= low
            if self._wanted_by.get(low, 0) & ~accepted:
                count += 1
        return count


def _needed(relaxation: Relaxation, facts: int, budget: Budget) -> dict[int, int]:
    """For each fact that can be reached, the facts that must be reached for it, itself included."""
    needed = {fact: 1 << fact for fact in bit_numbers(facts)}
    users: dict[int, list[int]] = {}
    for number, rule in enumerate(relaxation.rules):
        for fact in rule.needs:
            users.setdefault(fact, []).append(number)
    rules = relaxation.rules
    waiting = deque(range(len(rules)))
    queued = [True] * len(rules)
    while waiting:
        budget.tick()
        number = waiting.popleft()
        queued[number] = False
        union = 0
        for fact in rules[number].needs:
            own = needed.get(fact)
            if own is None:
                break
            union |= own
        else:
            for fact in rules[number].gives:
                known = needed.get(fact)
                new = union | 1 << fact if known is None else known & union | 1 << fact
                if new != known:
                    needed[fact] = new
                    for user in users.get(fact, ()):
                        if not queued[user]:
                            queued[user] = True
                            waiting.append(user)
    return needed
