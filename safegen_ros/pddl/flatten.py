# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A durative action as one step: what the whole action needs, and what it changes.

This is exact where steps follow each other: the step applies if and only if the action can start,
last and end with nothing beside it, and leads to the same state. It says nothing of the state in
between, nor of time, so that a plan of such steps is still to be proved (see `verify.temporal`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from safegen_ros.pddl.deciding import deciding_functions, refuse_timed
from safegen_ros.pddl.expressions import bound
from safegen_ros.pddl.facts import is_value, told_value
from safegen_ros.pddl.formulas import substitute
from safegen_ros.pddl.limits import action_parts, effect_parts, extent
from safegen_ros.pddl.model import (
    DURATION,
    Action,
    And,
    Arithmetic,
    AtomFormula,
    Comparison,
    Constraint,
    Domain,
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
from safegen_ros.pddl.sexpr import MAX_DEPTH

_TRUE, _FALSE = And(()), Or(())

_MOST_WORK = 200_000  # parts that are put behind each other to make one step of an action


class NotSequential(ValueError):
    """What a durative action does to numbers at its two ends is not a single step; says why."""


def flatten(action: DurativeAction) -> Action:
    """The step that does all of a durative action.

    Raises:
        NotSequential: its end depends on a number that its start changes, and it cannot be said how
            by then; or it would be too large, or nest too deeply.
    """
    _check_work(action)
    names = _Names(action)
    start = _Start(action, names)
    end = [e for m, e in action.effects if m is Moment.AT_END and isinstance(e, Effect)]
    end = [names.apart(effect) for effect in end]
    end = [replace(e, condition=_regressed(e.condition, start)) for e in end]
    needed = [f for moment, f in action.conditions if moment is Moment.AT_START]
    later = [f for moment, f in action.conditions if moment is not Moment.AT_START]
    needed += [_regressed(names.apart_formula(formula), start) for formula in later]
    effects = [kept for effect in start.effects for kept in _kept(effect, end)]
    numeric = list(start.numeric)
    for effect in _numeric(action, Moment.AT_END):
        numeric = start.followed(numeric, names.apart_numeric(effect))
    precondition = _all(part for formula in needed for part in conjuncts(formula))
    step = Action(action.name, action.parameters, precondition, (*effects, *end), tuple(numeric))
    if extent(action_parts(step))[1] > MAX_DEPTH:
        raise NotSequential(f'start and end nest deeper than {MAX_DEPTH} lists together')
    return step


def _check_work(action: DurativeAction) -> None:
    """Refuses an action whose end asks for too much of what its start changes.

    Each part of the end may have to be put behind each change of the start.
    """
    first = effect_parts(e for moment, e in action.effects if moment is Moment.AT_START)
    last = [e for moment, e in action.effects if moment is Moment.AT_END]
    later = [f for moment, f in action.conditions if moment is not Moment.AT_START]
    later += [each.condition for _, each in action.remembered for _ in last]
    changes = 1 + extent(first)[0] + sum(isinstance(e, NumericEffect) for e in last)
    if changes * extent([*later, *effect_parts(last)])[0] > _MOST_WORK:
        raise NotSequential('start and end are too large together')


def _numeric(action: DurativeAction, moment: Moment) -> list[NumericEffect]:
    duration = step_duration(action) or DURATION
    return [
        replace(each, value=_lasting(each.value, duration))
        for m, each in action.effects
        if m is moment and isinstance(each, NumericEffect)
    ]


_ADDING = ('increase', 'decrease')
_OPERATORS = {'increase': '+', 'decrease': '-', 'scale-up': '*', 'scale-down': '/'}


class _Start:
    """What the start of an action does, as what comes later has to see it."""

    def __init__(self, action: DurativeAction, names: _Names) -> None:
        found = [e for m, e in action.effects if m is Moment.AT_START]
        self._remembered = {
            each.add[0].predicate: (moment, each.add[0].terms, names.apart_formula(each.condition))
            for moment, each in action.remembered
        }
        self.effects = [each for each in found if isinstance(each, Effect)]
        self.numeric = _numeric(action, Moment.AT_START)
        self._after: dict[AtomFormula, Expression] = {}
        for each in self.numeric:
            if each.condition == _TRUE and not each.variables:
                before = self._after.get(each.target, each.target)
                self._after[each.target] = _changed(before, each.operator, each.value)
        self._name = action.name

    def remembered(self, atom: AtomFormula) -> Formula | None:
        """What a remembered condition asks of the state before the start; None for other atoms."""
        if atom.predicate not in self._remembered:
            return None
        moment, terms, condition = self._remembered[atom.predicate]
        asked = substitute(condition, dict(zip(terms, atom.terms, strict=True)))
        return asked if moment is Moment.AT_START else _regressed(asked, self)

    def value(self, expression: Expression) -> Expression:
        """An expression of the values after the start, in the values before it."""
        if isinstance(expression, Arithmetic):
            return replace(expression, parts=tuple(map(self.value, expression.parts)))
        if isinstance(expression, AtomFormula):
            changing = [each for each in self.numeric if _same_function(each, expression)]
            if any(each.target != expression or not _is_plain(each) for each in changing):
                raise self._trouble(expression)
            return self._after.get(expression, expression)
        return expression

    def followed(self, numeric: list[NumericEffect], effect: NumericEffect) -> list[NumericEffect]:
        """The numeric effects of the start, and then one of the end."""
        value, condition = self.value(effect.value), _regressed(effect.condition, self)
        effect = replace(effect, value=value, condition=condition)
        before = [each for each in numeric if _same_function(each, effect.target)]
        if all(each.operator in _ADDING for each in (*before, effect)) or not before:
            return [*numeric, effect]
        if not _is_plain(effect) or any(each not in self.numeric for each in before):
            raise self._trouble(effect.target)
        after = _changed(self.value(effect.target), effect.operator, value)
        kept = [each for each in numeric if each not in before]
        return [*kept, replace(effect, operator='assign', value=after)]

    def _trouble(self, function: AtomFormula) -> NotSequential:
        return NotSequential(
            f'the end of {self._name[:40]} depends on {function.predicate[:40]}, which its start '
            'changes for other objects or under a condition'
        )


def _is_plain(effect: NumericEffect) -> bool:
    return effect.condition == _TRUE and not effect.variables


def _same_function(effect: NumericEffect, function: AtomFormula) -> bool:
    return effect.target.predicate == function.predicate


def _changed(before: Expression, operator: str, value: Expression) -> Expression:
    if operator == 'assign':
        return value
    return Arithmetic(_OPERATORS[operator], (before, value))


def part(action: DurativeAction, moment: Moment, duration: Expression = DURATION) -> Action:
    """What a durative action asks for and does at one of its moments, if it takes some time."""
    asked = _all(p for m, formula in action.conditions if m is moment for p in conjuncts(formula))
    found = [effect for m, effect in action.effects if m is moment]
    if moment is Moment.AT_START:
        found += [
            each if m is moment else replace(each, condition=_TRUE) for m, each in action.remembered
        ]
    elif moment is Moment.AT_END:
        found += [Effect(each.variables, _TRUE, (), each.add) for _, each in action.remembered]
    effects = tuple(each for each in found if isinstance(each, Effect))
    changes = [each for each in found if isinstance(each, NumericEffect)]
    numeric = tuple(replace(each, value=_lasting(each.value, duration)) for each in changes)
    return Action(f'{moment.value} {action.name}', action.parameters, asked, effects, numeric)


def remembered_predicates(domain: Domain) -> dict[str, tuple[str, ...]]:
    """The predicates by which durative actions remember conditions, with what they take."""
    return {
        each.add[0].predicate: tuple(kind for _, kind in (*action.parameters, *each.variables))
        for action in domain.durative.values()
        for _, each in action.remembered
    }


def sequential(problem: Problem) -> Problem:
    """A problem of steps without time, of which every plan of single steps is one, too.

    A deadline becomes `sometime`, and a window is dropped: only `verify.temporal` can judge them. A
    problem without durative actions is returned as it is.

    Raises:
        SafegenError: it has timed initial literals.
    """
    refuse_timed(problem, 'what follows a plan step by step')
    if not problem.domain.durative:
        return problem
    constraints = [relaxed for c in problem.constraints for relaxed in _untimed(c)]
    domain = replace(problem.domain, durative={}, constraint_tree=None)
    asked = tuple(dict.fromkeys(constraints))
    kept = deciding_functions(domain, problem.goal, asked)  # durations decide no more
    left = {fact for fact in problem.init if is_value(fact) and told_value(fact)[0][0] not in kept}
    values = {**problem.values, **dict(map(told_value, left))}
    init = problem.init - left
    return replace(problem, domain=domain, constraints=asked, init=init, values=values)


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


def _lasting(expression: Expression, duration: Expression) -> Expression:
    """An expression of an action that takes some time."""
    if isinstance(expression, Arithmetic):
        parts = tuple(_lasting(each, duration) for each in expression.parts)
        return replace(expression, parts=parts)
    return duration if expression == DURATION else expression


class _Names:
    """Renames variables that a formula binds, so that none hides one of the action."""

    def __init__(self, action: DurativeAction) -> None:
        lists = [action.parameters]
        lists += [effect.variables for _, effect in action.effects]
        self._outer = {name for variables in lists for name, _ in variables}
        formulas = [formula for _, formula in action.conditions]
        formulas += [effect.condition for _, effect in action.effects]
        formulas += [each.condition for _, each in action.remembered]
        lists += [variables for formula in formulas for variables in quantified(formula)]
        self._used = {name for variables in lists for name, _ in variables}
        self._numbers = Counter[str]()

    def _fresh(self, names: Iterable[str]) -> dict[str, str]:
        found = {}
        for name in names:
            while (new := f'{name}-{self._numbers[name] + 1}') in self._used:
                self._numbers[name] += 1
            found[name] = new
            self._used.add(new)
        return found

    def apart_formula(self, formula: Formula) -> Formula:
        """The formula with other names for the variables that it binds and the action has, too."""
        if isinstance(formula, (Forall, Exists)):
            new = self._fresh(name for name, _ in formula.variables if name in self._outer)
            variables = tuple((new.get(name, name), kind) for name, kind in formula.variables)
            formula = type(formula)(variables, substitute(formula.body, new))
        return with_subformulas(formula, self.apart_formula)

    def apart_numeric(self, effect: NumericEffect) -> NumericEffect:
        """As `apart`, of an effect on a number."""
        new = self._fresh(name for name, _ in effect.variables)
        target = AtomFormula(
            effect.target.predicate, tuple(new.get(t, t) for t in effect.target.terms)
        )
        return NumericEffect(
            tuple((new[name], kind) for name, kind in effect.variables),
            self.apart_formula(substitute(effect.condition, new)),
            effect.operator,
            target,
            bound(effect.value, new),
        )

    def apart(self, effect: Effect) -> Effect:
        """The effect with fresh names for its variables."""
        new = self._fresh(name for name, _ in effect.variables)
        renamed = [
            tuple(AtomFormula(a.predicate, tuple(new.get(t, t) for t in a.terms)) for a in atoms)
            for atoms in (effect.add, effect.delete)
        ]
        variables = tuple((new[name], kind) for name, kind in effect.variables)
        return Effect(variables, self.apart_formula(substitute(effect.condition, new)), *renamed)


def _kept(effect: Effect, end: Sequence[Effect]) -> list[Effect]:
    """The rest of an effect at the start once the end has happened: the end may undo it."""
    found = [replace(effect, add=())] if effect.delete else []
    for atom in effect.add:
        undone = _fired(end, atom, adding=False)
        if undone != _TRUE:
            condition = _all((*conjuncts(effect.condition), *conjuncts(_negated(undone))))
            found.append(Effect(effect.variables, condition, (atom,), ()))
    return found


def _regressed(formula: Formula, start: _Start) -> Formula:
    """What must hold before the start of an action so that a formula holds after it."""
    if isinstance(formula, AtomFormula):
        before = start.remembered(formula)
        if before is not None:
            return before
        added = _fired(start.effects, formula, adding=True)
        deleted = _fired(start.effects, formula, adding=False)
        return _any((added, _all((formula, _negated(deleted)))))
    if isinstance(formula, Comparison):
        return replace(formula, left=start.value(formula.left), right=start.value(formula.right))
    return with_subformulas(formula, lambda part: _regressed(part, start))


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
