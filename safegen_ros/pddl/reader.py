# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads PDDL domains and problems; unsupported parts are refused by name, never dropped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from safegen_ros.errors import ErrorCode
from safegen_ros.pddl.constraints import (
    joined,
    read_constraints,
    vacuous_constraints,
    with_inner_quantifiers,
)
from safegen_ros.pddl.deciding import settled, wish_names
from safegen_ros.pddl.derived import DERIVED, check_moments, read_rules, undeclared_heads
from safegen_ros.pddl.diagnostics import Assumed, suggestion
from safegen_ros.pddl.durative import PARTS as DURATIVE_PARTS
from safegen_ros.pddl.durative import read_durative
from safegen_ros.pddl.effects import read_effect, read_initial
from safegen_ros.pddl.expressions import read_functions, read_metric
from safegen_ros.pddl.flatten import flatten
from safegen_ros.pddl.formulas import CONNECTIVES, flatten_constraints, read_formula, written_out
from safegen_ros.pddl.limits import (
    MAX_CONSTRAINTS,
    MAX_DOMAIN_SIZE,
    action_parts,
    constraint_size,
    excess,
    extent,
)
from safegen_ros.pddl.model import (
    Action,
    And,
    ConstraintForall,
    ConstraintTree,
    Domain,
    DurativeAction,
    Effect,
    Formula,
    NumericEffect,
    Problem,
    SoftRule,
    Variables,
)
from safegen_ros.pddl.scope import Scope, check_assumed_atoms, with_assumed
from safegen_ros.pddl.sexpr import Group, Reader, SourceWord, Spelling, collector_paused, read_sexpr
from safegen_ros.pddl.typed_lists import read_objects, read_typed_list, read_types

REQUIREMENTS = frozenset(
    {
        ':strips', ':typing', ':equality', ':negative-preconditions', ':constraints', ':adl',
        ':disjunctive-preconditions', ':existential-preconditions', ':universal-preconditions',
        ':quantified-preconditions', ':conditional-effects', ':action-costs', ':durative-actions',
        ':duration-inequalities', ':numeric-fluents', ':fluents', ':derived-predicates',
        ':preferences', ':timed-initial-literals',
    }
)  # fmt: skip
"""What a text may require and use."""

UNUSED_REQUIREMENTS = frozenset(
    {
        ':domain-axioms', ':goal-utilities',
        ':continuous-effects', ':object-fluents', ':non-deterministic', ':multi-agent', ':time',
        ':negative-effects', ':universal-effects', ':hierarchy', ':htn', ':utilities', ':negation',
        ':processes', ':probabilistic-effects', ':rewards', ':mdp', ':contingent', ':sensing',
    }
)  # fmt: skip
"""What a text may require as long as it does not use it: each use is refused where it stands.

Collections declare these beside action costs and beside `:constraints`.
"""

_DOMAIN_SECTIONS = (
    ':requirements', ':types', ':constants', ':predicates', ':functions', ':constraints',
)  # fmt: skip
_SEVERAL = (DERIVED, ':durative-action', ':action')  # of which a domain may have any number
_PROBLEM_SECTIONS = (
    ':domain', ':requirements', ':objects', ':init', ':goal', ':constraints', ':metric',
)  # fmt: skip
_UNSUPPORTED_SECTIONS = {
    ':axiom': 'write it as (:derived ATOM FORMULA)',
    ':process': 'write its change as the effect of a durative action',
    ':event': 'write its effect into the actions that cause it',
    ':sensing-action': 'observe between two plans, and plan with known facts',
    ':method': 'write it as an (:action ...)',
    ':task': 'state the goal in (:goal ...)',
    ':htn': 'state the goal in (:goal ...)',
    ':length': 'leave it out',
}
_RESERVED = frozenset({*CONNECTIVES, 'when', 'preference', '='})
_PARTS = (':parameters', ':precondition', ':effect')

