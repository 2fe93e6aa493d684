# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
"""Objects under our own names, so that a model need not learn the names that people choose.

`block1` stands on the table and `block2` on it, under any name of the user: an object's name says
its kind and its place in the initial state. Renaming a problem, or writing it in another order,
does not change what comes out.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import TYPE_CHECKING

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.language.english import Phrases
from safegen_ros.pddl.deciding import changed_predicates, refuse_numbers
from safegen_ros.pddl.formulas import bindings, substitute
from safegen_ros.pddl.limits import Objects
from safegen_ros.pddl.model import (
    And,
    Atom,
    AtomFormula,
    Comparison,
    Constraint,
    Equals,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Or,
    Problem,
    conjuncts,
    with_subformulas,
)
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.pddl.writer import constraint_text, formula_text
from safegen_ros.tasks.pddl3.domains.isomorphism import canonical_problem

if TYPE_CHECKING:  # a user of a model needs no search
    from safegen_ros.search.budget import Budget

# A model that has seen a constraint once has then seen all the ways to write it that differ in
# quantifiers, in the order of parts or in nesting only.
TRUE: Formula = And(())
FALSE: Formula = Or(())

MAX_PARTS = 256
"""Most parts of a formula after its quantifiers are written out."""


def normal_formula(formula: Formula, objects: Objects, names: Mapping[str, str]) -> Formula:
    """A formula with objects for its quantifiers, flat, and its parts in the order of their text.

    Raises:
        SafegenError: it has more than `MAX_PARTS` parts.
    """
    return _Writer(objects, names).formula(formula, dict(names))


def normal_constraints(
    constraint: Constraint, objects: Objects, names: Mapping[str, str]
) -> Iterator[Constraint]:
    """The constraints that a constraint comes to; raises as `normal_formula`.

    What must hold in every state of some stretch of time may be asked for part by part.
    """
    arguments = tuple(normal_formula(a, objects, names) for a in constraint.arguments)
    plain = replace(constraint, arguments=arguments, binding=(), place='')
    if constraint.operator in ('always', 'at end', 'hold-during', 'hold-after'):
        for part in conjuncts(arguments[0]):
            yield replace(plain, arguments=(paired(part),))
    else:
        yield replace(plain, arguments=tuple(map(paired, arguments)))


def in_order(constraints: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """Constraints without repetition, in the order of their text."""
    return tuple({constraint_text(c): c for c in sorted(constraints, key=constraint_text)}.values())


def paired(formula: Formula) -> Formula:
    """The formula with `and` and `or` of two parts each, which no bracket is needed to read."""
    if not isinstance(formula, (And, Or)) or not formula.parts:
        return with_subformulas(formula, paired)
    *first, last = map(paired, formula.parts)
    for part in reversed(first):
        last = type(formula)((part, last))
    return last


class _Writer:
    def __init__(self, objects: Objects, names: Mapping[str, str]) -> None:
        self._objects = objects
        self._names = names
        self._parts = 0

    def formula(self, formula: Formula, bound: Mapping[str, str]) -> Formula:
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise SafegenError(
                f'a formula has more than {MAX_PARTS} parts when its quantifiers are written out: '
                'use fewer objects, or a planner that reads quantifiers',
                ErrorCode.TASK_TOO_LARGE,
            )
        if isinstance(formula, AtomFormula):
            return AtomFormula(formula.predicate, tuple(bound[term] for term in formula.terms))
        if isinstance(formula, Equals):
            return TRUE if bound[formula.left] == bound[formula.right] else FALSE
        if isinstance(formula, Comparison):
            return substitute(formula, bound)
        if isinstance(formula, Not):
            body = self.formula(formula.body, bound)
            return body.body if isinstance(body, Not) else _negated(body)
        if isinstance(formula, Imply):
            premise, conclusion = (
                self.formula(side, bound) for side in (formula.premise, formula.conclusion)
            )
            if premise in (TRUE, FALSE) or conclusion in (TRUE, FALSE):
                return _joined(Or, (_negated(premise), conclusion))
            return Imply(premise, conclusion)
        if isinstance(formula, (Forall, Exists)):
            parts = [
                self.formula(formula.body, {**bound, **self._renamed(inner)})
                for inner in bindings(formula.variables, self._objects)
            ]
            return _joined(And if isinstance(formula, Forall) else Or, parts)
        return _joined(type(formula), [self.formula(part, bound) for part in formula.parts])

    def _renamed(self, inner: Mapping[str, str]) -> dict[str, str]:
        return {variable: self._names[name] for variable, name in inner.items()}


def _negated(formula: Formula) -> Formula:
    return FALSE if formula == TRUE else TRUE if formula == FALSE else Not(formula)


def _joined(kind: type[And] | type[Or], parts: Sequence[Formula]) -> Formula:
    neutral, absorbing = (TRUE, FALSE) if kind is And else (FALSE, TRUE)
    found: dict[str, Formula] = {}
    for part in parts:
        if part == absorbing:
            return absorbing
        if part == neutral:
            continue
        for inner in part.parts if isinstance(part, kind) else (part,):
            found[formula_text(inner)] = inner
    ordered = tuple(found[text] for text in sorted(found))
    return ordered[0] if len(ordered) == 1 else kind(ordered)


_LINKS = re.compile(r'[^A-Za-z0-9_]+')  # what no name may hold: blanks, and what joins types

TITLE = 'task'
"""What every problem is called when it is put to a model."""


@dataclass(frozen=True)
class SlottedProblem:
    """A problem under canonical names.

    Attributes:
        problem: with objects, goals and constraints renamed, written out and in canonical order.
        names: from the names of the user to those of `problem`.
        told: atoms of the initial state that the names say already: what an object is, and that
            any two of a kind are different, where the domain has a predicate for that.
        usual: whether that predicate, if there is one, holds for just those.
    """

    problem: Problem
    names: Mapping[str, str]
    told: frozenset[Atom]
    usual: bool = True

    def plan(self, plan: Plan) -> Plan:
        """A plan of the user under the canonical names; objects that are unknown keep theirs."""
        return _renamed_plan(plan, self.names)

    def original(self, plan: Plan) -> Plan:
        """A plan under canonical names in the names of the user."""
        return _renamed_plan(plan, {slot: name for name, slot in self.names.items()})


def slotted(problem: Problem) -> SlottedProblem:
    """A problem under canonical names.

    Raises:
        SafegenError: a formula of it is too large (see `normal.normal_formula`), its plans depend
            on numbers, or its actions take time.
    """
    refuse_numbers(problem, 'a prompt in the normal form', 'use another style')
    if problem.domain.durative:
        raise SafegenError(
            f'a prompt in the normal form does not know times, and the actions of '
            f'{problem.domain.name} take time: use another style',
            ErrorCode.UNSUPPORTED_FEATURE,
        )
    kinds, told, usual = _kinds(problem)
    order = _order(problem, told)
    names = _names(problem, order, kinds)
    objects = problem.objects_by_type()
    goals = {
        formula_text(part): part
        for goal in problem.goal_conjuncts()
        for part in _parts(normal_formula(goal, objects, names))
    }
    constraints = [
        part for c in problem.constraints for part in normal_constraints(c, objects, names)
    ]
    constants = problem.domain.constants
    declared = sorted(
        (name for name in order if name not in constants), key=lambda name: _place(names[name])
    )
    renamed = Problem(
        TITLE,
        problem.domain,
        {
            **{name: problem.objects[name] for name in constants},
            **{names[name]: problem.objects[name] for name in declared},
        },
        _renamed_state(problem.init, names),
        And(tuple(paired(goals[text]) for text in sorted(goals))),
        in_order(constraints),
    )
    return SlottedProblem(renamed, names, _renamed_state(told, names), usual)


def _parts(formula: Formula) -> tuple[Formula, ...]:
    return formula.parts if isinstance(formula, And) else (formula,)


def _renamed_plan(plan: Plan, names: Mapping[str, str]) -> Plan:
    return Plan(
        tuple(Step(s.action, tuple(names.get(a, a) for a in s.arguments)) for s in plan.steps)
    )


def _renamed_state(atoms: frozenset[Atom], names: Mapping[str, str]) -> frozenset[Atom]:
    return frozenset((head, *(names[name] for name in rest)) for head, *rest in atoms)


def _kinds(problem: Problem) -> tuple[dict[str, str], frozenset[Atom], bool]:
    """A noun for every object, the atoms that need not be told beside it, and `usual`."""
    phrases = Phrases.of(problem.domain)
    constants = problem.domain.constants
    fixed = problem.domain.predicates.keys() - changed_predicates(problem)
    told: set[Atom] = set()
    kinds = {name: phrases.noun(kind) for name, kind in problem.objects.items()}
    own = [atom for atom in problem.init if len(atom) == 2 and atom[0] in fixed]
    if len(own) == len({atom[1] for atom in own}) == len(problem.objects):
        kinds |= {name: predicate for predicate, name in own}
        told.update(atom for atom in own if atom[1] not in constants)
    usual = True
    if phrases.wording.distinct is not None:
        predicate, kind = phrases.wording.distinct
        members = [name for name, own_kind in kinds.items() if own_kind == kind]
        pairs = {(predicate, *pair) for pair in permutations(members, 2)}
        usual = pairs == {atom for atom in problem.init if atom[0] == predicate}
        told |= pairs if usual else set()
    return {name: _LINKS.sub('-', kind) for name, kind in kinds.items()}, frozenset(told), usual


def _order(problem: Problem, told: frozenset[Atom]) -> list[str]:
    """The objects, each after the one that it is on, in or at; larger heaps first."""
    canonical = canonical_problem(problem).order
    rank = {name: place for place, name in enumerate(canonical)}
    above: dict[str, set[str]] = defaultdict(set)
    below: Counter[str] = Counter()
    for _, *terms in problem.init - told:
        if len(terms) == 2 and terms[0] != terms[1] and terms[0] not in above[terms[1]]:
            above[terms[1]].add(terms[0])
            below[terms[0]] += 1
    found: dict[str, None] = {}

    def visit(root: str) -> None:
        waiting = [root]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found[name] = None
                waiting += sorted(above[name] - found.keys(), key=key, reverse=True)

    sizes = {name: _heap(name, above) for name in canonical}

    def key(name: str) -> tuple[int, int]:
        return -sizes[name], rank[name]

    for name in sorted(canonical, key=lambda name: (below[name] > 0, key(name))):
        visit(name)
    return list(found)


def _heap(name: str, above: Mapping[str, set[str]]) -> int:
    """How many objects are on, in or at an object, directly or not."""
    seen, waiting = {name}, [name]
    while waiting:
        for other in above.get(waiting.pop(), ()):
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return len(seen)


def _names(problem: Problem, order: list[str], kinds: Mapping[str, str]) -> dict[str, str]:
    """`block1`, `block2`, ... in order; constants of the domain keep their names."""
    constants = problem.domain.constants
    names = {name: name for name in constants}
    given = set(constants)
    counts: Counter[str] = Counter()
    for name in order:
        if name in constants:
            continue
        kind = kinds[name]
        counts[kind] += 1
        while f'{kind}{counts[kind]}' in given:  # by a constant, or by a kind that ends in a digit
            counts[kind] += 1
        names[name] = f'{kind}{counts[kind]}'
        given.add(names[name])
    return names


def _place(slot: str) -> tuple[str, int]:
    """Sorts `block2` before `block10`."""
    kind = slot.rstrip('0123456789')
    return kind, int(slot[len(kind) :] or 0)


def taught_plan(slotted: SlottedProblem, budget: Budget) -> Plan:
    """The plan that a model is taught: the first of the shortest safe ones under canonical names.

    Taught any of them, it would have to learn by heart which of two equal spanners was taken.

    Raises:
        SafegenError: there is none, or the search has found none within its budget.
    """
    from safegen_ros.search.in_process import canonical_plan

    return canonical_plan(slotted.problem, budget).plan
