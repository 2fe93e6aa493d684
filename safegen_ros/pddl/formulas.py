# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads formulas, with every name checked where it stands, and puts objects for variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from operator import itemgetter

from safegen_ros.errors import PddlError, PddlErrors
from safegen_ros.pddl.diagnostics import suggestion
from safegen_ros.pddl.expressions import bound, is_expression, read_expression
from safegen_ros.pddl.limits import Objects
from safegen_ros.pddl.model import (
    And,
    Atom,
    AtomFormula,
    Comparison,
    Constraint,
    ConstraintAnd,
    ConstraintForall,
    ConstraintTree,
    Equals,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Or,
    Preference,
    Problem,
    SoftRule,
    Variables,
    functions_of,
    quantified,
    subformulas,
    terms_of,
    walk,
    with_subformulas,
)
from safegen_ros.pddl.scope import (
    Scope,
    count_arguments,
    predicate_kinds,
    read_arguments,
    read_term,
    read_wish,
)
from safegen_ros.pddl.sexpr import Group, Reader
from safegen_ros.pddl.typed_lists import read_typed_list
from safegen_ros.pddl.writer import names_text

_WISH = And(())  # what a preference leaves behind in what must hold

CONNECTIVES = ('and', 'or', 'not', 'imply', 'forall', 'exists')

TRAJECTORY_OPERATORS = {
    'always': (0, 1), 'sometime': (0, 1), 'at-most-once': (0, 1), 'at end': (0, 1),
    'sometime-before': (0, 2), 'sometime-after': (0, 2), 'within': (1, 1),
    'always-within': (1, 2), 'hold-during': (2, 1), 'hold-after': (1, 1),
}  # fmt: skip
"""The trajectory constraints of PDDL3, with how many numbers and formulas each one takes."""

NUMERIC_EFFECTS = ('increase', 'decrease', 'assign', 'scale-up', 'scale-down')

_COMPARISONS = ('<', '>', '<=', '>=', '=')

_FOREIGN = {
    'implies': "did you mean 'imply'?",
    **dict.fromkeys(('eq', 'equal', 'equals', 'same'), 'write (= A B)'),
    **dict.fromkeys(('neq', 'different', 'distinct', 'not-equal'), 'write (not (= A B))'),
    'iff': 'write (and (imply A B) (imply B A))',
    'xor': 'write (or (and A (not B)) (and B (not A)))',
    'unknown': 'state every known fact; others are false',
    **dict.fromkeys(('oneof', 'probabilistic'), 'state the fact or the effect that is certain'),
}
"""Operators of other languages, with their PDDL."""

_Pairs = tuple[tuple[str, str], ...]


