# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Formulas and constraints in one of the many ways in which they can be written.

A model that has seen a constraint once has then seen all the ways to write it that differ in
quantifiers, in the order of parts or in nesting only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.formulas import bindings, substitute
from safegen_ros.pddl.limits import Objects
from safegen_ros.pddl.model import (
    And,
    AtomFormula,
    Comparison,
    Constraint,
    Equals,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Or,
    conjuncts,
    with_subformulas,
)
from safegen_ros.pddl.writer import constraint_text, formula_text

TRUE: Formula = And(())
FALSE: Formula = Or(())

MAX_PARTS = 256
"""Most parts of a formula after its quantifiers are written out."""


def normal_formula(formula: Formula, objects: Objects, names: Mapping[str, str]) -> Formula:
    """A formula with objects for its quantifiers, flat, and its parts in the order of their text.

    Raises:
        SafegenError: it has more than `MAX_PARTS` parts.
    """
    return _Writer(objects, names).formula(formula, dict(names))


def normal_constraints(
    constraint: Constraint, objects: Objects, names: Mapping[str, str]
) -> Iterator[Constraint]:
    """The constraints that a constraint comes to; raises as `normal_formula`.

    What must hold in every state of some stretch of time may be asked for part by part.
    """
    arguments = tuple(normal_formula(a, objects, names) for a in constraint.arguments)
    plain = replace(constraint, arguments=arguments, binding=(), place='')
    if constraint.operator in ('always', 'at end', 'hold-during', 'hold-after'):
        for part in conjuncts(arguments[0]):
            yield replace(plain, arguments=(paired(part),))
    else:
        yield replace(plain, arguments=tuple(map(paired, arguments)))


def in_order(constraints: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """Constraints without repetition, in the order of their text."""
    return tuple({constraint_text(c): c for c in sorted(constraints, key=constraint_text)}.values())


def paired(formula: Formula) -> Formula:
    """The formula with `and` and `or` of two parts each, which no bracket is needed to read."""
    if not isinstance(formula, (And, Or)) or not formula.parts:
        return with_subformulas(formula, paired)
    *first, last = map(paired, formula.parts)
    for part in reversed(first):
        last = type(formula)((part, last))
    return last


class _Writer:
    def __init__(self, objects: Objects, names: Mapping[str, str]) -> None:
        self._objects = objects
        self._names = names
        self._parts = 0

    def formula(self, formula: Formula, bound: Mapping[str, str]) -> Formula:
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise SafegenError(
                f'a formula has more than {MAX_PARTS} parts when its quantifiers are written out: '
                'use fewer objects, or a planner that reads quantifiers',
                ErrorCode.TASK_TOO_LARGE,
            )
        if isinstance(formula, AtomFormula):
            return AtomFormula(formula.predicate, tuple(bound[term] for term in formula.terms))
        if isinstance(formula, Equals):
            return TRUE if bound[formula.left] == bound[formula.right] else FALSE
        if isinstance(formula, Comparison):
            return substitute(formula, bound)
        if isinstance(formula, Not):
            body = self.formula(formula.body, bound)
            return body.body if isinstance(body, Not) else _negated(body)
        if isinstance(formula, Imply):
            premise, conclusion = (
                self.formula(side, bound) for side in (formula.premise, formula.conclusion)
            )
            if premise in (TRUE, FALSE) or conclusion in (TRUE, FALSE):
                return _joined(Or, (_negated(premise), conclusion))
            return Imply(premise, conclusion)
        if isinstance(formula, (Forall, Exists)):
            parts = [
                self.formula(formula.body, {**bound, **self._renamed(inner)})
                for inner in bindings(formula.variables, self._objects)
            ]
            return _joined(And if isinstance(formula, Forall) else Or, parts)
        return _joined(type(formula), [self.formula(part, bound) for part in formula.parts])

    def _renamed(self, inner: Mapping[str, str]) -> dict[str, str]:
        return {variable: self._names[name] for variable, name in inner.items()}


def _negated(formula: Formula) -> Formula:
    return FALSE if formula == TRUE else TRUE if formula == FALSE else Not(formula)


def _joined(kind: type[And] | type[Or], parts: Sequence[Formula]) -> Formula:
    neutral, absorbing = (TRUE, FALSE) if kind is And else (FALSE, TRUE)
    found: dict[str, Formula] = {}
    for part in parts:
        if part == absorbing:
            return absorbing
        if part == neutral:
            continue
        for inner in part.parts if isinstance(part, kind) else (part,):
            found[formula_text(inner)] = inner
    ordered = tuple(found[text] for text in sorted(found))
    return ordered[0] if len(ordered) == 1 else kind(ordered)
