# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Trajectory constraints compiled away by regression through the operators of a task.

The regression of a formula through an operator holds before the operator exactly where the formula
holds after it. With it every constraint becomes conditions of those operators alone that can change
its formulas, and at most a flag or two (the idea of TCORE: Bonassi, Gerevini, Percassi and Scala,
"On Planning with Qualitative State-Trajectory Constraints in PDDL3 by Compiling them Away", ICAPS
2021). Deadlines add a clock that every operator advances. The semantics is that of
`safegen_ros.verify.monitors`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from safegen_ros.pddl import bits
from safegen_ros.pddl.bits import AtomTable, Condition, condition
from safegen_ros.pddl.model import Atom, Constraint, Problem
from safegen_ros.pddl.writer import constraint_text
from safegen_ros.search.budget import BrokenAtFirst, Unsolvable
from safegen_ros.search.lookback import Counter, Lookback, StepClock
from safegen_ros.search.nnf import (
    FALSE,
    TRUE,
    NnfFormula,
    NnfFormulas,
    NnfJunction,
    NnfLiteral,
    conjuncts,
    holds,
)
from safegen_ros.search.sas import SasTask
from safegen_ros.search.sas_builder import OperatorBuilder, SasBuilder


def compile_constraints(
    problem: Problem, task: SasTask, checkpoint: Callable[[], None] = lambda: None
) -> SasTask:
    """Adds a problem's goal and constraints to its task.

    Args:
        task: its operators over finite-domain variables; an atom that no value stands for never
            changes. Its goal is not looked at.
        checkpoint: called often; it may raise.

    Returns:
        A task whose plans, by the names of their operators, are the plans of the problem that
        satisfy every constraint.

    Raises:
        Unsolvable: the initial state breaks a constraint, or the goal is false in itself.
    """
    draft = SasBuilder(task, checkpoint, problem.domain.derived_predicates())
    compiler = _Compiler(problem, task, draft)
    for constraint in problem.constraints:
        checkpoint()
        compiler.add(constraint)
    compiler.clock.start()
    found = draft.finish()
    if found is None:
        raise Unsolvable(problem.name, 'its goal is false in every state that can be reached')
    return found


class Regression:
    """What must hold before an operator for a formula to hold after it."""

    def __init__(self, logic: NnfFormulas) -> None:
        self._logic = logic

    def after(self, formula: NnfFormula, operator: OperatorBuilder) -> NnfFormula:
        """Holds before the operator where the formula holds after it."""
        if isinstance(formula, NnfLiteral):
            return self._literal(formula, operator)
        parts = [self.after(part, operator) for part in formula.parts]
        return self._logic.join(parts, formula.conjunctive)

    def _literal(self, literal: NnfLiteral, operator: OperatorBuilder) -> NnfFormula:
        logic = self._logic
        changes = operator.changes.get(literal.variable)
        if changes is None:
            return logic.restrict(literal, operator.precondition)
        if len(changes) == 1 and changes[0][0] == TRUE:
            return TRUE if (changes[0][1] == literal.value) == literal.positive else FALSE
        makes = logic.either(*(when for when, value in changes if value == literal.value))
        breaks = logic.either(*(when for when, value in changes if value != literal.value))
        kept = logic.both(literal._replace(positive=True), logic.negate(breaks))
        equal = logic.restrict(logic.either(makes, kept), operator.precondition)
        return equal if literal.positive else logic.negate(equal)

    def gained(self, formula: NnfFormula, operator: OperatorBuilder) -> NnfFormula:
        """The same of a formula that is known to be false before the operator, but shorter."""
        if isinstance(formula, NnfLiteral):
            after = self._literal(formula, operator)
            before = self._logic.restrict(formula, operator.precondition)
            return FALSE if before in (after, TRUE) else after
        if formula.conjunctive:
            if not any(self.gained(part, operator) != FALSE for part in formula.parts):
                return FALSE
            return self.after(formula, operator)
        return self._logic.join((self.gained(part, operator) for part in formula.parts), False)


