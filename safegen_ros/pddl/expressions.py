# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads numbers: the functions of a domain, expressions over them and the metric."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from decimal import Decimal
from math import inf

from safegen_ros.errors import ErrorCode
from safegen_ros.pddl.diagnostics import Remark, suggestion
from safegen_ros.pddl.model import (
    ANY_OF,
    DURATION,
    Arithmetic,
    Atom,
    AtomFormula,
    Domain,
    Expression,
    Metric,
)
from safegen_ros.pddl.scope import Scope, read_arguments
from safegen_ros.pddl.sexpr import Group, Node, Reader, is_name
from safegen_ros.pddl.typed_lists import read_typed_list, remark

_NUMBER = re.compile(r'[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d{1,2})?')
_LONGEST = 60  # characters of a number
_ARITHMETIC = {
    '+': (2, inf, '2 or more'), '-': (1, 2, '1 or 2'), '*': (2, inf, '2 or more'), '/': (2, 2, '2'),
}  # fmt: skip  # how many numbers each one takes; (- a b c) is not PDDL and has no single meaning
TOTAL_COST = 'total-cost'
TOTAL_TIME = 'total-time'  # of a plan; every problem has it
VIOLATED = 'is-violated'  # of a preference; how many of its instances are


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
    number = Decimal(text)
    length = max(len(text), len(f'{number:f}'))  # as it is written again
    if length > _LONGEST:
        raise reader.error_in(
            group,
            index,
            f'a number of {length:,} characters, more than {_LONGEST}',
            'round it',
            ErrorCode.TASK_TOO_LARGE,
        )
    return number


def read_function(scope: Scope, parent: Group, index: int, *, assume: bool = False) -> AtomFormula:
    """Reads the value of a function, such as `(distance ?a ?b)`.

    Args:
        scope: the names.
        parent: a list.
        index: where in it the value stands.
        assume: whether a function of a domain need not be declared.

    Raises:
        PddlError: a function that is not declared, or a wrong number or type of arguments.
    """
    reader, domain = scope.reader, scope.domain
    item, assumed = parent.items[index], reader.assumed
    if isinstance(item, str) and domain.functions.get(item) == ():
        if assumed is not None:
            assumed.called.add(item)
        return AtomFormula(item, ())  # PDDL2.1 lets a function without arguments stand bare
    if item == DURATION.predicate:
        raise reader.unsupported(
            reader.locate(parent, index),
            '?duration elsewhere than in :duration and effects',
            'write what the :duration says',
        )
    group = reader.group(parent, index, 'a function such as (total-cost)')
    kinds = domain.functions.get(group.head)
    if kinds is None and group.items == (TOTAL_COST,):
        kinds = ()  # declared or not, as in Fast Downward
    if assumed is not None:
        kinds = assumed.functions.get(group.head, kinds)
        if assume and (kinds is None or len(kinds) != len(group.items) - 1):
            kinds = _assumed(scope, group) or kinds
        assumed.called.add(group.head)
    if kinds is None:
        raise reader.error(
            group,
            f'function {group.head[:40]!r} is not declared in domain {domain.name[:40]}',
            f'{suggestion(group.head, domain.functions)}declare it in (:functions ...)',
        )
    return AtomFormula(group.head, read_arguments(scope, group, 'function', kinds))


def _assumed(scope: Scope, group: Group) -> tuple[str, ...] | None:
    """What a function of a domain takes that is not declared so; None for a slip of the pen.

    In a cost or a duration a function without a value has no result, which the verdict says.
    Comparisons, which decide, refuse it. One that is declared with another number of arguments is
    read as VAL and Fast Downward do, by its uses, where they all have the same number.
    """
    assumed, name, count = scope.reader.assumed, group.head, len(group.items) - 1
    if assumed is None or assumed.full or not is_name(name):
        return None
    declared = scope.domain.functions.get(name)
    if name in assumed.called if declared is not None else suggestion(name, scope.domain.functions):
        return None
    what, cure = f'function {name[:40]!r} is not declared', 'declare it in (:functions ...)'
    if declared is not None:
        what = f'function {name[:40]!r} is declared with {len(declared)} arguments, not {count}'
        cure = f'declare it with {count}'
    found = Remark('undeclared-function', name, f'{what}: it is read as one of objects', cure)
    remark(scope.reader, group, 0, found)
    kind = ANY_OF.join(sorted(scope.domain.types)) if 'object' in scope.domain.types else 'object'
    return assumed.functions.setdefault(name, (kind,) * (len(group.items) - 1))


