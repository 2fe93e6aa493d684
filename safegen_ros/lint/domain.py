# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is legal in a domain and looks wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from safegen_ros.lint.findings import NOTE, WARNING, LintFinding, SourceMap
from safegen_ros.pddl.model import (
    ALL_OF,
    ANY_OF,
    Action,
    And,
    AtomFormula,
    Comparison,
    Constraint,
    ConstraintAnd,
    ConstraintForall,
    ConstraintTree,
    Domain,
    Effect,
    Equals,
    Exists,
    Expression,
    Forall,
    Formula,
    Imply,
    Not,
    NumericEffect,
    Or,
    SoftRule,
    Variables,
    conjuncts,
    functions_of,
    quantified,
    terms_of,
    walk,
)
from safegen_ros.pddl.writer import formula_text, names_text

_IMPLIED = {
    ':adl': (
        ':typing', ':equality', ':negative-preconditions', ':disjunctive-preconditions',
        ':existential-preconditions', ':universal-preconditions', ':conditional-effects',
    ),
    ':quantified-preconditions': (':existential-preconditions', ':universal-preconditions'),
    ':fluents': (':action-costs', ':numeric-fluents'), ':numeric-fluents': (':action-costs',),
}  # fmt: skip
"""Flags that stand for others."""


def domain_findings(
    domain: Domain, places: SourceMap, more: Iterable[Formula]
) -> list[LintFinding]:
    """What looks wrong in a domain.

    Args:
        more: the goal and the constraints of a problem; empty for a domain alone.
    """
    more = tuple(more)
    return [
        *(
            places.finding(WARNING, r.rule, (r.line, r.column), r.what, r.cure)
            for r in domain.remarks
        ),
        *_types(domain, places),
        *_type_groups(places),
        *_overloaded(places),
        *_predicates(domain, places, more),
        *_functions(domain, places),
        *(each for schema in _schemas(domain) for each in _parameters(schema, places)),
        *(
            each
            for action in domain.actions.values()
            if action.name not in domain.durative
            for each in _action(action, places)
        ),
        *places.unjoined(),
        *_requirements(domain, places),
        *_spellings(places),
    ]


def tree_formulas(tree: ConstraintTree | None) -> Iterator[Formula]:
    """The formulas inside the constraints of a tree."""
    if isinstance(tree, ConstraintAnd):
        for part in tree.parts:
            yield from tree_formulas(part)
    elif isinstance(tree, ConstraintForall):
        yield from tree_formulas(tree.body)
    elif isinstance(tree, Constraint):
        yield from tree.arguments


@dataclass(frozen=True, slots=True)
class _AnySchema:
    """An action with what it asks for and changes at any moment of it."""

    name: str
    parameters: Variables
    conditions: tuple[Formula, ...]
    effects: tuple[Effect, ...]
    numeric: tuple[NumericEffect, ...]
    duration: tuple[Expression, ...] = ()

    @property
    def asked(self) -> list[Formula]:
        """Its conditions and those of its effects."""
        return [*self.conditions, *(each.condition for each in self.changes)]

    @property
    def changes(self) -> tuple[Effect | NumericEffect, ...]:
        """Its effects, numeric ones included."""
        return (*self.effects, *self.numeric)

    @property
    def expressions(self) -> list[Expression]:
        """The numbers that it reads or changes."""
        changed = [part for each in self.numeric for part in (each.target, each.value)]
        return [*self.duration, *changed]


def _schemas(domain: Domain) -> list[_AnySchema]:
    found = [
        _AnySchema(a.name, a.parameters, (a.precondition,), a.effects, a.numeric)
        for a in domain.actions.values()
        if a.name not in domain.durative
    ]
    for each in domain.durative.values():
        effects = tuple(e for _, e in each.effects if isinstance(e, Effect))
        effects += tuple(e for _, e in each.remembered)
        numeric = tuple(e for _, e in each.effects if isinstance(e, NumericEffect))
        conditions = tuple(condition for _, condition in each.conditions)
        duration = tuple(expression for _, expression in each.duration)
        found.append(_AnySchema(each.name, each.parameters, conditions, effects, numeric, duration))
    return found


def _formulas(domain: Domain) -> list[Formula]:
    """Every formula that reads the state in a domain."""
    conditions = (each for schema in _schemas(domain) for each in schema.asked)
    bodies = (rule.body for rule in domain.derived)
    wishes = (formula for rule in _wishes(domain) for formula in tree_formulas(rule.body))
    return [*conditions, *bodies, *tree_formulas(domain.constraint_tree), *wishes]


def _wishes(domain: Domain) -> list[SoftRule]:
    return [*domain.wishes, *(rule for each in domain.actions.values() for rule in each.wishes)]


def _read(formulas: Iterable[Formula]) -> set[str]:
    """The predicates that formulas ask for."""
    return {
        part.predicate
        for formula in formulas
        for part in walk(formula)
        if isinstance(part, AtomFormula)
    }