_NOTHING = Group([], 0, 2)  # stands in for a section that a text does not have

Sections = dict[str, Group]
_T = TypeVar('_T')


def read_domain(text: str, source: str = '<domain>') -> Domain:
    """Reads a domain.

    Raises:
        PddlError: the text is not PDDL, uses an undeclared name, or a feature that is not
            supported (its name and place are in the message).
    """
    with collector_paused():
        reader, top = read_sexpr(text, source)
        return reader.whole(_read_domain, reader, top)


def _read_domain(reader: Reader, top: Group) -> Domain:
    name, sections, several = _define(reader, top, 'domain')
    _requirements(reader, sections)
    types = read_types(reader, sections.get(':types', _NOTHING))
    assumed = reader.assumed = Assumed(types)
    constants = read_objects(reader, sections.get(':constants', _NOTHING), 'constant', types)
    assumed.constants = constants
    domain = Domain(name, types, constants, {}, {})
    domain = replace(
        domain,
        predicates=_predicates(reader, domain, sections),
        functions=read_functions(reader, domain, sections[':functions'])
        if ':functions' in sections
        else {},
    )
    reader.finish()  # a name that was declared wrongly would be reported wherever it is used
    scope = Scope(reader, domain, domain.constants)
    if rules := [group for group in several if group.head == DERIVED]:
        heads = undeclared_heads(scope, rules)
        domain = replace(domain, predicates={**domain.predicates, **heads})
        scope = replace(scope, domain=domain)
        domain = replace(domain, derived=read_rules(scope, rules))
        scope = replace(scope, domain=domain)
    found = _actions(scope, [group for group in several if group.head != DERIVED])
    durative = {name: each for name, each in found.items() if isinstance(each, DurativeAction)}
    flat = {n: flatten(a) if isinstance(a, DurativeAction) else a for n, a in found.items()}
    size = sum(extent(action_parts(action))[0] for action in flat.values())
    if size > MAX_DOMAIN_SIZE:
        too_large = f'{size:,} parts of actions, more than {MAX_DOMAIN_SIZE:,}'
        cure = 'put fewer effects behind one long condition'
        raise reader.error(top, too_large, cure, ErrorCode.TASK_TOO_LARGE)
    if durative:
        scope = replace(scope, domain=replace(domain, durative=durative))
    wishes: list[SoftRule] = []
    assumed.apart = False
    tree = _constraints(scope.wishing(wishes), sections)
    return replace(
        domain,
        actions=flat,
        constraint_tree=tree,
        durative=durative,
        predicates={**domain.predicates, **assumed.predicates},
        functions={**domain.functions, **assumed.functions},
        wishes=tuple(wishes),
        remarks=tuple(assumed.remarks.values()),
        spelling=Spelling(reader.text, {*flat, *constants}),
    )


def read_problem(
    text: str, domain: Domain, source: str = '<problem>', *, any_name: bool = False
) -> Problem:
    """Reads a problem of a domain.

    Args:
        text: PDDL text of one problem, with its `:constraints`.
        domain: the domain that the problem names.
        source: file name, or a label, for messages.
        any_name: whether the problem may name another domain than this one, as some problems of
            the competitions do; its words are checked against this one all the same.

    Raises:
        PddlError: as `read_domain`; also when the problem names another domain.
    """
    with collector_paused():
        reader, top = read_sexpr(text, source)
        return reader.whole(_read_problem, reader, top, domain, any_name)


