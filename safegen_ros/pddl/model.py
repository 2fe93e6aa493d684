# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Domains, problems, formulas and trajectory constraints as plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from fractions import Fraction

from safegen_ros.pddl.diagnostics import Remark

Atom = tuple[str, ...]
"""A ground atom: the predicate, then its objects, e.g. `('on', 'b1', 'b2')`."""

State = frozenset[Atom]
"""The atoms that are true; every other atom is false (closed world).

A function that decides which plans are valid has its value in a fact, `('=', '(battery r)', '90')`
(see `numbers.value_fact`).
"""

Number = int | Fraction
"""The exact value of a function."""

Variables = tuple[tuple[str, str], ...]
"""Typed variables, `(('?x', 'object'), ...)`; `(either a b)` is the type `a|b`, names sorted."""

ANY_OF, ALL_OF = '|', '&'
"""`a|b`: any of the types; `a&b`: all of them (see `Domain`)."""


@dataclass(frozen=True, slots=True)
class AtomFormula:
    """A predicate over terms; a term that starts with `?` is a variable."""

    predicate: str
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Equals:
    """Identity of two terms."""

    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Not:
    """Negation."""

    body: Formula


@dataclass(frozen=True, slots=True)
class And:
    """Conjunction; `And(())` is true."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Disjunction; `Or(())` is false."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Imply:
    """Material implication."""

    premise: Formula
    conclusion: Formula


@dataclass(frozen=True, slots=True)
class Forall:
    """Universal quantification over objects."""

    variables: Variables
    body: Formula


@dataclass(frozen=True, slots=True)
class Exists:
    """Existential quantification over objects."""

    variables: Variables
    body: Formula


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two numbers compared; `operator` is one of `< <= = >= >`."""

    operator: str
    left: Expression
    right: Expression


Formula = AtomFormula | Equals | Comparison | Not | And | Or | Imply | Forall | Exists


@dataclass(frozen=True, slots=True)
class Constraint:
    """One PDDL3 state-trajectory constraint without free variables.

    Attributes:
        operator: one of PDDL3's, as a problem writes it: `always`, `at end`, `hold-during` ...
        arguments: its formulas, in the order of the text; for `sometime-before` what must wait,
            then what comes first.
        times: its numbers, in the order of the text, counted in steps of the plan: one for
            `within`, `always-within` and `hold-after`, two for `hold-during`.
        binding: the objects that stand for the variables of the `forall`s around it, in order,
            `(('?x', 'b1'), ...)`; what it says is in `arguments` already.
        place: `source:line:col` where it was written.
        exact: its numbers as written, where one is not a whole number of steps; else empty.
            Where actions are durative they are seconds of the plan, and `times` is empty.
    """

    operator: str
    arguments: tuple[Formula, ...]
    times: tuple[int, ...] = ()
    binding: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    place: str = field(default='', compare=False)
    exact: tuple[Decimal, ...] = ()


@dataclass(frozen=True, slots=True)
class Effect:
    """An effect of an action, under a condition, for every binding of its variables."""

    variables: Variables
    condition: Formula
    add: tuple[AtomFormula, ...]
    delete: tuple[AtomFormula, ...]


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """A sum, difference, product or quotient; `operator` is one of `+ - * /`."""

    operator: str
    parts: tuple[Expression, ...]


Expression = Decimal | AtomFormula | Arithmetic
"""A number, the value of a function such as `(distance ?a ?b)`, or arithmetic with those."""


@dataclass(frozen=True, slots=True)
class NumericEffect:
    """What an action does to the value of a function, under a condition, for every binding.

    A cost is an increase of `(total-cost)`.

    Attributes:
        operator: one of `assign`, `increase`, `decrease`, `scale-up` and `scale-down`.
        target: the function, with its terms.
        value: evaluated in the state before the action, as all values are.
    """

    variables: Variables
    condition: Formula
    operator: str
    target: AtomFormula
    value: Expression


@dataclass(frozen=True, slots=True)
class Metric:
    """What ranks the plans of a problem; `direction` is `minimize` or `maximize`."""

    direction: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class SoftRule:
    """A preference as it is written: each break of it counts in the metric, and forbids nothing.

    Attributes:
        name: by which `(is-violated NAME)` counts it; empty for one without a name.
        variables: of the `forall`s around it.
        body: the wanted condition. A formula is wished for `at end`; in a precondition of an
            action, each time that the action is taken.
        place: `source:line:col` where it was written.
    """

    name: str
    variables: Variables
    body: ConstraintTree
    place: str = field(default='', compare=False)

    def formulas(self) -> tuple[Formula, ...]:
        """What a preference of a precondition wishes for; a whole trajectory says nothing."""
        return self.body.arguments if isinstance(self.body, Constraint) else ()


@dataclass(frozen=True, slots=True)
class Preference:
    """A preference with its objects: broken if one of its constraints is."""

    name: str
    constraints: tuple[Constraint, ...]


@dataclass(frozen=True, slots=True)
class Action:
    """An action schema; `wishes` are the preferences of its precondition."""

    name: str
    parameters: Variables
    precondition: Formula
    effects: tuple[Effect, ...]
    numeric: tuple[NumericEffect, ...] = ()
    wishes: tuple[SoftRule, ...] = ()


