# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Ground actions and their effects on states.

Actions are grounded one at a time, when a plan names them: checking a plan never grounds the task.
Only search asks for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from operator import itemgetter
from typing import TypeVar

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.pddl.bits import (
    FALSE,
    TRUE,
    AtomTable,
    Closure,
    Condition,
    Literals,
    Numeric,
    Test,
    compile_test,
    condition,
    is_total,
    join,
)
from safegen_ros.pddl.diagnostics import suggestion
from safegen_ros.pddl.expressions import bound, bound_atom
from safegen_ros.pddl.formulas import bindings, substitute
from safegen_ros.pddl.limits import MAX_ACTION_SIZE, action_size, binding_count
from safegen_ros.pddl.model import (
    Action,
    And,
    AtomFormula,
    Comparison,
    Effect,
    Formula,
    Not,
    NumericEffect,
    Problem,
    conjuncts,
    functions_of,
    terms_of,
    walk,
)
from safegen_ros.pddl.numbers import WIDTH, Changes
from safegen_ros.pddl.plan import Step
from safegen_ros.pddl.pruning import fitting
from safegen_ros.pddl.writer import formula_text, names_text

MAX_KEPT_SIZE = 2_000_000
"""Most connectives and atoms of all ground actions that are kept together."""

_Effects = tuple[tuple[Test, int, int], ...]


# Never changed: a frozen dataclass takes ten times as long to make.
@dataclass(slots=True, eq=False)
class GroundAction:
    """An action with its objects; atoms are bits of the grounder's table.

    Attributes:
        step: how a plan writes it.
        precondition: what must hold.
        care: the atoms in the literals of the precondition.
        want: those of them that must be true; the others must be false.
        rest: what else the precondition asks for, or None.
        add: atoms made true whatever the state.
        delete: atoms made false whatever the state; an atom that is in both becomes true.
        conditional: `(test, add, delete)` for effects with a condition, all tested before the
            action; an atom that one of them adds becomes true.
        conditions: the conditions of those tests.
    """

    step: Step
    precondition: Condition
    care: int
    want: int
    rest: Test | None
    add: int
    delete: int
    conditional: _Effects
    conditions: tuple[Condition, ...]

    def applicable(self, state: int) -> bool:
        """Whether the precondition holds."""
        return state & self.care == self.want and (self.rest is None or self.rest(state))

    def apply(self, state: int) -> int:
        """The state after the action; the precondition is not looked at."""
        add, delete = self.add, self.delete
        for test, more, less in self.conditional:
            if test(state):
                add |= more
                delete |= less
        return (state & ~delete) | add


@dataclass(slots=True, eq=False)
class DerivingAction(GroundAction):
    """An action of a domain with derived predicates, which it derives again."""

    closure: Closure

    def apply(self, state: int) -> int:
        """The state after the action, derived atoms included."""
        # Not super(): a dataclass with slots is another class than the one that was written.
        after = GroundAction.apply(self, state)
        return self.closure(after) if (state ^ after) & self.closure.support else after


@dataclass(slots=True, eq=False)
class NumericAction(GroundAction):
    """An action that changes numbers; it does not apply where they cannot be changed.

    Attributes:
        changes: its effect on them.
        closure: of a domain with derived predicates, which do not depend on numbers.
    """

    changes: Changes
    closure: Closure | None

    def applicable(self, state: int) -> bool:
        """Whether the precondition holds and every number has a value afterwards."""
        return GroundAction.applicable(self, state) and not self.changes.trouble(state)

    def apply(self, state: int) -> int:
        """The state after the action; the precondition is not looked at.

        Raises:
            NoNumber: a number cannot be changed.
        """
        after = GroundAction.apply(self, state) >> WIDTH << WIDTH | self.changes.after(state)
        return after if self.closure is None else self.closure(after)


_Template = tuple[str, Callable[[tuple[str, ...]], tuple[str, ...]]]
"""A predicate, and how its arguments come from those of the action and the constants."""

_Asked = tuple[Formula, Condition]
"""A ground part of a precondition that is more than a literal."""

_Part = TypeVar('_Part')


