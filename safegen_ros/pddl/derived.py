# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Rules of derived predicates: reading them, and the order in which they are worked out.

A rule may need its own predicate, as `above` does. It may need the absence of another one that is
derived before it. A circle with a negation has no single meaning and is refused (Hoffmann and
Edelkamp, "The Deterministic Part of IPC-4", 2005, section 2.3).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from safegen_ros.pddl.diagnostics import Remark, suggestion
from safegen_ros.pddl.formulas import CONNECTIVES, read_atom, read_formula
from safegen_ros.pddl.model import (
    AtomFormula,
    Comparison,
    DerivedRule,
    DurativeAction,
    Effect,
    Formula,
    Imply,
    Moment,
    Not,
    subformulas,
    walk,
)
from safegen_ros.pddl.scope import Scope
from safegen_ros.pddl.sexpr import Group, is_name
from safegen_ros.pddl.typed_lists import read_typed_list, remark

DERIVED = ':derived'


def check_moments(scope: Scope, group: Group, action: DurativeAction) -> None:
    """Refuses a durative action that changes at its start what a later derived atom depends on.

    The flat step could not say what the atom is by then.

    Raises:
        PddlError: it does.
    """
    changed = {
        atom.predicate
        for moment, effect in action.effects
        if moment is Moment.AT_START and isinstance(effect, Effect)
        for atom in (*effect.add, *effect.delete)
    }
    later = [formula for moment, formula in action.conditions if moment is not Moment.AT_START]
    later += [effect.condition for moment, effect in action.effects if moment is Moment.AT_END]
    later += [each.condition for moment, each in action.remembered if moment is Moment.OVER_ALL]
    asked = {predicate for formula in later for predicate, _ in _signs(formula, True)}
    rules = scope.domain.derived
    for predicate in sorted(asked & scope.domain.derived_predicates()):
        cause = min(behind(rules, [predicate]) & changed, default='')
        if cause:
            raise scope.reader.unsupported(
                group,
                f'{predicate[:40]!r} at the end or over all of {action.name[:40]}, derived '
                f'from {cause[:40]!r}, which its start changes',
                'ask for it at start, or change it at end',
            )


def undeclared_heads(scope: Scope, groups: Iterable[Group]) -> dict[str, tuple[str, ...]]:
    """The predicates that only the heads of rules declare, with the types that they take.

    The name of a predicate that is spelt like another one is a slip of the pen.
    """
    reader, found = scope.reader, dict[str, tuple[str, ...]]()
    for group in groups:
        head = group.items[1] if len(group.items) == 3 else None
        name, assumed = head.head if isinstance(head, Group) else '', reader.assumed
        if assumed is not None:
            assumed.called.add(name)  # the rules decide how many arguments it has
        if not isinstance(head, Group) or name in (*scope.domain.predicates, *found):
            continue
        close = suggestion(name, (*scope.domain.predicates, *CONNECTIVES))
        if assumed is None or assumed.full or not is_name(name) or close:
            continue
        typed = reader.attempt(read_typed_list, reader, head, 1, 'variable', scope.domain.types)
        found[name] = tuple(kind for _, kind in typed or ())
        what = f'predicate {name[:40]!r} is not declared: it is read as its first rule has it'
        cure = f'declare ({name[:40]} ...) in (:predicates ...)'
        remark(reader, head, 0, Remark('undeclared-predicate', name, what, cure))
    return found


def read_rules(scope: Scope, groups: Iterable[Group]) -> tuple[DerivedRule, ...]:
    """Reads rules, `(:derived (above ?x ?y) FORMULA)`.

    An error in one is noted, and the others read.

    Raises:
        PddlError: a circle of rules has no one meaning.
    """
    reader, found = scope.reader, {}
    for group in groups:
        rule = reader.attempt(_read_rule, scope, group)
        if rule is not None:
            found[group] = rule
    circle = negative_circle(found.values())
    for group, rule in found.items():
        if circle and rule.predicate == circle[0]:
            way = ', which needs '.join(name[:40] for name in circle[1:])
            cause = f'{circle[0][:40]} needs the absence of {way}'
            cure = 'leave the negation out of the circle'
            raise reader.error(group, f'derived predicates in a circle: {cause}', cure)
    return tuple(found.values())


