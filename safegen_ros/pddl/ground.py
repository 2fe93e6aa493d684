# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Ground actions, their effects on states, and formulas compiled to predicates over states.

Actions are grounded one at a time, when a plan names them: checking a plan never grounds the task.
Only search asks for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.formulas import bindings, substitute
from safegen_ros.pddl.limits import Objects, action_size, binding_count
from safegen_ros.pddl.model import (
    And,
    Atom,
    AtomFormula,
    Effect,
    Equals,
    Forall,
    Formula,
    Imply,
    Not,
    Or,
    Problem,
    State,
    conjuncts,
)
from safegen_ros.pddl.plan import Step
from safegen_ros.pddl.writer import names_text

Test = Callable[[AbstractSet[Atom]], bool]
"""A formula without free variables as a function of a state."""

MAX_KEPT_SIZE = 2_000_000
"""Most connectives and atoms of all ground actions that are kept together."""


def compile_formula(
    formula: Formula, objects: Objects, binding: Mapping[str, str] = MappingProxyType({})
) -> Test:
    """Compiles a formula to a test on states.

    Args:
        formula: any formula.
        objects: the objects of every type, over which quantifiers range.
        binding: objects for the variables that are free in the formula.
    """
    if isinstance(formula, AtomFormula):
        atom = _atom(formula, binding)
        return lambda state: atom in state
    if isinstance(formula, Equals):
        equal = binding.get(formula.left, formula.left) == binding.get(formula.right, formula.right)
        return lambda state: equal
    if isinstance(formula, Not):
        body = compile_formula(formula.body, objects, binding)
        return lambda state: not body(state)
    if isinstance(formula, Imply):
        premise = compile_formula(formula.premise, objects, binding)
        conclusion = compile_formula(formula.conclusion, objects, binding)
        return lambda state: not premise(state) or conclusion(state)
    if isinstance(formula, (And, Or)):
        parts = [compile_formula(part, objects, binding) for part in formula.parts]
        return _all(parts) if isinstance(formula, And) else _any(parts)
    parts = [
        compile_formula(formula.body, objects, {**binding, **inner})
        for inner in bindings(formula.variables, objects)
    ]
    return _all(parts) if isinstance(formula, Forall) else _any(parts)


def _all(parts: list[Test]) -> Test:
    if len(parts) == 1:
        return parts[0]
    return lambda state: all(part(state) for part in parts)


def _any(parts: list[Test]) -> Test:
    if len(parts) == 1:
        return parts[0]
    return lambda state: any(part(state) for part in parts)


@dataclass(frozen=True, slots=True)
class GroundAction:
    """An action with its objects.

    Attributes:
        step: how a plan writes it.
        positive: atoms that must be true.
        negative: atoms that must be false.
        other: the rest of the precondition, each as formula and test.
        add: atoms made true whatever the state.
        delete: atoms made false whatever the state; an atom that is in both becomes true.
        conditional: `(test, add, delete)` for effects with a condition.
    """

    step: Step
    positive: State
    negative: State
    other: tuple[tuple[Formula, Test], ...]
    add: State
    delete: State
    conditional: tuple[tuple[Test, State, State], ...]

    def applicable(self, state: AbstractSet[Atom]) -> bool:
        """Whether the precondition holds."""
        return (
            self.positive <= state
            and self.negative.isdisjoint(state)
            and all(test(state) for _, test in self.other)
        )

    def apply(self, state: State) -> State:
        """The state after the action; the precondition is not looked at."""
        if not self.conditional:
            return (state - self.delete) | self.add
        fired = [effect for effect in self.conditional if effect[0](state)]
        delete = self.delete.union(*(effect[2] for effect in fired))
        return (state - delete).union(self.add, *(effect[1] for effect in fired))

    def unsatisfied(self, state: AbstractSet[Atom]) -> tuple[Formula, ...]:
        """The parts of the precondition that do not hold, in a fixed order."""
        missing = sorted(atom for atom in self.positive if atom not in state)
        wrong = sorted(atom for atom in self.negative if atom in state)
        return (
            *(AtomFormula(a[0], a[1:]) for a in missing),
            *(Not(AtomFormula(a[0], a[1:])) for a in wrong),
            *(formula for formula, test in self.other if not test(state)),
        )


