# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""A problem as Fast Downward's translator is given it: its operators, without goal or constraints.

The translator simplifies by the goal, and a goal that it finds trivial costs all operators. So the
goal here is a separate atom, and ours is compiled in afterwards with the constraints. A type that
the translator would not read as we do (`either`, several parents) becomes a static atom.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count

from safegen_ros.pddl.formulas import bindings, substitute
from safegen_ros.pddl.model import (
    Action,
    And,
    AtomFormula,
    DerivedRule,
    Domain,
    Effect,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Or,
    Problem,
    Variables,
    quantified,
    walk,
    with_subformulas,
)

_ROOT = 'object'


def operators_only(problem: Problem) -> Problem:
    """The problem with the same operators, a goal that is reached at once, and no constraints."""
    domain = problem.domain
    types = _Types(problem)
    done = AtomFormula(_fresh('done', domain.predicates), ())
    finish = Action(_fresh('finish', domain.actions), (), And(()), (_adding(done),))
    actions = [types.action(action) for action in domain.actions.values()]
    actions += _uses(problem, done)
    predicates = {name: tuple(map(types.name, kinds)) for name, kinds in domain.predicates.items()}
    # Written out, a rule may name any object.
    constants = problem.objects if domain.derived else domain.constants
    bare = Domain(
        domain.name,
        {types.name(kind): types.parent(kind) for kind in domain.types},
        {name: types.name(kind) for name, kind in constants.items()},
        {**predicates, **dict.fromkeys(types.guards.values(), (_ROOT,)), done.predicate: ()},
        {action.name: action for action in (*actions, finish)},
        derived=tuple(map(types.rule, domain.derived)),
    )
    guarded = {
        (guard, name) for kind, guard in types.guards.items() for name in types.objects[kind]
    }
    objects = {name: types.name(kind) for name, kind in problem.objects.items()}
    return Problem(problem.name, bare, objects, problem.init | guarded, done, ())


def without_words(
    texts: Sequence[str], words: Iterable[str]
) -> tuple[Sequence[str], Callable[[str], str]]:
    """Our own texts with other names for those that a planner reserves, and the way back."""
    fresh = {}
    for word in words:
        names = (f'{word}-{place}' for place in count())
        fresh[word] = next(name for name in names if not any(name in text for text in texts))
        texts = [_replaced(text, word, fresh[word]) for text in texts]

    def back(text: str) -> str:
        for word, name in fresh.items():
            text = _replaced(text, name, word)
        return text

    return texts, back


def _replaced(text: str, old: str, new: str) -> str:
    return re.sub(rf'(?<![\w@?-]){re.escape(old)}(?![\w-])', new, text)


def _uses(problem: Problem, done: AtomFormula) -> list[Action]:
    """An action for each derived predicate: the translator keeps only what some action needs."""
    found: list[Action] = []
    for head in sorted(problem.domain.derived_predicates()):
        name = _fresh('use', {*problem.domain.actions, *(action.name for action in found)})
        count = len(problem.domain.predicates[head])
        variables = tuple((f'?x{place}', _ROOT) for place in range(count))
        needed = AtomFormula(head, tuple(variable for variable, _ in variables))
        found.append(Action(name, variables, needed, (_adding(done),)))
    return found


def _adding(atom: AtomFormula) -> Effect:
    return Effect((), And(()), (atom,), ())


def _fresh(name: str, taken: Iterable[str]) -> str:
    known = set(taken)
    while name in known:
        name += '-'
    return name


