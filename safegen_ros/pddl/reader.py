# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads PDDL domains and problems; what is not supported is refused by name, never dropped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from safegen_ros.errors import ErrorCode
from safegen_ros.pddl.formulas import (
    Scope,
    flatten_constraints,
    read_atom,
    read_constraints,
    read_effect,
    read_formula,
    read_typed_list,
)
from safegen_ros.pddl.limits import (
    MAX_ACTION_SIZE,
    MAX_CONSTRAINTS,
    MAX_FORMULA_SIZE,
    Objects,
    action_size,
    constraint_size,
    formula_size,
)
from safegen_ros.pddl.model import (
    Action,
    Atom,
    ConstraintTree,
    Domain,
    Problem,
)
from safegen_ros.pddl.sexpr import Group, Node, Reader, Word, read_sexpr

SUPPORTED_REQUIREMENTS = frozenset(
    {
        ':strips', ':typing', ':equality', ':negative-preconditions', ':constraints', ':adl',
        ':disjunctive-preconditions', ':existential-preconditions', ':universal-preconditions',
        ':quantified-preconditions', ':conditional-effects',
    }
)  # fmt: skip

_RESERVED = frozenset({'and', 'or', 'not', 'imply', 'forall', 'exists', 'when', 'preference'})

_MAX_TYPE_HEIGHT = 100

Sections = dict[str, Group]
_T = TypeVar('_T')


def read_domain(text: str, source: str = '<domain>') -> Domain:
    """Reads a domain.

    Args:
        text: PDDL text of one domain.
        source: file name, or a label, for messages.

    Raises:
        PddlError: the text is not PDDL, uses an undeclared name, or a feature that is not
            supported (its name and place are in the message).
    """
    reader = Reader(source)
    name, sections, actions = _define(reader, read_sexpr(text, source), 'domain')
    _requirements(reader, sections)
    types = _types(reader, sections)
    domain = Domain(name, types, {}, {}, {})
    constants = dict(read_typed_list(reader, _items(sections, ':constants'), 'constant', types))
    domain = replace(domain, constants=constants)
    domain = replace(domain, predicates=_predicates(reader, domain, sections))
    scope = Scope(reader, domain, constants)
    domain = replace(domain, actions=_actions(scope, actions))
    return replace(domain, constraint_tree=_constraints(scope, sections))


def read_problem(text: str, domain: Domain, source: str = '<problem>') -> Problem:
    """Reads a problem of a domain.

    Args:
        text: PDDL text of one problem, with its `:constraints`.
        domain: the domain that the problem names.
        source: file name, or a label, for messages.

    Raises:
        PddlError: as `read_domain`; also when the problem names another domain.
    """
    reader = Reader(source)
    top = read_sexpr(text, source)
    name, sections, _ = _define(reader, top, 'problem')
    _requirements(reader, sections)
    named = _domain_name(reader, top, sections)
    if named.text != domain.name:
        raise reader.error(
            named,
            f'the problem is for domain {named.text!r}, not {domain.name!r}',
            'give the domain that it names',
            ErrorCode.UNKNOWN_DOMAIN,
        )
    declared = read_typed_list(reader, _items(sections, ':objects'), 'object', domain.types)
    objects = {**domain.constants, **dict(declared)}
    for constant, kind in domain.constants.items():
        if objects[constant] != kind:
            raise reader.error(
                sections[':objects'],
                f'{constant!r} is a constant of type {kind} in the domain',
                'leave it out of :objects',
            )
    for required in (':init', ':goal'):
        if required not in sections:
            raise reader.error(top, f'the problem has no {required}', f'add ({required} ...)')
    scope = Scope(reader, domain, objects)
    goal = _single(reader, sections[':goal'], lambda node: read_formula(scope, node))
    problem = Problem(name, domain, objects, _init(scope, sections[':init']), goal, ())
    tree = _constraints(scope, sections)
    objects_of = problem.objects_by_type()
    _check_size(reader, top, problem, tree, objects_of)
    trees = [each for each in (domain.constraint_tree, tree) if each is not None]
    found = [c for each in trees for c in flatten_constraints(each, objects_of)]
    return replace(problem, constraints=tuple(dict.fromkeys(found)))


def problem_domain_name(text: str, source: str = '<problem>') -> Word:
    """The domain that a problem text asks for and where it says so; the rest is not read."""
    reader = Reader(source)
    top = read_sexpr(text, source)
    _, sections, _ = _define(reader, top, 'problem')
    return _domain_name(reader, top, sections)