class _Compiler:
    """Adds constraints to the draft of a task.

    There is a method for each operator of PDDL3; it returns whether the initial state allows it.
    """

    def __init__(self, problem: Problem, task: SasTask, draft: SasBuilder) -> None:
        self.draft = draft
        self.clock = StepClock(draft)
        self._lookback = Lookback(draft, self.clock)
        self._problem = problem
        self._logic = self.draft.logic
        self._regression = Regression(self._logic)
        self._table = AtomTable(problem)
        self._facts = task.atoms()
        self._initial = self.draft.initial()
        self._seen: dict[tuple[NnfFormula, NnfFormula], NnfFormula] = {}
        self.at_end(self._formula(condition(problem.goal, self._table)))

    def add(self, constraint: Constraint) -> None:
        """Adds one constraint.

        Raises:
            Unsolvable: the initial state breaks it.
        """
        formulas = [self._formula(condition(f, self._table)) for f in constraint.arguments]
        if any(map(self.draft.is_derived, formulas)):
            self._lookback.add(constraint.operator, formulas, constraint.times)
            return
        if not _ADD[constraint.operator](self, *formulas, *constraint.times):
            raise BrokenAtFirst(self._problem.name, constraint_text(constraint))

    def _formula(self, ground: Condition) -> NnfFormula:
        """A condition on atoms as one on facts; atoms that never change are folded."""
        ground = bits.of_atoms(ground)
        logic = self._logic
        if isinstance(ground, bits.Junction):
            return logic.join(map(self._formula, ground.parts), ground.conjunctive)
        true = [self._atom(atom) for atom in self._table.atoms(ground.true)]
        false = [logic.negate(self._atom(atom)) for atom in self._table.atoms(ground.false)]
        return logic.join(true + false, ground.conjunctive)

    def _atom(self, atom: Atom) -> NnfFormula:
        fact = self._facts.get(atom)
        if fact is not None:
            return self._logic.literal(*fact)
        return TRUE if self._table.initially(atom) else FALSE

    def _initially(self, formula: NnfFormula) -> bool:
        return holds(formula, self._initial)

    def always(self, formula: NnfFormula) -> bool:
        """No operator may lose any part of the formula."""
        if not self._initially(formula):
            return False
        for part in conjuncts(formula):
            for operator in self.draft.gaining(self._logic.negate(part)):
                operator.demands.append(self._regression.after(part, operator))
        return True

    def _gaining(self, formula: NnfFormula) -> Iterator[tuple[OperatorBuilder, NnfFormula]]:
        """The operators that may make a formula true, and when they do if it is false before."""
        for operator in self.draft.gaining(formula):
            gained = self._regression.gained(formula, operator)
            if gained != FALSE:
                yield operator, gained

    def _losing(self, formula: NnfFormula) -> Iterator[tuple[OperatorBuilder, NnfFormula]]:
        """The operators that may make a formula false, and when they do if it is true before."""
        return self._gaining(self._logic.negate(formula))

    def sometime(self, formula: NnfFormula) -> bool:
        """The goal asks for a flag that says that the formula has held."""
        self.draft.goals.append(self._has_held(formula))
        return True

    def _has_held(self, formula: NnfFormula, when: NnfFormula = TRUE) -> NnfFormula:
        """Whether a formula has held in some state so far, `when` holding one step before."""
        if self._initially(formula):
            return TRUE
        found = self._seen.get((formula, when))
        if found is None:
            found = self.draft.flag('seen', False)
            self._seen[(formula, when)] = found
            for operator, gained in self._gaining(formula):
                operator.marks.append((self._logic.both(gained, when), found))
        return found

    def sometime_before(self, formula: NnfFormula, first: NnfFormula) -> bool:
        """No operator may gain the formula while the other one has not held."""
        if self._initially(formula):
            return False
        seen = self._has_held(first)
        if seen == TRUE:
            return True
        for operator, gained in self._gaining(formula):
            operator.demands.append(self._logic.either(self._logic.negate(gained), seen))
        return True

    def at_most_once(self, formula: NnfFormula) -> bool:
        """A flag says that the formula has held and was lost; then none may gain it."""
        logic = self._logic
        over = self.draft.flag('over', False)
        for operator, lost in self._losing(formula):
            before = logic.restrict(formula, operator.precondition)
            operator.marks.append((logic.both(before, lost), over))
        for operator, gained in self._gaining(formula):
            operator.demands.append(logic.either(logic.negate(gained), logic.opposite(over)))
        return True

    def sometime_after(self, formula: NnfFormula, then: NnfFormula) -> bool:
        """The goal asks that nothing is owed."""
        self._owed(formula, then)
        return True

    def _owed(
        self, formula: NnfFormula, then: NnfFormula, counter: Counter | None = None
    ) -> NnfLiteral:
        """Whether a formula has held and another one not since; a counter starts with it."""
        logic, regression = self._logic, self._regression
        owed = self.draft.flag('owed', self._initially(formula) and not self._initially(then))
        self.draft.goals.append(logic.opposite(owed))
        for operator, paid in self._gaining(then):
            operator.marks.append((paid, logic.opposite(owed)))
        for operator in self.draft.gaining(formula, logic.negate(then)):
            unpaid = logic.negate(regression.after(then, operator))
            starts = logic.both(regression.after(formula, operator), unpaid)
            operator.marks.append((starts, owed))
            if counter is not None:
                operator.marks += counter.resetting(logic.both(starts, logic.opposite(owed)))
        return owed

    def at_end(self, formula: NnfFormula) -> bool:
        """The goal asks for the formula, or for a flag that says that it holds now."""
        for part in conjuncts(formula):
            choice = isinstance(part, NnfJunction) and part != FALSE
            choice = choice and not self.draft.is_derived(part)  # then an axiom says it
            self.draft.goals.append(self._holds_now(part) if choice else part)
        return True

    def _holds_now(self, formula: NnfFormula) -> NnfLiteral:
        """Whether a formula holds, as a flag that operators set and reset."""
        now = self.draft.flag('now', self._initially(formula))
        for operator, gained in self._gaining(formula):
            operator.marks.append((gained, now))
        for operator, lost in self._losing(formula):
            operator.marks.append((lost, self._logic.opposite(now)))
        return now

    def within(self, formula: NnfFormula, deadline: int) -> bool:
        """Only in time the flag is set."""
        if deadline == 0:
            return self._initially(formula)
        in_time = self._logic.negate(self.clock.reached(deadline))
        self.draft.goals.append(self._has_held(formula, in_time))
        return True

    def always_within(self, formula: NnfFormula, then: NnfFormula, delay: int) -> bool:
        """While it is owed, the steps are counted."""
        logic = self._logic
        if delay == 0:
            return self.always(logic.either(logic.negate(formula), then))
        counter = Counter(self.draft, delay - 1)
        owed = self._owed(formula, then, counter)
        counting = counter.advancing(owed)
        late = logic.both(owed, counter.reads(delay - 1))
        paid = {id(operator): gained for operator, gained in self._gaining(then)}
        for operator in self.draft.every():
            operator.marks += counting
            self._forbid(operator, logic.both(late, logic.negate(paid.get(id(operator), FALSE))))
        return True

    def hold_during(self, formula: NnfFormula, begin: int, end: int) -> bool:
        """As `always`, but between two times; a plan that ends before them ends with it."""
        if begin == 0 and not self._initially(formula):
            return False
        self._hold(formula, begin, self._logic.negate(self.clock.reached(end - 1)))
        if begin > 0:
            self.draft.goals.append(self._holds_now_or_began(formula, begin))
        return True

    def _holds_now_or_began(self, formula: NnfFormula, begin: int) -> NnfLiteral:
        """Whether a formula holds or some time has come, as a flag."""
        logic = self._logic
        flag = self.draft.flag('held', self._initially(formula))
        began = self.clock.reached(begin - 1)  # before the operator, so in time behind it
        for operator in self.draft.every():
            operator.marks.append((began, flag))
        for operator, gained in self._gaining(formula):
            operator.marks.append((gained, flag))
        for operator, lost in self._losing(formula):
            operator.marks.append((logic.both(lost, logic.negate(began)), logic.opposite(flag)))
        return flag

    def hold_after(self, formula: NnfFormula, begin: int) -> bool:
        """As `always`, but from some time on; a plan that ends before it ends with it."""
        if begin == 0:
            return self.always(formula)
        self._hold(formula, begin, TRUE)
        return self.at_end(formula)

    def _hold(self, formula: NnfFormula, begin: int, until: NnfFormula) -> None:
        """Demands a formula after every operator from that step on, `until` holding before."""
        logic, regression = self._logic, self._regression
        inside = logic.both(self.clock.reached(begin - 1), until)
        for operator, _ in self._losing(formula):
            after = regression.after(formula, operator)
            operator.demands.append(logic.either(logic.negate(inside), after))
        if begin > 0:
            entering = logic.both(inside, logic.negate(self.clock.reached(begin)))
            for operator in self.draft.every():
                broken = logic.negate(regression.after(formula, operator))
                self._forbid(operator, logic.both(entering, broken))

    def _forbid(self, operator: OperatorBuilder, when: NnfFormula) -> None:
        """Makes an operator that is applied in some situation leave the goal out of reach."""
        operator.marks.append((when, self._logic.opposite(self.draft.alive)))


_ADD: dict[str, Callable[..., bool]] = {
    'always': _Compiler.always,
    'sometime': _Compiler.sometime,
    'at-most-once': _Compiler.at_most_once,
    'sometime-before': _Compiler.sometime_before,
    'sometime-after': _Compiler.sometime_after,
    'at end': _Compiler.at_end,
    'within': _Compiler.within,
    'always-within': _Compiler.always_within,
    'hold-during': _Compiler.hold_during,
    'hold-after': _Compiler.hold_after,
}
