# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The task as if nothing that was once true ever became false: what heuristics are computed on.

Its facts are the atoms that are true, the atoms that are false, and what the trajectory constraints
remember. A fact that is reached stays, so a relaxed task is solved without search, and a task whose
relaxation has no plan has none either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from safegen_ros.pddl.bits import Literals, bit_numbers
from safegen_ros.search.budget import Budget
from safegen_ros.search.rules import Facts, RelaxedRule, RuleBuilder
from safegen_ros.search.task import SearchTask
from safegen_ros.verify.monitors import Standing


@dataclass(frozen=True, slots=True)
class NumberedRule:
    """A rule of the relaxed task, its facts being numbered.

    Attributes:
        action: number of the action that it is a part of, or `AXIOM`.
    """

    action: int
    needed: int
    given: int
    needs: list[int]
    gives: list[int]


class Relaxation:
    """The relaxed task of a search task.

    Attributes:
        rules: its rules, without those that are of no use for the goal.
        goal: the facts that a plan ends with, as a mask.
        urgent: the facts that have to be reached in time, as a mask.
        expiring: the facts that are only true up to some time, as a mask.
        states: the facts that a node has or lacks, as a mask; the others are derived from them.
        impossible: numbers of the actions that no plan can hold, for they break a constraint.
        width: number of facts, reachable or not.
    """

    def __init__(self, task: SearchTask, budget: Budget) -> None:
        builder = RuleBuilder(task, budget)
        for number, action in enumerate(task.actions):
            budget.tick()
            builder.add(number, action)
        goal = builder.goal()
        useful, needed = _useful(builder.rules, goal, budget)
        self._true, self._false = needed.true, needed.false
        self._atoms = len(task.table)
        self._others = builder.others
        self._memories = builder.memories
        self._expiries = builder.expiries
        self._remembered: dict[int, int] = {}
        self._task = task
        self.width = self._atoms + self._others + self._false.bit_length()
        self.goal = self._mask(goal)
        self.rules: list[NumberedRule] = []
        for rule in useful:
            budget.tick()
            mask, given = self._mask(rule.needs), self._mask(rule.gives)
            self.rules.append(
                NumberedRule(rule.action, mask, given, bit_numbers(mask), bit_numbers(given))
            )
        memories = sum(memory.fact for memory in builder.memories)
        self.urgent = builder.urgent << self._atoms
        self.expiring = sum(expiry.fact for expiry in builder.expiries) << self._atoms
        self.states = self._mask(Facts(self._true, self._false, memories)) | self.expiring
        self.impossible = builder.impossible

    def _mask(self, facts: Facts) -> int:
        false = facts.false & self._false
        return (
            facts.true & self._true
            | facts.other << self._atoms
            | false << (self._atoms + self._others)
        )

    def facts(self, state: int, standing: Standing) -> int:
        """The facts of a node of the search."""
        time, fields = self._task.split(standing)
        remembered = self._remembered.get(fields)
        if remembered is None:
            remembered = self._remembered[fields] = self._remember(fields)
        found = state & self._true | remembered
        for begin, fact in self._expiries:
            if time + 1 < begin:
                found |= fact << self._atoms
        if self._false:
            found |= (~state & self._false) << (self._atoms + self._others)
        return found

    def facts_of(self, literals: Literals) -> int:
        """The facts that a conjunction of literals asks for, those that the goal has to do with."""
        return self._mask(Facts(literals.true, literals.false))

    def _remember(self, standing: Standing) -> int:
        known = 0
        for monitor, values, fact in self._memories:
            if standing >> monitor.shift & monitor.limit in values:
                known |= fact
        return known << self._atoms


def _useful(
    rules: list[RelaxedRule], goal: Facts, budget: Budget
) -> tuple[list[RelaxedRule], Facts]:
    """The rules that can help to reach the goal, in their order, and the facts that they need."""
    needed = goal
    helpful: set[int] = set()
    while True:
        budget.tick()
        new = [n for n, rule in enumerate(rules) if n not in helpful and rule.gives.meets(needed)]
        if not new:
            return [rules[number] for number in sorted(helpful)], needed
        helpful.update(new)
        for number in new:
            needed = needed.union(rules[number].needs)


class Counters:
    """Counts for a set of facts, kept up to date while that changes little by little.

    One node of a search differs from the next in a few facts, while counting from nothing takes
    every fact that is true.

    Attributes:
        users: the rules that need each fact.
        missing: how many of its needs each rule lacks.
        ready: the rules that lack nothing; the values say nothing.
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