def _define(reader: Reader, top: Group, kind: str) -> tuple[str, Sections, list[Group]]:
    """The name, the sections by keyword, and the actions of a `(define (kind name) ...)`."""
    if top.head != 'define' or len(top.items) < 2:
        raise reader.error(top, f'expected (define ({kind} ...) ...)', 'start the text with it')
    title = reader.group(top.items[1], f'({kind} NAME)')
    if title.head != kind or len(title.items) != 2:
        raise reader.error(title, f'expected ({kind} NAME)', f'this text must be a PDDL {kind}')
    name = reader.name(title.items[1], f'the {kind}')
    known = {
        'domain': (':requirements', ':types', ':constants', ':predicates', ':constraints'),
        'problem': (':domain', ':requirements', ':objects', ':init', ':goal', ':constraints'),
    }[kind]
    sections: Sections = {}
    actions: list[Group] = []
    for node in top.items[2:]:
        section = reader.group(node, f'a section of the {kind}, such as ({known[-1]} ...)')
        head = section.head
        if head == ':action' and kind == 'domain':
            actions.append(section)
        elif head in _UNSUPPORTED_SECTIONS:
            raise reader.unsupported(section, head, _UNSUPPORTED_SECTIONS[head])
        elif head not in known:
            raise reader.error(
                section,
                f'{head[:40] or "a list"!r} is not a section of a {kind}',
                'sections are ' + ' '.join(known),
            )
        elif head in sections:
            raise reader.error(section, f'a second {head} section', 'merge it into the first one')
        else:
            sections[head] = section
    return name, sections, actions


_UNSUPPORTED_SECTIONS = {
    ':functions': 'leave numeric fluents and action costs out',
    ':durative-action': 'write it as an (:action ...)',
    ':derived': 'state the predicate in :init and in effects',
    ':metric': 'leave it out; plans are not ranked by cost',
    ':length': 'leave it out',
    ':class': 'leave it out',
}


def _requirements(reader: Reader, sections: Sections) -> None:
    for node in _items(sections, ':requirements'):
        flag = reader.word(node, 'a requirement flag')
        if flag not in SUPPORTED_REQUIREMENTS:
            raise reader.unsupported(
                node,
                f'the requirement {flag[:40]!r}',
                'supported are ' + ' '.join(sorted(SUPPORTED_REQUIREMENTS)),
            )


def _types(reader: Reader, sections: Sections) -> dict[str, str]:
    """Types to parents. Only where `object` is not declared is it the parent of the others."""
    types = dict(read_typed_list(reader, _items(sections, ':types'), 'type', None, ''))
    for parent in set(types.values()) - types.keys() - {'', 'object'}:
        types[parent] = ''
    if 'object' not in types:
        types = {name: parent or 'object' for name, parent in types.items()}
    for name, parent in types.items():
        height = 0
        while parent in types and parent != 'object' and height <= _MAX_TYPE_HEIGHT:
            parent, height = types[parent], height + 1
        if height > _MAX_TYPE_HEIGHT:
            raise reader.error(
                sections[':types'],
                f'type {name[:40]!r} is above itself, or below more than {_MAX_TYPE_HEIGHT} types',
                'mend its line of parents',
            )
    return types


def _predicates(reader: Reader, domain: Domain, sections: Sections) -> dict[str, tuple[str, ...]]:
    predicates: dict[str, tuple[str, ...]] = {}
    for node in _items(sections, ':predicates'):
        group = reader.group(node, 'a predicate declaration such as (on ?x ?y)')
        if not group.items:
            raise reader.error(group, 'an empty predicate declaration', 'remove it')
        name = reader.name(group.items[0], 'a predicate')
        if name in _RESERVED:
            raise reader.error(group, f'{name!r} cannot name a predicate', 'rename it')
        if name in predicates:
            raise reader.error(group, f'predicate {name[:40]!r} is declared twice', 'remove one')
        typed = read_typed_list(reader, group.items[1:], 'variable', domain.types)
        predicates[name] = tuple(kind for _, kind in typed)
    return predicates


def _actions(scope: Scope, groups: list[Group]) -> dict[str, Action]:
    actions: dict[str, Action] = {}
    for group in groups:
        action = _action(scope, group)
        if action.name in actions:
            raise scope.reader.error(
                group, f'action {action.name!r} is declared twice', 'remove one of them'
            )
        actions[action.name] = action
    return actions


