# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads formulas, with every name checked where it stands, and puts objects for variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from operator import itemgetter

from safegen_ros.errors import PddlError, PddlErrors
from safegen_ros.pddl.diagnostics import suggestion
from safegen_ros.pddl.limits import Objects
from safegen_ros.pddl.model import (
    And,
    AtomFormula,
    Constraint,
    ConstraintAnd,
    ConstraintForall,
    ConstraintTree,
    Domain,
    Equals,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Or,
    Variables,
    subformulas,
    terms_of,
    with_subformulas,
)
from safegen_ros.pddl.sexpr import Group, Reader
from safegen_ros.pddl.typed_lists import read_typed_list
from safegen_ros.pddl.writer import names_text

CONNECTIVES = ('and', 'or', 'not', 'imply', 'forall', 'exists')

TRAJECTORY_OPERATORS = {
    'always': (0, 1), 'sometime': (0, 1), 'at-most-once': (0, 1), 'at end': (0, 1),
    'sometime-before': (0, 2), 'sometime-after': (0, 2), 'within': (1, 1),
    'always-within': (1, 2), 'hold-during': (2, 1), 'hold-after': (1, 1),
}  # fmt: skip
"""The trajectory constraints of PDDL3, with how many numbers and formulas each one takes."""

NUMERIC_EFFECTS = ('increase', 'decrease', 'assign', 'scale-up', 'scale-down')

_COMPARISONS = ('<', '>', '<=', '>=')

_FOREIGN = {
    'implies': "did you mean 'imply'?",
    'iff': 'write (and (imply A B) (imply B A))',
    'xor': 'write (or (and A (not B)) (and B (not A)))',
    **dict.fromkeys(('oneof', 'unknown'), 'state what is known; what is not stated is false'),
    'probabilistic': 'state the effect that is certain',
}
"""Operators of other languages, with what to write instead."""

_Pairs = tuple[tuple[str, str], ...]


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
    _fits: dict[tuple[str, str], bool] = field(default_factory=dict)

    def bind(self, variables: Variables) -> Scope:
        """The scope inside a quantifier; inner variables shadow outer ones."""
        names = {**self.variables, **dict(variables)}
        return Scope(self.reader, self.domain, self.objects, names, self._fits)

    def fits(self, kind: str, wanted: str) -> bool:
        """Whether what has a type may stand where another one is wanted."""
        known = self._fits.get((kind, wanted))
        if known is None:
            known = self._fits[kind, wanted] = self.domain.is_subtype(kind, wanted)
        return known


def read_formula(scope: Scope, parent: Group, index: int) -> Formula:
    """Reads the goal description that is an item of a list.

    Raises:
        PddlError: an undeclared name, a wrong number or type of arguments, a numeric formula; what
            is wrong inside an `and` or `or` is noted, and the rest of it read.
    """
    reader = scope.reader
    group = reader.group(parent, index, 'a formula such as (on a b)')
    items = group.items
    if not items:
        return And(())
    head = items[0]
    if not isinstance(head, str):
        raise reader.error(
            group,
            'a formula starts with a predicate or an operator, not a list',
            'join formulas with (and ...)',
        )
    if head == 'and' or head == 'or':
        parts = tuple(_read_parts(scope, group))
        return And(parts) if head == 'and' else Or(parts)
    if head == 'not':
        count_arguments(reader, group, 1)
        return Not(read_formula(scope, group, 1))
    if head == 'imply':
        count_arguments(reader, group, 2)
        return Imply(read_formula(scope, group, 1), read_formula(scope, group, 2))
    if head == 'forall' or head == 'exists':
        count_arguments(reader, group, 2)
        variables = read_variables(scope, group, 1)
        body = read_formula(scope.bind(variables), group, 2)
        return Forall(variables, body) if head == 'forall' else Exists(variables, body)
    if head == '=':
        return _read_equals(scope, group)
    if head not in scope.domain.predicates:
        _refuse_formula(scope, group, head)
    return read_atom(scope, group)


def _read_parts(scope: Scope, group: Group) -> Iterator[Formula]:
    for index in range(1, len(group.items)):
        try:
            yield read_formula(scope, group, index)
        except PddlErrors:
            raise
        except PddlError as error:
            scope.reader.note(error)


def _read_equals(scope: Scope, group: Group) -> Equals:
    reader = scope.reader
    count_arguments(reader, group, 2)
    for side in group.items[1:]:
        if isinstance(side, Group) or (side[0].isdigit() and side not in scope.objects):
            raise reader.unsupported(group, "the numeric comparison '='", 'state it with atoms')
    return Equals(_term(scope, group, 1), _term(scope, group, 2))


