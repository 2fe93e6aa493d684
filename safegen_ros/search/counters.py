# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which rules of the relaxed task can be used at once, and what the others still need."""

from __future__ import annotations

from collections.abc import Sequence

from safegen_ros.pddl.bits import bit_numbers


class Counters:
    """Counts for a set of facts, kept up to date while that changes little by little.

    One node of a search differs from the next in a few facts, while counting from nothing takes
    every fact that is true.

    Attributes:
        users: the rules that need each fact.
        missing: how many of its needs each rule lacks.
        ready: the rules that lack nothing; the values say nothing.

    Args:
        needs: the facts that each rule needs, each once.
        width: number of facts.
    """

    def __init__(self, needs: Sequence[Sequence[int]], width: int) -> None:
        self.users: list[list[int]] = [[] for _ in range(width)]
        self.missing = [len(facts) for facts in needs]
        self.ready = {rule: None for rule, facts in enumerate(needs) if not facts}
        for rule, facts in enumerate(needs):
            for fact in facts:
                self.users[fact].append(rule)
        self._facts = 0
        self._used = sum(1 << fact for fact, users in enumerate(self.users) if users)

    def move(self, facts: int) -> None:
        """Counts for other facts."""
        facts &= self._used
        changed = facts ^ self._facts
        self._facts = facts
        users, missing, ready = self.users, self.missing, self.ready
        for fact in bit_numbers(changed & ~facts):
            for rule in users[fact]:
                if not missing[rule]:
                    del ready[rule]
                missing[rule] += 1
        for fact in bit_numbers(changed & facts):
            for rule in users[fact]:
                missing[rule] -= 1
                if not missing[rule]:
                    ready[rule] = None