DURATION = AtomFormula('?duration', ())
"""How long a durative action takes, as a part of its expressions."""


class Moment(Enum):
    """When a condition of a durative action is asked for, or an effect happens."""

    AT_START = 'at start'
    OVER_ALL = 'over all'
    AT_END = 'at end'


@dataclass(frozen=True, slots=True)
class DurativeAction:
    """A schema of an action that takes time, of PDDL2.1.

    Attributes:
        duration: the bounds of its duration [s], `(('=', 5),)`; operators are `=`, `<=` and `>=`.
        conditions: what must hold at its start, at its end, and all the time in between.
        effects: what it changes at its start and at its end.
        remembered: the conditions at its start or over all of effects at its end. Each has an atom
            that stands for it in the effect, and is true while it runs and the condition is kept.
    """

    name: str
    parameters: Variables
    duration: tuple[tuple[str, Expression], ...]
    conditions: tuple[tuple[Moment, Formula], ...]
    effects: tuple[tuple[Moment, Effect | NumericEffect], ...]
    remembered: tuple[tuple[Moment, Effect], ...] = ()


@dataclass(frozen=True, slots=True)
class DerivedRule:
    """A predicate holds of all objects with which a formula does; `variables` are its terms."""

    predicate: str
    variables: Variables
    body: Formula


@dataclass(frozen=True, slots=True)
class Domain:
    """A planning domain.

    `(either a b)` is a separate type where something is required, of a variable or of a predicate's
    argument: `a|b`, which both are below. Where it declares an object, a constant or a type's
    parents, VAL takes the thing to be both, and that is `a&b`.

    Attributes:
        types: declared type to its parent, or to an empty string when it has none; `object` is the
            root and is listed only when the domain declares it as a type (see `ancestors`). There
            are no cycles but `object` being its own parent.
        constants: name to type.
        predicates: name to the types of its arguments.
        actions: name to schema.
        constraint_tree: constraints of the domain, still with their quantifiers; they become
            part of every problem (see `Problem.constraints`).
        functions: name of a numeric function to the types of its arguments.
        durative: name to schema of the actions that take time; `actions` has the same names, each
            with the conditions and effects of the whole action (see `flatten`).
        spelling: actions and constants that its text has with capitals, as it has them.
        derived: rules of the derived predicates, which no action and no initial state states. An
            atom with one of the predicates is true where some rule says so and false elsewhere; no
            negation stands in a circle of rules.
        wishes: preferences of the domain; they become part of every problem.
        remarks: names that its text does not declare and that are read in their one meaning.
    """

    name: str
    types: Mapping[str, str]
    constants: Mapping[str, str]
    predicates: Mapping[str, tuple[str, ...]]
    actions: Mapping[str, Action]
    constraint_tree: ConstraintTree | None = None
    functions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    durative: Mapping[str, DurativeAction] = field(default_factory=dict)
    spelling: Mapping[str, str] = field(default_factory=dict, compare=False)
    derived: tuple[DerivedRule, ...] = ()
    wishes: tuple[SoftRule, ...] = ()
    remarks: tuple[Remark, ...] = field(default=(), compare=False)

    def derived_predicates(self) -> frozenset[str]:
        """The predicates that rules derive."""
        return frozenset(rule.predicate for rule in self.derived)

    def ancestors(self, name: str) -> Iterator[str]:
        """A type and every type above it, each once.

        A domain that lists `object` among its own types, as the field's Grippers does, means a
        type beside the others and not the root of all (VAL reads it so).
        """
        seen: set[str] = set()
        waiting = name.split(ALL_OF)
        while waiting:
            kind = waiting.pop()
            if kind in seen:
                continue
            seen.add(kind)
            yield kind
            parent = self.types.get(kind, '')
            if parent:
                waiting += parent.split(ALL_OF)
        if 'object' not in seen and 'object' not in self.types:
            yield 'object'

    def either(self, one: str, other: str) -> str:
        """The type of what may be of one type or of the other."""
        parts = {*one.split(ANY_OF), *other.split(ANY_OF)}
        everything = 'object' in parts and 'object' not in self.types
        return 'object' if everything else ANY_OF.join(sorted(parts))

    def is_subtype(self, name: str, ancestor: str) -> bool:
        """Whether every object of type `name` is also one of type `ancestor`."""
        if name == ancestor:
            return True
        if ANY_OF in name:
            return all(self.is_subtype(part, ancestor) for part in name.split(ANY_OF))
        wanted = ancestor.split(ANY_OF)
        return any(kind in wanted for kind in self.ancestors(name))


@dataclass(frozen=True, slots=True)
class ConstraintAnd:
    """Conjunction of constraints."""

    parts: tuple[ConstraintTree, ...]


@dataclass(frozen=True, slots=True)
class ConstraintForall:
    """A constraint for every object of a type; `place` is where it was written."""

    variables: Variables
    body: ConstraintTree
    place: str = field(default='', compare=False)


ConstraintTree = Constraint | ConstraintAnd | ConstraintForall