def _refuse_formula(scope: Scope, group: Group, head: str) -> None:
    """Raises for a head that means something else than a predicate; returns for any other."""
    reader = scope.reader
    if head in _COMPARISONS or head in NUMERIC_EFFECTS:
        raise reader.unsupported(group, f'the numeric operator {head!r}', 'state it with atoms')
    if head == 'preference':
        raise reader.unsupported(group, 'a preference', 'state what must hold')
    if head in TRAJECTORY_OPERATORS:
        raise reader.error(
            group,
            f'the trajectory operator {head!r} cannot stand inside a formula',
            'move it to (:constraints ...), and join constraints with and and forall only, around '
            'the operators',
        )


def read_variables(scope: Scope, parent: Group, index: int) -> Variables:
    """Reads the variable list of a quantifier or an action."""
    group = scope.reader.group(parent, index, 'a variable list such as (?x ?y - block)')
    return read_typed_list(scope.reader, group, 0, 'variable', scope.domain.types)


def read_atom(scope: Scope, group: Group) -> AtomFormula:
    """Reads one atom and checks its predicate, arity, names and types."""
    domain, items = scope.domain, group.items
    head = scope.reader.word(group, 0, 'a predicate') if items else ''
    kinds = domain.predicates.get(head)
    if kinds is None:
        _refuse_operator(scope.reader, group, head)
        known = names_text(sorted(domain.predicates))
        close = suggestion(head, (*domain.predicates, *CONNECTIVES))
        raise scope.reader.error(
            group,
            f'predicate {head[:40]!r} is not declared in domain {domain.name[:40]}',
            f'{close}its predicates are {known}',
        )
    return AtomFormula(head, read_arguments(scope, group, 'predicate', kinds))


def _refuse_operator(reader: Reader, group: Group, head: str) -> None:
    """Raises for an operator where an atom must stand, or one that is not supported."""
    if head in (*CONNECTIVES, '=', 'when'):
        raise reader.error(
            group,
            f'{head!r} cannot stand where an atom must',
            'write an atom such as (on a b), or (not ...) around one; effects are joined by and, '
            'forall and when',
        )
    if head in _FOREIGN:
        raise reader.unsupported(group, f'the operator {head!r}', _FOREIGN[head])


def read_arguments(
    scope: Scope, group: Group, what: str, kinds: tuple[str, ...]
) -> tuple[str, ...]:
    """The arguments of a predicate or a function, checked against the types that it takes."""
    reader, head = scope.reader, group.head
    if len(group.items) - 1 != len(kinds):
        raise reader.error(
            group,
            f'{what} {head[:40]!r} takes {len(kinds)} arguments, found {len(group.items) - 1}',
            'give it exactly that many',
        )
    terms = []
    for index, kind in enumerate(kinds, start=1):
        term = _term(scope, group, index)
        actual = scope.variables[term] if term in scope.variables else scope.objects[term]
        # Strict, as in VAL: a variable of a wider type is refused too, since an effect on it
        # could make atoms true of objects that the predicate was not declared for.
        if actual != kind and not scope.fits(actual, kind):
            raise reader.error_in(
                group,
                index,
                f'{term[:40]!r} is of type {actual[:40]}, but {head[:40]!r} takes {kind[:40]} here',
                'change one',
            )
        terms.append(term)
    return tuple(terms)


def _term(scope: Scope, group: Group, index: int) -> str:
    text = group.items[index]
    if isinstance(text, str) and (text in scope.variables or text in scope.objects):
        return text
    reader = scope.reader
    text = reader.word(group, index, 'an object or a variable')
    if text.startswith('?'):
        raise reader.error_in(
            group,
            index,
            f'variable {text[:40]!r} is not bound',
            f'{suggestion(text, scope.variables)}declare it in a quantifier or parameter',
        )
    known = 'no object is declared'
    if scope.objects:
        known = f'declared objects are {names_text(scope.objects)}'
    if scope.objects is scope.domain.constants:
        known = f'what a domain names must stand in its (:constants ...); {known}'
    raise reader.error_in(
        group,
        index,
        f'object {text[:40]!r} is not declared',
        suggestion(text, scope.objects) + known,
    )


def count_arguments(reader: Reader, group: Group, wanted: int) -> None:
    """Raises unless a list has that many items behind its head."""
    found = len(group.items) - 1
    if found != wanted:
        raise reader.error(
            group, f'{group.head!r} takes {wanted} arguments, found {found}', 'change the formula'
        )


def substitute(formula: Formula, binding: Mapping[str, str]) -> Formula:
    """The formula with variables replaced by objects; inner quantifiers shadow the binding."""
    if isinstance(formula, AtomFormula):
        return AtomFormula(formula.predicate, tuple(binding.get(t, t) for t in formula.terms))
    if isinstance(formula, Equals):
        return Equals(*(binding.get(t, t) for t in terms_of(formula)))
    if isinstance(formula, (Forall, Exists)):
        shadowed = {name for name, _ in formula.variables}
        binding = {k: v for k, v in binding.items() if k not in shadowed}
    return with_subformulas(formula, lambda part: substitute(part, binding))