def _read_rule(scope: Scope, group: Group) -> DerivedRule:
    reader = scope.reader
    if len(group.items) != 3:
        raise reader.error(
            group,
            f':derived takes an atom and a formula, found {len(group.items) - 1} parts',
            'write (:derived (above ?x ?y) (on ?x ?y))',
        )
    head = reader.group(group, 1, 'an atom such as (above ?x ?y)')
    if head.head not in scope.domain.predicates:
        read_atom(scope, head)  # which says so
    kinds = scope.domain.predicates[head.head]
    listed = read_typed_list(reader, head, 1, 'variable', scope.domain.types)
    if len(listed) != len(kinds):
        raise reader.error(
            head,
            f'predicate {head.head[:40]!r} takes {len(kinds)} arguments, found {len(listed)}',
            'give it exactly that many variables',
        )
    pairs = zip(listed, kinds, strict=True)
    variables = tuple(
        (name, _narrower(scope, head, kind, wanted)) for (name, kind), wanted in pairs
    )
    body = read_formula(scope.bind(variables), group, 2)
    if any(isinstance(part, Comparison) for part in walk(body)):
        # Where a number is missing the atom would be false, and its absence pass for a proof.
        feature = 'a derived predicate that depends on numbers'
        raise reader.unsupported(group, feature, 'compare the numbers where it is asked for')
    return DerivedRule(head.head, variables, body)


def _narrower(scope: Scope, head: Group, kind: str, wanted: str) -> str:
    """The type of a variable of a head: a wider one, as one that is not written, says nothing."""
    if scope.fits(kind, wanted):
        return kind
    if scope.fits(wanted, kind):
        return wanted
    raise scope.reader.error(
        head, f'{head.head[:40]!r} takes {wanted[:40]} here, not {kind[:40]}', 'change one'
    )


_Needs = dict[str, dict[str, bool]]
"""For each derived predicate, those that its rules need, and whether one needs its absence."""


def _needs(rules: Iterable[DerivedRule], *, with_base: bool = False) -> _Needs:
    """See `_Needs`; with the base, of all predicates that the rules need."""
    rules = tuple(rules)
    found: _Needs = {rule.predicate: {} for rule in rules}
    for rule in rules:
        own = found[rule.predicate]
        for predicate, positive in _signs(rule.body, True):
            if with_base or predicate in found:
                own[predicate] = own.get(predicate, False) or not positive
    return found


def _signs(formula: Formula, positive: bool) -> Iterator[tuple[str, bool]]:
    """The predicates in a formula, each with whether it stands below an even number of `not`s."""
    if isinstance(formula, AtomFormula):
        yield formula.predicate, positive
    elif isinstance(formula, Imply):
        yield from _signs(formula.premise, not positive)
        yield from _signs(formula.conclusion, positive)
    else:
        inner = positive != isinstance(formula, Not)
        for part in subformulas(formula):
            yield from _signs(part, inner)


def behind(rules: Iterable[DerivedRule], names: Iterable[str]) -> set[str]:
    """Some predicates, and all that their rules need."""
    needs = _needs(rules, with_base=True)
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting += needs.get(each, ())
    return found


def negative_circle(rules: Iterable[DerivedRule]) -> tuple[str, ...]:
    """Predicates of which each needs the next one, the first one its absence; empty if none do."""
    needs = _needs(rules)
    circle = {head: number for number, each in enumerate(_circles(needs)) for head in each}
    for head, others in needs.items():
        for other, negated in others.items():
            if negated and circle[head] == circle[other]:
                return (head, *_way(needs, other, head))
    return ()


def _way(needs: _Needs, start: str, end: str) -> list[str]:
    """The shortest way from one predicate to another by their conditions; there is one."""
    before = {start: ''}
    waiting = [start]
    for each in waiting:  # which grows
        for other in needs[each]:
            if other not in before:
                before[other] = each
                waiting.append(other)
    way = [end]
    while way[-1] != start:
        way.append(before[way[-1]])
    return way[::-1]


def _circles(needs: _Needs) -> list[list[str]]:
    """The predicates, those together that need each other, each behind those that it needs.

    Source: Tarjan, "Depth-First Search and Linear Graph Algorithms", 1972, without recursion.
    """
    found: list[list[str]] = []
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: dict[str, None] = {}
    for root in needs:
        way = [] if root in number else [(root, iter(needs[root]))]
        while way:
            head, others = way[-1]
            if head not in number:
                number[head] = lowest[head] = len(number)
                stack[head] = None
            for other in others:
                if other not in number:
                    way.append((other, iter(needs[other])))
                    break
                if other in stack:
                    lowest[head] = min(lowest[head], number[other])
            else:
                way.pop()
                if way:
                    above, _ = way[-1]
                    lowest[above] = min(lowest[above], lowest[head])
                if lowest[head] == number[head]:
                    together: list[str] = []
                    while head not in together[-1:]:
                        together.append(stack.popitem()[0])
                    found.append(together)
    return found


def levels(rules: Iterable[DerivedRule]) -> dict[str, int]:
    """When each derived predicate can be worked out: after all below whose absence it needs."""
    needs = _needs(rules)
    level: dict[str, int] = {}
    for together in _circles(needs):
        others = [pair for head in together for pair in needs[head].items() if pair[0] in level]
        at = max((level[other] + negated for other, negated in others), default=0)
        level |= dict.fromkeys(together, at)
    return level