def _types(domain: Domain, places: SourceMap) -> Iterator[LintFinding]:
    lists: list[Variables] = []
    for each in _schemas(domain):
        lists += [each.parameters, *(effect.variables for effect in each.changes)]
    lists += [rule.variables for rule in domain.derived]
    lists += [found for formula in _formulas(domain) for found in quantified(formula)]
    kinds = [kind for variables in lists for _, kind in variables]
    kinds += [k for d in (domain.predicates, domain.functions) for ks in d.values() for k in ks]
    kinds += domain.constants.values()
    used = {part for kind in kinds for part in kind.replace(ALL_OF, ANY_OF).split(ANY_OF)}
    below: set[str] = {above for kind in used & domain.types.keys()
                       for above in domain.ancestors(kind)}  # fmt: skip
    for name in domain.types:
        above = set(domain.ancestors(name)) - {'object'}
        if name not in below and not above & used:
            yield places.finding(
                WARNING, 'unused-type', places.declared(':types', name),
                f'nothing asks for an object of type {name!r} or of a type above it',
                'use it in a predicate or a parameter, or remove it',
            )  # fmt: skip


def _type_groups(places: SourceMap) -> Iterator[LintFinding]:
    """Groups of types whose parent was hardly meant for all of them."""
    for group, parent in places.type_groups():
        others = [name for name, _ in group if name != parent]
        own = next((place for name, place in group if name == parent), None)
        (first, place), (_, (last, _)) = group[0], group[-1]
        if own is not None and others:
            yield places.finding(
                WARNING, 'self-type', own,
                f"'- {parent}' behind {parent!r} puts {names_text(others)} below {parent!r}, too",
                'give them their own line with - object, if that is not meant',
            )  # fmt: skip
        elif own is None and parent != 'object' and place[0] < last and len(group) > 1:
            yield places.finding(
                NOTE, 'types-over-lines', place,
                f"'- {parent}' of line {last} types {first!r} of line {place[0]}, too",
                'write - object behind it, if that is not meant',
            )  # fmt: skip


def _overloaded(places: SourceMap) -> Iterator[LintFinding]:
    for name, place in places.again(':predicates'):
        yield places.finding(
            WARNING, 'overloaded-predicate', place,
            f'predicate {name!r} is declared again: each argument may be of either type',
            'declare it once, with (either TYPE TYPE), or rename one: other tools refuse it',
        )  # fmt: skip


def _predicates(
    domain: Domain, places: SourceMap, more: tuple[Formula, ...]
) -> Iterator[LintFinding]:
    effects = [each for schema in _schemas(domain) for each in schema.effects]
    written = {atom.predicate for each in effects for atom in (*each.add, *each.delete)}
    derived = domain.derived_predicates()
    asked = _read((*_formulas(domain), *more))
    for name in domain.predicates:
        place = places.declared(':predicates', name)
        if name in derived and name not in asked:
            yield places.finding(
                WARNING if more else NOTE, 'write-only-predicate', place,
                f'nothing asks for {name!r}, which is derived', 'ask for it, or remove its rules',
            )  # fmt: skip
        elif name in derived:
            continue
        elif name not in written | asked:
            yield places.finding(
                WARNING, 'unused-predicate', place, f'no action asks for {name!r} or changes it',
                'use it, or remove it',
            )  # fmt: skip
        elif name not in asked and more:
            yield places.finding(
                WARNING, 'write-only-predicate', place,
                f'effects change {name!r}, and no condition, goal or constraint asks for it',
                'ask for it, or remove it with its effects',
            )  # fmt: skip
        elif name not in asked:
            yield places.finding(
                NOTE, 'write-only-predicate', place,
                f'effects change {name!r}, and no condition of the domain asks for it',
                'a problem may in its goal; else remove it with its effects',
            )  # fmt: skip
        elif name not in written and not more:
            yield places.finding(
                NOTE, 'read-only-predicate', place, f'no action changes {name!r}',
                'it stays as :init has it; add effects if it is to change',
            )  # fmt: skip


def _parameters(schema: _AnySchema, places: SourceMap) -> Iterator[LintFinding]:
    used = {
        term for condition in schema.asked for part in walk(condition) for term in terms_of(part)
    }
    atoms = [atom for each in schema.effects for atom in (*each.add, *each.delete)]
    atoms += functions_of(*schema.expressions)
    used.update(term for atom in atoms for term in atom.terms)
    for name, _ in schema.parameters:
        if name not in used:
            yield places.finding(
                WARNING, 'unused-parameter', places.parameter(schema.name, name),
                f'no condition and no effect of action {schema.name!r} has its parameter {name}',
                'remove it: each object that it can be makes the action once more',
            )  # fmt: skip


