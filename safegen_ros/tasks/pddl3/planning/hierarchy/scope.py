# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A problem over some of its objects, small enough for a model that has seen small ones only.

Nothing happens to the objects that are left out, so that any part of a constraint or a goal about
them is decided already: it is written out and simplified by that. Where preconditions or effects
range over all objects, less than all of them is a guess, and so is that a plan needs no others; a
plan for a scope is therefore a proposal like any other, to be followed in the whole problem.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.bits import (
    FALSE,
    TRUE,
    AtomTable,
    Condition,
    Literals,
    condition,
    of_atoms,
    single_bits,
)
from safegen_ros.pddl.deciding import changed_predicates
from safegen_ros.pddl.model import (
    And,
    AtomFormula,
    Constraint,
    Formula,
    Not,
    Or,
    Problem,
    conjuncts,
)
from safegen_ros.pddl.writer import formula_text
from safegen_ros.search.rules import assume, negation

_WORDS = re.compile(r'[^\s()]+')
_QUANTIFIERS = {'forall', 'exists'}
_ROOM = 3  # objects for putting things aside, with the objects that locate them


class ScopeTooSmall(SafegenError):
    """The goal cannot come true with the objects of a scope."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f'{what} cannot come true with these objects alone: take more of them',
            ErrorCode.UNSOLVABLE,
        )


def named(formula: Formula, objects: Iterable[str]) -> frozenset[str]:
    """The objects that a formula names."""
    return frozenset(_words(formula) & set(objects))


def scopes(problem: Problem, objects: frozenset[str]) -> Iterator[frozenset[str]]:
    """More and more objects of a problem to plan with, from those that a plan needs at the least.

    After these come the objects that locate them, then those that a constraint names together with
    one of them, then a few that nothing else depends on, for putting things aside, and at last all.
    No two scopes are the same.
    """
    seen: set[frozenset[str]] = set()
    for widen in (_same, described, _constrained, _with_room, _all):
        objects = widen(problem, objects)
        if objects not in seen:
            seen.add(objects)
            yield objects


def _same(problem: Problem, objects: frozenset[str]) -> frozenset[str]:
    return objects


def _all(problem: Problem, objects: frozenset[str]) -> frozenset[str]:
    return frozenset(problem.objects)


def described(problem: Problem, objects: frozenset[str]) -> frozenset[str]:
    """Some objects with all that locate them in the initial state, and so on.

    An atom locates the first object in it, as `(on b1 b2)` locates b1.
    """
    return _closed(_told(problem), objects)


def _constrained(problem: Problem, objects: frozenset[str]) -> frozenset[str]:
    found = set(objects)
    for constraint in problem.constraints:
        names = frozenset(
            name for part in constraint.arguments for name in named(part, problem.objects)
        )
        if names & objects:
            found |= names
    return described(problem, frozenset(found))


def _with_room(problem: Problem, objects: frozenset[str]) -> frozenset[str]:
    told = _told(problem)
    tellers: dict[str, set[str]] = {}
    for name, others in told.items():
        for other in others:
            tellers.setdefault(other, set()).add(name)
    choices = []
    for place, name in enumerate(problem.objects):
        group = _closed(told, frozenset((name,)))
        above = {each for member in group for each in tellers.get(member, ())} - group
        choices.append((len(above), len(group), place, group))
    found = objects
    left = _ROOM
    for *_, group in sorted(choices, key=lambda choice: choice[:3]):
        if left and not group <= found:
            found |= group
            left -= 1
    return found


def _told(problem: Problem) -> dict[str, set[str]]:
    """For each object the others in the atoms that locate it."""
    changing = changed_predicates(problem)
    told: dict[str, set[str]] = {}
    for predicate, *names in problem.init:
        if predicate in changing and len(names) > 1:
            told.setdefault(names[0], set()).update(names[1:])
    return told


def _closed(told: Mapping[str, set[str]], objects: frozenset[str]) -> frozenset[str]:
    found: set[str] = set()
    waiting = list(objects)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += told.get(name, ())
    return frozenset(found)


def restricted(problem: Problem, objects: frozenset[str]) -> Problem:
    """A problem over some of its objects; the domain's constants are always among them.

    A derived atom may depend on any object, so that a problem with derived predicates stays whole.

    Args:
        problem: the problem; no constraint of it is broken in its initial state.

    Raises:
        ScopeTooSmall: a goal or a constraint asks for something that needs the others.
    """
    kept = {
        name: kind
        for name, kind in problem.objects.items()
        if name in objects or name in problem.domain.constants
    }
    if len(kept) == len(problem.objects) or problem.domain.derived:
        return problem
    writer = _Writer(problem, frozenset(kept))
    goals = [part for goal in problem.goal_conjuncts() for part in writer.goal(goal)]
    constraints = [each for c in problem.constraints for each in writer.constraint(c)]
    return replace(
        problem,
        objects=kept,
        init=frozenset(atom for atom in problem.init if kept.keys() >= set(atom[1:])),
        goal=And(tuple(dict.fromkeys(goals))),
        constraints=tuple(dict.fromkeys(constraints)),
    )


def _words(formula: Formula) -> set[str]:
    return set(_WORDS.findall(formula_text(formula)))


class _Writer:
    """Writes formulas without the objects that are left out."""

    def __init__(self, problem: Problem, kept: frozenset[str]) -> None:
        self._table = AtomTable(problem)
        self._state = self._table.encode(problem.init)
        self._kept = kept
        self._left_out = problem.objects.keys() - kept

    def goal(self, formula: Formula) -> Iterable[Formula]:
        found = self._assumed(formula)
        if found == FALSE:
            raise ScopeTooSmall(formula_text(formula))
        return () if found == TRUE else conjuncts(self._rewritten(formula, found))

    def constraint(self, constraint: Constraint) -> Iterable[Constraint]:
        found = [self._assumed(argument) for argument in constraint.arguments]
        first, last = found[0], found[-1]
        operator = constraint.operator
        if operator in ('sometime-before', 'sometime-after', 'always-within'):
            if first == FALSE or (last == TRUE and operator != 'sometime-before'):
                return
            if last == FALSE:
                never = self._written(negation(first))
                yield Constraint('always', (never,), (), constraint.binding, constraint.place)
                return
        elif first == TRUE or (operator == 'at-most-once' and first == FALSE):
            return
        elif first == FALSE:
            raise ScopeTooSmall(formula_text(constraint.arguments[0]))
        arguments = map(self._rewritten, constraint.arguments, found)
        yield replace(constraint, arguments=tuple(arguments))

    def _assumed(self, formula: Formula) -> Condition:
        """The formula with the truth of static atoms."""
        found = condition(formula, self._table)
        outside = 0
        for bit in single_bits(found.mask):
            if not self._kept.issuperset(self._table.atoms(bit)[0][1:]):
                outside |= bit
        return assume(found, self._state & outside, ~self._state & outside)

    def _rewritten(self, formula: Formula, assumed: Condition) -> Formula:
        """The assumption as a formula; the formula itself where both are the same."""
        words = _words(formula)
        same = words.isdisjoint(self._left_out) and words.isdisjoint(_QUANTIFIERS)
        return formula if same else self._written(assumed)

    def _written(self, formula: Condition) -> Formula:
        parts: list[Formula] = []
        formula = of_atoms(formula)
        if isinstance(formula, Literals):
            for bit in single_bits(formula.mask):
                predicate, *terms = self._table.atoms(bit)[0]
                atom = AtomFormula(predicate, tuple(terms))
                parts.append(atom if formula.true & bit else Not(atom))
        else:
            parts += map(self._written, formula.parts)
        if len(parts) == 1:
            return parts[0]
        return (And if formula.conjunctive else Or)(tuple(parts))
