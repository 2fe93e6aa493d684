# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads formulas, effects and trajectory constraints, with every name checked where it stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

from safegen_ros.errors import ErrorCode
from safegen_ros.pddl.limits import Objects
from safegen_ros.pddl.model import (
    And,
    AtomFormula,
    Constraint,
    ConstraintAnd,
    ConstraintForall,
    ConstraintTree,
    Domain,
    Effect,
    Equals,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Or,
    Variables,
    conjuncts,
)
from safegen_ros.pddl.sexpr import Group, Node, Reader, Word
from safegen_ros.pddl.writer import names_text

CONSTRAINT_ARITY = {'always': 1, 'sometime': 1, 'at-most-once': 1, 'sometime-before': 2}
"""The trajectory constraints that are read, with the number of formulas each one takes."""

_LATER_CONSTRAINTS = (
    'at', 'at-end', 'sometime-after', 'within', 'always-within', 'hold-during', 'hold-after',
    'preference',
)  # fmt: skip

_NUMERIC = ('<', '>', '<=', '>=', 'increase', 'decrease', 'assign', 'scale-up', 'scale-down')

_MAX_VARIABLES = 100  # of one list; every scope inside copies them

Types = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that a formula may use.

    Attributes:
        reader: where errors are reported.
        domain: predicates and types.
        objects: objects and constants, with their types.
        variables: bound variables, with their types.
    """

    reader: Reader
    domain: Domain
    objects: Mapping[str, str]
    variables: Mapping[str, str] = field(default_factory=dict)

    def bind(self, variables: Variables) -> Scope:
        """The scope inside a quantifier; inner variables shadow outer ones."""
        return replace(self, variables={**self.variables, **dict(variables)})

    def kind_of(self, term: str) -> str:
        """The type of a name that is known here."""
        return self.variables[term] if term in self.variables else self.objects[term]


def read_typed_list(
    reader: Reader,
    items: tuple[Node, ...],
    what: str,
    types: Mapping[str, str] | None,
    untyped: str = 'object',
) -> Types:
    """Reads `a b - t c`, names before a dash taking the type behind it.

    Args:
        reader: where errors are reported.
        items: the tokens.
        what: what is being declared, for messages; variables must start with `?`.
        types: the declared types, or None where types are being declared.
        untyped: the type of names without a dash behind them.

    Raises:
        PddlError: a bad or repeated name, an undeclared type, a dash without a type, `either`,
            or more variables than any honest text has.
    """
    if what == 'variable' and len(items) > 3 * _MAX_VARIABLES:
        raise reader.error(
            items[0],
            f'a variable list of {len(items)} words',
            f'use at most {_MAX_VARIABLES} variables',
            ErrorCode.TASK_TOO_LARGE,
        )
    found: dict[str, str] = {}
    pending: list[str] = []
    index = 0
    while index < len(items):
        node = items[index]
        if isinstance(node, Word) and node.text == '-':
            if not pending or index + 1 >= len(items):
                raise reader.error(
                    node, f"'-' needs a {what} before it and a type behind it", 'write NAME - TYPE'
                )
            kind = _type_name(reader, items[index + 1], types)
            found.update((name, kind) for name in pending)
            pending.clear()
            index += 2
            continue
        name = _declared_name(reader, node, what)
        if name in found:
            raise reader.error(
                node, f'{what} {name[:40]!r} is declared twice', 'remove one of them'
            )
        found[name] = untyped
        pending.append(name)
        index += 1
    return tuple(found.items())


def _declared_name(reader: Reader, node: Node, what: str) -> str:
    if what != 'variable':
        return reader.name(node, what)
    text = reader.word(node, 'a variable')
    if not text.startswith('?'):
        raise reader.error(node, f'{text[:40]!r} is not a variable', "a variable starts with '?'")
    reader.name(Word(text[1:], node.line, node.column), 'a variable')
    return text


def _type_name(reader: Reader, node: Node, types: Mapping[str, str] | None) -> str:
    if isinstance(node, Group) and node.head == 'either':
        raise reader.unsupported(node, "the type 'either'", 'declare a common parent type')
    name = reader.name(node, 'a type')
    if types is not None and name != 'object' and name not in types:
        known = names_text(sorted({*types, 'object'}))
        raise reader.error(
            node, f'type {name[:40]!r} is not declared', f'declared types are {known}'
        )
    return name


def read_formula(scope: Scope, node: Node) -> Formula:
    """Reads a goal description.

    Raises:
        PddlError: an undeclared name, a wrong number or type of arguments, a numeric formula.
    """
    reader = scope.reader
    group = reader.group(node, 'a formula such as (on a b)')
    if not group.items:
        return And(())
    if not isinstance(group.items[0], Word):
        raise reader.error(
            group,
            'a formula starts with a predicate or an operator, not a list',
            'join formulas with (and ...)',
        )
    head, args = group.head, group.items[1:]
    if head in ('and', 'or'):
        parts = tuple(read_formula(scope, a) for a in args)
        return And(parts) if head == 'and' else Or(parts)
    if head == 'not':
        _count(reader, group, 1)
        return Not(read_formula(scope, args[0]))
    if head == 'imply':
        _count(reader, group, 2)
        return Imply(read_formula(scope, args[0]), read_formula(scope, args[1]))
    if head in ('forall', 'exists'):
        _count(reader, group, 2)
        variables = read_variables(scope, args[0])
        body = read_formula(scope.bind(variables), args[1])
        return Forall(variables, body) if head == 'forall' else Exists(variables, body)
    if head == '=':
        _count(reader, group, 2)
        return Equals(_term(scope, args[0]), _term(scope, args[1]))
    if head in _NUMERIC:
        raise reader.unsupported(group, f'the numeric operator {head!r}', 'state it with atoms')
    if head == 'preference':
        raise reader.unsupported(group, 'a preference', 'state what must hold')
    return read_atom(scope, group)


def read_variables(scope: Scope, node: Node) -> Variables:
    """Reads the variable list of a quantifier, a parameter list or a predicate."""
    group = scope.reader.group(node, 'a variable list such as (?x ?y - block)')
    return read_typed_list(scope.reader, group.items, 'variable', scope.domain.types)


def read_atom(scope: Scope, node: Node) -> AtomFormula:
    """Reads one atom and checks its predicate, arity, names and types."""
    reader, domain = scope.reader, scope.domain
    group = reader.group(node, 'an atom such as (on a b)')
    head = reader.word(group.items[0], 'a predicate') if group.items else ''
    kinds = domain.predicates.get(head)
    if kinds is None:
        known = names_text(sorted(domain.predicates))
        raise reader.error(
            group,
            f'predicate {head[:40]!r} is not declared in domain {domain.name[:40]}',
            f'its predicates are {known}',
        )
    if len(group.items) - 1 != len(kinds):
        raise reader.error(
            group,
            f'predicate {head[:40]!r} takes {len(kinds)} arguments, found {len(group.items) - 1}',
            'give it exactly that many',
        )
    terms = tuple(_term(scope, a) for a in group.items[1:])
    for item, term, kind in zip(group.items[1:], terms, kinds, strict=True):
        actual = scope.kind_of(term)
        # Strict, as in VAL: a variable of a wider type is refused too, since an effect on it
        # could make atoms true of objects that the predicate was not declared for.
        if not domain.is_subtype(actual, kind):
            raise reader.error(
                item,
                f'{term[:40]!r} is of type {actual[:40]}, but {head[:40]!r} takes {kind[:40]} here',
                'change one',
            )
    return AtomFormula(head, terms)


def _term(scope: Scope, node: Node) -> str:
    reader = scope.reader
    text = reader.word(node, 'an object or a variable')
    if text in scope.variables or text in scope.objects:
        return text
    if text.startswith('?'):
        raise reader.error(
            node, f'variable {text[:40]!r} is not bound', 'declare it in a quantifier or parameter'
        )
    known = f'declared objects are {names_text(scope.objects)}'
    raise reader.error(
        node,
        f'object {text[:40]!r} is not declared',
        known if scope.objects else 'no object is declared',
    )


def _count(reader: Reader, group: Group, wanted: int) -> None:
    found = len(group.items) - 1
    if found != wanted:
        raise reader.error(
            group, f'{group.head!r} takes {wanted} arguments, found {found}', 'change the formula'
        )


def read_effect(scope: Scope, node: Node) -> tuple[Effect, ...]:
    """Reads an action's effect; `when` and `forall` may be nested, numbers may not appear."""
    return tuple(_effects(scope, node, (), And(())))