class _Schema:
    """An action schema, prepared so that grounding it takes a few look-ups per atom."""

    def __init__(self, schema: Action, table: AtomTable, most: int) -> None:
        self.schema = schema
        self._table, self._most = table, most
        self._names = tuple(name for name, _ in schema.parameters)
        self._constants: list[str] = []
        self._plain: list[tuple[bool, _Template]] = []
        self._others: list[Callable[[Sequence[str]], _Asked]] = []
        self._parts: list[tuple[bool, _Template] | Callable[[Sequence[str]], _Asked]] = []
        for part in conjuncts(schema.precondition):
            atom = part.body if isinstance(part, Not) else part
            if isinstance(atom, AtomFormula):
                self._plain.append((atom is part, self._template(atom)))
                self._parts.append(self._plain[-1])
                continue
            self._others.append(self._shared([part], partial(self._asked, part)))
            self._parts.append(self._others[-1])
        direct: list[Effect] = []
        self._effects: list[Effect] = []
        for effect in schema.effects:
            plain = not effect.variables and effect.condition == And(())
            (direct if plain else self._effects).append(effect)
        self._add = [self._template(atom) for effect in direct for atom in effect.add]
        self._delete = [self._template(atom) for effect in direct for atom in effect.delete]
        kept = table.numbers.functions if table.numbers is not None else ()
        self._numeric = [each for each in schema.numeric if each.target.predicate in kept]
        read = [f for e in self._numeric for f in (e.condition, e.target, *functions_of(e.value))]
        self._changes = self._shared(read, self._changes_of)
        self._tail = tuple(self._constants)
        # An effect whose condition has no truth value must not pass for one that does not happen.
        effects: list[Effect | NumericEffect] = [*self._effects, *self._numeric]
        self.guards = [
            (each.variables, each.condition)
            for each in effects
            if any(isinstance(part, Comparison) for part in walk(each.condition))
        ]

    def _template(self, atom: AtomFormula) -> _Template:
        places = []
        for term in atom.terms:
            if term in self._names:
                places.append(self._names.index(term))
            else:
                self._constants.append(term)
                places.append(len(self._names) + len(self._constants) - 1)
        if not places:
            return atom.predicate, lambda values: ()
        if len(places) == 1:
            place = places[0]
            return atom.predicate, lambda values: (values[place],)
        return atom.predicate, itemgetter(*places)

    def ground(self, step: Step) -> GroundAction:
        """The action of a step that has been checked."""
        table, values = self._table, step.arguments + self._tail
        binding = dict(zip(self._names, step.arguments, strict=True))
        needed = self._precondition(values)
        if self.guards:
            needed = join((needed, *self._decided(binding)), True)
        plain, rest = _split(needed)
        add, delete = self._mask(self._add, values), self._mask(self._delete, values)
        conditional, conditions = [], []
        for effect in self._effects:
            for when, more, less in self._effect(effect, binding):
                if when == TRUE:
                    add |= more
                    delete |= less
                elif when != FALSE:
                    conditional.append((compile_test(when), more, less))
                    conditions.append(when)
        parts = (
            step, needed, plain.mask, plain.true, rest, add, delete, tuple(conditional),
            tuple(conditions),
        )  # fmt: skip
        changes = self._changes(step.arguments) if self._numeric else None
        if changes is not None:
            return NumericAction(*parts, changes, table.closure)
        return (
            GroundAction(*parts) if table.closure is None else DerivingAction(*parts, table.closure)
        )

    def unmet(self, action: GroundAction, state: int) -> list[tuple[str, Formula | None]]:
        """The parts of the precondition that fail, as PDDL; without formulas of literals."""
        table, values = self._table, action.step.arguments + self._tail
        found: list[tuple[str, Formula | None]] = []
        for part in self._parts:
            if callable(part):
                formula, needed = part(values)
                if not compile_test(needed)(state):
                    found.append((formula_text(formula), formula))
                continue
            positive, (predicate, arguments) = part
            atom = (predicate, *arguments(values))
            if predicate in table.fluents:
                holds = bool(state & table.bit(atom))
            else:
                holds = table.initially(atom)
            if holds != positive:
                text = f'({" ".join(atom)})'
                found.append((text if positive else f'(not {text})', None))
        return found

    def _shared(
        self, formulas: Iterable[Formula], work: Callable[[dict[str, str]], _Part]
    ) -> Callable[[Sequence[str]], _Part]:
        """What formulas make of a step, worked out once for the objects that they name."""
        terms = {term for each in formulas for part in walk(each) for term in terms_of(part)}
        used = [(at, name) for at, name in enumerate(self._names) if name in terms]

        @lru_cache(self._most)
        def of(*objects: str) -> _Part:
            return work({name: each for (_, name), each in zip(used, objects, strict=True)})

        return lambda arguments: of(*[arguments[at] for at, _ in used])

    def _asked(self, part: Formula, binding: dict[str, str]) -> _Asked:
        return substitute(part, binding), condition(part, self._table, binding)

    def _precondition(self, values: tuple[str, ...]) -> Condition:
        table = self._table
        true = false = 0
        for positive, (predicate, arguments) in self._plain:
            atom = (predicate, *arguments(values))
            if predicate not in table.fluents:
                if table.initially(atom) != positive:
                    return FALSE
            elif positive:
                true |= table.bit(atom)
            else:
                false |= table.bit(atom)
        plain = FALSE if true & false else Literals(True, true, false)
        if not self._others:
            return plain
        return join((plain, *[part(values)[1] for part in self._others]), True)

    def _decided(self, binding: Mapping[str, str]) -> list[Condition]:
        """That each condition of an effect holds, or its negation does."""
        table, found = self._table, []
        for variables, formula in self.guards:
            for inner in fitting(variables, formula, True, table.objects, table, binding):
                full = {**binding, **inner}
                when = condition(formula, table, full)
                if not is_total(when):
                    found.append(join((when, condition(formula, table, full, False)), False))
        return found

    def _changes_of(self, binding: dict[str, str]) -> Changes | None:
        found: list[tuple[Test | None, NumericEffect]] = []
        for effect in self._numeric:
            asked, objects = effect.condition, self._table.objects
            for inner in fitting(effect.variables, asked, True, objects, self._table, binding):
                full = {**binding, **inner}
                when = condition(asked, self._table, full)
                if when != FALSE:
                    test = None if when == TRUE else compile_test(when)
                    found.append((test, _bound(effect, full)))
        numbers = self._table.numbers
        return None if numbers is None else Changes(numbers, found)

    def _mask(self, templates: list[_Template], values: tuple[str, ...]) -> int:
        mask = 0
        for predicate, arguments in templates:
            mask |= self._table.bit((predicate, *arguments(values)))
        return mask

    def _effect(
        self, effect: Effect, binding: Mapping[str, str]
    ) -> list[tuple[Condition, int, int]]:
        table, found = self._table, []
        when, objects = effect.condition, table.objects
        for inner in fitting(effect.variables, when, True, objects, table, binding):
            full = {**binding, **inner}
            more = table.mask(bound_atom(atom, full) for atom in effect.add)
            less = table.mask(bound_atom(atom, full) for atom in effect.delete)
            found.append((condition(effect.condition, table, full), more, less))
        return found