class _Types:
    """Writes types as plain ones, with static atoms as guards where that is not enough.

    Attributes:
        objects: the objects of every type, as we read it.
        guards: the static predicate of each type that needs one.
    """

    def __init__(self, problem: Problem) -> None:
        self._domain = problem.domain
        self._own = _fresh(_ROOT, {_ROOT, *problem.domain.types})
        self.objects = problem.objects_by_type()
        self.guards: dict[str, str] = {}
        members: dict[str, list[str]] = {}
        for name, declared in problem.objects.items():
            for kind in self._ancestors(declared):
                members.setdefault(kind, []).append(name)
        taken = set(problem.domain.predicates)
        for kind in self._used():
            if set(self.objects[kind]) != set(members.get(kind, ())):
                self.guards[kind] = guard = _fresh('is-typed', taken)
                taken.add(guard)

    def name(self, kind: str) -> str:
        """The plain type that stands for a type."""
        if kind not in self._domain.types:
            return _ROOT
        return self._own if kind == _ROOT else kind

    def parent(self, kind: str) -> str:
        """The plain type above a declared one."""
        parent = self._domain.types[kind]
        return _ROOT if parent == kind else self.name(parent)

    def _ancestors(self, kind: str) -> Iterator[str]:
        """A type and those above it, as far as each is a plain one."""
        types = self._domain.types
        while kind in types:
            yield kind
            if types[kind] == kind:
                return
            kind = types[kind]
        if _ROOT not in types:
            yield _ROOT

    def _used(self) -> list[str]:
        """Every type that some variable has."""
        found: dict[str, None] = {}
        lists = [rule.variables for rule in self._domain.derived]
        lists += [each for rule in self._domain.derived for each in quantified(rule.body)]
        found.update((kind, None) for variables in lists for _, kind in variables)
        for action in self._domain.actions.values():
            lists = [action.parameters, *quantified(action.precondition)]
            for effect in action.effects:
                lists += [effect.variables, *quantified(effect.condition)]
            found.update((kind, None) for variables in lists for _, kind in variables)
        return list(found)

    def action(self, action: Action) -> Action:
        """An action with plain types."""
        condition = self._guarded(action.parameters, self.formula(action.precondition))
        effects = tuple(
            replace(
                effect,
                variables=self._variables(effect.variables),
                condition=self._guarded(effect.variables, self.formula(effect.condition)),
            )
            for effect in action.effects
        )
        return Action(action.name, self._variables(action.parameters), condition, effects)

    def rule(self, rule: DerivedRule) -> DerivedRule:
        """A rule of a derived predicate with plain types."""
        body = self._guarded(rule.variables, self.formula(self._unrolled(rule.body, True)))
        return DerivedRule(rule.predicate, self._variables(rule.variables), body)

    def _unrolled(self, formula: Formula, positive: bool) -> Formula:
        """A formula without `forall` around derived atoms.

        The translator makes a separate predicate for a negation, and would find a negation in the
        circle of a rule that needs its own predicate.
        """
        if isinstance(formula, Not):
            return Not(self._unrolled(formula.body, not positive))
        if isinstance(formula, Imply):
            premise = self._unrolled(formula.premise, not positive)
            return Imply(premise, self._unrolled(formula.conclusion, positive))
        if isinstance(formula, (Forall, Exists)) and isinstance(formula, Forall) == positive:
            names = {each.predicate for each in walk(formula) if isinstance(each, AtomFormula)}
            if not names.isdisjoint(self._domain.derived_predicates()):
                parts = tuple(
                    self._unrolled(substitute(formula.body, binding), positive)
                    for binding in bindings(formula.variables, self.objects)
                )
                return And(parts) if positive else Or(parts)
        return with_subformulas(formula, lambda part: self._unrolled(part, positive))

    def formula(self, formula: Formula) -> Formula:
        """A formula with plain types."""
        if isinstance(formula, Exists):
            body = self._guarded(formula.variables, self.formula(formula.body))
            return Exists(self._variables(formula.variables), body)
        if isinstance(formula, Forall):
            guards = self._guards(formula.variables)
            body = self.formula(formula.body)
            return Forall(
                self._variables(formula.variables), Imply(And(guards), body) if guards else body
            )
        return with_subformulas(formula, self.formula)

    def _variables(self, variables: Variables) -> Variables:
        return tuple(
            (name, _ROOT if kind in self.guards else self.name(kind)) for name, kind in variables
        )

    def _guards(self, variables: Variables) -> tuple[AtomFormula, ...]:
        return tuple(
            AtomFormula(self.guards[kind], (name,))
            for name, kind in variables
            if kind in self.guards
        )

    def _guarded(self, variables: Variables, formula: Formula) -> Formula:
        guards = self._guards(variables)
        return And((*guards, formula)) if guards else formula
