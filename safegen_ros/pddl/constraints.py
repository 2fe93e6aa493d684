# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads the state-trajectory constraints of PDDL3.

The grammar is that of the field's validators: `and`, `forall` and the ten operators, around any
formulas. VAL drops a whole section in silence when anything else stands in it; here that is an
error, so that no constraint is ever left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from safegen_ros.errors import ErrorCode, PddlError
from safegen_ros.pddl.diagnostics import suggestion
from safegen_ros.pddl.formulas import (
    TRAJECTORY_OPERATORS,
    read_formula,
    read_variables,
)
from safegen_ros.pddl.model import (
    Constraint,
    ConstraintAnd,
    ConstraintForall,
    ConstraintTree,
    Exists,
    Forall,
    Variables,
    walk,
)
from safegen_ros.pddl.scope import Scope, count_arguments, read_wish
from safegen_ros.pddl.sexpr import Group, Reader
from safegen_ros.pddl.writer import variables_text

MAX_TIME = 1_000_000
"""Latest time that a constraint may name [steps]."""

_WISH = ConstraintAnd(())  # what a preference leaves behind in what must hold

_TIME = re.compile(r'\d{1,20}(\.\d{0,20})?|\.\d{1,20}')


def read_constraints(scope: Scope, parent: Group, index: int) -> ConstraintTree:
    """Reads a constraint that is an item of a list; nothing in it is ever skipped.

    Raises:
        PddlError: anything that is not `and`, `forall` or one of `TRAJECTORY_OPERATORS`; an error
            inside an `and` is noted, and the rest of it read.
    """
    reader = scope.reader
    group = reader.group(parent, index, 'a trajectory constraint')
    if not group.items:
        return ConstraintAnd(())
    head = group.head
    if head == 'and':
        return joined(scope, group)
    if head == 'forall':
        count_arguments(reader, group, 2)
        variables = read_variables(scope, group, 1)
        body = read_constraints(scope.bind(variables), group, 2)
        if body is _WISH:
            return body
        return ConstraintForall(variables, body, _place(reader, group))
    if read_wish(scope, group, read_constraints):
        return _WISH
    first = 1
    if head == 'at' and group.items[1:2] == ['end']:
        head, first = 'at end', 2
    if head not in TRAJECTORY_OPERATORS:
        raise _not_a_constraint(scope, group, head)
    return _read_operator(scope, group, head, first)


def joined(scope: Scope, group: Group) -> ConstraintTree:
    """Reads the constraints of an `and`, or of a `:constraints` that leaves it out.

    unified-planning and Kairos take several constraints in a section for ones that all must hold.
    """
    numbers = range(1, len(group.items))
    parts = [scope.reader.attempt(read_constraints, scope, group, i) for i in numbers]
    kept = tuple(part for part in parts if part is not None and part is not _WISH)
    if len(kept) == len(parts) or len(kept) > 1:
        return ConstraintAnd(kept)
    return kept[0] if kept else _WISH


def _read_operator(scope: Scope, group: Group, operator: str, first: int) -> Constraint:
    reader = scope.reader
    numbers, formulas = TRAJECTORY_OPERATORS[operator]
    found = len(group.items) - first
    if found != numbers + formulas:
        wanted = [_counted(numbers, 'number'), _counted(formulas, 'formula')]
        raise reader.error(
            group,
            f'{operator!r} takes {" and ".join(filter(None, wanted))}, found {found} arguments',
            f'write ({" ".join([operator, *["N"] * numbers, *["(...)"] * formulas])})',
        )
    exact = _read_times(scope, group, range(first, first + numbers))
    times = () if scope.domain.durative else _in_steps(exact, operator)
    window = times or exact
    if operator == 'hold-during' and window[0] >= window[1]:
        shown = ' '.join(map(str, group.items[first : first + numbers]))
        raise reader.error_in(
            group,
            first,
            f'the window {shown} holds no state of a plan, so that it asks for nothing',
            'a window A B holds the states from A until before B: write A below B, in '
            + ('seconds' if scope.domain.durative else 'whole steps'),
        )
    body = range(first + numbers, len(group.items))
    parts = [reader.attempt(read_formula, scope.hard(), group, i) for i in body]
    arguments = tuple(part for part in parts if part is not None)
    kept = () if times == exact else exact
    return Constraint(operator, arguments, times, place=_place(reader, group), exact=kept)


def _place(reader: Reader, group: Group) -> str:
    line, column = reader.place(group.start)
    return f'{reader.source}:{line}:{column}'


def _counted(count: int, what: str) -> str:
    return f'{count} {what}{"s" if count > 1 else ""}' if count else ''


def _in_steps(times: tuple[Decimal, ...], operator: str) -> tuple[int, ...]:
    """The numbers of a constraint in steps of a plan, whose states are at the times 0, 1, 2 ...

    A deadline that falls between two steps is met by the earlier one. A window [a, b), and what
    comes after a time, holds the states from the first one on that is not before it.
    """
    rounding = ROUND_FLOOR if 'within' in operator else ROUND_CEILING
    return tuple(int(time.to_integral_value(rounding)) for time in times)