def _read_problem(reader: Reader, top: Group, domain: Domain, any_name: bool) -> Problem:
    name, sections, _ = _define(reader, top, 'problem')
    _requirements(reader, sections)
    named = _domain_section(reader, top, sections)
    if named.items[1] != domain.name and not any_name:
        raise reader.error_in(
            named,
            1,
            f'the problem is for domain {named.items[1]!r}, not {domain.name!r}',
            'give the domain that it names, or allow another one (--any-name, any_name=True)',
            ErrorCode.UNKNOWN_DOMAIN,
        )
    declared = sections.get(':objects', _NOTHING)
    listed = read_objects(reader, declared, 'object', domain.types)
    domain = with_assumed(reader, declared, domain, listed)
    objects = dict(domain.constants)
    for object_, kind in listed.items():
        if objects.setdefault(object_, kind) != kind:
            raise reader.error(
                declared,
                f'{object_!r} is a constant of type {objects[object_]} in the domain',
                'leave it out of :objects',
            )
    for required in (':init', ':goal'):
        if required not in sections:
            reader.note(
                reader.error(top, f'the problem has no {required}', f'add ({required} ...)')
            )
    reader.finish()
    problem = Problem(name, domain, objects, frozenset(), And(()), ())
    objects_of = problem.objects_by_type()
    wishes = list(domain.wishes)
    scope = Scope(reader, domain, objects, wishes=wishes)
    initial = read_initial(scope.hard(), sections[':init'], objects_of)
    goal = _section(scope, sections, ':goal', read_formula)
    tree = _constraints(scope, sections)
    metric = None
    if ':metric' in sections:
        names = wish_names(domain, wishes)
        metric = reader.attempt(read_metric, scope, sections[':metric'], names)
    reader.finish()
    problem = replace(
        problem,
        init=initial.atoms,
        goal=goal or And(()),
        metric=metric,
        values=initial.values,
        timed=initial.literals(),
    )
    trees = [each for each in (domain.constraint_tree, tree) if each is not None]
    if sum(constraint_size(each, objects_of)[0] for each in trees) > MAX_CONSTRAINTS:
        trees = list(map(with_inner_quantifiers, trees))
    soft = [ConstraintForall(rule.variables, rule.body, rule.place) for rule in wishes]
    too_large = excess(problem, [*trees, *soft], objects_of)
    if too_large:
        cure = 'use fewer quantified variables or fewer objects'
        raise reader.error(top, too_large, cure, ErrorCode.TASK_TOO_LARGE)
    found = [c for each in trees for c in flatten_constraints(each, objects_of)]
    soft_of_domain = written_out(domain.wishes, objects_of)
    known = set(soft_of_domain)
    own = written_out(wishes[len(domain.wishes) :], objects_of)
    preferences = (*soft_of_domain, *(each for each in own if each not in known))
    notes = (*map(str, domain.remarks), *vacuous_constraints([*trees, *soft], objects_of))
    spelling = Spelling(reader.text, objects, domain.spelling)
    problem = replace(
        problem,
        constraints=tuple(dict.fromkeys(found)),
        preferences=preferences,
        notes=notes,
        spelling=spelling,
    )
    check_assumed_atoms(reader, top, problem)
    return settled(problem)


def problem_domain_name(text: str, source: str = '<problem>') -> SourceWord:
    """The domain that a problem text asks for and where it says so; the rest is not read."""
    reader, top = read_sexpr(text, source)
    _, sections, _ = _define(reader, top, 'problem')
    section = _domain_section(reader, top, sections)
    return SourceWord(reader.name(section, 1, 'the domain'), *reader.place_in(section, 1))


def _define(reader: Reader, top: Group, kind: str) -> tuple[str, Sections, list[Group]]:
    """The name, the sections by keyword, and those that come in any number, of a `(define ...)`."""
    if top.head != 'define' or len(top.items) < 2:
        raise reader.error(top, f'expected (define ({kind} ...) ...)', 'start the text with it')
    title = reader.group(top, 1, f'({kind} NAME)')
    if title.head != kind or len(title.items) != 2:
        raise reader.error(title, f'expected ({kind} NAME)', f'this text must be a PDDL {kind}')
    name = reader.name(title, 1, f'the {kind}')
    sections: Sections = {}
    several: list[Group] = []
    for index in range(2, len(top.items)):
        section = reader.attempt(_known_section, reader, top, index, kind)
        if section is None and top.items[index] in DURATIVE_PARTS + _PARTS:
            break  # what follows is the rest of an action
        if section is None:
            continue
        if section.head in _SEVERAL:
            several.append(section)
        elif section.head in sections:
            reader.note(
                reader.error(
                    section, f'a second {section.head} section', 'merge it into the first one'
                )
            )
        else:
            sections[section.head] = section
    return name, sections, several