class Grounder:
    """Grounds the actions of one problem on demand and remembers them."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._objects = problem.objects_by_type()
        schemas = problem.domain.actions.values()
        self._sizes = {schema.name: action_size(schema, self._objects) for schema in schemas}
        largest = max(self._sizes.values(), default=1)
        self._cached = lru_cache(maxsize=MAX_KEPT_SIZE // largest + 1)(self._ground)

    def action(self, step: Step) -> GroundAction:
        """The ground action that a step names.

        Raises:
            KeyError: as `check`.
            ValueError: as `check`.
        """
        return self._cached(step)

    def _ground(self, step: Step) -> GroundAction:
        self.check(step)
        schema = self.problem.domain.actions[step.action]
        names = (name for name, _ in schema.parameters)
        binding = dict(zip(names, step.arguments, strict=True))
        positive, negative, other = [], [], []
        for part in conjuncts(substitute(schema.precondition, binding)):
            if isinstance(part, AtomFormula):
                positive.append((part.predicate, *part.terms))
            elif isinstance(part, Not) and isinstance(part.body, AtomFormula):
                negative.append((part.body.predicate, *part.body.terms))
            else:
                other.append((part, compile_formula(part, self._objects)))
        add, delete, conditional = self._effects(schema.effects, binding)
        return GroundAction(
            step, frozenset(positive), frozenset(negative), tuple(other), add, delete, conditional
        )

    def check(self, step: Step) -> None:
        """Checks that a step names an action of the problem, without grounding it.

        Raises:
            KeyError: there is no such action.
            ValueError: wrong number of arguments, an unknown object, or one of a wrong type; the
                message says which.
        """
        schema = self.problem.domain.actions[step.action]
        wanted = len(schema.parameters)
        if len(step.arguments) != wanted:
            raise ValueError(
                f'{step.action} takes {wanted} arguments '
                f'({" ".join(name for name, _ in schema.parameters)}), found {len(step.arguments)}'
            )
        problem = self.problem
        for argument, (name, kind) in zip(step.arguments, schema.parameters, strict=True):
            actual = problem.objects.get(argument)
            if actual is None:
                raise ValueError(
                    f'object {argument[:40]!r} is not declared '
                    f'(declared: {names_text(problem.objects)})'
                )
            if not problem.domain.is_subtype(actual, kind):
                raise ValueError(f'{argument!r} is a {actual}, but {name} must be a {kind}')

    def _effects(
        self, effects: tuple[Effect, ...], binding: Mapping[str, str]
    ) -> tuple[State, State, tuple[tuple[Test, State, State], ...]]:
        always_add: set[Atom] = set()
        always_delete: set[Atom] = set()
        conditional: list[tuple[Test, State, State]] = []
        for effect in effects:
            for inner in bindings(effect.variables, self._objects):
                full = {**binding, **inner}
                add = frozenset(_atom(a, full) for a in effect.add)
                delete = frozenset(_atom(a, full) for a in effect.delete)
                condition = tuple(conjuncts(substitute(effect.condition, full)))
                if condition:
                    test = compile_formula(And(condition), self._objects)
                    conditional.append((test, add, delete))
                else:
                    always_add |= add
                    always_delete |= delete
        return frozenset(always_add), frozenset(always_delete), tuple(conditional)

    def all_actions(self) -> list[GroundAction]:
        """Every ground action whose static preconditions hold, in a fixed order.

        An atom is static when no action changes its predicate, so that it is as the initial state
        has it; this leaves out most combinations of objects before any search.

        Raises:
            SafegenError: there are too many to try.
        """
        schemas = self.problem.domain.actions.values()
        sizes = [binding_count(s.parameters, self._objects) * self._sizes[s.name] for s in schemas]
        if sum(sizes) > MAX_KEPT_SIZE:
            raise SafegenError(
                f'problem {self.problem.name} has too many ground actions to search: '
                'use fewer objects, or actions with fewer parameters',
                ErrorCode.TASK_TOO_LARGE,
            )
        fluents = {
            atom.predicate
            for schema in self.problem.domain.actions.values()
            for effect in schema.effects
            for atom in (*effect.add, *effect.delete)
        }
        init = self.problem.init
        found = []
        for schema in self.problem.domain.actions.values():
            for binding in bindings(schema.parameters, self._objects):
                action = self.action(Step(schema.name, tuple(binding.values())))
                static = {a for a in action.positive if a[0] not in fluents}
                barred = {a for a in action.negative if a[0] not in fluents}
                if static <= init and barred.isdisjoint(init):
                    found.append(action)
        return found


def _atom(formula: AtomFormula, binding: Mapping[str, str]) -> Atom:
    return (formula.predicate, *(binding.get(term, term) for term in formula.terms))


def goal_tests(problem: Problem) -> list[tuple[Formula, Test]]:
    """The goal's conjuncts, each with its test."""
    objects = problem.objects_by_type()
    return [(part, compile_formula(part, objects)) for part in problem.goal_conjuncts()]