def _functions(domain: Domain, places: SourceMap) -> Iterator[LintFinding]:
    expressions = [each for schema in _schemas(domain) for each in schema.expressions]
    compared = [part for f in _formulas(domain) for part in walk(f) if isinstance(part, Comparison)]
    used = {each.predicate for each in functions_of(*expressions, *compared)}
    for name in domain.functions:
        if name not in used:
            yield places.finding(
                NOTE, 'unused-function', places.declared(':functions', name),
                f'no action reads or changes {name!r}', 'a :metric may read it; else remove it',
            )  # fmt: skip


def _action(action: Action, places: SourceMap) -> Iterator[LintFinding]:
    """What looks wrong in an action that takes no time."""
    holds = {part for part in conjuncts(action.precondition) if _is_literal(part)}
    clash = next((part for part in holds if isinstance(part, Not) and part.body in holds), None)
    if clash is not None:
        yield places.finding(
            WARNING, 'never-applicable', places.action(action.name),
            f'action {action.name!r} asks for {formula_text(clash)} and its opposite',
            'remove one of them',
        )  # fmt: skip
    yield from _effects(action, holds, places)


def _is_literal(formula: Formula) -> bool:
    return isinstance(formula.body if isinstance(formula, Not) else formula, AtomFormula)


def _plain(effect: Effect) -> bool:
    return not effect.variables and effect.condition == And(())


def _effects(action: Action, holds: set[Formula], places: SourceMap) -> Iterator[LintFinding]:
    """Effects of an action that change nothing, and the action that has no other."""
    plain = [each for each in action.effects if _plain(each)]
    add = {atom for each in plain for atom in each.add}
    delete = {atom for each in plain for atom in each.delete}
    deleted = {atom.predicate for each in action.effects for atom in each.delete}
    idle = 0
    for atom in sorted(add | delete, key=formula_text):
        text, words = formula_text(atom), (atom.predicate, *atom.terms)
        if atom in add and atom in delete:
            what = f'action {action.name!r} deletes and adds {text}, which leaves it true'
            negated, kind = True, 'deleted-and-added'
        elif atom in add and atom in holds and atom.predicate not in deleted:
            what = f'{text} holds before action {action.name!r}, by its precondition'
            negated, kind = False, 'idle-effect'
        elif atom in delete and Not(atom) in holds:
            what = f'{text} is false before action {action.name!r}, by its precondition'
            negated, kind = True, 'idle-effect'
        else:
            continue
        idle += kind == 'idle-effect'
        place = places.effect(action.name, words, negated)
        yield places.finding(WARNING, kind, place, what, 'remove the effect that says nothing')
    if len(plain) == len(action.effects) and idle == len(add | delete) and not action.numeric:
        yield places.finding(
            WARNING, 'no-effect', places.action(action.name),
            f'action {action.name!r} changes nothing', 'give it an effect, or remove it',
        )  # fmt: skip


def _requirements(domain: Domain, places: SourceMap) -> Iterator[LintFinding]:
    """Flags that are missing: other tools refuse what they were not told of."""
    flags = set(places.requirements())
    for flag in tuple(flags):
        flags.update(_IMPLIED.get(flag, ()))
    schemas = _schemas(domain)
    numeric = any(schema.numeric for schema in schemas)
    needed: dict[str, object] = {
        ':typing': domain.types,
        ':constraints': domain.constraint_tree,
        ':durative-actions': domain.durative,
        ':derived-predicates': domain.derived,
        ':preferences': _wishes(domain),
        ':action-costs': numeric and not domain.functions.keys() - {'total-cost'},
        ':numeric-fluents': domain.functions.keys() - {'total-cost'},
        ':conditional-effects': any(not _plain(e) for schema in schemas for e in schema.effects),
    }
    for formula in _formulas(domain):
        for part in walk(formula):
            for kinds, flag in _FLAGS:
                if isinstance(part, kinds):
                    needed[flag] = True
    for flag, used in needed.items():
        if used and flag not in flags:
            yield places.finding(
                NOTE, 'missing-requirement', places.section(':requirements'),
                f'the domain uses {flag} and does not require it',
                'add it to (:requirements ...): other tools may refuse the domain',
            )  # fmt: skip


_FLAGS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (Equals, ':equality'),
    (Not, ':negative-preconditions'),
    ((Or, Imply), ':disjunctive-preconditions'),
    (Exists, ':existential-preconditions'),
    (Forall, ':universal-preconditions'),
)


def _spellings(places: SourceMap) -> Iterator[LintFinding]:
    """Names that are spelt in two ways, which are one name."""
    first: dict[str, str] = {}
    told: set[str] = set()
    for word, spelling, place in sorted(places.words(), key=lambda each: each[2]):
        known = first.setdefault(word, spelling)
        if known != spelling and word not in told:
            told.add(word)
            yield places.finding(
                NOTE, 'two-spellings', place,
                f'{spelling!r} and {known!r} are one name, as PDDL has no capitals',
                'spell it in one way, or rename one of them',
            )  # fmt: skip
