# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads what changes and what is at first: effects, costs and the initial state.

Costs say nothing about which plans are valid. Read are `(:functions ...)`, `(increase (total-cost)
...)`, the values in `:init` and the `:metric`; whatever else is done with numbers is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

from safegen_ros.pddl.diagnostics import suggestion
from safegen_ros.pddl.formulas import (
    CONNECTIVES,
    NUMERIC_EFFECTS,
    Scope,
    count_arguments,
    read_arguments,
    read_atom,
    read_formula,
    read_variables,
)
from safegen_ros.pddl.model import (
    DURATION,
    And,
    Arithmetic,
    Atom,
    AtomFormula,
    Cost,
    Domain,
    Effect,
    Expression,
    Formula,
    Metric,
    ObjectsByType,
    State,
    Variables,
    conjuncts,
)
from safegen_ros.pddl.sexpr import Group, Node, Reader
from safegen_ros.pddl.typed_lists import read_typed_list


def read_effect(
    scope: Scope, parent: Group, index: int
) -> tuple[tuple[Effect, ...], tuple[Cost, ...]]:
    """Reads an action's effect and its costs; `when` and `forall` may be nested.

    Raises:
        PddlError: an undeclared name, a wrong number or type of arguments, a numeric effect; what
            is wrong inside an `and` is noted, and the rest of it read.
    """
    found = read_effects(scope, parent, index, (), And(()))
    effects = tuple(each for each in found if isinstance(each, Effect))
    return effects, tuple(each for each in found if isinstance(each, Cost))


def read_effects(
    scope: Scope, parent: Group, index: int, variables: Variables, when: Formula
) -> list[Effect | Cost]:
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
        return [Cost(variables, when, read_increase(scope, group))]
    if head == 'not':
        count_arguments(reader, group, 1)
        atom = read_atom(scope, reader.group(group, 1, 'an atom such as (on a b)'))
        return [Effect(variables, when, (), (atom,))]
    return [Effect(variables, when, (read_atom(scope, group),), ())]


_NUMBER = re.compile(r'[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d{1,2})?')
_ARITHMETIC = ('+', '-', '*', '/')
TOTAL_COST = 'total-cost'
TOTAL_TIME = 'total-time'  # of a plan; every problem has it


def is_number(item: Node) -> bool:
    """Whether an item is a number."""
    return isinstance(item, str) and _NUMBER.fullmatch(item) is not None


def read_number(reader: Reader, group: Group, index: int) -> Decimal:
    """A number."""
    text = reader.word(group, index, 'a number')
    if not is_number(text):
        raise reader.error_in(
            group, index, f'{text[:40]!r} is not a number', 'write a number such as 2.5'
        )
    return Decimal(text)


def read_function(scope: Scope, parent: Group, index: int) -> AtomFormula:
    """Reads the value of a function, such as `(distance ?a ?b)`.

    Raises:
        PddlError: a function that is not declared, or a wrong number or type of arguments.
    """
    reader, domain = scope.reader, scope.domain
    group = reader.group(parent, index, 'a cost such as (total-cost)')
    kinds = domain.functions.get(group.head)
    if kinds is None and group.items == (TOTAL_COST,):
        kinds = ()  # declared or not, as in Fast Downward
    if kinds is None:
        raise reader.error(
            group,
            f'function {group.head[:40]!r} is not declared in domain {domain.name[:40]}',
            f'{suggestion(group.head, domain.functions)}declare it in (:functions ...)',
        )
    return AtomFormula(group.head, read_arguments(scope, group, 'function', kinds))


def read_expression(scope: Scope, parent: Group, index: int) -> Expression:
    """Reads a number, the value of a function, or sums and the like of those."""
    item = parent.items[index]
    if is_number(item):
        return read_number(scope.reader, parent, index)
    if item == '?duration' and item in scope.domain.functions:  # inside a durative action
        return DURATION
    if isinstance(item, Group) and item.head in _ARITHMETIC and len(item.items) > 1:
        inner = range(1, len(item.items))
        return Arithmetic(item.head, tuple(read_expression(scope, item, i) for i in inner))
    return read_function(scope, parent, index)


def read_increase(scope: Scope, group: Group) -> Expression:
    """What a numeric effect adds to the cost of the plan; any other numeric effect is refused."""
    target = group.items[1] if len(group.items) > 1 else None
    if group.head != 'increase' or not isinstance(target, Group) or target.head != TOTAL_COST:
        raise scope.reader.unsupported(
            group,
            f'the numeric effect {group.head!r}',
            f'leave it out; of numbers only (increase ({TOTAL_COST}) ...) is read',
        )
    count_arguments(scope.reader, group, 2)
    read_function(scope, group, 1)
    return read_expression(scope, group, 2)


