# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A durative action as one step: what the whole action needs, and what it changes.

This is exact where steps follow each other: the step applies if and only if the action can start,
last and end with nothing beside it, and leads to the same state. It says nothing of the state in
between, nor of time, so that a plan of such steps is still to be proved (see `verify.temporal`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from safegen_ros.pddl.formulas import substitute
from safegen_ros.pddl.model import (
    DURATION,
    Action,
    And,
    Arithmetic,
    AtomFormula,
    Constraint,
    DurativeAction,
    Effect,
    Equals,
    Exists,
    Expression,
    Forall,
    Formula,
    Moment,
    Not,
    NumericEffect,
    Or,
    Problem,
    conjuncts,
    quantified,
    with_subformulas,
)

_TRUE, _FALSE = And(()), Or(())


def flatten(action: DurativeAction) -> Action:
    """The step that does all of a durative action."""
    names = _Names(action)
    start = [e for m, e in action.effects if m is Moment.AT_START and isinstance(e, Effect)]
    end = [e for m, e in action.effects if m is Moment.AT_END and isinstance(e, Effect)]
    end = [names.apart(effect) for effect in end]
    end = [replace(e, condition=_regressed(e.condition, start)) for e in end]
    needed = [f for moment, f in action.conditions if moment is Moment.AT_START]
    later = [f for moment, f in action.conditions if moment is not Moment.AT_START]
    needed += [_regressed(names.apart_formula(formula), start) for formula in later]
    effects = [kept for effect in start for kept in _kept(effect, end)]
    numeric = tuple(
        replace(each, value=_with_duration(each.value, action))
        for _, each in action.effects
        if isinstance(each, NumericEffect)
    )
    precondition = _all(part for formula in needed for part in conjuncts(formula))
    return Action(action.name, action.parameters, precondition, (*effects, *end), numeric)


def part(action: DurativeAction, moment: Moment) -> Action:
    """What a durative action asks for and does at one of its moments."""
    asked = _all(p for m, formula in action.conditions if m is moment for p in conjuncts(formula))
    found = [effect for m, effect in action.effects if m is moment]
    effects = tuple(each for each in found if isinstance(each, Effect))
    numeric = tuple(each for each in found if isinstance(each, NumericEffect))
    return Action(f'{moment.value} {action.name}', action.parameters, asked, effects, numeric)


def sequential(problem: Problem) -> Problem:
    """A problem of steps without time, of which every plan of single steps is one, too.

    A deadline becomes `sometime`, and a window asks for nothing: only `verify.temporal` can tell
    whether they are kept. A problem without durative actions is returned as it is.
    """
    if not problem.domain.durative:
        return problem
    constraints = [relaxed for c in problem.constraints for relaxed in _untimed(c)]
    domain = replace(problem.domain, durative={}, constraint_tree=None)
    return replace(problem, domain=domain, constraints=tuple(dict.fromkeys(constraints)))


def _untimed(constraint: Constraint) -> list[Constraint]:
    if constraint.operator in ('hold-during', 'hold-after'):
        return []
    wider = {'within': 'sometime', 'always-within': 'sometime-after'}
    operator = wider.get(constraint.operator, constraint.operator)
    return [replace(constraint, operator=operator, exact=())]


def step_duration(action: DurativeAction) -> Expression | None:
    """The duration of an action that has a single one, or a single lower bound."""
    for wanted in ('=', '>='):
        found = [value for operator, value in action.duration if operator == wanted]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _with_duration(expression: Expression, action: DurativeAction) -> Expression:
    if isinstance(expression, Arithmetic):
        parts = tuple(_with_duration(part, action) for part in expression.parts)
        return replace(expression, parts=parts)
    duration = step_duration(action) if expression == DURATION else None
    return expression if duration is None else duration


class _Names:
    """Renames variables that a formula binds, so that none hides one of the action."""

    def __init__(self, action: DurativeAction) -> None:
        lists = [action.parameters]
        lists += [effect.variables for _, effect in action.effects]
        self._outer = {name for variables in lists for name, _ in variables}
        formulas = [formula for _, formula in action.conditions]
        formulas += [effect.condition for _, effect in action.effects]
        lists += [variables for formula in formulas for variables in quantified(formula)]
        self._used = {name for variables in lists for name, _ in variables}

    def _fresh(self, names: Iterable[str]) -> dict[str, str]:
        found = {}
        for name in names:
            number = 1
            while f'{name}-{number}' in self._used:
                number += 1
            found[name] = f'{name}-{number}'
            self._used.add(found[name])
        return found

    def apart_formula(self, formula: Formula) -> Formula:
        """The formula with other names for the variables that it binds and the action has, too."""
        if isinstance(formula, (Forall, Exists)):
            new = self._fresh(name for name, _ in formula.variables if name in self._outer)
            variables = tuple((new.get(name, name), kind) for name, kind in formula.variables)
            formula = type(formula)(variables, substitute(formula.body, new))
        return with_subformulas(formula, self.apart_formula)

    def apart(self, effect: Effect) -> Effect:
        """The effect with names of its own for its variables."""
        new = self._fresh(name for name, _ in effect.variables)
        renamed = [
            tuple(AtomFormula(a.predicate, tuple(new.get(t, t) for t in a.terms)) for a in atoms)
            for atoms in (effect.add, effect.delete)
        ]
        variables = tuple((new[name], kind) for name, kind in effect.variables)
        return Effect(variables, self.apart_formula(substitute(effect.condition, new)), *renamed)


def _kept(effect: Effect, end: Sequence[Effect]) -> list[Effect]:
    """What is left of an effect at the start once the end has happened: the end may undo it."""
    found = [replace(effect, add=())] if effect.delete else []
    for atom in effect.add:
        undone = _fired(end, atom, adding=False)
        if undone != _TRUE:
            condition = _all((*conjuncts(effect.condition), *conjuncts(_negated(undone))))
            found.append(Effect(effect.variables, condition, (atom,), ()))
    return found


def _regressed(formula: Formula, effects: Sequence[Effect]) -> Formula:
    """What must hold before some effects so that a formula holds after them."""
    if isinstance(formula, AtomFormula):
        added = _fired(effects, formula, adding=True)
        deleted = _fired(effects, formula, adding=False)
        return _any((added, _all((formula, _negated(deleted)))))
    return with_subformulas(formula, lambda part: _regressed(part, effects))


def _fired(effects: Sequence[Effect], atom: AtomFormula, *, adding: bool) -> Formula:
    """When some of the effects adds, or deletes, an atom."""
    found = []
    for effect in effects:
        for other in effect.add if adding else effect.delete:
            if other.predicate != atom.predicate:
                continue
            pairs = zip(other.terms, atom.terms, strict=True)
            same = [Equals(one, two) for one, two in pairs if one != two]
            condition = _all((*same, *conjuncts(effect.condition)))
            found.append(Exists(effect.variables, condition) if effect.variables else condition)
    return _any(found)


def _negated(formula: Formula) -> Formula:
    if formula in (_TRUE, _FALSE):
        return _FALSE if formula == _TRUE else _TRUE
    return Not(formula)


def _all(parts: Iterable[Formula]) -> Formula:
    found = [part for part in parts if part != _TRUE]
    if _FALSE in found:
        return _FALSE
    return found[0] if len(found) == 1 else And(tuple(found))


def _any(parts: Iterable[Formula]) -> Formula:
    found = [part for part in parts if part != _FALSE]
    if _TRUE in found:
        return _TRUE
    return found[0] if len(found) == 1 else Or(tuple(found))