def _action(scope: Scope, group: Group) -> Action:
    reader = scope.reader
    if len(group.items) < 2:
        raise reader.error(group, 'an action without a name', 'write (:action NAME ...)')
    name = reader.name(group.items[1], 'an action')
    parts: dict[str, Node] = {}
    pairs = group.items[2:]
    for index in range(0, len(pairs), 2):
        key = reader.word(pairs[index], ':parameters, :precondition or :effect')
        if key not in (':parameters', ':precondition', ':effect') or key in parts:
            raise reader.error(
                pairs[index],
                f'{key[:40]!r} is out of place in action {name}',
                'an action has :parameters, :precondition and :effect, each once',
            )
        if index + 1 >= len(pairs):
            raise reader.error(pairs[index], f'{key} of action {name} has no value', 'add it')
        parts[key] = pairs[index + 1]
    parameters_node = reader.group(parts.get(':parameters', _empty(group)), 'a parameter list')
    parameters = read_typed_list(reader, parameters_node.items, 'variable', scope.domain.types)
    inner = scope.bind(parameters)
    precondition = read_formula(inner, parts.get(':precondition', _empty(group)))
    effects = read_effect(inner, parts.get(':effect', _empty(group)))
    return Action(name, parameters, precondition, effects)


def _init(scope: Scope, section: Group) -> frozenset[Atom]:
    reader = scope.reader
    atoms: set[Atom] = set()
    denied: dict[Atom, Node] = {}  # closed world: an atom that is not stated is false
    for node in section.items[1:]:
        group = reader.group(node, 'an atom such as (on a b)')
        if group.head == 'not':
            if len(group.items) != 2:
                raise reader.error(group, "'not' takes one atom", 'write (not (on a b))')
            atom = read_atom(scope, group.items[1])
            denied[(atom.predicate, *atom.terms)] = group
            continue
        if group.head in ('=', 'at') and group.head not in scope.domain.predicates:
            raise reader.unsupported(
                group, 'a numeric or timed initial value', 'state only atoms in :init'
            )
        atom = read_atom(scope, group)
        atoms.add((atom.predicate, *atom.terms))
    for both in denied.keys() & atoms:
        raise reader.error(denied[both], 'an atom both true and false in :init', 'remove one')
    return frozenset(atoms)


def _constraints(scope: Scope, sections: Sections) -> ConstraintTree | None:
    section = sections.get(':constraints')
    if section is None:
        return None
    return _single(scope.reader, section, lambda node: read_constraints(scope, node))


def _check_size(
    reader: Reader, top: Group, problem: Problem, tree: ConstraintTree | None, objects: Objects
) -> None:
    """Refuses what would not fit into memory once its quantifiers are written out."""
    trees = [each for each in (problem.domain.constraint_tree, tree) if each is not None]
    sizes = [constraint_size(each, objects) for each in trees]
    goal = formula_size(problem.goal, objects)
    measured = [
        ('ground constraints', sum(count for count, _ in sizes), MAX_CONSTRAINTS),
        ('parts of goal and constraints', goal + sum(s for _, s in sizes), MAX_FORMULA_SIZE),
    ]
    measured += [
        (f'parts of action {name[:40]}', action_size(action, objects), MAX_ACTION_SIZE)
        for name, action in problem.domain.actions.items()
    ]
    for what, size, limit in measured:
        if size > limit:
            raise reader.error(
                top,
                f'{size:,} {what} with its quantifiers written out, more than {limit:,}',
                'use fewer quantified variables or fewer objects',
                ErrorCode.TASK_TOO_LARGE,
            )


def _domain_name(reader: Reader, top: Group, sections: Sections) -> Word:
    section = sections.get(':domain')
    if section is None:
        raise reader.error(top, 'the problem names no domain', 'add (:domain NAME)')
    if len(section.items) != 2:
        raise reader.error(section, ':domain takes one name', 'write (:domain NAME)')
    place = section.items[1]
    return Word(reader.name(place, 'the domain'), place.line, place.column)


def _single(reader: Reader, section: Group, read: Callable[[Node], _T]) -> _T:
    if len(section.items) != 2:
        raise reader.error(
            section,
            f'{section.head} holds {len(section.items) - 1} formulas, not one',
            'join them with (and ...)',
        )
    return read(section.items[1])


def _items(sections: Sections, keyword: str) -> tuple[Node, ...]:
    section = sections.get(keyword)
    return section.items[1:] if section else ()


def _empty(group: Group) -> Group:
    return Group((), group.line, group.column)
