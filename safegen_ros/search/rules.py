# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The rules of the relaxed task: what actions and constraints need and give.

Constraints take part as

- preconditions: `always f` asks of every action what keeps f true, `hold-after t f` does unless
  there is time left, `sometime-before f h` asks of actions that make f true that h was seen,
  `at-most-once f` that f was not left before;
- goals: `sometime f` asks that f is seen, `hold-after t f` that f holds, and so on.

What cannot be said that way is left out, which only weakens the heuristic.
"""

from __future__ import annotations

from typing import NamedTuple

from safegen_ros.pddl.bits import (
    FALSE,
    TRUE,
    Condition,
    Junction,
    Literals,
    condition,
    join,
    of_atoms,
    single_bits,
)
from safegen_ros.pddl.ground import GroundAction
from safegen_ros.search.budget import Budget
from safegen_ros.search.task import SearchTask
from safegen_ros.verify.monitors import ConstraintMonitor

AXIOM = -1
"""Instead of an action's number: it costs nothing and no action does it."""

_NEVER = 1  # the other fact that nothing gives


class Facts(NamedTuple):
    """A set of facts: atoms that are true, atoms that are false, and others with a bit each."""

    true: int = 0
    false: int = 0
    other: int = 0

    def union(self, more: Facts) -> Facts:
        """All of both."""
        return Facts(self.true | more.true, self.false | more.false, self.other | more.other)

    def meets(self, more: Facts) -> bool:
        """Whether both have a fact in common."""
        return bool(self.true & more.true or self.false & more.false or self.other & more.other)


class RelaxedRule(NamedTuple):
    """Needs and effects of an action, or of an `AXIOM`; a conditional effect has its own."""

    action: int
    needs: Facts
    gives: Facts


class Memory(NamedTuple):
    """A fact that a constraint remembers: true while its monitor's field has one of the values."""

    monitor: ConstraintMonitor
    values: tuple[int, ...]
    fact: int


class Expiry(NamedTuple):
    """A fact that is true as long as the state behind the next action is one before some time."""

    begin: int
    fact: int


class _Watched(NamedTuple):
    """A formula, and a fact that actions need to change it, if there is one."""

    formula: Condition
    fact: int


class _Watch:
    """Formulas by their atoms."""

    def __init__(self) -> None:
        self._by_atom: dict[int, list[_Watched]] = {}

    def add(self, formula: Condition, fact: int = 0) -> None:
        """Files a formula."""
        watched = _Watched(formula, fact)
        for atom in single_bits(formula.mask):
            self._by_atom.setdefault(atom, []).append(watched)

    def touched(self, mask: int) -> list[_Watched]:
        """Those with one of the atoms, each once."""
        if not self._by_atom:
            return []
        found: dict[int, _Watched] = {}
        for atom in single_bits(mask):
            for watched in self._by_atom.get(atom, ()):
                found[id(watched)] = watched
        return list(found.values())

    def asked(self, mask: int, true: int, false: int) -> int:
        """The facts of those with one of the atoms that follow from the known ones."""
        asked = 0
        for formula, fact in self.touched(mask):
            if follows(formula, true, false):
                asked |= fact
        return asked


