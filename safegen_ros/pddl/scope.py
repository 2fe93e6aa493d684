# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""The names that formulas and effects may use, checked where they stand.

A domain may leave names undeclared that have one meaning; a problem of it must have what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from safegen_ros.pddl.diagnostics import Remark, suggestion
from safegen_ros.pddl.model import (
    ALL_OF,
    ANY_OF,
    AtomFormula,
    ConstraintTree,
    Domain,
    Effect,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    NumericEffect,
    Problem,
    SoftRule,
    Variables,
    subformulas,
)
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
            cure = f'declare {variables_text(((term, kind),))[:90]}' if narrower else 'change one'
            assumed = reader.assumed.remarks if reader.assumed is not None else {}
            if ('undeclared-type', actual) in assumed:
                cure = assumed['undeclared-type', actual].cure
            raise reader.error_in(
                group,
                index,
                f'{term[:40]!r} is of type {actual[:40]}, but {head[:40]!r} takes {kind[:40]} here',
                cure,
            )
        terms.append(term)
    return tuple(terms)


def predicate_kinds(scope: Scope, group: Group) -> tuple[str, ...] | None:
    """What the predicate of an atom takes; None if it is not declared and may be a slip of the pen.

    A domain need not declare it so: then it takes what actions and rules put into it, where all of
    them have the same number of arguments. Nothing else gives it a meaning.
    """
    domain, assumed, name, terms = scope.domain, scope.reader.assumed, group.head, group.items[1:]
    declared = domain.predicates.get(name)
    if assumed is None:
        return declared
    known = assumed.predicates.get(name)
    if known is not None and (declared is None or len(known) != len(declared)):
        return known
    if declared is not None and len(declared) == len(terms):
        assumed.called.add(name)
        return declared
    others = (*domain.predicates, *assumed.predicates)
    slip = suggestion(name, others) if declared is None else name in assumed.called
    if assumed.full or not assumed.apart or not is_name(name) or slip:
        return declared
    types = {**scope.objects, **scope.variables}
    kinds = tuple(types[term] for term in terms if isinstance(term, str) and term in types)
    taken = name in domain.functions or name in domain.types
    if taken or len(kinds) < len(terms) or any(ALL_OF in kind for kind in kinds):
        return declared
    so = '' if declared is None else f' with {len(terms)} arguments'
    what = f'predicate {name[:40]!r} is not declared{so}: it is read as its uses have it'
    cure = f'declare ({name[:40]} ...){so} in (:predicates ...)'
    remark(scope.reader, group, 0, Remark('undeclared-predicate', name, what, cure))
    assumed.predicates[name] = kinds
    return kinds


def _is_assumed(
    scope: Scope, group: Group, index: int, what: str, actual: str, wanted: str
) -> bool:
    """Whether a term of another type than the wanted one has one meaning all the same.

    An undeclared constant is of the narrower type. A predicate is about the objects of both types,
    as in Fast Downward, which looks at no types of predicates. In a constraint an atom that no
    object fits is refused: the constraint would ask for nothing.
    """
    assumed, term, head = scope.reader.assumed, group.items[index], group.head
    if assumed is None or assumed.full or not isinstance(term, str):
        return False
    if ('undeclared-object', term) in assumed.remarks:
        if scope.fits(wanted, actual):
            assumed.constants[term] = wanted
        return scope.fits(wanted, actual)
    apart = not assumed.apart and not _share_objects(scope, term, actual, wanted)
    if what != 'predicate' or apart or ALL_OF in actual:
        return False
    known = list(assumed.predicates.get(head) or scope.domain.predicates[head])
    if not scope.fits(actual, known[index - 1]):
        known[index - 1] = scope.domain.either(known[index - 1], actual)
        assumed.predicates[head] = tuple(known)
    if len(scope.domain.predicates.get(head, ())) != len(known):
        return True
    what = (
        f'{term[:40]!r} is of type {actual[:40]}, but {head[:40]!r} takes {wanted[:40]} here: it '
        'is read as if it took both'
    )
    cure = f'declare {term[:40]} - {wanted[:40]}, or {head[:40]!r} for {actual[:40]}'
    rule, name = 'other-type', f'{head} {index} {actual}'
    if _share_objects(scope, term, actual, wanted):
        rule, name = 'wider-variable', f'{head} {index}'
    remark(scope.reader, group, index, Remark(rule, name, what, cure))
    return True


def _share_objects(scope: Scope, term: str, one: str, other: str) -> bool:
    """Whether a variable may stand for objects of both types."""
    types = scope.reader.assumed.types if scope.reader.assumed is not None else {}
    both = any(scope.fits(each, one) and scope.fits(each, other) for each in types)
    return both and term.startswith('?')


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
    meant = suggestion(text, [name[1:] for name in scope.variables]).replace("'", "'?", 1)
    close = meant or suggestion(text, scope.objects)
    assumed, plain = reader.assumed, text[0].isalpha() and is_name(text) and not meant
    if assumed is not None and not assumed.full and plain and kind and ANY_OF not in kind:
        what = f'object {text[:40]!r} is not declared: each problem has to declare it'
        cure = f'{close}declare it in (:constants {text[:40]} - {kind[:40]})'
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