def is_expression(item: Node, objects: Collection[str]) -> bool:
    """Whether an item of `=` is a number and not an object."""
    return isinstance(item, Group) or (is_number(item) and item not in objects)


def read_expression(scope: Scope, parent: Group, index: int) -> Expression:
    """Reads a number, the value of a function, or sums and the like of those."""
    item, reader = parent.items[index], scope.reader
    if is_number(item):
        return read_number(reader, parent, index)
    if item == '?duration' and item in scope.domain.functions:  # inside a durative action
        return DURATION
    if item == '#t':
        raise reader.unsupported(
            reader.locate(parent, index), 'a change that goes on with time', 'change it in a step'
        )
    if isinstance(item, Group) and item.head in _ARITHMETIC:
        least, most, wanted = _ARITHMETIC[item.head]
        found = len(item.items) - 1
        if not least <= found <= most:
            cure = 'add them' if found < least else 'join some of them by + or *'
            raise reader.error(item, f'{item.head!r} takes {wanted} numbers, found {found}', cure)
        parts = [read_expression(scope, item, i) for i in range(1, len(item.items))]
        return Arithmetic(item.head, tuple(parts))
    return read_function(scope, parent, index, assume=True)


def bound_atom(formula: AtomFormula, binding: Mapping[str, str]) -> Atom:
    """An atom with objects for its variables."""
    return (formula.predicate, *(binding.get(term, term) for term in formula.terms))


def bound(expression: Expression, binding: Mapping[str, str]) -> Expression:
    """The expression with variables replaced by objects."""
    if isinstance(expression, Arithmetic):
        parts = tuple(bound(part, binding) for part in expression.parts)
        return Arithmetic(expression.operator, parts)
    if isinstance(expression, AtomFormula):
        terms = tuple(binding.get(term, term) for term in expression.terms)
        return AtomFormula(expression.predicate, terms)
    return expression


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
                    f'an object fluent, a function with values of type {kind[:40]},',
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


def read_metric(scope: Scope, section: Group, wishes: Collection[str]) -> Metric:
    """Reads a `(:metric minimize ...)`, which ranks plans that are valid without it.

    Args:
        scope: of the problem.
        section: the section.
        wishes: the names of preferences, which it may count.

    Raises:
        PddlError: an undeclared name.
    """
    reader, items = scope.reader, section.items
    if len(items) != 3 or items[1] not in ('minimize', 'maximize'):
        raise reader.error(
            section, 'expected (:metric minimize ...)', f'write (:metric minimize ({TOTAL_COST}))'
        )
    direction = str(items[1])
    if items[2] == TOTAL_TIME:
        return Metric(direction, AtomFormula(TOTAL_TIME, ()))
    functions = {TOTAL_TIME: (), VIOLATED: ('object',), **scope.domain.functions}
    _check_violations(reader, section, wishes)
    # The name of a preference stands in the place of an object.
    names = dict.fromkeys(wishes, 'object')
    inner = Scope(reader, replace(scope.domain, functions=functions), {**scope.objects, **names})
    return Metric(direction, read_expression(inner, section, 2))


def _check_violations(reader: Reader, group: Group, wishes: Collection[str]) -> None:
    """Raises where `is-violated` names no preference."""
    if group.head == VIOLATED:
        name = reader.name(group, 1, 'a preference') if len(group.items) == 2 else ''
        if name not in wishes:
            known = (
                f'preferences are {" ".join(sorted(wishes)[:20])}' if wishes else 'there is none'
            )
            cure = f'{suggestion(name, wishes)}{known}'
            raise reader.error(group, f'{name[:40]!r} is not the name of a preference', cure)
    for item in group.items:
        if isinstance(item, Group):
            _check_violations(reader, item, wishes)
