# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads the durative actions of PDDL2.1: conditions and effects, and their moments."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import count

from safegen_ros.errors import PddlError
from safegen_ros.pddl.diagnostics import suggestion
from safegen_ros.pddl.effects import read_effects
from safegen_ros.pddl.expressions import read_expression
from safegen_ros.pddl.flatten import NotSequential, flatten, step_duration
from safegen_ros.pddl.formulas import read_formula, read_variables
from safegen_ros.pddl.model import (
    DURATION,
    And,
    Arithmetic,
    AtomFormula,
    Comparison,
    DurativeAction,
    Effect,
    Expression,
    Forall,
    Formula,
    Moment,
    NumericEffect,
    Variables,
    conjuncts,
    walk,
)
from safegen_ros.pddl.scope import Scope, count_arguments
from safegen_ros.pddl.sexpr import Group, Reader

PARTS = (':parameters', ':duration', ':condition', ':effect')
"""The parts of a durative action."""

_BOUNDS = ('=', '<=', '>=')
_MOMENTS = {('at', 'start'): Moment.AT_START, ('over', 'all'): Moment.OVER_ALL,
            ('at', 'end'): Moment.AT_END}  # fmt: skip

Conditions = tuple[tuple[Moment, Formula], ...]
Effects = tuple[tuple[Moment, Effect | NumericEffect], ...]


class Remembering:
    """What effects at the end of an action have to know of its time; see `DurativeAction`.

    Args:
        name: of the action.
        parameters: of the action.
        predicates: whose names are taken.
    """

    def __init__(self, name: str, parameters: Variables, predicates: Collection[str]) -> None:
        self.effects: list[tuple[Moment, Effect]] = []
        self._parameters = tuple(each for each, _ in parameters)
        names = (f'{name}-remembers-{number}' for number in count(1))
        self._names = (each for each in names if each not in predicates)

    def under(
        self, effect: Effect | NumericEffect, moment: Moment, before: Sequence[Formula]
    ) -> Effect | NumericEffect:
        """An effect at end that some conditions at start, or over all, have, too."""
        asked = before[0] if len(before) == 1 else And(tuple(before))
        terms = (*self._parameters, *(each for each, _ in effect.variables))
        atom = AtomFormula(next(self._names), terms)
        self.effects.append((moment, Effect(effect.variables, asked, (atom,), ())))
        return replace(effect, condition=And((atom, *conjuncts(effect.condition))))


def read_durative(
    scope: Scope, group: Group, name: str, parameters: Variables, parts: dict[str, int]
) -> DurativeAction:
    """Reads a `(:durative-action ...)`.

    Args:
        scope: the names of the domain.
        group: the action.
        name: its name.
        parameters: its parameters.
        parts: where in the group the value of each of its `PARTS` is.

    Raises:
        PddlError: it has no duration, a part without its moment, a continuous effect, or a
            later condition for an effect at start.
    """
    reader, inner = scope.reader, scope.bind(parameters)
    if '?duration' in inner.variables:
        raise reader.error(group, "'?duration' cannot name a parameter", 'rename it')
    duration: tuple[tuple[str, Expression], ...] | None = ()
    conditions: Conditions | None = ()
    effects: Effects | None = ()
    remembered: tuple[tuple[Moment, Effect], ...] = ()
    if ':duration' not in parts:
        raise reader.error(
            group, f'durative action {name[:40]} has no duration', 'add :duration (= ?duration 1)'
        )
    duration = reader.attempt(_duration, inner, group, parts[':duration'])
    if ':condition' in parts:
        conditions = reader.attempt(_conditions, inner, group, parts[':condition'])
    if ':effect' in parts:
        memory = Remembering(name, parameters, scope.domain.predicates)
        effects = reader.attempt(_effects, inner, group, parts[':effect'], (), (), memory)
        remembered = tuple(memory.effects)
    found = DurativeAction(
        name, parameters, duration or (), conditions or (), effects or (), remembered
    )
    numeric = [each for _, each in found.effects if isinstance(each, NumericEffect)]
    uses = any(_uses_duration(each.value) for each in numeric)
    if uses and step_duration(found) is None:
        raise reader.unsupported(
            group,
            f'an effect of {name[:40]} that depends on ?duration, which has no single value,',
            'give the duration one bound with = or >=',
        )
    try:
        flatten(found)
    except NotSequential as error:
        raise reader.unsupported(group, f'an action of which {error}', 'split it in two') from None
    return found


def _uses_duration(expression: Expression) -> bool:
    if isinstance(expression, Arithmetic):
        return any(map(_uses_duration, expression.parts))
    return expression == DURATION


def _duration(scope: Scope, parent: Group, index: int) -> tuple[tuple[str, Expression], ...]:
    """The bounds of a duration, in the order of the text."""
    reader = scope.reader
    group = reader.group(parent, index, 'a duration such as (= ?duration 5)')
    if group.head == 'and':
        inner = range(1, len(group.items))
        return tuple(bound for i in inner for bound in _duration(scope, group, i))
    if _moment(group) is Moment.AT_START:  # which is when every duration is settled here
        return _duration(scope, group, 2)
    if group.head not in _BOUNDS or len(group.items) != 3 or group.items[1] != '?duration':
        raise reader.error(
            group,
            'expected a bound of the duration',
            'write (= ?duration 5), (<= ?duration 5) or (>= ?duration 5)',
        )
    return ((group.head, read_expression(scope, group, 2)),)