class Grounder:
    """Grounds the actions of one problem on demand and remembers them.

    Args:
        problem: the problem.
        table: the bits of its atoms; shared with the monitors of the same states.
    """

    def __init__(self, problem: Problem, table: AtomTable | None = None) -> None:
        self.problem = problem
        self.table = AtomTable(problem) if table is None else table
        objects = self.table.objects
        schemas = problem.domain.actions
        self._schemas: dict[str, _Schema] = {}  # a domain may have thousands of actions
        self._sizes = {
            name: action_size(schema, objects, self.table) for name, schema in schemas.items()
        }
        self._most = MAX_KEPT_SIZE // max(self._sizes.values(), default=1) + 1
        self._kept: dict[Step, GroundAction] = {}
        self._checked: set[Step] = set()

    def action(self, step: Step) -> GroundAction:
        """The ground action that a step names.

        Raises:
            KeyError: as `check`.
            ValueError: as `check`.
        """
        found = self._kept.get(step)
        if found is None:
            self.check(step)
            found = self.ground(step)
            if len(self._kept) >= self._most:
                self._kept.clear()
            self._kept[step] = found
        return found

    def ground(self, step: Step) -> GroundAction:
        """The ground action of a step that is known to be one of the problem's; it is not kept.

        Raises:
            SafegenError: it is too large; the reader counts what does not change as known.
        """
        if self._sizes[step.action] > MAX_ACTION_SIZE:
            raise SafegenError(
                f'action {step.action} is too large where any atom may change: use fewer '
                'quantified variables or fewer objects',
                ErrorCode.TASK_TOO_LARGE,
            )
        return self._schema(step.action).ground(step)

    def _schema(self, name: str) -> _Schema:
        schema = self._schemas.get(name)
        if schema is None:
            action = self.problem.domain.actions[name]
            schema = self._schemas[name] = _Schema(action, self.table, self._most)
        return schema

    def unknown(self, steps: Sequence[Step], first: int) -> list[int]:
        """The indices, from one on, of steps that are not remembered as actions of the problem."""
        checked = self._checked
        rest = () if checked.issuperset(steps[first:]) else range(first, len(steps))
        return [index for index in rest if steps[index] not in checked]

    def check(self, step: Step) -> None:
        """Checks that a step names an action of the problem, without grounding it.

        Raises:
            KeyError: there is no such action.
            ValueError: wrong number of arguments, an unknown object, or one of a wrong type; the
                message says which.
        """
        parameters = self.problem.domain.actions[step.action].parameters
        if len(step.arguments) != len(parameters):
            raise ValueError(
                f'{step.action} takes {len(parameters)} arguments '
                f'({" ".join(name for name, _ in parameters)}), found {len(step.arguments)}'
            )
        for argument, (name, kind) in zip(step.arguments, parameters, strict=True):
            actual = self.problem.objects.get(argument)
            if actual is None:
                raise ValueError(
                    f'object {argument[:40]!r} is not declared '
                    f'({suggestion(argument, self.problem.objects)}'
                    f'declared: {names_text(self.problem.objects)})'
                )
            if actual != kind and not self.problem.domain.is_subtype(actual, kind):
                raise ValueError(f'{argument!r} is of type {actual}, but {name} takes {kind}')
        if len(self._checked) >= self._most:
            self._checked.clear()
        self._checked.add(step)

    def lacking(self, action: GroundAction, state: int) -> tuple[tuple[str, ...], str]:
        """What an action lacks where it does not apply.

        Returns:
            The parts of its precondition that do not hold, as PDDL, in the domain's order; and the
            numbers in words, empty where there are none.
        """
        schema = self._schema(action.step.action)
        unmet = schema.unmet(action, state)
        texts = tuple([text for text, _ in unmet])
        if self.table.numbers is None:
            return texts, ''
        formulas = [formula for _, formula in unmet if formula is not None]
        if not unmet:
            binding = _binding(schema.schema, action.step)
            formulas = [substitute(guard, binding) for _, guard in schema.guards]
        told = [self.table.told(formulas, state)] if formulas else []
        if isinstance(action, NumericAction):
            told.append(action.changes.trouble(state))
        return texts, ', '.join(filter(None, told))

    def all_actions(self) -> list[GroundAction]:
        """Every ground action whose precondition is not false in itself, in a fixed order.

        An atom that no action changes is as the initial state has it; this leaves out most
        combinations of objects before any search.

        Raises:
            SafegenError: there are too many to try.
        """
        schemas, objects = self.problem.domain.actions.values(), self.table.objects
        sizes = [binding_count(s.parameters, objects) * self._sizes[s.name] for s in schemas]
        if sum(sizes) > MAX_KEPT_SIZE:
            raise SafegenError(
                f'problem {self.problem.name} has too many ground actions to search: '
                'use fewer objects, or actions with fewer parameters',
                ErrorCode.TASK_TOO_LARGE,
            )
        return [
            action
            for schema in schemas
            for binding in bindings(schema.parameters, objects)
            if (action := self.action(Step(schema.name, tuple(binding.values())))).precondition
            != FALSE
        ]


def _split(needed: Condition) -> tuple[Literals, Test | None]:
    """The literals that must all hold, and a test of the other conditions."""
    if isinstance(needed, Literals):
        return (needed, None) if needed.conjunctive else (TRUE, compile_test(needed))
    if isinstance(needed, Numeric):
        return TRUE, needed.test
    first = needed.parts[0]
    if needed.conjunctive and isinstance(first, Literals) and first.conjunctive:
        return first, compile_test(join(needed.parts[1:], True))
    return TRUE, compile_test(needed)


def _binding(schema: Action, step: Step) -> dict[str, str]:
    return dict(zip((name for name, _ in schema.parameters), step.arguments, strict=True))


def _bound(effect: NumericEffect, binding: Mapping[str, str]) -> NumericEffect:
    name, *terms = bound_atom(effect.target, binding)
    target = AtomFormula(name, tuple(terms))
    return replace(effect, target=target, value=bound(effect.value, binding))


def goal_tests(problem: Problem, table: AtomTable) -> list[tuple[Formula, Test]]:
    """The goal's conjuncts, each with its test."""
    return [(part, compile_test(condition(part, table))) for part in problem.goal_conjuncts()]