def _read_times(scope: Scope, group: Group, places: range) -> tuple[Decimal, ...]:
    """The numbers of a constraint as they are written."""
    reader, unit = scope.reader, 'seconds' if scope.domain.durative else 'steps'
    found = []
    for place in places:
        text = reader.word(group, place, f'a number of {unit}')
        if not _TIME.fullmatch(text):
            raise reader.error_in(
                group,
                place,
                f'{text[:40]!r} is not a number of {unit}',
                'write a number such as 5, not below 0',
            )
        if Decimal(text) > MAX_TIME:
            raise reader.error_in(
                group,
                place,
                f'{text} {unit}, more than the limit of {MAX_TIME:,}',
                'use a smaller number',
                ErrorCode.TASK_TOO_LARGE,
            )
        found.append(Decimal(text))
    return tuple(found)


def _has_operator(group: Group) -> bool:
    """Whether a trajectory operator stands anywhere in a list."""
    return any(
        isinstance(each, Group) and (each.head in TRAJECTORY_OPERATORS or _has_operator(each))
        for each in group.items
    )


def _not_a_constraint(scope: Scope, group: Group, head: str) -> PddlError:
    """Why a list is not a constraint, and the likely intention."""
    reader = scope.reader
    if head in ('or', 'not', 'imply', 'exists') and _has_operator(group):
        cure = (
            'only and and forall join constraints; say it with one operator around formulas, such '
            'as sometime-before or always-within'
        )
    elif head in ('or', 'not', 'imply', 'exists'):
        cure = f'move {head!r} into the operator, as in (always ({head} ...))'
    elif head in ('at-end', 'atend'):
        cure = "did you mean 'at end', two words? write (at end (...))"
    elif head in scope.domain.predicates:
        cure = 'a formula needs an operator around it, such as (always (...)) or (sometime (...))'
    elif head in _TEMPORAL_LOGIC:
        cure = f'write {_TEMPORAL_LOGIC[head]}'
    elif not head:
        cure = 'join constraints with (and ...)'
    else:
        known = ('and', 'forall', *sorted(TRAJECTORY_OPERATORS))
        cure = f'{suggestion(head, known)}constraints are {" ".join(known)}'
    return reader.error(group, f'{head[:40] or "a list"!r} is not a trajectory constraint', cure)


_TEMPORAL_LOGIC = {
    'never': '(always (not ...))',
    **dict.fromkeys(('globally', 'henceforth'), '(always ...)'),
    **dict.fromkeys(('eventually', 'finally'), '(sometime ...)'),
}
"""Operators of temporal logic, with those of PDDL3."""

_EVERYWHERE = ('always', 'at end', 'hold-during', 'hold-after')
"""Operators of which one constraint for all objects says the same as one for each."""


def with_inner_quantifiers(tree: ConstraintTree) -> ConstraintTree:
    """The same constraints with each `forall` inside its operator, where that says the same.

    It leaves fewer constraints, which no longer name the object that breaks them.
    """
    if isinstance(tree, ConstraintAnd):
        return ConstraintAnd(tuple(map(with_inner_quantifiers, tree.parts)))
    if not isinstance(tree, ConstraintForall):
        return tree
    body = with_inner_quantifiers(tree.body)
    found: list[ConstraintTree] = []
    for part in body.parts if isinstance(body, ConstraintAnd) else (body,):
        if isinstance(part, Constraint) and part.operator in _EVERYWHERE:
            found.append(replace(part, arguments=(Forall(tree.variables, *part.arguments),)))
        else:
            found.append(ConstraintForall(tree.variables, part, tree.place))
    return ConstraintAnd(tuple(found))


_MOST = 20  # notes of one problem


def vacuous_constraints(
    trees: Iterable[ConstraintTree], objects: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """A note, with its place, for every quantifier of constraints that ranges over no object.

    Such a constraint is right PDDL and holds in every plan, which its author has to be told.
    """
    found: list[str] = []
    for tree in trees:
        for place, head, variables in _quantifiers(tree):
            if not all(objects[kind] for _, kind in variables):
                text = f'({head} ({variables_text(variables)}) ...)'
                found.append(f'{place}: {text} ranges over no object, so that it asks for nothing')
    return tuple(dict.fromkeys(found))[:_MOST]


def _quantifiers(tree: ConstraintTree) -> Iterator[tuple[str, str, Variables]]:
    waiting = [tree]
    while waiting:
        each = waiting.pop()
        if isinstance(each, ConstraintAnd):
            waiting += reversed(each.parts)
        elif isinstance(each, ConstraintForall):
            yield each.place, 'forall', each.variables
            waiting.append(each.body)
        else:
            yield from _inside(each)


def _inside(constraint: Constraint) -> Iterator[tuple[str, str, Variables]]:
    for argument in constraint.arguments:
        for formula in walk(argument):
            if isinstance(formula, (Forall, Exists)):
                head = 'forall' if isinstance(formula, Forall) else 'exists'
                yield constraint.place, head, formula.variables
