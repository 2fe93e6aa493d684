# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads what changes and what is at first: effects and the initial state."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from safegen_ros.pddl.expressions import is_number, read_expression, read_function, read_number
from safegen_ros.pddl.facts import exact, value_of
from safegen_ros.pddl.formulas import (
    CONNECTIVES,
    NUMERIC_EFFECTS,
    read_atom,
    read_formula,
    read_variables,
)
from safegen_ros.pddl.model import (
    And,
    Atom,
    AtomFormula,
    Effect,
    Formula,
    Number,
    NumericEffect,
    ObjectsByType,
    State,
    TimedLiteral,
    Variables,
    conjuncts,
)
from safegen_ros.pddl.scope import Scope, count_arguments
from safegen_ros.pddl.sexpr import Group, Reader


def read_effect(
    scope: Scope, parent: Group, index: int
) -> tuple[tuple[Effect, ...], tuple[NumericEffect, ...]]:
    """Reads an action's effects on atoms and on numbers; `when` and `forall` may be nested.

    Raises:
        PddlError: an undeclared name, or a wrong number or type of arguments; an error inside an
            `and` is noted, and the rest of it read.
    """
    found = read_effects(scope, parent, index, (), And(()))
    effects = tuple(each for each in found if isinstance(each, Effect))
    return effects, tuple(each for each in found if isinstance(each, NumericEffect))


def read_effects(
    scope: Scope, parent: Group, index: int, variables: Variables, when: Formula
) -> list[Effect | NumericEffect]:
    """Reads an effect inside a `forall` of some variables and a `when`; raises as `read_effect`."""
    reader = scope.reader
    group = reader.group(parent, index, 'an effect')
    head = group.head
    if not group.items:
        return []
    if head == 'and':
        numbers = range(1, len(group.items))
        parts = (reader.attempt(read_effects, scope, group, i, variables, when) for i in numbers)
        return [effect for part in parts for effect in part or ()]
    if head == 'forall':
        count_arguments(reader, group, 2)
        inner = read_variables(scope, group, 1)
        # One effect has one list of variables, so an inner one may not hide an outer one.
        for name, _ in inner:
            if name in scope.variables:
                raise reader.error_in(
                    group, 1, f'variable {name[:40]!r} is bound already', 'rename it'
                )
        return read_effects(scope.bind(inner), group, 2, (*variables, *inner), when)
    if head == 'when':
        count_arguments(reader, group, 2)
        both = And((*conjuncts(when), *conjuncts(read_formula(scope, group, 1))))
        return read_effects(scope, group, 2, variables, both)
    if head in NUMERIC_EFFECTS and head not in scope.domain.predicates:
        count_arguments(reader, group, 2)
        target = read_function(scope, group, 1)
        value = read_expression(scope, group, 2)
        return [NumericEffect(variables, when, head, target, value)]
    if head == 'not':
        count_arguments(reader, group, 1)
        atom = _changed(scope, reader.group(group, 1, 'an atom such as (on a b)'))
        return [Effect(variables, when, (), (atom,))]
    return [Effect(variables, when, (_changed(scope, group),), ())]


def _changed(scope: Scope, group: Group) -> AtomFormula:
    """Reads an atom that an effect or the initial state states, which no derived one is."""
    atom = read_atom(scope, group)
    if atom.predicate in scope.domain.derived_predicates():
        raise scope.reader.error(
            group,
            f'predicate {atom.predicate[:40]!r} is derived, and nothing but its rules states it',
            'change the facts in its rules',
        )
    return atom


@dataclass
class Initial:
    """What an `(:init ...)` says.

    Attributes:
        atoms: which are true at first.
        values: of functions.
        denied: atoms that are said to be false, as all are that are not stated (closed world).
        timed: whether an atom is true from a time on [s].
    """

    atoms: State = frozenset()
    values: dict[Atom, Number] = field(default_factory=dict)
    denied: dict[Atom, Group] = field(default_factory=dict)
    timed: dict[tuple[Decimal, Atom], bool] = field(default_factory=dict)

    def literals(self) -> tuple[TimedLiteral, ...]:
        """The timed literals, the first ones first."""
        return tuple(TimedLiteral(*key, value) for key, value in sorted(self.timed.items()))