def read_functions(reader: Reader, domain: Domain, section: Group) -> Mapping[str, tuple[str, ...]]:
    """The functions of a domain, with the types of their arguments.

    Raises:
        PddlError: a name twice, an undeclared type, or a function with objects for values.
    """
    functions: dict[str, tuple[str, ...]] = {}
    index = 1
    while index < len(section.items):
        if functions and section.items[index] == '-' and index + 1 < len(section.items):
            kind = reader.word(section, index + 1, 'number')
            if kind != 'number':
                raise reader.unsupported(
                    reader.locate(section, index + 1),
                    f'a function with values of type {kind[:40]}',
                    'use a predicate',
                )
            index += 2
            continue
        group = reader.group(section, index, 'a function such as (total-cost)')
        if not group.items:
            raise reader.error(group, 'an empty function declaration', 'remove it')
        name = reader.name(group, 0, 'a function')
        if name in functions:
            raise reader.error(group, f'function {name[:40]!r} is declared twice', 'remove one')
        typed = read_typed_list(reader, group, 1, 'place', domain.types)
        functions[name] = tuple(kind for _, kind in typed)
        index += 1
    return functions


def read_metric(scope: Scope, section: Group) -> Metric:
    """Reads a `(:metric minimize ...)`, which ranks plans that are valid without it.

    Raises:
        PddlError: it counts broken preferences, or has an undeclared name in it.
    """
    reader, items = scope.reader, section.items
    if len(items) != 3 or items[1] not in ('minimize', 'maximize'):
        raise reader.error(
            section, 'expected (:metric minimize ...)', f'write (:metric minimize ({TOTAL_COST}))'
        )
    _refuse_violations(reader, section)
    direction = str(items[1])
    if items[2] == TOTAL_TIME:
        return Metric(direction, AtomFormula(TOTAL_TIME, ()))
    functions = {TOTAL_TIME: (), **scope.domain.functions}
    timed = replace(scope, domain=replace(scope.domain, functions=functions))
    return Metric(direction, read_expression(timed, section, 2))


def _refuse_violations(reader: Reader, group: Group) -> None:
    if group.head == 'is-violated':
        raise reader.unsupported(group, 'a metric over preferences', 'state what must hold')
    for item in group.items:
        if isinstance(item, Group):
            _refuse_violations(reader, item)


def read_initial(
    scope: Scope, section: Group, objects: ObjectsByType
) -> tuple[State, dict[Atom, Decimal]]:
    """The atoms of an `(:init ...)`, most of a large problem, and the values of functions.

    What is wrong in one is noted, and the rest read.
    """
    predicates = scope.domain.predicates
    kinds = {kind for wanted in predicates.values() for kind in wanted}
    members = {kind: frozenset(objects[kind]) for kind in kinds}
    taken = {head: [members[kind] for kind in wanted] for head, wanted in predicates.items()}
    atoms: set[Atom] = set()
    values: dict[Atom, Decimal] = {}
    denied: dict[Atom, Group] = {}  # closed world: an atom that is not stated is false
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
        scope.reader.attempt(_read_other, scope, section, index, denied, values)
    for both in denied.keys() & atoms:
        scope.reader.note(
            scope.reader.error(denied[both], 'an atom both true and false in :init', 'remove one')
        )
    return frozenset(atoms), values


def _read_other(
    scope: Scope,
    section: Group,
    index: int,
    denied: dict[Atom, Group],
    values: dict[Atom, Decimal],
) -> None:
    """Reads what is no plain atom of fitting objects, and mostly has to refuse it.

    Raises:
        PddlError: it is neither `(not ATOM)` nor the value of a cost.
    """
    reader = scope.reader
    group = reader.group(section, index, 'an atom such as (on a b)')
    head, declared = group.head, scope.domain.predicates
    if head == 'not':
        count_arguments(reader, group, 1)
        atom = read_atom(scope, reader.group(group, 1, 'an atom such as (on a b)'))
        denied[(atom.predicate, *atom.terms)] = group
    elif head == '=':
        count_arguments(reader, group, 2)
        function = read_function(scope, group, 1)
        value = read_number(reader, group, 2)
        if values.setdefault((function.predicate, *function.terms), value) != value:
            raise reader.error(group, f'{function.predicate} has two values', 'remove one')
    elif head == 'at' and len(group.items) == 3 and is_number(group.items[1]):
        raise reader.unsupported(
            group, 'a timed initial literal', 'state only what holds at the start in :init'
        )
    elif head in CONNECTIVES and head not in declared:
        raise reader.error(
            group, f'{head!r} in :init, which lists atoms', 'list the atoms one after the other'
        )
    else:
        read_atom(scope, group)