class RuleBuilder:
    """Collects the rules.

    Attributes:
        rules: those that are written so far; when every action was added, all of them.
        memories: the facts that constraints remember.
        expiries: the facts that are true up to some time.
        urgent: the facts that have to be reached in time.
        impossible: the numbers of the actions that break a constraint wherever they are applied.
        others: number of facts that are not atoms.
    """

    def __init__(self, task: SearchTask, budget: Budget) -> None:
        self.rules: list[RelaxedRule] = []
        self.memories: list[Memory] = []
        self.expiries: list[Expiry] = []
        self.urgent = 0
        self.impossible: list[int] = []
        self.others = _NEVER.bit_length()
        self._goal = task.goal
        self._final: list[Condition] = [task.goal]
        self._seen_goals = 0
        self._always = _Watch()
        self._before = _Watch()
        self._once = _Watch()
        self._after: list[tuple[Condition, Condition]] = []
        self._written: dict[Condition, int] = {}
        self._allowed: dict[tuple[Condition, int], int] = {}
        axioms = []
        closure = task.table.closure
        self._derived = closure.heads if closure else 0
        for monitor in task.monitors.monitors:
            budget.tick()
            formulas = [condition(f, task.table) for f in monitor.constraint.arguments]
            axioms += self._watch(monitor, formulas)
        for formula, fact in axioms:
            self.rules.append(RelaxedRule(AXIOM, self.needs(formula), Facts(other=fact)))
        if closure:
            for head, body in closure.rules:
                self.rules.append(RelaxedRule(AXIOM, self.needs(body), Facts(true=head)))
            # Any action may make one false.
            self.rules.append(RelaxedRule(AXIOM, Facts(), Facts(false=self._derived)))

    def _other(self) -> int:
        self.others += 1
        return 1 << (self.others - 1)

    def _watch(
        self, monitor: ConstraintMonitor, formulas: list[Condition]
    ) -> list[tuple[Condition, int]]:
        """Takes up a constraint; returns the axioms that make its facts true."""
        operator, first, last = monitor.constraint.operator, formulas[0], formulas[-1]
        if operator == 'always':
            for part in self._stated(first):
                self._always.add(part)
        elif operator == 'at end':
            self._final.append(first)
        elif operator == 'at-most-once':
            self._once.add(first, self._memory(monitor, 0, 1))
        elif operator == 'sometime-before':
            fact = self._memory(monitor, 1)
            self._before.add(first, fact)
            return [(last, fact)]
        elif operator in ('sometime', 'within'):
            fact = self._goal_memory(monitor, 1, operator == 'within')
            return [(first, fact)]
        elif operator in ('sometime-after', 'always-within'):
            fact = self._goal_memory(monitor, 0, operator == 'always-within')
            self._after.append((first, last))
            return [(last, fact)]
        elif operator == 'hold-after':
            fact = self._other()
            self.expiries.append(Expiry(monitor.constraint.times[0], fact))
            self._final.append(first)
            for part in self._stated(first):
                self._always.add(part, fact)
        return []  # hold-during is left to the monitors

    def _stated(self, formula: Condition) -> list[Condition]:
        """The conjuncts that can be regressed, as they have no derived atom."""
        return [part for part in _conjuncts(formula) if not part.mask & self._derived]

    def _goal_memory(self, monitor: ConstraintMonitor, value: int, urgent: bool) -> int:
        """A fact that a plan ends with."""
        fact = self._memory(monitor, value)
        self._seen_goals |= fact
        if urgent:
            self.urgent |= fact
        return fact

    def _memory(self, monitor: ConstraintMonitor, *values: int) -> int:
        fact = self._other()
        self.memories.append(Memory(monitor, values, fact))
        return fact

    def needs(self, formula: Condition) -> Facts:
        """The facts that must be reached for a formula to hold."""
        if isinstance(formula, Literals) and formula.conjunctive:
            true, false = formula.true, formula.false
            return Facts(true, false, self._before.asked(formula.mask, true, false))
        if isinstance(formula, Junction) and formula.conjunctive:
            found = Facts()
            for part in formula.parts:
                found = found.union(self.needs(part))
            return found
        return Facts(other=self._one_of(formula))

    def _one_of(self, formula: Condition) -> int:
        if formula == FALSE:
            return _NEVER
        fact = self._written.get(formula)
        if fact is None:
            fact = self._written[formula] = self._other()
            for part in _disjuncts(formula):
                self.rules.append(RelaxedRule(AXIOM, self.needs(part), Facts(other=fact)))
        return fact

    def goal(self) -> Facts:
        """The facts that a plan ends with."""
        found = Facts(other=self._seen_goals)
        true = false = 0
        new, waiting = self._final, self._after
        while new:
            for formula in new:
                found = found.union(self.needs(formula))
                known = _literals(formula)
                true |= known.true
                false |= known.false
            # What has to follow a formula that holds last, holds last, too.
            new = [last for first, last in waiting if follows(first, true, false)]
            waiting = [each for each in waiting if not follows(each[0], true, false)]
        return found.union(Facts(other=self._before.asked(true | false, true, false)))

    def add(self, number: int, action: GroundAction) -> None:
        """Writes the rules of an action."""
        known = _literals(action.precondition)
        needs = self.needs(action.precondition)
        changed = action.add | action.delete
        for _, more, less in action.conditional:
            changed |= more | less
        for formula, before in self._always.touched(changed):
            kept = assume(regress(formula, action), known.true, known.false)
            if kept == FALSE and not before:
                self.impossible.append(number)
                return
            if kept != TRUE:
                needs = needs.union(self._keeping(kept, before))
        uncertain = self._derived
        for _, more, less in action.conditional:
            uncertain |= more | less
        delete = action.delete & ~action.add
        true = known.true & ~delete & ~uncertain | action.add
        false = known.false & ~action.add & ~uncertain | delete & ~uncertain
        needs = needs.union(self._asked(changed, true, false))
        self.rules.append(RelaxedRule(number, needs, Facts(action.add, delete)))
        for when, (_, more, less) in zip(action.conditions, action.conditional, strict=True):
            own = needs.union(self.needs(when)).union(
                self._asked(more | less, true | more, false & ~more)
            )
            self.rules.append(RelaxedRule(number, own, Facts(more, less & ~more & ~action.add)))

    def _keeping(self, kept: Condition, before: int) -> Facts:
        """What an action needs to leave a formula true, or that it may still make it false."""
        if not before:
            return self.needs(kept)
        if kept == FALSE:
            return Facts(other=before)
        fact = self._allowed.get((kept, before))
        if fact is None:
            fact = self._allowed[kept, before] = self._other()
            for needs in (self.needs(kept), Facts(other=before)):
                self.rules.append(RelaxedRule(AXIOM, needs, Facts(other=fact)))
        return Facts(other=fact)

    def _asked(self, changed: int, true: int, false: int) -> Facts:
        """What constraints ask of an action with some atoms true behind it and some false."""
        once, before = self._once, self._before
        seen = before.asked(changed, true, false) | once.asked(changed, true, false)
        return Facts(other=seen)


