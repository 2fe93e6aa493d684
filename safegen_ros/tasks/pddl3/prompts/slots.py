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
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations

from safegen_ros.errors import ErrorCode, SafegenError
from safegen_ros.language.phrases import Phrases
from safegen_ros.pddl.deciding import refuse_numbers
from safegen_ros.pddl.model import And, Atom, Formula, Problem
from safegen_ros.pddl.plan import Plan, Step
from safegen_ros.pddl.pruning import changed_predicates
from safegen_ros.pddl.writer import formula_text
from safegen_ros.tasks.pddl3.domains.isomorphism import canonical_problem
from safegen_ros.tasks.pddl3.prompts.normal import (
    in_order,
    normal_constraints,
    normal_formula,
    paired,
)

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


def taught_plan(slotted: SlottedProblem, *, time_limit_s: float = 60.0) -> Plan:
    """The plan that a model is taught: the first of the shortest safe ones under canonical names.

    Taught any of them, it would have to learn by heart which of two equal spanners was taken.

    Args:
        time_limit_s: of the search [s].

    Raises:
        SafegenError: there is none, or the search has found none in its time.
    """
    # A user of a model needs no search.
    from safegen_ros.search.budget import Budget
    from safegen_ros.search.in_process import canonical_plan
    from safegen_ros.search.solve import MEMORY_LIMIT_MB

    return canonical_plan(slotted.problem, Budget(time_limit_s, MEMORY_LIMIT_MB)).plan