def read_initial(scope: Scope, section: Group, objects: ObjectsByType) -> Initial:
    """Reads an `(:init ...)`, most of a large problem.

    An error in one part is noted, and the rest read.
    """
    predicates = scope.domain.predicates
    kinds = {kind for wanted in predicates.values() for kind in wanted}
    members = {kind: frozenset(objects[kind]) for kind in kinds}
    derived = scope.domain.derived_predicates()
    taken = {
        head: [members[kind] for kind in wanted]
        for head, wanted in predicates.items()
        if head not in derived
    }
    atoms: set[Atom] = set()
    found = Initial()
    for index in range(1, len(section.items)):
        item = section.items[index]
        if isinstance(item, Group) and item.items:
            fitting = taken.get(item.head)
            if fitting is not None and len(fitting) == len(item.items) - 1:
                for name, names in zip(item.items[1:], fitting, strict=True):
                    if name not in names:
                        break
                else:
                    atoms.add(item.items)  # type: ignore[arg-type]  # a tuple, with words only
                    continue
        scope.reader.attempt(_read_other, scope, section, index, found)
    for both in found.denied.keys() & atoms:
        what = 'an atom both true and false in :init'
        scope.reader.note(scope.reader.error(found.denied[both], what, 'remove one'))
    found.atoms = frozenset(atoms)
    return found


def _read_value(reader: Reader, group: Group) -> Number:
    """The value in `(= FUNCTION VALUE)`; a state may hold a third, which we write `1/3`."""
    text = group.items[2]
    if isinstance(text, str) and '/' in text:
        try:
            return value_of(text)
        except ValueError as error:
            raise reader.error_in(group, 2, str(error), 'write a number such as 2.5') from None
    return exact(read_number(reader, group, 2))


def _read_other(scope: Scope, section: Group, index: int, found: Initial) -> None:
    """Reads what is not a plain atom of fitting objects, and mostly has to refuse it.

    Raises:
        PddlError: it is neither `(not ATOM)`, nor the value of a function, nor a timed literal.
    """
    reader = scope.reader
    group = reader.group(section, index, 'an atom such as (on a b)')
    head, declared = group.head, scope.domain.predicates
    if head == 'not':
        count_arguments(reader, group, 1)
        atom = _changed(scope, reader.group(group, 1, 'an atom such as (on a b)'))
        found.denied[(atom.predicate, *atom.terms)] = group
    elif head == '=':
        count_arguments(reader, group, 2)
        function = read_function(scope, group, 1)
        value = _read_value(reader, group)
        if found.values.setdefault((function.predicate, *function.terms), value) != value:
            raise reader.error(group, f'{function.predicate} has two values', 'remove one')
    elif head == 'at' and len(group.items) == 3 and is_number(group.items[1]):
        _read_timed(scope, group, found)
    elif head in CONNECTIVES and head not in declared:
        raise reader.error(
            group, f'{head!r} in :init, which lists atoms', 'list the atoms one after the other'
        )
    else:
        _changed(scope, group)


def _read_timed(scope: Scope, group: Group, found: Initial) -> None:
    """Reads `(at TIME ATOM)` or `(at TIME (not ATOM))`."""
    reader = scope.reader
    if not scope.domain.durative:
        raise reader.unsupported(
            group,
            'a timed initial literal in a domain without durative actions',
            'state only what holds at the start in :init, or write (:durative-action ...)',
        )
    time = read_number(reader, group, 1)
    if time < 0:
        raise reader.error_in(group, 1, f'{time} is before the start', 'write a time from 0 on')
    stated = reader.group(group, 2, 'an atom such as (open door), or (not (open door))')
    if stated.head == '=' and '=' not in scope.domain.predicates:
        raise reader.unsupported(
            group, 'a number that changes at a time', 'change it by an action, or not at all'
        )
    value = stated.head != 'not'
    if not value:
        count_arguments(reader, stated, 1)
        stated = reader.group(stated, 1, 'an atom such as (open door)')
    atom = _changed(scope, stated)
    if found.timed.setdefault((time.copy_abs(), (atom.predicate, *atom.terms)), value) != value:
        raise reader.error(group, f'an atom both true and false at {time}', 'remove one')