class ObjectsByType(dict[str, tuple[str, ...]]):
    """The objects of every type; those of `a|b` are put together when they are first asked for."""

    def __init__(self, found: Mapping[str, tuple[str, ...]], order: Iterable[str]) -> None:
        super().__init__(found)
        self._order = tuple(order)

    def __missing__(self, kind: str) -> tuple[str, ...]:
        if ANY_OF not in kind:
            raise KeyError(kind)
        members = {name for part in kind.split(ANY_OF) for name in self[part]}
        self[kind] = tuple(name for name in self._order if name in members)
        return self[kind]


@dataclass(frozen=True, slots=True)
class TimedLiteral:
    """Atoms that become true or false at a time of the plan [s]."""

    time: Decimal
    atom: Atom
    value: bool


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem with its domain.

    Attributes:
        objects: name to type, the domain's constants included, in order of declaration.
        constraints: those of the domain and the problem, with `and` and `forall` written out.
        notes: what is right in its constraints and hardly meant, each with its place.
        metric: what ranks its plans, if anything.
        values: the initial values of the functions that decide nothing; those of the others are
            in `init`.
        preferences: soft rules of the domain and the problem, with `forall` written out; those of
            preconditions stand in the actions (`Action.wishes`).
        spelling: actions and objects that the texts have with capitals, as they have them; see
            `Plan.spelt`.
        timed: timed initial literals in the order of their times, of a domain with durative
            actions only; none makes true what another one makes false at that time.
    """

    name: str
    domain: Domain
    objects: Mapping[str, str]
    init: State
    goal: Formula
    constraints: tuple[Constraint, ...]
    notes: tuple[str, ...] = field(default=(), compare=False)
    metric: Metric | None = None
    values: Mapping[Atom, Number] = field(default_factory=dict)
    preferences: tuple[Preference, ...] = ()
    spelling: Mapping[str, str] = field(default_factory=dict, compare=False)
    timed: tuple[TimedLiteral, ...] = ()

    def objects_by_type(self) -> ObjectsByType:
        """The objects that a variable of each type ranges over, in order of declaration."""
        found: dict[str, list[str]] = {kind: [] for kind in (*self.domain.types, 'object')}
        above: dict[str, tuple[str, ...]] = {}  # of every type that an object is declared with
        for name, declared in self.objects.items():
            kinds = above.get(declared)
            if kinds is None:
                kinds = above[declared] = tuple(self.domain.ancestors(declared))
            for kind in kinds:
                found[kind].append(name)
        return ObjectsByType({k: tuple(names) for k, names in found.items()}, self.objects)

    def goal_conjuncts(self) -> tuple[Formula, ...]:
        """The goal as a flat list of conditions."""
        return tuple(conjuncts(self.goal))


def conjuncts(formula: Formula) -> Iterator[Formula]:
    """The parts of nested conjunctions, in order; another formula is its only part."""
    if isinstance(formula, And):
        for part in formula.parts:
            yield from conjuncts(part)
    else:
        yield formula


def subformulas(formula: Formula) -> tuple[Formula, ...]:
    """The formulas that a formula is made of directly, in order."""
    if isinstance(formula, (And, Or)):
        return formula.parts
    if isinstance(formula, Imply):
        return formula.premise, formula.conclusion
    if isinstance(formula, (Not, Forall, Exists)):
        return (formula.body,)
    return ()


def walk(formula: Formula) -> Iterator[Formula]:
    """A formula and every formula in it, from the outside in, in order."""
    yield formula
    for part in subformulas(formula):
        yield from walk(part)


def with_subformulas(formula: Formula, change: Callable[[Formula], Formula]) -> Formula:
    """The formula with each of its direct parts changed; one without parts is left as it is."""
    if isinstance(formula, (And, Or)):
        return type(formula)(tuple(map(change, formula.parts)))
    if isinstance(formula, Imply):
        return Imply(change(formula.premise), change(formula.conclusion))
    if isinstance(formula, Not):
        return Not(change(formula.body))
    if isinstance(formula, (Forall, Exists)):
        return type(formula)(formula.variables, change(formula.body))
    return formula


def terms_of(formula: Formula) -> tuple[str, ...]:
    """The terms of an atom, an equality or a comparison; none of any other formula."""
    if isinstance(formula, AtomFormula):
        return formula.terms
    if isinstance(formula, Comparison):
        return tuple(term for each in functions_of(formula) for term in each.terms)
    return (formula.left, formula.right) if isinstance(formula, Equals) else ()


def functions_of(*found: Comparison | Expression) -> Iterator[AtomFormula]:
    """The functions whose values a comparison or an expression reads, in order."""
    for each in found:
        if isinstance(each, AtomFormula):
            yield each
        elif isinstance(each, Comparison):
            yield from functions_of(each.left, each.right)
        elif isinstance(each, Arithmetic):
            yield from functions_of(*each.parts)


def quantified(formula: Formula) -> list[Variables]:
    """The variable lists of the quantifiers in a formula, from the outside in."""
    return [each.variables for each in walk(formula) if isinstance(each, (Forall, Exists))]