def read_formula(scope: Scope, parent: Group, index: int) -> Formula:
    """Reads the goal description that is an item of a list.

    Raises:
        PddlError: an undeclared name, a wrong number or type of arguments, a numeric formula; an
            error inside an `and` or `or` is noted, and the rest of it read.
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
    if head == 'and':
        parts = tuple(_read_parts(scope, group))
        hard = tuple(part for part in parts if part is not _WISH)
        return And(hard) if hard or not parts else _WISH
    if head in ('or', 'not', 'imply', 'exists'):
        scope = scope.hard()
    if head == 'or':
        return Or(tuple(_read_parts(scope, group)))
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
        if body is _WISH:
            return _WISH
        return Forall(variables, body) if head == 'forall' else Exists(variables, body)
    if head in _COMPARISONS and head not in scope.domain.predicates:
        return _read_comparison(scope, group)
    if head not in scope.domain.predicates:
        if read_wish(scope, group, _wish):
            return _WISH
        _refuse_formula(scope, group, head)
    return read_atom(scope, group)


def _wish(scope: Scope, group: Group, index: int) -> Constraint:
    """A formula that a preference wishes for."""
    return Constraint('at end', (read_formula(scope, group, index),))


def _read_parts(scope: Scope, group: Group) -> Iterator[Formula]:
    for index in range(1, len(group.items)):
        try:
            yield read_formula(scope, group, index)
        except PddlErrors:
            raise
        except PddlError as error:
            scope.reader.note(error)


def _read_comparison(scope: Scope, group: Group) -> Equals | Comparison:
    """Two numbers compared, or two objects by `=`."""
    count_arguments(scope.reader, group, 2)
    sides = group.items[1:]
    if group.head == '=' and not any(is_expression(each, scope.objects) for each in sides):
        kinds = [scope.variables.get(str(side), '') for side in sides]
        return Equals(*(read_term(scope, group, 1 + i, kinds[1 - i]) for i in (0, 1)))
    left, right = (read_expression(scope, group, index) for index in (1, 2))
    assumed = scope.reader.assumed.functions if scope.reader.assumed is not None else {}
    for name in {each.predicate for each in functions_of(left, right)}:
        if name not in scope.domain.functions or name in assumed:  # which costs need not declare
            what = f'function {name!r} is not declared{" so" * (name in scope.domain.functions)}'
            raise scope.reader.error(group, what, 'declare it in (:functions ...)')
    return Comparison(group.head, left, right)


def _refuse_formula(scope: Scope, group: Group, head: str) -> None:
    """Raises for a head that means something else than a predicate; returns for any other."""
    reader = scope.reader
    if head in NUMERIC_EFFECTS:
        raise reader.error(
            group, f'the numeric effect {head!r} cannot stand in a formula', 'move it to :effect'
        )
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
    if head not in domain.predicates:
        _refuse_operator(scope.reader, group, head)
    kinds = predicate_kinds(scope, group)
    if kinds is None:
        known = names_text(sorted(domain.predicates))
        assumed = scope.reader.assumed.predicates if scope.reader.assumed is not None else {}
        close = suggestion(head, (*domain.predicates, *assumed, *CONNECTIVES))
        if head in domain.types:
            close = f'it is a type, which is not a predicate: declare ({head[:40]} ?x), too; '
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


def substitute(formula: Formula, binding: Mapping[str, str]) -> Formula:
    """The formula with variables replaced by objects; inner quantifiers shadow the binding."""
    if isinstance(formula, AtomFormula):
        return AtomFormula(formula.predicate, tuple(binding.get(t, t) for t in formula.terms))
    if isinstance(formula, Equals):
        return Equals(*(binding.get(t, t) for t in terms_of(formula)))
    if isinstance(formula, Comparison):
        left, right = (bound(side, binding) for side in (formula.left, formula.right))
        return Comparison(formula.operator, left, right)
    if isinstance(formula, (Forall, Exists)):
        shadowed = {name for name, _ in formula.variables}
        binding = {k: v for k, v in binding.items() if k not in shadowed}
    return with_subformulas(formula, lambda part: substitute(part, binding))


def bindings(variables: Variables, objects: Objects) -> Iterator[dict[str, str]]:
    """Every assignment of objects to typed variables, in order of declaration."""
    names = [name for name, _ in variables]
    for values in product(*(objects[kind] for _, kind in variables)):
        yield dict(zip(names, values, strict=True))


def leaves(
    formula: Formula, objects: Objects, kinds: Mapping[str, str]
) -> Iterator[tuple[AtomFormula | Comparison, Mapping[str, str]]]:
    """The atoms and comparisons in a formula, each with the types of its quantified variables.

    Args:
        formula: any formula; what quantifiers over no object hold is left out.
        objects: of every type.
        kinds: the types of the variables that are quantified around it.
    """
    if isinstance(formula, (AtomFormula, Comparison)):
        yield formula, kinds
    elif isinstance(formula, (Forall, Exists)):
        if all(objects[kind] for _, kind in formula.variables):
            yield from leaves(formula.body, objects, {**kinds, **dict(formula.variables)})
    else:
        for part in subformulas(formula):
            yield from leaves(part, objects, kinds)


def instances(
    part: AtomFormula, kinds: Mapping[str, str], binding: Mapping[str, str], objects: Objects
) -> Iterator[Atom]:
    """The ground atoms that an atom or a function stands for.

    Only its own variables take all their objects: four quantifiers around an atom with two of them
    leave it the pairs of objects.
    """
    own = tuple((term, kinds[term]) for term in dict.fromkeys(part.terms) if term in kinds)
    for way in bindings(own, objects):
        full = {**binding, **way}
        yield (part.predicate, *(full.get(term, term) for term in part.terms))


def flatten_constraints(tree: ConstraintTree, objects: Objects) -> list[Constraint]:
    """Writes out `and` and `forall`, so that one automaton can watch each constraint.

    Args:
        tree: what `read_constraints` returned.
        objects: the objects of every type; an empty type makes its `forall` hold trivially.
    """
    return list(spread(tree, (), objects)(()))


def written_out(rules: Iterable[SoftRule], objects: Objects) -> tuple[Preference, ...]:
    """A preference for every binding of the variables of each rule."""
    found = []
    for rule in rules:
        body = spread(rule.body, tuple(name for name, _ in rule.variables), objects)
        for way in bindings(rule.variables, objects):
            found.append(Preference(rule.name, tuple(body(tuple(way.items())))))
    return tuple(found)


def spread(
    tree: ConstraintTree, names: tuple[str, ...], objects: Objects
) -> Callable[[_Pairs], Iterator[Constraint]]:
    """A tree as a function of the values of the variables around it, in that order."""
    if isinstance(tree, ConstraintAnd):
        parts = [spread(part, names, objects) for part in tree.parts]
        return lambda pairs: (each for part in parts for each in part(pairs))
    if isinstance(tree, ConstraintForall):
        inner = {name for name, _ in tree.variables}
        kept = [place for place, name in enumerate(names) if name not in inner]
        ranges = [[(name, one) for one in objects[kind]] for name, kind in tree.variables]
        visible = (*(names[place] for place in kept), *(name for name, _ in tree.variables))
        body = spread(tree.body, visible, objects)

        def each_of(pairs: _Pairs) -> Iterator[Constraint]:
            outer = tuple([pairs[place] for place in kept])
            for found in product(*ranges):
                yield from body(outer + found)

        return each_of
    makers = [_maker(argument, names) for argument in tree.arguments]
    operator, times, place, exact = tree.operator, tree.times, tree.place, tree.exact

    def one(pairs: _Pairs) -> Iterator[Constraint]:
        arguments = tuple([make(pairs) for make in makers])
        yield Constraint(operator, arguments, times, pairs, place, exact)

    return one


def _maker(formula: Formula, names: tuple[str, ...]) -> Callable[[_Pairs], Formula]:
    """A formula as a function of the values of its free variables.

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


def named_objects(problem: Problem, formulas: Iterable[Formula]) -> frozenset[str]:
    """The objects that formulas name; all where one quantifies or has a derived atom."""
    found: set[str] = set()
    derived = problem.domain.derived_predicates()
    for formula in formulas:
        atoms = (each for each in walk(formula) if isinstance(each, AtomFormula))
        if quantified(formula) or any(atom.predicate in derived for atom in atoms):
            return frozenset(problem.objects)
        found.update(term for part in walk(formula) for term in terms_of(part))
    return frozenset(problem.objects) & found


def constraint_objects(problem: Problem) -> frozenset[str]:
    """The objects that constraints name; all of them where one of them quantifies inside."""
    arguments = (formula for each in problem.constraints for formula in each.arguments)
    return named_objects(problem, arguments)


def goal_objects(problem: Problem) -> frozenset[str]:
    """The objects that the goal names; all of them where it quantifies."""
    return named_objects(problem, [problem.goal])
