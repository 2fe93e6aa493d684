# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The names that formulas and effects may use, checked where they stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from safegen_ros.pddl.diagnostics import Remark, suggestion
from safegen_ros.pddl.model import ANY_OF, ConstraintTree, Domain, SoftRule, Variables
from safegen_ros.pddl.sexpr import Group, Reader, is_name
from safegen_ros.pddl.typed_lists import remark
from safegen_ros.pddl.writer import names_text, variables_text


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that a formula may use.

    Attributes:
        reader: where errors are reported.
        domain: predicates and types.
        objects: objects and constants, with their types.
        variables: bound variables, with their types.
        wishes: where preferences are put; None where none may stand.
        around: the variables of the quantifiers around it.
    """

    reader: Reader
    domain: Domain
    objects: Mapping[str, str]
    variables: Mapping[str, str] = field(default_factory=dict)
    wishes: list[SoftRule] | None = None
    around: Variables = ()
    _fits: dict[tuple[str, str], bool] = field(default_factory=dict)

    def hard(self) -> Scope:
        """The scope where no preference may stand."""
        return self if self.wishes is None else self.wishing(None)

    def wishing(self, wishes: list[SoftRule] | None) -> Scope:
        """The scope whose preferences are put into a list; None where none may stand."""
        return Scope(
            self.reader, self.domain, self.objects, self.variables, wishes, self.around, self._fits
        )

    def bind(self, variables: Variables) -> Scope:
        """The scope inside a quantifier; inner variables shadow outer ones."""
        names = {**self.variables, **dict(variables)}
        inner = dict(variables)
        around = tuple(each for each in self.around if each[0] not in inner) + variables
        if self.wishes is None:
            around = ()
        return Scope(self.reader, self.domain, self.objects, names, self.wishes, around, self._fits)

    def fits(self, kind: str, wanted: str) -> bool:
        """Whether what has a type may stand where another one is wanted."""
        known = self._fits.get((kind, wanted))
        if known is None:
            known = self._fits[kind, wanted] = self.domain.is_subtype(kind, wanted)
        return known


def read_wish(
    scope: Scope, group: Group, read: Callable[[Scope, Group, int], ConstraintTree]
) -> bool:
    """Notes a `(preference NAME ...)`, whose body `read` reads; False for any other.

    Raises:
        PddlError: it stands where none may stand.
    """
    reader = scope.reader
    if group.head != 'preference' or 'preference' in scope.domain.predicates:
        return False
    if scope.wishes is None:
        raise reader.unsupported(
            group,
            'a preference in this place',
            'join preferences by and and forall only, in :goal, :constraints and preconditions of '
            'actions without duration',
        )
    count = len(group.items) - 1
    if count not in (1, 2):
        raise reader.error(
            group, f'a preference takes a name and a body, found {count} parts', 'change it'
        )
    name = reader.name(group, 1, 'a preference') if count == 2 else ''
    body = read(scope.hard(), group, count)
    line, column = reader.place(group.start)
    place = f'{reader.source}:{line}:{column}'
    scope.wishes.append(SoftRule(name, scope.around, body, place))
    return True


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
        term = read_term(scope, group, index, kind)
        actual = scope.variables[term] if term in scope.variables else scope.objects[term]
        if actual != kind and not scope.fits(actual, kind):
            if _is_assumed(scope, group, index, what, actual, kind):
                terms.append(term)
                continue
            narrower = term.startswith('?') and scope.fits(kind, actual)
            raise reader.error_in(
                group,
                index,
                f'{term[:40]!r} is of type {actual[:40]}, but {head[:40]!r} takes {kind[:40]} here',
                f'declare {variables_text(((term, kind),))[:90]}' if narrower else 'change one',
            )
        terms.append(term)
    return tuple(terms)


def _is_assumed(
    scope: Scope, group: Group, index: int, what: str, actual: str, wanted: str
) -> bool:
    """Whether a term of another type than the wanted one has one meaning all the same.

    An undeclared constant is of the narrower type. A predicate is about the objects of both types
    where some objects can be of both, as in planners that look at no types of predicates; an atom
    that no object fits is refused.
    """
    assumed, term, head = scope.reader.assumed, group.items[index], group.head
    if assumed is None or assumed.full or not isinstance(term, str):
        return False
    if ('undeclared-object', term) in assumed.remarks:
        if scope.fits(wanted, actual):
            assumed.constants[term] = wanted
        return scope.fits(wanted, actual)
    both = any(scope.fits(each, actual) and scope.fits(each, wanted) for each in assumed.types)
    if what != 'predicate' or not term.startswith('?') or not both:
        return False
    known = list(assumed.predicates.get(head, scope.domain.predicates[head]))
    if not scope.fits(actual, known[index - 1]):
        known[index - 1] = scope.domain.either(known[index - 1], actual)
        assumed.predicates[head] = tuple(known)
    what = (
        f'{term[:40]!r} is of type {actual[:40]}, but {head[:40]!r} takes {wanted[:40]} here: it '
        'is read as if it took both'
    )
    cure = f'declare {term[:40]} - {wanted[:40]}, or {head[:40]!r} for {actual[:40]}'
    found = Remark('wider-variable', f'{head} {index}', what, cure)
    remark(scope.reader, group, index, found)
    return True


def read_term(scope: Scope, group: Group, index: int, kind: str = '') -> str:
    """An object, or a variable that is bound; `kind` is the type that its place asks for."""
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
    close = suggestion(text, (*scope.objects, *(name[1:] for name in scope.variables)))
    assumed, plain = reader.assumed, text[0].isalpha() and is_name(text) and not close
    if assumed is not None and not assumed.full and plain and kind and ANY_OF not in kind:
        what = f'object {text[:40]!r} is not declared: each problem has to declare it'
        cure = f'declare it in (:constants {text[:40]} - {kind[:40]})'
        remark(reader, group, index, Remark('undeclared-object', text, what, cure))
        assumed.constants[text] = kind
        return text
    known = 'no object is declared'
    if scope.objects:
        known = f'declared objects are {names_text(scope.objects)}'
    if scope.objects is scope.domain.constants:
        known = f'what a domain names must stand in its (:constants ...); {known}'
    raise reader.error_in(
        group,
        index,
        f'object {text[:40]!r} is not declared',
        close + known,
    )


def count_arguments(reader: Reader, group: Group, wanted: int) -> None:
    """Raises unless a list has that many items behind its head."""
    found = len(group.items) - 1
    if found != wanted:
        raise reader.error(
            group, f'{group.head!r} takes {wanted} arguments, found {found}', 'change the formula'
        )