def _effects(scope: Scope, node: Node, variables: Variables, when: Formula) -> list[Effect]:
    reader = scope.reader
    group = reader.group(node, 'an effect')
    head, args = group.head, group.items[1:]
    if not group.items:
        return []
    if head == 'and':
        return [effect for a in args for effect in _effects(scope, a, variables, when)]
    if head == 'forall':
        _count(reader, group, 2)
        inner = read_variables(scope, args[0])
        # One effect has one list of variables, so an inner one may not hide an outer one.
        for name, _ in inner:
            if name in scope.variables:
                raise reader.error(args[0], f'variable {name[:40]!r} is bound already', 'rename it')
        return _effects(scope.bind(inner), args[1], (*variables, *inner), when)
    if head == 'when':
        _count(reader, group, 2)
        both = And((*conjuncts(when), *conjuncts(read_formula(scope, args[0]))))
        return _effects(scope, args[1], variables, both)
    if head in _NUMERIC:
        raise reader.unsupported(group, f'the numeric effect {head!r}', 'leave it out')
    if head == 'not':
        _count(reader, group, 1)
        return [Effect(variables, when, (), (read_atom(scope, args[0]),))]
    return [Effect(variables, when, (read_atom(scope, group),), ())]


def read_constraints(scope: Scope, node: Node) -> ConstraintTree:
    """Reads what stands inside `(:constraints ...)`; nothing in there is ever skipped.

    Raises:
        PddlError: anything that is not `and`, `forall` or one of `CONSTRAINT_ARITY`.
    """
    reader = scope.reader
    group = reader.group(node, 'a trajectory constraint')
    head, args = group.head, group.items[1:]
    if not group.items:
        return ConstraintAnd(())
    if head == 'and':
        return ConstraintAnd(tuple(read_constraints(scope, a) for a in args))
    if head == 'forall':
        _count(reader, group, 2)
        variables = read_variables(scope, args[0])
        return ConstraintForall(variables, read_constraints(scope.bind(variables), args[1]))
    known = 'supported are ' + ' '.join(sorted(CONSTRAINT_ARITY))
    if head in _LATER_CONSTRAINTS:
        raise reader.unsupported(group, f'the constraint {head!r}', known)
    if head not in CONSTRAINT_ARITY:
        raise reader.error(
            group,
            f'{head[:40] or "a list"!r} is not a trajectory constraint',
            f'{known}, joined with and or forall',
        )
    _count(reader, group, CONSTRAINT_ARITY[head])
    arguments = tuple(read_formula(scope, a) for a in args)
    return Constraint(head, arguments, place=f'{reader.source}:{group.line}:{group.column}')