def _moment(group: Group) -> Moment | None:
    """The moment of a `(at start ...)` and the like."""
    if len(group.items) != 3 or not isinstance(group.items[2], Group):
        return None
    first, second = group.items[0], group.items[1]
    if isinstance(first, str) and isinstance(second, str):
        return _MOMENTS.get((first, second))
    return None


def _conditions(scope: Scope, parent: Group, index: int) -> Conditions:
    reader = scope.reader
    group = reader.group(parent, index, 'a condition such as (at start (on a b))')
    if not group.items:
        return ()
    if group.head == 'and':
        numbers = range(1, len(group.items))
        parts = (reader.attempt(_conditions, scope, group, i) for i in numbers)
        return tuple(each for part in parts for each in part or ())
    if group.head == 'forall':
        count_arguments(reader, group, 2)
        variables = read_variables(scope, group, 1)
        inner = _conditions(scope.bind(variables), group, 2)
        return tuple((moment, Forall(variables, formula)) for moment, formula in inner)
    if group.head == 'preference':
        raise reader.unsupported(
            group,
            'a preference in the condition of a durative action',
            'wish for it in :goal or :constraints',
        )
    moment = _moment(group)
    if moment is None:
        raise _without_moment(reader, group, 'condition')
    return ((moment, read_formula(scope, group, 2)),)


def _effects(
    scope: Scope,
    parent: Group,
    index: int,
    variables: Variables,
    when: Conditions,
    memory: Remembering,
) -> Effects:
    reader = scope.reader
    group = reader.group(parent, index, 'an effect such as (at end (on a b))')
    if not group.items:
        return ()
    if group.head == 'and':
        numbers = range(1, len(group.items))
        rest = variables, when, memory
        parts = (reader.attempt(_effects, scope, group, i, *rest) for i in numbers)
        return tuple(each for part in parts for each in part or ())
    if group.head == 'forall':
        count_arguments(reader, group, 2)
        inner = read_variables(scope, group, 1)
        for name, _ in inner:  # as in `effects`
            if name in scope.variables:
                raise reader.error_in(
                    group, 1, f'variable {name[:40]!r} is bound already', 'rename it'
                )
        return _effects(scope.bind(inner), group, 2, (*variables, *inner), when, memory)
    if group.head == 'when':
        count_arguments(reader, group, 2)
        asked = _conditions(scope, group, 1)
        return _effects(scope, group, 2, variables, (*when, *asked), memory)
    moment = _moment(group)
    if moment is Moment.OVER_ALL:
        raise reader.unsupported(
            group, 'an effect over all', 'write it at start or at end, as a change in one moment'
        )
    if moment is None:
        if group.head in ('increase', 'decrease') and _is_continuous(group):
            raise reader.unsupported(
                group, 'a continuous effect (#t)', 'write the whole change at start or at end'
            )
        raise _without_moment(reader, group, 'effect')
    parts_of = {m: [p for at, f in when if at is m for p in conjuncts(f)] for m in Moment}
    earlier = [m for m in (Moment.AT_START, Moment.OVER_ALL) if parts_of[m] and m is not moment]
    if moment is Moment.AT_START and (earlier or parts_of[Moment.AT_END]):
        other = (earlier or [Moment.AT_END])[0]
        raise reader.unsupported(
            group,
            f'an effect at start under a condition {other.value}',
            'ask for the condition at start, too',
        )
    watched = (part for each in parts_of[Moment.OVER_ALL] for part in walk(each))
    if any(isinstance(part, Comparison) for part in watched):  # which may have no truth value
        raise reader.unsupported(
            group, 'an effect under a condition over all on numbers', 'compare them at end'
        )
    timed = replace(
        scope, domain=replace(scope.domain, functions={**scope.domain.functions, '?duration': ()})
    )
    found = read_effects(timed, group, 2, variables, And(tuple(parts_of[moment])))
    for before in earlier:
        found = [memory.under(each, before, parts_of[before]) for each in found]
    return tuple((moment, effect) for effect in found)


def _is_continuous(group: Group) -> bool:
    return any(
        _is_continuous(item) if isinstance(item, Group) else item == '#t' for item in group.items
    )


def _without_moment(reader: Reader, group: Group, what: str) -> PddlError:
    """Why a list is not a condition or effect of a moment."""
    head = group.head[:40] or 'a list'
    known = ('at start', 'over all', 'at end') if what == 'condition' else ('at start', 'at end')
    forms = ' or '.join(f'({moment} (...))' for moment in known)
    return reader.error(
        group,
        f'{head!r} where a moment must stand, in the {what} of a durative action',
        f'{suggestion(head, known)}write {forms} around it',
    )