def _known_section(reader: Reader, top: Group, index: int, kind: str) -> Group:
    """A section that may stand in a domain or in a problem."""
    known = (*_DOMAIN_SECTIONS, *_SEVERAL) if kind == 'domain' else _PROBLEM_SECTIONS
    before, item = top.items[index - 1], top.items[index]
    if isinstance(before, Group) and before.head in _SEVERAL and item in DURATIVE_PARTS + _PARTS:
        line, _ = reader.place(before.start + before.size - 1)
        cure = f"remove the ')' in line {line} that ends it too early"
        what = f'{item} outside of the ({before.head} ...) before it'
        raise reader.error_in(top, index, what, cure)
    section = reader.group(top, index, f'a section of the {kind}, such as ({known[-1]} ...)')
    head = section.head
    if head in _UNSUPPORTED_SECTIONS:
        raise reader.unsupported(section, head, _UNSUPPORTED_SECTIONS[head])
    if head not in known:
        raise reader.error(
            section,
            f'{head[:40] or "a list"!r} is not a section of a {kind}',
            f'{suggestion(head, known)}sections are {" ".join(known)}',
        )
    return section


def _requirements(reader: Reader, sections: Sections) -> None:
    section = sections.get(':requirements', _NOTHING)
    for index in range(1, len(section.items)):
        flag = reader.word(section, index, 'a requirement flag')
        if flag not in REQUIREMENTS and flag not in UNUSED_REQUIREMENTS:
            known = sorted(REQUIREMENTS)
            reader.note(
                reader.unsupported(
                    reader.locate(section, index),
                    f'the requirement {flag[:40]!r}',
                    f'{suggestion(flag, known)}supported are {" ".join(known)}',
                )
            )


def _predicates(reader: Reader, domain: Domain, sections: Sections) -> dict[str, tuple[str, ...]]:
    predicates: dict[str, tuple[str, ...]] = {}
    section = sections.get(':predicates', _NOTHING)
    for index in range(1, len(section.items)):
        found = reader.attempt(_predicate, reader, domain, section, index)
        if found is None:
            continue
        name, kinds = found
        known = predicates.get(name, kinds)
        if len(known) != len(kinds):
            reader.note(
                reader.error_in(
                    section,
                    index,
                    f'predicate {name[:40]!r} is declared with {len(known)} arguments and with '
                    f'{len(kinds)}',
                    'rename one',
                )
            )
        # Declared for several types: each argument may be of either one.
        predicates[name] = tuple(
            domain.either(one, other) for one, other in zip(known, kinds, strict=False)
        )
    return predicates


def _predicate(
    reader: Reader, domain: Domain, section: Group, index: int
) -> tuple[str, tuple[str, ...]]:
    group = reader.group(section, index, 'a predicate declaration such as (on ?x ?y)')
    if not group.items:
        raise reader.error(group, 'an empty predicate declaration', 'remove it')
    name = reader.word(group, 0, 'a predicate')
    if name in _RESERVED:
        raise reader.error(group, f'{name!r} cannot name a predicate', 'rename it')
    typed = read_typed_list(reader, group, 1, 'place', domain.types)
    return reader.name(group, 0, 'a predicate'), tuple(kind for _, kind in typed)


def _actions(scope: Scope, groups: list[Group]) -> dict[str, Action | DurativeAction]:
    actions: dict[str, Action | DurativeAction] = {}
    for group in groups:
        action = scope.reader.attempt(_action, scope, group)
        if action is None:
            continue
        if action.name in actions:
            scope.reader.note(
                scope.reader.error(
                    group, f'action {action.name!r} is declared twice', 'remove one of them'
                )
            )
        actions[action.name] = action
    return actions