def substitute(formula: Formula, binding: Mapping[str, str]) -> Formula:
    """The formula with variables replaced by objects; inner quantifiers shadow the binding."""
    if isinstance(formula, AtomFormula):
        return AtomFormula(formula.predicate, tuple(binding.get(t, t) for t in formula.terms))
    if isinstance(formula, Equals):
        return Equals(
            binding.get(formula.left, formula.left), binding.get(formula.right, formula.right)
        )
    if isinstance(formula, Not):
        return Not(substitute(formula.body, binding))
    if isinstance(formula, (And, Or)):
        return type(formula)(tuple(substitute(p, binding) for p in formula.parts))
    if isinstance(formula, Imply):
        return Imply(substitute(formula.premise, binding), substitute(formula.conclusion, binding))
    shadowed = {name for name, _ in formula.variables}
    inner = {k: v for k, v in binding.items() if k not in shadowed}
    return type(formula)(formula.variables, substitute(formula.body, inner))


def flatten_constraints(tree: ConstraintTree, objects: Objects) -> list[Constraint]:
    """Writes out `and` and `forall`, so that one automaton can watch each constraint.

    Args:
        tree: what `read_constraints` returned.
        objects: the objects of every type; an empty type makes its `forall` hold trivially.
    """
    return list(_flatten(tree, objects, {}))


def _flatten(
    tree: ConstraintTree, objects: Objects, binding: Mapping[str, str]
) -> Iterator[Constraint]:
    if isinstance(tree, ConstraintAnd):
        for part in tree.parts:
            yield from _flatten(part, objects, binding)
    elif isinstance(tree, ConstraintForall):
        for inner in bindings(tree.variables, objects):
            yield from _flatten(tree.body, objects, {**binding, **inner})
    else:
        ground = tuple(substitute(argument, binding) for argument in tree.arguments)
        yield replace(tree, arguments=ground, binding=tuple(binding.items()))


def bindings(variables: Variables, objects: Objects) -> Iterator[dict[str, str]]:
    """Every assignment of objects to typed variables, in order of declaration."""
    names = [name for name, _ in variables]
    for values in product(*(objects[kind] for _, kind in variables)):
        yield dict(zip(names, values, strict=True))
