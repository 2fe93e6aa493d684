# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The task as if nothing that was once true ever became false: what heuristics are computed on.

Its facts are the atoms that are true, the atoms that are false, and what the trajectory constraints
remember. A fact that is reached stays, so a relaxed task is solved without search, and a task whose
relaxation has no plan has none either.

Two things are found in it: goals for which supplies are short, and cuts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from safegen_ros.pddl.bits import Literals, bit_numbers, single_bits
from safegen_ros.search.budget import Budget
from safegen_ros.search.rules import AXIOM, Facts, RelaxedRule, RuleBuilder
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
    """Finds cuts of the relaxed task: how many actions every plan needs at least.

    A cut is a set of actions of which every plan holds one. Cuts that have no action in common are
    counted (Helmert and Domshlak, "Landmarks, Critical Paths and Abstractions", 2009). A cut of a
    node is one of the node behind an action, too, unless that action is in it; so most of them are
    handed down and not looked for again (Pommerening and Helmert, "Incremental LM-Cut", 2013).
    """

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