def _action(scope: Scope, group: Group) -> Action | DurativeAction:
    reader = scope.reader
    if len(group.items) < 2:
        raise reader.error(group, 'an action without a name', f'write ({group.head} NAME ...)')
    name = reader.name(group, 1, 'an action')
    known = _PARTS if group.head == ':action' else DURATIVE_PARTS
    parts: dict[str, int] = {}
    for index in range(2, len(group.items), 2):
        key = group.items[index]
        if isinstance(key, Group):
            behind = group.items[index - 2] if index > 2 else 'the name'
            what = f'a list behind {behind} of action {name[:40]}, without a keyword'
            cure = f'write one of {" ".join(known)}, or join formulas with (and ...)'
            raise reader.error(key, what, cure)
        if key in (':observe', ':sensing'):
            raise reader.unsupported(
                reader.locate(group, index), f'an action that senses ({key})',
                'observe between two plans, and plan with known facts',
            )  # fmt: skip
        if key in parts:
            cure = 'merge it into the first one'
            raise reader.error_in(group, index, f'a second {key} in action {name[:40]}', cure)
        if key not in known:
            raise reader.error_in(
                group,
                index,
                f'{key[:40]!r} is out of place in action {name[:40]}',
                f'{suggestion(key, known)}an action has {" ".join(known)}, each once',
            )
        if index + 1 >= len(group.items):
            raise reader.error_in(
                group, index, f'{key} of action {name[:40]} has no value', 'add it'
            )
        parts[key] = index + 1
    parameters: Variables = ()
    precondition: Formula | None = None
    effects: tuple[tuple[Effect, ...], tuple[NumericEffect, ...]] | None = None
    if ':parameters' in parts:
        listed = reader.group(group, parts[':parameters'], 'a parameter list')
        parameters = read_typed_list(reader, listed, 0, 'variable', scope.domain.types)
    if known is DURATIVE_PARTS:
        action = read_durative(scope, group, name, parameters, parts)
        check_moments(scope, group, action)
        return action
    inner = scope.bind(parameters)
    wishes: list[SoftRule] = []
    if ':precondition' in parts:
        wished = inner.wishing(wishes)
        precondition = reader.attempt(read_formula, wished, group, parts[':precondition'])
    if ':effect' in parts:
        effects = reader.attempt(read_effect, inner, group, parts[':effect'])
    changes = effects or ((), ())
    return Action(name, parameters, precondition or And(()), *changes, tuple(wishes))


def _domain_section(reader: Reader, top: Group, sections: Sections) -> Group:
    """The section that names the domain, checked to be one name."""
    section = sections.get(':domain')
    if section is None:
        raise reader.error(top, 'the problem names no domain', 'add (:domain NAME)')
    if len(section.items) != 2:
        raise reader.error(section, ':domain takes one name', 'write (:domain NAME)')
    reader.name(section, 1, 'the domain')
    return section


def _section(
    scope: Scope, sections: Sections, keyword: str, read: Callable[[Scope, Group, int], _T]
) -> _T | None:
    """What the one formula of a section is; None when there is none or it could not be read."""
    section, reader = sections.get(keyword), scope.reader
    if section is None:
        return None
    if len(section.items) == 2:
        return reader.attempt(read, scope, section, 1)
    count = len(section.items) - 1
    cure = 'join them with (and ...)' if count else 'write one, or leave the section out'
    reader.note(reader.error(section, f'{keyword} holds {count} formulas, not one', cure))
    return None


def _constraints(scope: Scope, sections: Sections) -> ConstraintTree | None:
    """What `:constraints` holds; None when there is none or it could not be read."""
    section = sections.get(':constraints', _NOTHING)
    if len(section.items) > 2:
        return joined(scope, section)
    return _section(scope, sections, ':constraints', read_constraints)