def with_assumed(
    reader: Reader, declared: Group, domain: Domain, objects: Mapping[str, str]
) -> Domain:
    """The domain with the types of its undeclared constants.

    Raises:
        PddlError: a problem leaves undeclared, too, what the domain does, or has no object of an
            undeclared type: a slip of the pen would else make a rule that asks for nothing.
    """
    constants = dict(domain.constants)
    kinds = {*objects.values(), *constants.values()}
    for each in domain.remarks:
        if each.rule == 'undeclared-object' and each.name in objects:
            kind = objects[each.name]
            if not domain.is_subtype(kind, constants[each.name]):
                what = f'{each.name!r} is used as a {constants[each.name]} in the domain'
                raise reader.error(declared, what, f'declare it as one, not as {kind}')
            constants[each.name] = kind
        elif each.rule == 'undeclared-object' or (
            each.rule == 'undeclared-type'
            and not any(domain.is_subtype(kind, each.name) for kind in kinds)
        ):
            what = each.what.partition(':')[0]
            raise reader.error(declared, f'{what} in the domain, nor here', each.cure)
    return domain if constants == domain.constants else replace(domain, constants=constants)


def check_assumed_atoms(reader: Reader, top: Group, problem: Problem) -> None:
    """Refuses an atom that its domain does not declare so if nothing can make it true.

    As part of a precondition it only keeps an action from being applied. Anywhere else a slip of
    the pen would make a rule that asks for nothing.

    Raises:
        PddlError: there is such an atom.
    """
    for each in problem.domain.remarks:
        predicate, *rest = each.name.split()
        if each.rule == 'other-type':
            found = _Atoms(problem, predicate, int(rest[0]) - 1, rest[1])
        elif each.rule == 'undeclared-predicate':
            found = _Atoms(problem, predicate)
        else:
            continue
        if found.is_asked() and not found.is_made():
            what = (
                f'{each.what.partition(":")[0]}, and nothing makes it true{" of one" * any(rest)}'
            )
            raise reader.error(top, what, each.cure)


class _Atoms:
    """The atoms of a predicate, or those of them with an object of a type in a place."""

    def __init__(
        self, problem: Problem, predicate: str, place: int | None = None, kind: str = ''
    ) -> None:
        self._problem = problem
        self._predicate = predicate
        self._place = place
        self._objects = problem.objects_by_type()
        self._wanted = set() if place is None else set(self._objects[kind])

    def is_made(self) -> bool:
        """Whether such an atom can become true."""
        problem = self._problem
        facts = [*problem.init, *(each.atom for each in problem.timed if each.value)]
        if any(self._is_in(AtomFormula(name, tuple(terms)), ()) for name, *terms in facts):
            return True
        if any(
            self._is_in(AtomFormula(rule.predicate, tuple(dict(rule.variables))), rule.variables)
            for rule in problem.domain.derived
        ):
            return True
        return any(
            self._is_in(atom, (*action.parameters, *effect.variables))
            for action in problem.domain.actions.values()
            for effect in action.effects
            for atom in effect.add
        )

    def is_asked(self) -> bool:
        """Whether such an atom stands elsewhere than as a plain part of a precondition."""
        problem, domain = self._problem, self._problem.domain
        rules = [*problem.constraints, *(c for p in problem.preferences for c in p.constraints)]
        formulas = [problem.goal, *(formula for each in rules for formula in each.arguments)]
        asked: list[tuple[Formula, Variables, bool]] = [(f, (), False) for f in formulas]
        asked += [(rule.body, rule.variables, False) for rule in domain.derived]
        for action in domain.actions.values():
            asked.append((action.precondition, action.parameters, True))
            changes: list[Effect | NumericEffect] = [*action.effects, *action.numeric]
            asked += [
                (each.condition, (*action.parameters, *each.variables), False) for each in changes
            ]
        return any(self._asks(*each) for each in asked)

    def _asks(self, formula: Formula, kinds: Variables, plain: bool) -> bool:
        """Whether a formula has such an atom; not as a `plain` part of it."""
        if isinstance(formula, AtomFormula):
            return not plain and self._is_in(formula, kinds)
        if isinstance(formula, (Forall, Exists)):
            kinds = (*kinds, *formula.variables)
        plain = plain and not isinstance(formula, (Not, Imply))
        return any(self._asks(part, kinds, plain) for part in subformulas(formula))

    def _is_in(self, atom: AtomFormula, kinds: Variables) -> bool:
        if atom.predicate != self._predicate or self._place is None:
            return atom.predicate == self._predicate
        term = atom.terms[self._place]
        found = self._objects[dict(kinds)[term]] if term in dict(kinds) else (term,)
        return not self._wanted.isdisjoint(found)