def _conjuncts(formula: Condition) -> list[Condition]:
    """What must all hold, each as small as it gets."""
    formula = of_atoms(formula)
    if not formula.conjunctive:
        return [formula]
    if isinstance(formula, Literals):
        return _singles(formula)
    return [each for part in formula.parts for each in _conjuncts(part)]


def _disjuncts(formula: Condition) -> list[Condition]:
    formula = of_atoms(formula)
    if isinstance(formula, Literals):
        return _singles(formula)
    return list(formula.parts)


def _singles(formula: Literals) -> list[Condition]:
    return [
        Literals(True, formula.true & atom, formula.false & atom)
        for atom in single_bits(formula.mask)
    ]


def _literals(formula: Condition) -> Literals:
    """The literals that hold wherever the formula does, as far as they can be read off."""
    formula = of_atoms(formula)
    if isinstance(formula, Literals):
        return formula if formula.conjunctive else TRUE
    true = false = 0
    if formula.conjunctive:
        for part in formula.parts:
            known = _literals(part)
            true |= known.true
            false |= known.false
    return Literals(True, true, false)


def negation(formula: Condition) -> Condition:
    """The condition that holds where this one does not."""
    formula = of_atoms(formula)
    if isinstance(formula, Literals):
        mask = formula.mask
        conjunctive = not formula.conjunctive or not mask & (mask - 1)
        if not mask:
            return FALSE if formula.conjunctive else TRUE
        return Literals(conjunctive, formula.false, formula.true)
    return join(map(negation, formula.parts), not formula.conjunctive)


def assume(formula: Condition, true: int, false: int) -> Condition:
    """The condition simplified by atoms that are known to be true, or to be false."""
    formula = of_atoms(formula)
    if not formula.mask & (true | false):
        return formula
    if not isinstance(formula, Literals):
        return join((assume(part, true, false) for part in formula.parts), formula.conjunctive)
    if formula.conjunctive:
        if formula.true & false or formula.false & true:
            return FALSE
    elif formula.true & true or formula.false & false:
        return TRUE
    unknown = ~(true | false)
    rest = Literals(formula.conjunctive, formula.true & unknown, formula.false & unknown)
    return join((rest,), rest.conjunctive)


def follows(formula: Condition, true: int, false: int) -> bool:
    """Whether the condition holds wherever some atoms are true and some others false."""
    return assume(formula, true, false) == TRUE


def regress(formula: Condition, action: GroundAction) -> Condition:
    """What must hold before an action so that the condition holds after it.

    The action's precondition is not part of that.
    """
    add, delete = action.add, action.delete & ~action.add
    for _, more, less in action.conditional:
        if formula.mask & (more | less) & ~add:
            return _regress_each(formula, action)
    return assume(formula, add, delete)


def _regress_each(formula: Condition, action: GroundAction) -> Condition:
    """The same when conditional effects change the condition."""
    formula = of_atoms(formula)
    if not isinstance(formula, Literals):
        return join((_regress_each(part, action) for part in formula.parts), formula.conjunctive)
    parts: list[Condition] = []
    for atom in single_bits(formula.mask):
        before = _before(atom, action)
        parts.append(before if formula.true & atom else negation(before))
    return join(parts, formula.conjunctive)


def _before(atom: int, action: GroundAction) -> Condition:
    """What must hold before an action so that an atom is true after it."""
    if action.add & atom:
        return TRUE
    gained: list[Condition] = []
    lost: list[Condition] = [TRUE] if action.delete & atom else []
    for when, (_, add, delete) in zip(action.conditions, action.conditional, strict=True):
        if add & atom:
            gained.append(when)
        if delete & atom:
            lost.append(when)
    kept = join((Literals(True, atom, 0), *map(negation, lost)), True)
    return join((*gained, kept), False)
