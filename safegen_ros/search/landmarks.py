# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Facts that every plan must make true at some time, and how many of them are still to come.

They are read off the relaxed task as the largest sets that satisfy its equations (Keyder, Richter
and Helmert, "Sound and Complete Landmarks for And/Or Graphs", 2010); the count follows Richter and
Westphal, "The LAMA Planner" (2010). What constraints remember is among the facts, so that a
`sometime-before` orders landmarks like a precondition does.
"""

from __future__ import annotations

from collections import deque

from safegen_ros.pddl.bits import bit_numbers, single_bits
from safegen_ros.search.budget import Budget
from safegen_ros.search.relaxation import Relaxation

_MOST_FACTS = 20_000  # the sets take memory by the square of the number of facts


class Landmarks:
    """The landmarks of a task; none are known where there are too many facts.

    Args:
        relaxation: the relaxed task.
        facts: those of the initial node.
        budget: asked while they are computed.
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