def bindings(variables: Variables, objects: Objects) -> Iterator[dict[str, str]]:
    """Every assignment of objects to typed variables, in order of declaration."""
    names = [name for name, _ in variables]
    for values in product(*(objects[kind] for _, kind in variables)):
        yield dict(zip(names, values, strict=True))


def flatten_constraints(tree: ConstraintTree, objects: Objects) -> list[Constraint]:
    """Writes out `and` and `forall`, so that one automaton can watch each constraint.

    Args:
        tree: what `read_constraints` returned.
        objects: the objects of every type; an empty type makes its `forall` hold trivially.
    """
    return list(_spread(tree, (), objects)(()))


def _spread(
    tree: ConstraintTree, names: tuple[str, ...], objects: Objects
) -> Callable[[_Pairs], Iterator[Constraint]]:
    """A tree as a function of what the variables around it stand for, given in that order."""
    if isinstance(tree, ConstraintAnd):
        parts = [_spread(part, names, objects) for part in tree.parts]
        return lambda pairs: (each for part in parts for each in part(pairs))
    if isinstance(tree, ConstraintForall):
        inner = {name for name, _ in tree.variables}
        kept = [place for place, name in enumerate(names) if name not in inner]
        ranges = [[(name, one) for one in objects[kind]] for name, kind in tree.variables]
        visible = (*(names[place] for place in kept), *(name for name, _ in tree.variables))
        body = _spread(tree.body, visible, objects)

        def spread(pairs: _Pairs) -> Iterator[Constraint]:
            outer = tuple([pairs[place] for place in kept])
            for found in product(*ranges):
                yield from body(outer + found)

        return spread
    makers = [_maker(argument, names) for argument in tree.arguments]
    operator, times, place, exact = tree.operator, tree.times, tree.place, tree.exact

    def one(pairs: _Pairs) -> Iterator[Constraint]:
        arguments = tuple([make(pairs) for make in makers])
        yield Constraint(operator, arguments, times, pairs, place, exact)

    return one


def _maker(formula: Formula, names: tuple[str, ...]) -> Callable[[_Pairs], Formula]:
    """A formula as a function of what its free variables stand for.

    It makes equal parts once: of the 40,000 pairs of 200 objects, a part with one variable has
    only 200 instances.
    """
    free = _free(formula)
    used = [place for place, name in enumerate(names) if name in free]
    if not used:
        return lambda pairs: formula
    make = _instance(formula, names)
    if len(used) == len(names):
        return make
    key = itemgetter(*used)
    made: dict[object, Formula] = {}

    def shared(pairs: _Pairs) -> Formula:
        found = made.get(key(pairs))
        if found is None:
            found = made[key(pairs)] = make(pairs)
        return found

    return shared


def _free(formula: Formula) -> set[str]:
    """The terms of a formula but for the variables that it binds itself."""
    found = set(terms_of(formula)).union(*map(_free, subformulas(formula)))
    if isinstance(formula, (Forall, Exists)):
        found -= {name for name, _ in formula.variables}
    return found


def _instance(formula: Formula, names: tuple[str, ...]) -> Callable[[_Pairs], Formula]:
    """As `_maker`, for a formula that has free variables."""
    if isinstance(formula, AtomFormula):
        predicate, terms = formula.predicate, _terms(formula.terms, names)
        return lambda pairs: AtomFormula(predicate, terms(pairs))
    if isinstance(formula, Equals):
        sides = _terms((formula.left, formula.right), names)
        return lambda pairs: Equals(*sides(pairs))
    if isinstance(formula, Not):
        body = _maker(formula.body, names)
        return lambda pairs: Not(body(pairs))
    if isinstance(formula, (And, Or)):
        parts = [_maker(part, names) for part in formula.parts]
        if isinstance(formula, And):
            return lambda pairs: And(tuple([part(pairs) for part in parts]))
        return lambda pairs: Or(tuple([part(pairs) for part in parts]))
    if isinstance(formula, Imply):
        premise, conclusion = _maker(formula.premise, names), _maker(formula.conclusion, names)
        return lambda pairs: Imply(premise(pairs), conclusion(pairs))
    return lambda pairs: substitute(formula, dict(pairs))


def _terms(terms: tuple[str, ...], names: tuple[str, ...]) -> Callable[[_Pairs], tuple[str, ...]]:
    places = [(term, names.index(term) if term in names else -1) for term in terms]
    return lambda pairs: tuple([t if place < 0 else pairs[place][1] for t, place in places])
